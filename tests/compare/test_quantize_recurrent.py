"""Language models of LSTM and GRU layers in 8 bits: the file is 3.5 times smaller, ONNX Runtime
computes the same from it as hone, and it is as near to the float model as the one that ONNX Runtime's
own quantizer makes."""
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


@pytest.mark.parametrize("kind", ["int8-dynamic", "int8-weights"])
@pytest.mark.parametrize("op", GATES)
def test_language_model(tmp_path, op, kind):
    floats, mine, theirs = (tmp_path / f"{name}.onnx" for name in ("floats", "mine", "theirs"))
    language_model(floats, op)
    quantize(floats, mine, "--type", kind)
    quantize_dynamic(floats, theirs)
    assert floats.stat().st_size > 3.5 * mine.stat().st_size
    tokens = np.random.default_rng(6).integers(0, WORDS, (STEPS, 1))
    wanted = by_onnxruntime(floats, tokens)
    found = by_hone(mine, tokens, tmp_path)
    # A rounding of h that falls the other way is a step of 8 bits.
    assert error(found, by_onnxruntime(mine, tokens)) < (1e-5 if kind == "int8-weights" else 5e-3)
    assert error(found, wanted) <= error(by_onnxruntime(theirs, tokens), wanted)


def test_rule_for_a_form_that_a_gru_does_not_have(tmp_path):
    language_model(tmp_path / "m.onnx", "GRU")
    done = subprocess.run([HONE, "quantize", tmp_path / "m.onnx", "-o", tmp_path / "q.onnx", "--type", "int8-weights",
                           "--layer", "layer0=int8-dynamic"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "layer0 (GRU: no dynamic form of it (int8-weights has one))" in done.stderr
    assert not (tmp_path / "q.onnx").exists()
