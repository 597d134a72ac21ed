"""Streams: `hone run --state` gives what ONNX Runtime gives when outputs are fed back by hand, step by
step: for an LSTM, for a GRU and for attention over past keys and values."""
import os
import subprocess

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

HONE = os.environ.get("HONE", "build/hone")
pytestmark = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")

STEPS, BATCH, SIZE, HIDDEN = 9, 2, 6, 8
rng = np.random.default_rng(3)


def value(name, *dims):
    return h.make_tensor_value_info(name, T.FLOAT, dims)


def constant(name, *dims):
    return numpy_helper.from_array(rng.standard_normal(dims).astype(np.float32) / 2, name)


def save(path, nodes, inputs, outputs, constants):
    graph = h.make_graph(nodes, "m", inputs, outputs, constants)
    path.write_bytes(h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)]).SerializeToString())


def recurrent(path, op, gates):
    kept = ["h", "c"] if op == "LSTM" else ["h"]
    save(path,
         [h.make_node(op, ["x", "w", "r", "b", "", *(f"{k}0" for k in kept)], ["y", *(f"{k}n" for k in kept)],
                      hidden_size=HIDDEN)],
         [value("x", "time", "batch", SIZE), *(value(f"{k}0", 1, "batch", HIDDEN) for k in kept)],
         [value("y", "time", 1, "batch", HIDDEN), *(value(f"{k}n", 1, "batch", HIDDEN) for k in kept)],
         [constant("w", 1, gates * HIDDEN, SIZE), constant("r", 1, gates * HIDDEN, HIDDEN),
          constant("b", 1, 2 * gates * HIDDEN)])
    first = {f"{k}0": np.zeros((1, BATCH, HIDDEN), np.float32) for k in kept}
    return "*0=*n", {f"{k}0": f"{k}n" for k in kept}, first, (1, BATCH, SIZE)


def decoder(path):
    past = {"key": "k", "value": "v"}
    save(path,
         [h.make_node("MatMul", ["x", "wk"], ["k"]), h.make_node("MatMul", ["x", "wv"], ["v"]),
          *(h.make_node("Concat", [f"past_{p}", new], [f"now_{p}"], axis=1) for p, new in past.items()),
          h.make_node("Transpose", ["now_key"], ["t"], perm=[0, 2, 1]), h.make_node("MatMul", ["x", "t"], ["s"]),
          h.make_node("Softmax", ["s"], ["p"], axis=-1), h.make_node("MatMul", ["p", "now_value"], ["y"])],
         [value("x", "batch", 1, SIZE), *(value(f"past_{p}", "batch", "past", SIZE) for p in past)],
         [value("y", "batch", 1, SIZE), *(value(f"now_{p}", "batch", "now", SIZE) for p in past)],
         [constant("wk", SIZE, SIZE), constant("wv", SIZE, SIZE)])
    first = {f"past_{p}": np.zeros((BATCH, 0, SIZE), np.float32) for p in past}
    return "past_*=now_*", {f"past_{p}": f"now_{p}" for p in past}, first, (BATCH, 1, SIZE)


MODELS = {"lstm": lambda path: recurrent(path, "LSTM", 4), "gru": lambda path: recurrent(path, "GRU", 3),
          "decoder": decoder}


def by_hand(path, pairs, state, x):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    s = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in s.get_outputs()]
    ys = []
    for now in x:
        out = dict(zip(names, s.run(None, {"x": now, **state})))
        state = {name: out[output] for name, output in pairs.items()}
        ys.append(out["y"])
    return np.stack(ys), state


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("name", MODELS)
def test_stream(name, backend, tmp_path):
    path = tmp_path / "m.onnx"
    words, pairs, first, dims = MODELS[name](path)
    x = rng.standard_normal((STEPS, *dims)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    subprocess.run([HONE, "run", "-q", path, "--in", f"x={tmp_path}/x.npy", "--over", "x", "--state", words,
                    "--backend", backend, "-o", tmp_path, "--save-state", tmp_path / "state.npz"],
                   check=True, capture_output=True)
    want, state = by_hand(path, pairs, first, x)
    found, kept = np.load(tmp_path / "y.npy"), np.load(tmp_path / "state.npz")
    assert found.shape == want.shape and set(kept.files) == set(state)
    for a, b in [(found, want), *((kept[k], state[k]) for k in state)]:
        assert a.shape == b.shape and np.abs(a - b).max() <= 2e-5 * np.abs(b).max()
