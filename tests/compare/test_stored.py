"""Weights that are not stored as floats: sparse initializers, codes with scales, indices of a codebook. hone gives what ONNX
Runtime gives, before and after `hone simplify`, and runs no product by its reference."""
import json
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

HONE = os.environ.get("HONE", "build/hone")
pytestmark = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")

rng = np.random.default_rng(5)
PRODUCTS = {
    "MatMul": ([4, 24], [24, 40], {}),
    "Gemm": ([4, 24], [40, 24], {"transB": 1}),
    "Conv": ([1, 24, 9, 9], [40, 24, 3, 3], {}),
    "ConvTranspose": ([1, 24, 9, 9], [24, 40, 4, 4], {"strides": [2, 2]}),
}


def floats(name, *dims):
    return numpy_helper.from_array(rng.standard_normal(dims).astype(np.float32), name)


def codes(name, dtype, dims):
    width = 4 if dtype in (T.UINT4, T.INT4) else 8
    signed = dtype in (T.INT4, T.INT8)
    low = -(1 << width - 1) if signed else 0
    values = rng.integers(low, low + (1 << width), dims)
    return h.make_tensor(name, dtype, dims, values.flatten().tolist())


def sparse(dims, linear):
    n = int(np.prod(dims))
    places = np.sort(rng.choice(n, n // 10, replace=False)).astype(np.int64)
    values = numpy_helper.from_array(rng.standard_normal(len(places)).astype(np.float32), "w")
    if not linear:
        places = np.stack(np.unravel_index(places, dims), axis=1).astype(np.int64)
    return h.make_sparse_tensor(values, numpy_helper.from_array(places, "w_places"), dims)


def stored(kind, dims, channels):
    """Nodes that make w, dense constants, sparse ones."""
    if kind.startswith("sparse"):
        return [], [], [sparse(dims, kind == "sparse-linear")]
    if kind.startswith("codebook"):
        dtype, size = (T.UINT4, 16) if kind == "codebook-4" else (T.UINT8, 256)
        return ([h.make_node("Cast", ["codes"], ["index"], to=T.INT64), h.make_node("Gather", ["table", "index"], ["w"])],
                [codes("codes", dtype, dims), floats("table", size)], [])
    dtype = T.INT4 if kind == "codes-4" else T.UINT8 if kind == "codes-zero" else T.INT8
    if kind == "codes-blocks":
        scale_dims = list(dims)
        scale_dims[channels] = dims[channels] // 8
        return ([h.make_node("DequantizeLinear", ["codes", "scale"], ["w"], axis=channels, block_size=8)],
                [codes("codes", dtype, dims), floats("scale", *scale_dims)], [])
    names = ["codes", "scale", "zero"] if kind == "codes-zero" else ["codes", "scale"]
    constants = [codes("codes", dtype, dims), floats("scale", dims[channels])]
    if kind == "codes-zero":
        constants.append(codes("zero", dtype, [dims[channels]]))
    return [h.make_node("DequantizeLinear", names, ["w"], axis=channels)], constants, []


KINDS = ["sparse-linear", "sparse", "codebook-4", "codebook-8", "codes", "codes-zero", "codes-4", "codes-blocks"]


@pytest.mark.parametrize("op", PRODUCTS)
@pytest.mark.parametrize("kind", KINDS)
def test_products(op, kind, tmp_path):
    x_dims, w_dims, attributes = PRODUCTS[op]
    channels = 0 if op in ("Conv", "Gemm") else 1
    nodes, dense, some = stored(kind, w_dims, channels)
    nodes.append(h.make_node(op, ["x", "w"], ["y"], name="product", **attributes))
    graph = h.make_graph(nodes, "m", [h.make_tensor_value_info("x", T.FLOAT, x_dims)],
                         [h.make_tensor_value_info("y", T.FLOAT, None)], dense, sparse_initializer=some)
    model = h.make_model(graph, ir_version=10, opset_imports=[h.make_opsetid("", 21)])
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    x = rng.standard_normal(x_dims).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    options = onnxruntime.SessionOptions()  # else it rounds activations of some of these to 8 bits
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    want = onnxruntime.InferenceSession(path.read_bytes(), options).run(None, {"x": x})[0]
    simple = tmp_path / "s.onnx"
    subprocess.run([HONE, "simplify", path, "-o", simple, "-q"], check=True, stdout=subprocess.DEVNULL)
    assert simple.stat().st_size < 1.3 * path.stat().st_size + 2000
    for model_path in (path, simple):
        subprocess.run([HONE, "run", model_path, "--in", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "out", "-q"], check=True,
                       stdout=subprocess.DEVNULL)
        got = np.load(tmp_path / "out" / "y.npy")
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
        profile = json.loads(subprocess.run([HONE, "profile", model_path, "--json", "-q", "-n", "1", "-t", "1", "--no-roofline"],
                                            check=True, capture_output=True).stdout)
        assert "reference" not in [step["kernel"] for step in profile["steps"]]
