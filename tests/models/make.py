"""Writes the models beside this file: small ones that tests of the API and of the program share, and
inputs of one of them.

    python tests/models/make.py          (needs onnx)
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

HERE = pathlib.Path(__file__).parent


def value(name, dims, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def save(name, nodes, inputs, outputs, initializers=(), imports=(("", 17),), **more):
    graph = h.make_graph(list(nodes), name, inputs, outputs, list(initializers), **more)
    model = h.make_model(graph, producer_name="hone tests", ir_version=8,
                         opset_imports=[h.make_opsetid(*i) for i in imports])
    path = HERE / f"{name}.onnx"
    path.write_bytes(model.SerializeToString(deterministic=True))
    return model


f32 = np.float32

# Two inputs that share a symbol, one input with a default, two outputs.
save("add",
     [h.make_node("Add", ["a", "b"], ["ab"], "first"), h.make_node("Mul", ["ab", "k"], ["y"], "second")],
     [value("a", ["batch", 2]), value("b", ["batch", 2]), value("k", [2])],
     [value("ab", ["batch", 2]), value("y", ["batch", 2])],
     [constant("k", f32([10, 100]))])

# A stream: an echo of constant size and a list that grows, with the inputs of four steps.
save("stream",
     [h.make_node("Mul", ["echo0", "half"], ["fading"]), h.make_node("Add", ["x", "fading"], ["y"]),
      h.make_node("Identity", ["y"], ["echo1"]), h.make_node("Unsqueeze", ["y", "one"], ["row"]),
      h.make_node("Concat", ["list0", "row"], ["list1"], axis=1),
      h.make_node("ReduceMax", ["list1"], ["most"], axes=[1], keepdims=0),
      h.make_node("Mul", ["list1", "half"], ["scaled"])],
     [value("x", ["batch", 2]), value("echo0", ["batch", 2]), value("list0", ["batch", "length", 2])],
     [value("y", ["batch", 2]), value("echo1", ["batch", 2]), value("list1", ["batch", "longer", 2]),
      value("most", ["batch", 2]), value("scaled", ["batch", "longer", 2])],
     [constant("half", f32(0.5)), constant("one", np.int64([1]))])
np.savez(HERE / "stream.npz", x=f32([[[8, 16]], [[0, 0]], [[4, 4]], [[0, 32]]]))

# Names that cannot be file names, two of which would become the same one.
save("names",
     [h.make_node("Identity", ["in=1"], [out]) for out in ("a/b", "a:b", "../up", "caf\u00e9")],
     [value("in=1", [2])], [value(out, [2]) for out in ("a/b", "a:b", "../up", "caf\u00e9")])

# An operator nobody knows, beside one that is known, and a name that would play tricks on a terminal.
save("unknown",
     [h.make_node("Frobnicate", ["x"], ["f"], "frob\033[31m", domain="com.example", level=3),
      h.make_node("Relu", ["f"], ["y"], "relu")],
     [value("x", [1, 4])], [value("y", [1, 4])], imports=(("", 17), ("com.example", 1)))

# Runs practically for ever, so that it can be interrupted.
body = h.make_graph(
    [h.make_node("Identity", ["go"], ["go_on"]), h.make_node("Add", ["s", "one"], ["s_next"])],
    "body", [value("i", [], T.INT64), value("go", [], T.BOOL), value("s", [])],
    [value("go_on", [], T.BOOL), value("s_next", [])], [constant("one", f32(1))])
save("forever",
     [h.make_node("Loop", ["trips", "", "start"], ["sum"], "loop", body=body)],
     [value("start", [])], [value("sum", [])], [constant("trips", np.int64(2**62))])

# Takes 8 GB to run.
save("large",
     [h.make_node("Expand", ["x", "shape"], ["y"], "expand")],
     [value("x", [1])], [value("y", [2_000_000_000])],
     [constant("shape", np.int64([2_000_000_000]))])

# Names longer than a terminal is wide, in two graphs.
deep = "/".join(f"encoder.layers.{i}" for i in range(6))
then = h.make_graph([h.make_node("Relu", ["x"], ["t"], deep + "/then/activation")], "then", [],
                    [value("t", ["batch", 8])])
other = h.make_graph([h.make_node("MatMul", ["x", "w"], ["e"], deep + "/else/projection")], "else", [],
                     [value("e", ["batch", 8])], [constant("w", np.eye(8, dtype=f32))])
save("branches",
     [h.make_node("If", ["cond"], ["y"], deep + "/if", then_branch=then, else_branch=other)],
     [value("cond", [], T.BOOL), value("x", ["batch", 8])], [value("y", ["batch", 8])])

# Fixed batches of 1 and of 4: the label is the index of the largest of three numbers.
for batch in (1, 4):
    save(f"batch{batch}", [h.make_node("Identity", ["x"], ["y"])],
         [value("x", [batch, 3])], [value("y", [batch, 3])])

# 1.2 MB of activations per sample.
save("wide", [h.make_node("Exp", ["x"], ["e"], "exp"), h.make_node("ReduceMax", ["e"], ["y"], "max", axes=[1])],
     [value("x", ["batch", 300000])], [value("y", ["batch", 1])])

# An operator that older opsets do not have.
save("newer", [h.make_node("Gelu", ["x"], ["y"], "gelu")], [value("x", [4])], [value("y", [4])],
     imports=(("", 20),))

# Weights in a file of their own.
model = h.make_model(
    h.make_graph([h.make_node("Add", ["x", "w"], ["y"])], "external", [value("x", [4])],
                 [value("y", [4])], [constant("w", f32([1, 2, 3, 4]))]),
    ir_version=8, opset_imports=[h.make_opsetid("", 17)])
onnx.save_model(model, HERE / "external.onnx", save_as_external_data=True, location="external.data",
                size_threshold=0, convert_attribute=False)

(HERE / "external.data").chmod(0o644)

# Eight things wrong at once; see tests/cli/check.
broken = save("broken",
              [h.make_node("Add", ["a", "nowhere"], ["s"], "dangling"),
               h.make_node("Relu", ["late"], ["r"], "early"),
               h.make_node("Abs", ["a"], ["late"], "late"),
               h.make_node("Abs", ["a"], ["s"], "again"),
               h.make_node("Conv", ["a", "a"], ["c"], "flat"),
               h.make_node("Gelu2", ["a"], ["g"], "misspelt"),
               h.make_node("Softmax", ["a"], ["p"], "odd", axis=9, colour=3)],
              [value("a", [2, 3])], [value("p", [2, 3]), value("q", [2])],
              [constant("short", f32([1, 2, 3]))])
broken.graph.initializer[0].dims[0] = 4
(HERE / "broken.onnx").write_bytes(broken.SerializeToString(deterministic=True))

# Quantized as ONNX Runtime and torch do it, in integers from the first QuantizeLinear to the last
# DequantizeLinear: convolutions per channel, depthwise and pointwise, a residual, a table, pooling,
# a concatenation, an average and a product.
rng = np.random.default_rng(11)
nodes, weights = [], []


def node(op, inputs, **attrs):
    nodes.append(h.make_node(op, inputs, [f"v{len(nodes)}"], **attrs))
    return nodes[-1].output[0]


def number(array):
    weights.append(constant(f"c{len(weights)}", array))
    return weights[-1].name


def requantized(x, scale, zero):
    """x by QuantizeLinear and DequantizeLinear."""
    q = [number(f32(scale)), number(np.uint8(zero))]
    return node("DequantizeLinear", [node("QuantizeLinear", [x, *q]), *q])


def parameters(dims, x_scale, per_channel=True):
    """Weights and bias, of integers."""
    n = dims[0]
    scale = f32(rng.uniform(0.002, 0.01, n if per_channel else 1))
    if not per_channel:
        scale = scale[0]
    axis = dict(axis=0) if per_channel else {}
    w = number(rng.integers(-128, 128, dims, np.int8))
    b = number(rng.integers(-3000, 3000, n, np.int32))
    return [node("DequantizeLinear", [w, number(scale)], **axis),
            node("DequantizeLinear", [b, number(f32(scale * f32(x_scale)))], **axis)]


x = requantized("x", 0.02, 128)
x = node("Relu", [node("Conv", [x, *parameters((19, 3, 3, 3), 0.02)], pads=[1, 1, 1, 1], strides=[2, 2])])
x = first = requantized(x, 0.03, 0)
x = node("Conv", [x, *parameters((19, 1, 3, 3), 0.03)], group=19, pads=[1, 1, 1, 1])
x = requantized(node("Clip", [x, number(f32(0)), number(f32(6))]), 6 / 255, 0)
x = requantized(node("Conv", [x, *parameters((19, 19, 1, 1), 6 / 255)]), 0.05, 120)
x = requantized(node("Add", [x, first]), 0.06, 100)
gate = requantized(node("Sigmoid", [x]), 1 / 256, 0)
x = requantized(node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]), 0.06, 100)
gate = requantized(node("AveragePool", [gate], kernel_shape=[2, 2], strides=[2, 2]), 1 / 256, 0)
x = requantized(node("Concat", [x, gate], axis=1), 0.06, 100)
x = requantized(node("GlobalAveragePool", [x]), 0.04, 90)
x = node("Gemm", [node("Flatten", [x]), *parameters((10, 38), 0.04, False)], transB=1)
save("int8", nodes + [h.make_node("Identity", [requantized(x, 0.02, 128)], ["y"])],
     [value("x", ["n", 3, 25, 23])], [value("y", ["n", 10])], weights)

# Quantized: a product in integers, a Softmax that has no integer form, and one that is not quantized.
save("quantized",
     [h.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"], "quantize"),
      h.make_node("DequantizeLinear", ["xq", "s", "z"], ["xf"], "dequantize"),
      h.make_node("DequantizeLinear", ["wq", "s"], ["wf"], "weights"),
      h.make_node("MatMul", ["xf", "wf"], ["p"], "product"),
      h.make_node("QuantizeLinear", ["p", "s", "z"], ["pq"], "requantize"),
      h.make_node("DequantizeLinear", ["pq", "s", "z"], ["pf"], "again"),
      h.make_node("Softmax", ["pf"], ["e"], "softmax"),
      h.make_node("MatMul", ["e", "v"], ["y"], "float")],
     [value("x", [2, 8])], [value("y", [2, 4])],
     [constant("s", f32(0.1)), constant("z", np.uint8(100)),
      constant("wq", np.arange(-32, 32, dtype=np.int8).reshape(8, 8)),
      constant("v", np.linspace(-1, 1, 32, dtype=f32).reshape(8, 4))])

# Six layers of small integers, so that ones as inputs give exact results everywhere; and the same with
# three of them damaged: fc2, fc4 and fc5.
rng = np.random.default_rng(5)
plain = [rng.integers(-1, 3, (8, 8)) for _ in range(6)]
hurt = [w + (k in (1, 3, 4)) * rng.integers(0, 2, (8, 8)) for k, w in enumerate(plain)]
for name, layers in (("layers", plain), ("damaged", hurt)):
    nodes = []
    for k, w in enumerate(layers, 1):
        nodes += [h.make_node("MatMul", ["x" if k == 1 else f"r{k - 1}", f"w{k}"], [f"m{k}"], f"fc{k}"),
                  h.make_node("Relu", [f"m{k}"], ["y" if k == 6 else f"r{k}"], f"relu{k}")]
    save(name, nodes, [value("x", ["batch", 8])], [value("y", ["batch", 8])],
         [constant(f"w{k}", f32(w)) for k, w in enumerate(layers, 1)])

# Sizes as PaddlePaddle's exporter and others write those they do not know.
save("sizes",
     [h.make_node("MaxPool", ["x"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
      h.make_node("Relu", ["p"], ["y"], "relu")],
     [value("x", [-1, 3, "?", "?"])], [value("y", [0, 3, -1, -1])])

# ---- graphs that ask for too much: every verb ends on them, within its limits ----

I64 = np.int64
out = [value("y", None)]


def loop(name, trips, nodes, state, scans=()):
    """x goes round; scans: values that are stacked."""
    stacked = [f"stack_{s}" for s in scans]
    body = h.make_graph([h.make_node("Identity", ["go"], ["go_on"]), *nodes], "body",
                        [value("i", [], T.INT64), value("go", [], T.BOOL), value("s", None)],
                        [value("go_on", [], T.BOOL), value("s_next", None)] + [value(s, None) for s in scans])
    save(f"hostile/{name}", [h.make_node("Loop", ["trips", "", "x"], ["y", *stacked], "loop", body=body)],
         [value("x", state)], out + [value(s, None) for s in stacked], [constant("trips", I64(trips))])


nodes, x = [], "x"
for k in range(14):
    nodes += [h.make_node("Shape", [x], [f"s{k}"]), h.make_node("ReduceProd", [f"s{k}"], [f"p{k}"]),
              h.make_node("Mul", [f"s{k}", f"p{k}"], [f"m{k}"]),
              h.make_node("Concat", [f"p{k}", f"m{k}"], [f"c{k}"], axis=0),
              h.make_node("Slice", [f"c{k}", "one", "three"], [f"d{k}"]),
              h.make_node("Expand", [x, f"d{k}"], [f"e{k}"])]
    x = f"e{k}"
save("hostile/symbols", nodes + [h.make_node("Relu", [x], ["y"])], [value("x", ["n", "m"])], out,
     [constant("one", I64([1])), constant("three", I64([3]))])
loop("loop_doubles", 2**40, [h.make_node("Concat", ["s", "s"], ["s_next"], axis=0)], [1000])
loop("loop_forever", 2**62, [h.make_node("Neg", ["s"], ["s_next"])], [10])
loop("loop_stacks", 2**40, [h.make_node("Neg", ["s"], ["s_next"]), h.make_node("Exp", ["s"], ["p"])], [100000],
     ["p"])
body = h.make_graph([h.make_node("ReduceSum", ["t"], ["r"], keepdims=0), h.make_node("Add", ["s", "r"], ["s_next"]),
                     h.make_node("Neg", ["s"], ["p"])], "body", [value("s", [10]), value("t", [0])],
                    [value("s_next", [10]), value("p", [10])])
save("hostile/scan", [h.make_node("ConstantOfShape", ["shape"], ["c"]),
                      h.make_node("Scan", ["x", "c"], ["y", "ys"], num_scan_inputs=1, body=body)],
     [value("x", [10])], out + [value("ys", None)], [constant("shape", I64([2**40, 0]))])
save("hostile/einsum", [h.make_node("Einsum", ["x", "x"], ["y"], equation="i,j->ij")], [value("x", [10**6])], out)
save("hostile/einsum_long", [h.make_node("Einsum", ["x"] * 3, ["y"], equation="i,j,k->")],
     [value("x", [10**6])], out)
save("hostile/resize", [h.make_node("Resize", ["x", "", "scales"], ["y"])], [value("x", [1, 1, 8, 8])], out,
     [constant("scales", f32([1, 1, 1e5, 1e5]))])
save("hostile/product", [h.make_node("Expand", ["x", "shape"], ["e"]), h.make_node("MatMul", ["e", "e"], ["p"]),
                         h.make_node("MatMul", ["p", "e"], ["q"]), h.make_node("ReduceSum", ["q"], ["y"])],
     [value("x", [1])], out, [constant("shape", I64([4096, 4096]))])
save("hostile/input", [h.make_node("Relu", ["x"], ["y"])], [value("x", [2**20, 2**20])], out)
save("hostile/no_layers", [h.make_node("Relu", ["x"], ["y"])], [value("x", [4])], [value("y", [4])])
huge = {
    "expand": (h.make_node("Expand", ["x", "n"], ["y"]), I64([2**40])),
    "tile": (h.make_node("Tile", ["x", "n"], ["y"]), I64([2**40])),
    "pad": (h.make_node("Pad", ["x", "n"], ["y"]), I64([0, 2**38])),
    "constant_of_shape": (h.make_node("ConstantOfShape", ["n"], ["c"]), I64([2**36])),
    "range": (h.make_node("Range", ["zero", "n", "zero_up"], ["c"]), f32(1e12)),
    "one_hot": (h.make_node("OneHot", ["x", "n", "pair"], ["y"]), I64(2**40)),
}
for name, (node, n) in huge.items():
    more = [] if node.output[0] == "y" else [h.make_node("Add", ["c", "x"], ["y"])]
    save(f"hostile/{name}", [node, *more], [value("x", [1])], out,
         [constant("n", n), constant("zero", f32(0)), constant("zero_up", f32(1)), constant("pair", f32([0, 1]))])
# Inputs of add.onnx, and an array that is none.
np.savez(HERE / "add.npz", a=np.full((2, 2), 1, f32), b=np.full((2, 2), 2, f32), c=np.zeros(1, f32))
