"""hone quantize --for tensorrt: what is written keeps to what TensorRT's documentation asks of explicitly quantized models.

TensorRT itself is not needed. The rules ("Working with Quantized Types", "Explicit Quantization"): all is symmetric and of s8, so zero
points are 0; activations have one scale, weights one or one for each output channel; both inputs of a product are quantized, its bias and its result are
not; of a sum behind a product the other operand is. Opsets stay below 21 where no groups are asked for.
"""
import os

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from test_models import ASSETS, HONE, MODELS, unpacked
from test_quantize import quantize
from test_quantize_static import FLOATS, samples

pytestmark = [
    pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built"),
    pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}"),
]
MOVERS = ("Concat", "DepthToSpace", "Expand", "Flatten", "MaxPool", "Pad", "Reshape", "Resize", "Slice", "SpaceToDepth", "Split",
          "Squeeze", "Tile", "Transpose", "Unsqueeze")
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")


def output_axis(node, rank):
    """The axis of a weight that output channels are on."""
    if node.op_type == "Gemm":
        return 0 if any(a.name == "transB" and a.i for a in node.attribute) else 1
    return {"Conv": 0, "ConvTranspose": 1, "MatMul": rank - 1}[node.op_type]


class Graph:
    def __init__(self, path):
        model = onnx.load(path)
        self.opset = next(o.version for o in model.opset_import if o.domain == "")
        self.nodes, self.made_by = model.graph.node, {}
        self.constants = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
        for node in self.nodes:
            self.made_by.update((name, node) for name in node.output)

    def made(self, name, *kinds):
        """The node that computes a value, if it is of these kinds."""
        node = self.made_by.get(name)
        return node if node is not None and node.op_type in kinds else None

    def quantized(self, name):
        """Dequantized, whatever moved its elements since: TensorRT takes the one past the other."""
        mover = self.made(name, *MOVERS)
        if mover is not None:
            return all(self.quantized(part) for part in mover.input[: None if mover.op_type == "Concat" else 1])
        return self.made(name, "DequantizeLinear") is not None

    def readers(self, name):
        return [node for node in self.nodes if name in node.input]


def feeds_integers(graph, node):
    """The result is quantized, through what limits it."""
    readers = graph.readers(node.output[0])
    return bool(readers) and all(
        r.op_type == "QuantizeLinear" or (r.op_type in ("Relu", "Clip") and feeds_integers(graph, r)) for r in readers
    )


@pytest.fixture(params=FLOATS, ids=os.path.basename)
def graph(request, tmp_path):
    path = unpacked(request.param, str(tmp_path))
    return Graph(quantize(path, tmp_path / "q.onnx", "--data", samples(path, tmp_path), "--for", "tensorrt"))


def test_rules(graph):
    assert 13 <= graph.opset < 21
    seen = 0
    for node in graph.nodes:
        assert "Integer" not in node.op_type and "QLinear" not in node.op_type and node.op_type != "DynamicQuantizeLinear"
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            scale, zero = (graph.constants[name] for name in node.input[1:3])
            assert zero.dtype == np.int8 and not zero.any()
            assert (scale > 0).all()
            if node.input[0] in graph.constants:
                assert graph.constants[node.input[0]].dtype == np.int8
            if scale.size > 1:
                weight = graph.constants[node.input[0]]
                axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
                (reader,) = graph.readers(node.output[0])[:1]
                if reader.op_type in PRODUCTS:
                    assert axis == output_axis(reader, weight.ndim) and scale.shape == weight.shape[axis : axis + 1]
        elif node.op_type in PRODUCTS:
            seen += graph.quantized(node.input[1])
            assert graph.quantized(node.input[0]) == graph.quantized(node.input[1])
            assert len(node.input) < 3 or not graph.quantized(node.input[2])
        elif node.op_type == "Add":
            product = [graph.made(name, *PRODUCTS) for name in node.input]
            if any(p is not None and graph.quantized(p.input[1]) for p in product) and feeds_integers(graph, node):
                others = [name for name, p in zip(node.input, product) if p is None]
                assert len(others) == 1
                interpolated = graph.made(others[0], "Resize")  # has no integer form, so the sum has none
                assert interpolated or others[0] in graph.constants or graph.quantized(others[0])
    assert seen > 0
