"""Recurrent layers in 8 bits: ONNX Runtime computes the same from the file as hone. Language models of
LSTM and GRU layers become 3.5 times smaller, and are as near to the float model as the ones that
ONNX Runtime's own quantizer makes, which leave GRU layers in floats."""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper
from onnxruntime.quantization import quantize_dynamic

HONE = os.environ.get("HONE", "build/hone")
pytestmark = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")

WORDS, WIDTH, HIDDEN, STEPS = 500, 64, 128, 24
GATES = {"LSTM": 4, "GRU": 3}


def language_model(path, op):
    rng = np.random.default_rng(5)

    def constant(name, *dims):
        scale = 1 if name == "table" else HIDDEN**-0.5 / 2
        return numpy_helper.from_array(rng.normal(0, scale, dims).astype(np.float32), name)

    rows = GATES[op] * HIDDEN
    nodes, constants, x = [h.make_node("Gather", ["table", "tokens"], ["e"])], [constant("table", WORDS, WIDTH)], "e"
    linear = {"linear_before_reset": 1} if op == "GRU" else {}
    for i, depth in enumerate((WIDTH, HIDDEN)):
        constants += [constant(f"w{i}", 1, rows, depth), constant(f"r{i}", 1, rows, HIDDEN), constant(f"b{i}", 1, 2 * rows)]
        nodes += [h.make_node(op, [x, f"w{i}", f"r{i}", f"b{i}"], [f"y{i}"], hidden_size=HIDDEN, name=f"layer{i}", **linear),
                  h.make_node("Squeeze", [f"y{i}", "axis"], [f"x{i}"])]
        x = f"x{i}"
    constants += [numpy_helper.from_array(np.array([1]), "axis"), constant("head", HIDDEN, WORDS)]
    nodes.append(h.make_node("MatMul", [x, "head"], ["logits"]))
    graph = h.make_graph(nodes, "m", [h.make_tensor_value_info("tokens", T.INT64, ["steps", "batch"])],
                         [h.make_tensor_value_info("logits", T.FLOAT, ["steps", "batch", WORDS])], constants)
    onnx.save(h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)]), path)


def quantize(source, to, *options):
    subprocess.run([HONE, "quantize", source, "-o", to, "--embeddings", "--quiet", *options], check=True)


def by_hone(path, tokens, folder):
    np.save(folder / "tokens.npy", tokens)
    subprocess.run([HONE, "run", path, "-q", "--in", f"tokens={folder / 'tokens.npy'}", "-o", folder], check=True)
    return np.load(folder / "logits.npy")


def by_onnxruntime(path, tokens):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # Else it rounds the inputs of products by dequantized weights to 8 bits.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {"tokens": tokens})[0]


def error(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2) / np.mean(b**2)))


@pytest.mark.parametrize("kind", ["int8", "int8-dynamic", "int8-weights"])
@pytest.mark.parametrize("op", GATES)
def test_language_model(tmp_path, op, kind):
    floats, mine, theirs = (tmp_path / f"{name}.onnx" for name in ("floats", "mine", "theirs"))
    language_model(floats, op)
    np.savez(tmp_path / "data.npz", tokens=np.random.default_rng(7).integers(0, WORDS, (512, 1)))
    quantize(floats, mine, "--type", kind, *(["--data", f"npz:{tmp_path / 'data.npz'}"] if kind == "int8" else []))
    quantize_dynamic(floats, theirs)
    assert floats.stat().st_size > 3.5 * mine.stat().st_size
    tokens = np.random.default_rng(6).integers(0, WORDS, (STEPS, 1))
    wanted = by_onnxruntime(floats, tokens)
    found = by_hone(mine, tokens, tmp_path)
    # A rounding of h that falls the other way is a step of 8 bits.
    assert error(found, by_onnxruntime(mine, tokens)) < (5e-3 if kind == "int8-dynamic" else 1e-5)
    # Ranges found beforehand are wider than those of one run.
    assert error(found, wanted) <= error(by_onnxruntime(theirs, tokens), wanted) * (1.5 if kind == "int8" else 1)


def test_rule_for_a_form_that_a_gru_does_not_have(tmp_path):
    language_model(tmp_path / "m.onnx", "GRU")
    done = subprocess.run([HONE, "quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.onnx", "--type", "int8-weights",
                           "--layer", "layer0=int8-dynamic"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "layer0 (GRU: no dynamic form of it (int8-weights has one))" in done.stderr
    assert not (tmp_path / "q.onnx").exists()


T_, B_, I_, H_ = 7, 3, 24, 16


def layer(path, op, direction, layout):
    """One layer, in float, with sequences of several lengths."""
    rng = np.random.default_rng(8)
    dirs, rows = 2 if direction == "bidirectional" else 1, {"RNN": 1, **GATES}[op] * H_
    shapes = {"w": (dirs, rows, I_), "r": (dirs, rows, H_), "b": (dirs, 2 * rows)}
    constants = [numpy_helper.from_array(rng.normal(0, 0.3, s).astype(np.float32), k) for k, s in shapes.items()]
    constants.append(numpy_helper.from_array(np.array([T_, 1, 4], np.int32), "n"))
    node = h.make_node(op, ["x", "w", "r", "b", "n"], ["y"], hidden_size=H_, direction=direction, name="layer",
                       **({"layout": 1} if layout else {}))
    x, y = ((B_, T_, I_), (B_, T_, dirs, H_)) if layout else ((T_, B_, I_), (T_, dirs, B_, H_))
    graph = h.make_graph([node], "m", [h.make_tensor_value_info("x", T.FLOAT, x)],
                         [h.make_tensor_value_info("y", T.FLOAT, y)], constants)
    onnx.save(h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)]), path)
    return rng.normal(0, 1, (64, *x)).astype(np.float32)


def steps_first(path, to):
    """The same with layout 0, as ONNX Runtime has no other."""
    m = onnx.load(path)
    at = next(i for i, n in enumerate(m.graph.node) if n.name == "layer")
    node = m.graph.node[at]
    kept = [a for a in node.attribute if a.name != "layout"]
    del node.attribute[:]
    node.attribute.extend(kept)
    before = h.make_node("Transpose", [node.input[0]], ["steps_first"], perm=[1, 0, 2])
    after = h.make_node("Transpose", ["steps_out"], ["y"], perm=[2, 0, 1, 3])
    node.input[0], node.output[0] = "steps_first", "steps_out"
    m.graph.node.insert(at + 1, after)
    m.graph.node.insert(at, before)
    onnx.save(m, to)
    return to


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_static_layer(tmp_path, op, direction, layout):
    floats, mine, data = tmp_path / "floats.onnx", tmp_path / "mine.onnx", tmp_path / "data.npz"
    samples = layer(floats, op, direction, layout)
    np.savez(data, x=samples[1:])
    quantize(floats, mine, "--data", f"npz:{data}")
    node = next(n for n in onnx.load(mine).graph.node if n.name == "layer")
    made = {n.output[0]: n.op_type for n in onnx.load(mine).graph.node}
    assert [made.get(i) for i in node.input] == ["DequantizeLinear"] * 3 + [None] * (len(node.input) - 3)
    np.save(tmp_path / "x.npy", samples[0])
    answers = {}
    for precision in ("int8", "f32"):
        subprocess.run([HONE, "run", mine, "-q", "--in", f"x={tmp_path / 'x.npy'}", "-o", tmp_path, "--precision", precision], check=True)
        answers[precision] = np.load(tmp_path / "y.npy")
    feed = {"x": samples[0]}
    wanted = onnxruntime.InferenceSession(steps_first(mine, tmp_path / "r.onnx") if layout else mine, providers=["CPUExecutionProvider"]).run(None, feed)[0]
    assert error(answers["int8"], wanted) < 2e-6
    assert error(answers["f32"], wanted) < 2e-6
    exact = onnxruntime.InferenceSession(steps_first(floats, tmp_path / "e.onnx") if layout else floats, providers=["CPUExecutionProvider"]).run(None, feed)[0]
    assert 1e-4 < error(wanted, exact) < 2e-2
