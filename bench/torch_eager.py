"""ONNX files as PyTorch runs them in eager mode, for networks that exist only as files.

    Eager(path)(name=array, ...)   the outputs, as tensors

Every node becomes the function of torch or torch.nn.functional that a PyTorch programmer would write
for it, called one after the other under inference_mode; what follows from constants is computed once.
Only the operators and attributes that the networks of bench/optimized.py have are known; others
raise Unknown with their names.
"""

import numpy as np
import onnx
import torch
from torch.nn import functional as F

TYPES = {
    onnx.TensorProto.FLOAT: torch.float32,
    onnx.TensorProto.INT64: torch.int64,
    onnx.TensorProto.INT32: torch.int32,
    onnx.TensorProto.BOOL: torch.bool,
}


class Unknown(Exception):
    pass


def window(a, x, kernel):
    """Strides, dilations and pads of a convolution or pool with a window of these sizes over x."""
    rank = len(kernel)
    strides, dilations = a.get("strides", [1] * rank), a.get("dilations", [1] * rank)
    kind = a.get("auto_pad", b"NOTSET")
    if kind not in (b"NOTSET", b"VALID", b"SAME_UPPER"):
        raise Unknown(f"auto_pad {kind}")
    if kind != b"SAME_UPPER":
        return strides, dilations, a.get("pads", [0] * 2 * rank)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations)]
    totals = [max((-(-n // s) - 1) * s + span - n, 0)
              for n, s, span in zip(x.shape[2:], strides, spans)]  # fmt: skip
    return strides, dilations, [t // 2 for t in totals] + [t - t // 2 for t in totals]


def widen(pads):
    """Padding as F.pad takes it: from the last axis on, both sides of each."""
    half = len(pads) // 2
    return [pads[side + axis] for axis in reversed(range(half)) for side in (0, half)]


def padded(x, pads, value=0.0):
    """x and the padding that is left to do: the same on both sides of an axis."""
    half = len(pads) // 2
    if pads[:half] == pads[half:]:
        return x, pads[:half]
    return F.pad(x, widen(pads), value=value), [0] * half


def conv(a):
    def run(x, w, b=None):
        strides, dilations, pads = window(a, x, w.shape[2:])
        x, same = padded(x, pads)
        kind = F.conv1d if w.dim() == 3 else F.conv2d
        return kind(x, w, b, strides, same, dilations, a.get("group", 1))

    return run


def max_pool(a):
    kernel, ceil = a["kernel_shape"], bool(a.get("ceil_mode", 0))

    def run(x):
        strides, dilations, pads = window(a, x, kernel)
        x, same = padded(x, pads, -torch.inf)
        return F.max_pool2d(x, kernel, strides, same, dilations, ceil)

    return run


def average_pool(a):
    kernel, ceil = a["kernel_shape"], bool(a.get("ceil_mode", 0))
    counts = bool(a.get("count_include_pad", 0))

    def run(x):
        strides, dilations, pads = window(a, x, kernel)
        if pads[:2] != pads[2:] or dilations != [1, 1]:
            raise Unknown("AveragePool with such a window")
        return F.avg_pool2d(x, kernel, strides, pads[:2], ceil, counts)

    return run


def gemm(a):
    alpha, beta = a.get("alpha", 1.0), a.get("beta", 1.0)

    def run(x, w, c=None):
        x = x.T if a.get("transA") else x
        if a.get("transB") and alpha == beta == 1:
            return F.linear(x, w, c)
        w = w.T if a.get("transB") else w
        return torch.mm(x, w) * alpha if c is None else torch.addmm(c, x, w, beta=beta, alpha=alpha)

    return run


def softmax(a):
    axis = a.get("axis", -1 if a["opset"] >= 13 else 1)

    def run(x):
        if a["opset"] >= 13 or axis in (-1, x.dim() - 1):
            return F.softmax(x, axis)
        return F.softmax(x.flatten(axis), -1).reshape(x.shape)  # over all axes from this one on

    return run


def clip(a):
    def run(x, low=None, high=None):
        low = a.get("min") if low is None else float(low)
        high = a.get("max") if high is None else float(high)
        return torch.clamp(x, low, high)

    return run


def reshape(a):
    def run(x, shape):
        sizes = shape.tolist()
        return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(sizes)])

    return run


def slice_(a):
    def run(x, starts, ends, axes=None, steps=None):
        begins, ends = starts.tolist(), ends.tolist()
        axes = axes.tolist() if axes is not None else range(len(begins))
        steps = steps.tolist() if steps is not None else [1] * len(begins)
        for begin, end, axis, step in zip(begins, ends, axes, steps):
            if step < 0:  # torch has no negative steps
                places = range(x.shape[axis])[slice(begin, end, step)]
                x = x.index_select(axis, torch.tensor(places))
            else:
                x = x[(slice(None),) * (axis % x.dim()) + (slice(begin, end, step),)]
        return x

    return run


def pad(a):
    if a.get("mode", b"constant") != b"constant":
        raise Unknown("Pad that is not constant")
    return lambda x, pads, value=None: F.pad(
        x, widen(pads.tolist()), value=0.0 if value is None else float(value)
    )


def by_axes(function):
    """Squeeze and Unsqueeze, whose axes are an input, or an attribute of old files."""

    def of(a):
        def run(x, axes=None):
            axes = axes.tolist() if axes is not None else a.get("axes")
            if axes is None:  # Squeeze of all axes of size 1
                return x.squeeze()
            return function(x, sorted(axes))

        return run

    return of


def unsqueeze(x, axes):
    for axis in axes:
        x = x.unsqueeze(axis)
    return x


def reduce_sum(a):
    keep = bool(a.get("keepdims", 1))
    return lambda x, axes: x.sum(axes.tolist(), keepdim=keep)


def layer_norm(a):
    if a.get("axis", -1) != -1:
        raise Unknown("LayerNormalization over several axes")
    eps = a.get("epsilon", 1e-5)
    return lambda x, w, b=None: F.layer_norm(x, x.shape[-1:], w, b, eps)


def gather(a):
    axis = a.get("axis", 0)

    def run(x, at):
        if axis == 0 and x.dim() == 2 and at.dim() > 0:
            return F.embedding(at, x)
        if at.dim() == 0:
            return x.select(axis, int(at))
        return x.index_select(axis, at.flatten()).reshape(
            x.shape[:axis] + at.shape + x.shape[axis:][1:]
        )

    return run


def gather_nd(a):
    if a.get("batch_dims", 0) != 0:
        raise Unknown("GatherND with batch_dims")
    return lambda x, at: x[tuple(at.movedim(-1, 0))]


def expand(a):
    return lambda x, shape: x.expand(torch.broadcast_shapes(x.shape, shape.tolist()))


def cast(a):
    return lambda x: x.to(TYPES[a["to"]])


def constant_of_shape(a):
    value = torch.from_numpy(onnx.numpy_helper.to_array(a["value"]).copy())
    return lambda shape: value.reshape([1] * len(shape)).repeat(shape.tolist())


# Every function, given the attributes of a node, gives what computes its output from its inputs.
OPERATORS = {
    "Add": lambda a: torch.add,
    "And": lambda a: torch.logical_and,
    "AveragePool": average_pool,
    "BatchNormalization": lambda a: lambda x, w, b, mean, var: F.batch_norm(
        x, mean, var, w, b, eps=a.get("epsilon", 1e-5)
    ),
    "Cast": cast,
    "Clip": clip,
    "Concat": lambda a: lambda *parts: torch.cat(parts, a["axis"]),
    "ConstantOfShape": constant_of_shape,
    "Conv": conv,
    "Div": lambda a: torch.div,
    "Dropout": lambda a: lambda x, *rest: x,
    "Expand": expand,
    "Flatten": lambda a: lambda x: x.flatten(a.get("axis", 1)),
    "Gather": gather,
    "GatherElements": lambda a: lambda x, at: torch.gather(x, a.get("axis", 0), at),
    "GatherND": gather_nd,
    "Gelu": lambda a: lambda x: F.gelu(x, approximate=a.get("approximate", b"none").decode()),
    "Gemm": gemm,
    "GlobalAveragePool": lambda a: lambda x: F.adaptive_avg_pool2d(x, 1),
    "GreaterOrEqual": lambda a: torch.ge,
    "Identity": lambda a: lambda x: x,
    "LayerNormalization": layer_norm,
    "MatMul": lambda a: torch.matmul,
    "Max": lambda a: torch.maximum,
    "MaxPool": max_pool,
    "Mul": lambda a: torch.mul,
    "Pad": pad,
    "Range": lambda a: lambda begin, end, step: torch.arange(int(begin), int(end), int(step)),
    "ReduceSum": reduce_sum,
    "Relu": lambda a: F.relu,
    "Reshape": reshape,
    "Shape": lambda a: lambda x: torch.tensor(x.shape[a.get("start", 0) : a.get("end")]),
    "Slice": slice_,
    "Softmax": softmax,
    "Squeeze": by_axes(lambda x, axes: x.squeeze(axes)),
    "Sub": lambda a: torch.sub,
    "Transpose": lambda a: lambda x: x.permute(a["perm"]),
    "Unsqueeze": by_axes(unsqueeze),
    "Where": lambda a: torch.where,
}


class Eager:
    def __init__(self, path):
        graph, opsets = (model := onnx.load(path)).graph, model.opset_import
        opset = next(o.version for o in opsets if o.domain in ("", "ai.onnx"))
        to_torch = lambda t: torch.from_numpy(np.array(onnx.numpy_helper.to_array(t)))  # noqa: E731
        self.constants = {t.name: to_torch(t) for t in graph.initializer}
        self.inputs = [v.name for v in graph.input if v.name not in self.constants]
        self.outputs = [v.name for v in graph.output]
        self.steps = []
        with torch.inference_mode():
            for node in graph.node:
                self.add(node, opset)
        last = {name: i for i, (_, names, _) in enumerate(self.steps) for name in names}
        self.ends = [[] for _ in self.steps]  # values that nothing reads after a step
        for name, i in last.items():
            if name and name not in self.constants and name not in self.outputs:
                self.ends[i].append(name)

    def add(self, node, opset):
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant":
            if "value" not in attributes:
                raise Unknown("Constant that is no tensor")
            value = onnx.numpy_helper.to_array(attributes["value"])
            self.constants[node.output[0]] = torch.from_numpy(np.array(value))
            return
        if node.op_type not in OPERATORS or node.domain not in ("", "ai.onnx"):
            raise Unknown(f"no operator {node.op_type}")
        run = OPERATORS[node.op_type]({**attributes, "opset": opset})
        names = list(node.input)
        if all(name in self.constants or not name for name in names):
            given = [self.constants.get(name) for name in names]
            self.constants[node.output[0]] = run(*given)
        else:
            self.steps.append((run, names, node.output[0]))

    def __call__(self, **arrays):
        values = dict(self.constants)
        for name in self.inputs:
            values[name] = torch.from_numpy(arrays[name])
        with torch.inference_mode():
            for (run, names, output), ends in zip(self.steps, self.ends):
                values[output] = run(*[values[name] if name else None for name in names])
                for name in ends:
                    del values[name]
        return [values[name] for name in self.outputs]
