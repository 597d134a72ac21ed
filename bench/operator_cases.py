"""The models of operators.py: one operator each, at three sizes, as real networks use it.

add(operator, variant, build) enters a case. build(k) is called for k = 0, 1, 2 (small, medium,
large) and gives the node's inputs and attributes. An input is an array (an input of the model), a
Const (an initializer, where real models have a constant) or None (left out).
"""

import numpy as np
from onnx import TensorProto, helper

F32, F64, F16 = np.float32, np.float64, np.float16
I8, U8, I32, I64, U32, U64 = np.int8, np.uint8, np.int32, np.int64, np.uint32, np.uint64

IMAGE = [(1, 16, 14, 14), (1, 64, 56, 56), (1, 64, 112, 112)]  # N, C, H, W
TOKENS = [(1, 16, 64), (1, 128, 768), (4, 384, 768)]  # batch, length, features
ROWS = [(64,), (4096,), (1 << 20,)]

CASES = []


class Const:
    """An initializer."""

    def __init__(self, array):
        self.array = np.asarray(array)


class Case:
    def __init__(self, op, variant, build, outputs, opset, domain, types, compare, tolerance):
        self.op, self.variant, self.build, self.outputs = op, variant, build, outputs
        self.opset, self.domain, self.types = opset, domain, types
        self.compare, self.tolerance = compare, tolerance

    def name(self):
        return " ".join(filter(None, [self.op, self.variant]))


def add(op, variant, build, outputs=1, opset=21, types=None, compare=True, tolerance=None):
    """outputs: how many, or the names with "" for those left out. types: of the outputs, where
    onnx does not infer them. compare=False: two runs need not give the same values.
    tolerance: error relative to the largest element, or of integers the steps, where the type's own is too strict."""
    domain, _, name = op.rpartition(".")
    names = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    CASES.append(Case(op, variant, build, names, opset, domain, types, compare, tolerance))


def rng():
    return np.random.default_rng(7)


def real(shape, low=-3.0, high=3.0, dtype=F32):
    return rng().uniform(low, high, shape).astype(dtype)


def normal(shape, scale=1.0, dtype=F32):
    return (rng().standard_normal(shape) * scale).astype(dtype)


def whole(shape, low, high, dtype=I64):
    return rng().integers(low, high, shape).astype(dtype)


def flags(shape, share=0.5):
    return rng().random(shape) < share


def ints(*values):
    return Const(np.array(values, I64))


def info(name, dtype=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def type_name(dtype):
    names = {F32: "f32", F64: "f64", F16: "f16", I8: "i8", U8: "u8", I32: "i32", I64: "i64", U32: "u32", U64: "u64"}
    return names.get(dtype, "bool")


# ---- elementwise, one input ----

UNARY = {  # range of the inputs
    "Abs": (-3, 3), "Acos": (-1, 1), "Acosh": (1, 9), "Asin": (-1, 1), "Asinh": (-9, 9), "Atan": (-9, 9),
    "Atanh": (-0.99, 0.99), "Ceil": (-9, 9), "Celu": (-3, 3), "Cos": (-9, 9), "Cosh": (-5, 5), "Elu": (-3, 3),
    "Erf": (-3, 3), "Exp": (-5, 5), "Floor": (-9, 9), "HardSigmoid": (-4, 4), "HardSwish": (-4, 4),
    "Identity": (-3, 3), "IsInf": (-3, 3), "IsNaN": (-3, 3), "LeakyRelu": (-3, 3), "Log": (0.01, 9), "Mish": (-4, 4),
    "Neg": (-3, 3), "Reciprocal": (0.1, 3), "Relu": (-3, 3), "Round": (-9, 9), "Selu": (-3, 3), "Shrink": (-3, 3),
    "Sigmoid": (-6, 6), "Sign": (-3, 3), "Sin": (-9, 9), "Sinh": (-5, 5), "Softplus": (-6, 6), "Softsign": (-3, 3),
    "Sqrt": (0, 9), "Tan": (-1.5, 1.5), "Tanh": (-4, 4), "ThresholdedRelu": (-3, 3),
}  # fmt: skip
for op, (low, high) in UNARY.items():
    add(op, "", lambda k, low=low, high=high: ([real(IMAGE[k], low, high)], {}), opset=22)
for op in "Abs Ceil Exp Floor Log Neg Reciprocal Relu Round Sigmoid Sign Sqrt Tanh Sin Cos Erf".split():
    add(op, "f64", lambda k: ([real(IMAGE[k], 0.1, 3, F64)], {}))
for op in "IsInf IsNaN".split():
    add(op, "f64", lambda k: ([real(IMAGE[k], -3, 3, F64)], {}), opset=20)
for op in "Abs Neg Sign Relu".split():
    for dtype in (I32, I64):
        add(op, type_name(dtype), lambda k, dtype=dtype: ([whole(IMAGE[k], -99, 99, dtype)], {}))
add("Gelu", "", lambda k: ([real(IMAGE[k])], {}))
add("Gelu", "tanh", lambda k: ([real(IMAGE[k])], {"approximate": "tanh"}))
add("Swish", "", lambda k: ([real(IMAGE[k])], {}), opset=24)
add("Not", "", lambda k: ([flags(IMAGE[k])], {}))
for dtype in (U8, I32, I64):
    add("BitwiseNot", type_name(dtype), lambda k, dtype=dtype: ([whole(IMAGE[k], 0, 99, dtype)], {}))
add("Dropout", "", lambda k: ([real(IMAGE[k])], {}))
add("Clip", "f32", lambda k: ([real(IMAGE[k]), Const(F32(0)), Const(F32(6))], {}))
for dtype in (I8, U8, I32, I64, F64):
    low, high = (3, 6) if dtype is U8 else (-4, 6)
    add("Clip", type_name(dtype), lambda k, dtype=dtype, low=low, high=high: (
        [whole(IMAGE[k], 0, 9, dtype), Const(dtype(low)), Const(dtype(high))], {}))  # fmt: skip
add("PRelu", "per channel", lambda k: ([real(IMAGE[k]), Const(real((IMAGE[k][1], 1, 1), 0, 1))], {}))

ONNX_TYPES = {F32: 1, U8: 2, I8: 3, I32: 6, I64: 7, np.bool_: 9, F16: 10, F64: 11}
CASTS = [
    (F32, F64), (F32, F16), (F32, I32), (F32, I64), (F32, U8), (F32, I8), (F32, np.bool_), (F64, F32), (F16, F32),
    (I32, F32), (I64, F32), (U8, F32), (I8, F32), (np.bool_, F32), (I64, I32), (I32, I64), (I64, np.bool_),
    (np.bool_, I64), (U8, I32), (I32, U8), (F64, I64), (I64, F64), (np.bool_, I32), (np.bool_, U8), (U8, I64),
    (I32, np.bool_), (I32, F64), (F16, F64),
]  # fmt: skip


def of_type(shape, dtype):
    return flags(shape) if dtype is np.bool_ else whole(shape, 0, 100, dtype)


for source, target in CASTS:
    variant = f"{type_name(source)} to {type_name(target)}"
    add("Cast", variant, lambda k, source=source, target=target: (
        [of_type(IMAGE[k], source)], {"to": ONNX_TYPES[target]}))  # fmt: skip
add("CastLike", "i64 to f32", lambda k: ([of_type(IMAGE[k], I64), real((1,))], {}))
add("BitCast", "f32 to i32", lambda k: ([real(IMAGE[k])], {"to": TensorProto.INT32}), opset=26)

# ---- elementwise, several inputs ----

ARITHMETIC = "Add Sub Mul Div".split()
for op in ARITHMETIC:
    add(op, "f32", lambda k: ([real(IMAGE[k]), real(IMAGE[k], 0.5, 3)], {}))
    add(op, "f32 by a scalar", lambda k: ([real(IMAGE[k]), Const(F32(1.7))], {}))
    add(op, "f32 by channel", lambda k: ([real(IMAGE[k]), Const(real((IMAGE[k][1], 1, 1), 0.5, 3))], {}))
    add(op, "f32 by row", lambda k: ([real(TOKENS[k]), Const(real(TOKENS[k][-1:], 0.5, 3))], {}))
    for dtype in (F64, I32, I64):
        add(op, type_name(dtype), lambda k, dtype=dtype: (
            [whole(IMAGE[k], -99, 99, dtype), whole(IMAGE[k], 1, 9, dtype)], {}))  # fmt: skip
    add(op, "i64 by a scalar", lambda k: ([whole(IMAGE[k], -99, 99), Const(I64(3))], {}))
add("Add", "f32 both broadcast", lambda k: (
    [real((1, [16, 256, 1024][k], 1)), real((1, 1, [16, 256, 1024][k]))], {}))  # fmt: skip
for name, exponent in (("2", 2), ("3", 3), ("0.5", 0.5), ("-1", -1), ("1.7", 1.7)):
    add("Pow", name, lambda k, e=exponent: ([real(IMAGE[k], 0.1, 3), Const(F32(e))], {}))
for name, exponent in (("3", 3), ("1.7", 1.7)):
    add("Pow", "f64 by " + name, lambda k, e=exponent: ([real(IMAGE[k], 0.1, 3, F64), Const(F64(e))], {}))
add("Pow", "tensor", lambda k: ([real(IMAGE[k], 0.1, 3), real(IMAGE[k])], {}))
add("Pow", "i64 by 2", lambda k: ([whole(IMAGE[k], -99, 99), Const(I64(2))], {}))
for op in "Equal Greater GreaterOrEqual Less LessOrEqual".split():
    add(op, "f32", lambda k: ([real(IMAGE[k]), real(IMAGE[k])[::1, ::-1].copy()], {}))
    add(op, "f32 by a scalar", lambda k: ([real(IMAGE[k]), Const(F32(0.5))], {}))
    add(op, "i64", lambda k: ([whole(IMAGE[k], 0, 9), whole(IMAGE[k], 0, 9)[:, ::-1].copy()], {}))
    add(op, "i64 by a scalar", lambda k: ([whole(IMAGE[k], 0, 9), Const(I64(4))], {}))
for op in "And Or Xor".split():
    add(op, "", lambda k: ([flags(IMAGE[k]), flags(IMAGE[k], 0.3)], {}))
for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
    for dtype in (U8, I32, I64):
        add(op, type_name(dtype), lambda k, dtype=dtype: (
            [whole(IMAGE[k], 0, 99, dtype), whole(IMAGE[k], 0, 99, dtype)], {}))  # fmt: skip
for dtype in (U8, U32, U64):
    add("BitShift", type_name(dtype), lambda k, dtype=dtype: (
        [whole(IMAGE[k], 0, 99, dtype), Const(dtype(2))], {"direction": "RIGHT"}))  # fmt: skip
add("Mod", "i64", lambda k: ([whole(IMAGE[k], -99, 99), Const(I64(7))], {}))
add("Mod", "i32", lambda k: ([whole(IMAGE[k], -99, 99, I32), whole(IMAGE[k], 1, 9, I32)], {}))
add("Mod", "f64", lambda k: ([real(IMAGE[k], dtype=F64), Const(F64(0.7))], {"fmod": 1}))
add("Mod", "f32", lambda k: ([real(IMAGE[k]), Const(F32(0.7))], {"fmod": 1}))
for op in "Max Min Mean Sum".split():
    add(op, "f32", lambda k: ([real(IMAGE[k]), normal(IMAGE[k])], {}))
    add(op, "f32 of three", lambda k: ([real(IMAGE[k]), normal(IMAGE[k]), real(IMAGE[k], 0, 1)], {}))
for op in "Max Min".split():
    add(op, "f32 by a scalar", lambda k: ([real(IMAGE[k]), Const(F32(0.5))], {}))
    for dtype in (F64, I32, I64):
        add(op, type_name(dtype), lambda k, dtype=dtype: (
            [whole(IMAGE[k], -99, 99, dtype), whole(IMAGE[k], -9, 9, dtype)], {}))  # fmt: skip
add("Where", "f32", lambda k: ([flags(IMAGE[k]), real(IMAGE[k]), normal(IMAGE[k])], {}))
add("Where", "f32 by a scalar", lambda k: ([flags(IMAGE[k]), real(IMAGE[k]), Const(F32(-1e4))], {}))
add("Where", "attention mask", lambda k: (
    [flags((1, 1) + [(16, 16), (128, 128), (384, 384)][k]), real((1, 12) + [(16, 16), (128, 128), (384, 384)][k]),
     Const(F32(-1e4))], {}))  # fmt: skip
add("Where", "i64", lambda k: ([flags(IMAGE[k]), whole(IMAGE[k], 0, 9), whole(IMAGE[k], 0, 99)], {}))
add("Where", "u8", lambda k: ([flags(IMAGE[k]), whole(IMAGE[k], 0, 9, U8), whole(IMAGE[k], 0, 99, U8)], {}))
add("SwiGLU", "", lambda k: ([real(TOKENS[k]), real(TOKENS[k])], {}), opset=28)

# ---- reductions ----

REDUCTIONS = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()
for op in ("Reduce" + name for name in REDUCTIONS):
    since = 13 if op == "ReduceSum" else 18
    low, high = (0.9, 1.1) if op == "ReduceProd" else (0.1, 3)
    for variant, shapes, axes in (
        ("last axis", TOKENS, [-1]), ("length axis", TOKENS, [1]), ("H, W", IMAGE, [2, 3]), ("channels", IMAGE, [1]),
        ("all", TOKENS, None),
    ):  # fmt: skip
        add(op, variant, lambda k, s=shapes, a=axes, low=low, high=high: (
            [real(s[k], low, high)] + ([ints(*a)] if a else []), {"keepdims": 1}), opset=max(since, 18))  # fmt: skip
for op in "ReduceMax ReduceMean ReduceMin ReduceSum ReduceProd".split():
    for dtype in (I32, I64, F64):
        add(op, f"{type_name(dtype)} last axis", lambda k, dtype=dtype: (
            [whole(TOKENS[k], 0, 2, dtype), ints(-1)], {}), opset=18)  # fmt: skip
for op in "ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp".split():
    add(op, "f64 last axis", lambda k: ([real(TOKENS[k], 0.1, 3, F64), ints(-1)], {}), opset=18)
add("ReduceSum", "i64 first axis", lambda k: ([whole(TOKENS[k][1:], 0, 9), ints(0)], {}))
add("ReduceMax", "u8 last axis", lambda k: ([whole(TOKENS[k], 0, 99, U8), ints(-1)], {}), opset=18)
add("ReduceMax", "bool last axis", lambda k: ([flags(TOKENS[k], 0.01), ints(-1)], {}), opset=20)
for op in "ArgMax ArgMin".split():
    add(op, "last axis", lambda k: ([real(TOKENS[k])], {"axis": -1}))
    add(op, "channels", lambda k: ([real(IMAGE[k])], {"axis": 1}))
    add(op, "vocabulary", lambda k: ([real((1, [1000, 30522, 128256][k]))], {"axis": -1}))
    add(op, "i32 last axis", lambda k: ([whole(TOKENS[k], 0, 1 << 20, I32)], {"axis": -1}))
    add(op, "f64 last axis", lambda k: ([real(TOKENS[k], dtype=F64)], {"axis": -1}))
for op in "Softmax LogSoftmax".split():
    add(op, "f64 last axis", lambda k: ([real(TOKENS[k], dtype=F64)], {"axis": -1}))
    add(op, "f64 channels", lambda k: ([real(IMAGE[k], dtype=F64)], {"axis": 1}))
for op in "Softmax LogSoftmax Hardmax".split():
    add(op, "last axis", lambda k: ([real(TOKENS[k])], {"axis": -1}))
    add(op, "channels", lambda k: ([real(IMAGE[k])], {"axis": 1}))
    add(op, "classes", lambda k: ([real((1, [10, 1000, 30522][k]))], {"axis": -1}))
for variant, axis in (("last axis", -1), ("length axis", 1)):
    add("CumSum", variant, lambda k, axis=axis: ([real(TOKENS[k]), Const(I64(axis))], {}))
    add("CumProd", variant, lambda k, axis=axis: ([real(TOKENS[k], 0.99, 1.01), Const(I64(axis))], {}), opset=26)
add("CumSum", "f64 last axis", lambda k: ([real(TOKENS[k], dtype=F64), Const(I64(-1))], {}))
add("TopK", "f64", lambda k: ([real((1, [200, 8400, 100000][k]), dtype=F64), ints(5)], {}), outputs=2)
add("CumSum", "i64", lambda k: ([whole(TOKENS[k], 0, 2), Const(I64(1))], {}))
add("CumSum", "i32 last axis", lambda k: ([whole(TOKENS[k], 0, 2, I32), Const(I64(-1))], {}))
add("CumSum", "reverse exclusive", lambda k: (
    [real(TOKENS[k]), Const(I64(-1))], {"reverse": 1, "exclusive": 1}))  # fmt: skip
for count in (1, 5, 100):
    add("TopK", f"{count} of the last axis", lambda k, count=count: (
        [real((1, [200, 8400, 100000][k])), ints(count)], {}), outputs=2)  # fmt: skip
add("TopK", "5 of rows", lambda k: ([real(([8, 128, 1024][k], 1000)), ints(5)], {}), outputs=2)
add("TopK", "2 of experts", lambda k: ([real(([16, 256, 4096][k], 64)), ints(2)], {}), outputs=2)
add("TopK", "all, sorted", lambda k: ([real((1, [100, 2000, 20000][k])), ints([100, 2000, 20000][k])], {}), outputs=2)
add("TopK", "5 of channels", lambda k: ([real(IMAGE[k]), ints(5)], {"axis": 1}), outputs=2)
add("TopK", "i64", lambda k: ([whole((1, [200, 8400, 100000][k]), 0, 1 << 40), ints(5)], {}), outputs=2)
add("TopK", "1000 proposals", lambda k: ([real((1, [1200, 10000, 200000][k])), ints(1000)], {}), outputs=2)

# ---- normalization ----


def per_channel(n, low=0.5, high=1.5):
    return Const(real((n,), low, high))


def affine(k, shapes=IMAGE):
    n = shapes[k][1]
    return [real(shapes[k]), per_channel(n), per_channel(n, -1, 1)]


add("BatchNormalization", "", lambda k: (
    affine(k) + [per_channel(IMAGE[k][1], -1, 1), per_channel(IMAGE[k][1])], {}), opset=15)  # fmt: skip
add("InstanceNormalization", "", lambda k: (affine(k), {}))
add("InstanceNormalization", "1 dimension", lambda k: (affine(k, [(1, 8, 200), (1, 64, 4000), (1, 512, 2000)]), {}))
add("GroupNormalization", "", lambda k: (affine(k), {"num_groups": 8}))
add("LayerNormalization", "", lambda k: (
    [real(TOKENS[k]), per_channel(TOKENS[k][-1]), per_channel(TOKENS[k][-1])], {"axis": -1}))  # fmt: skip
add("BatchNormalization", "f64", lambda k: (
    [real(IMAGE[k], dtype=F64)] + [Const(real((IMAGE[k][1],), 0.5, 1.5, F64)) for _ in range(4)], {}), opset=15)  # fmt: skip
add("LayerNormalization", "f64", lambda k: (
    [real(TOKENS[k], dtype=F64)] + [Const(real(TOKENS[k][-1:], 0.5, 1.5, F64)) for _ in range(2)], {"axis": -1}))  # fmt: skip
add("RMSNormalization", "f64", lambda k: (
    [real(TOKENS[k], dtype=F64), Const(real(TOKENS[k][-1:], 0.5, 1.5, F64))], {"axis": -1}), opset=23)  # fmt: skip
add("LpNormalization", "f64 last axis", lambda k: ([real(TOKENS[k], dtype=F64)], {"axis": -1, "p": 2}))
add("RMSNormalization", "", lambda k: ([real(TOKENS[k]), per_channel(TOKENS[k][-1])], {"axis": -1}), opset=23)
add("SimplifiedLayerNormalization", "", lambda k: (
    [real(TOKENS[k]), per_channel(TOKENS[k][-1])], {"axis": -1}), types=[1])  # fmt: skip
add("LRN", "", lambda k: ([real(IMAGE[k])], {"size": 5, "alpha": 1e-4, "beta": 0.75}))
for p in (1, 2):
    add("LpNormalization", f"p {p} last axis", lambda k, p=p: ([real(TOKENS[k])], {"axis": -1, "p": p}))
add("LpNormalization", "p 2 channels", lambda k: ([real(IMAGE[k])], {"axis": 1, "p": 2}))
add("MeanVarianceNormalization", "", lambda k: ([real(IMAGE[k])], {}))
add("com.microsoft.SkipLayerNormalization", "", lambda k: (
    [real(TOKENS[k]), normal(TOKENS[k]), per_channel(TOKENS[k][-1]), per_channel(TOKENS[k][-1])], {}),
    types=[1])  # fmt: skip
add("com.microsoft.SkipSimplifiedLayerNormalization", "", lambda k: (
    [real(TOKENS[k]), normal(TOKENS[k]), per_channel(TOKENS[k][-1])], {}), types=[1])  # fmt: skip
add("com.microsoft.SimplifiedLayerNormalization", "", lambda k: (
    [real(TOKENS[k]), per_channel(TOKENS[k][-1])], {"axis": -1}), types=[1])  # fmt: skip
add("com.microsoft.EmbedLayerNormalization", "", lambda k: (
    [whole((1, [16, 128, 384][k]), 0, 5000, I32), None, Const(normal((5000, 768))), Const(normal((512, 768))), None,
     per_channel(768), per_channel(768)], {}), outputs=["y", "mask"], types=[1, 6])  # fmt: skip

# ---- movement ----

add("Concat", "channels", lambda k: ([real(IMAGE[k]), normal(IMAGE[k])], {"axis": 1}))
add("Concat", "last axis", lambda k: ([real(TOKENS[k]), normal(TOKENS[k])], {"axis": -1}))
add("Concat", "i64 last axis", lambda k: ([whole(TOKENS[k][:-1] + (1,), 0, 9)] * 1 + [
    whole(TOKENS[k][:-1] + (1,), 3, 9)], {"axis": -1}))  # fmt: skip
add("Split", "channels", lambda k: ([real(IMAGE[k])], {"axis": 1, "num_outputs": 2}), outputs=2)
add("Split", "last axis", lambda k: ([real(TOKENS[k])], {"axis": -1, "num_outputs": 4}), outputs=4)
add("Slice", "channels", lambda k: ([real(IMAGE[k]), ints(0), ints(IMAGE[k][1] // 2), ints(1)], {}))
add("Slice", "crop", lambda k: ([real(IMAGE[k]), ints(1, 1), ints(-1, -1), ints(2, 3)], {}))
add("Slice", "step 2", lambda k: ([real(IMAGE[k]), ints(0, 0), ints(999, 999), ints(2, 3), ints(2, 2)], {}))
add("Slice", "reversed", lambda k: ([real(TOKENS[k]), ints(-1), ints(-999), ints(1), ints(-1)], {}))
add("Slice", "i64 last axis", lambda k: ([whole(TOKENS[k], 0, 9), ints(0), ints(32), ints(-1)], {}))
for mode in ("constant", "reflect", "edge", "wrap"):
    add("Pad", mode, lambda k, mode=mode: (
        [real(IMAGE[k]), ints(0, 0, 1, 1, 0, 0, 1, 1)], {"mode": mode}))  # fmt: skip
add("Pad", "u8", lambda k: ([whole(IMAGE[k], 0, 9, U8), ints(0, 0, 1, 1, 0, 0, 1, 1), Const(U8(3))], {}))
add("Tile", "rows", lambda k: ([real((1, 1, [64, 768, 4096][k])), ints(1, [16, 128, 256][k], 1)], {}))
add("Tile", "elements", lambda k: ([real(([64, 1024, 16384][k], 1)), ints(1, 64)], {}))
add("Tile", "images", lambda k: ([real((1, 8) + [(7, 7), (28, 28), (56, 56)][k]), ints(1, 4, 2, 2)], {}))
add("Tile", "i64", lambda k: ([whole((1, [64, 768, 4096][k]), 0, 9), ints([16, 128, 256][k], 1)], {}))
add("Expand", "rows", lambda k: ([real((1, 1, [64, 768, 4096][k])), ints(1, [16, 128, 256][k], 1)], {}))
add("Expand", "elements", lambda k: ([real(([64, 1024, 16384][k], 1)), ints([64, 1024, 16384][k], 64)], {}))
add("Expand", "i64", lambda k: ([whole((1, [64, 768, 4096][k]), 0, 9), ints([16, 128, 256][k], 1)], {}))
add("Expand", "bool mask", lambda k: (
    [flags((1, 1, 1, [16, 128, 384][k])), ints(1, 12, [16, 128, 384][k], [16, 128, 384][k])], {}))  # fmt: skip
for variant, shapes, perm in (
    ("to NHWC", IMAGE, (0, 2, 3, 1)), ("from NHWC", IMAGE, (0, 3, 1, 2)), ("last two", TOKENS, (0, 2, 1)),
    ("heads", [(1, 16, 12, 64), (1, 128, 12, 64), (4, 384, 12, 64)], (0, 2, 1, 3)),
    ("keys", [(1, 16, 12, 64), (1, 128, 12, 64), (4, 384, 12, 64)], (0, 2, 3, 1)),
    ("shuffle", [(1, 2, 8, 14, 14), (1, 2, 58, 28, 28), (1, 4, 64, 56, 56)], (0, 2, 1, 3, 4)),
    ("windows", [(1, 2, 7, 2, 7, 32), (1, 8, 7, 8, 7, 96), (2, 8, 7, 8, 7, 192)], (0, 1, 3, 2, 4, 5)),
):  # fmt: skip
    add("Transpose", variant, lambda k, s=shapes, perm=perm: ([real(s[k])], {"perm": perm}))
add("Transpose", "u8 to NHWC", lambda k: ([whole(IMAGE[k], 0, 99, U8)], {"perm": (0, 2, 3, 1)}))
add("Transpose", "i64 last two", lambda k: ([whole(TOKENS[k], 0, 99)], {"perm": (0, 2, 1)}))
for mode in ("DCR", "CRD"):
    add("DepthToSpace", mode, lambda k, mode=mode: ([real(IMAGE[k])], {"blocksize": 2, "mode": mode}))
add("SpaceToDepth", "", lambda k: ([real(IMAGE[k])], {"blocksize": 2}))
add("SpaceToDepth", "image", lambda k: ([real((1, 3) + [(32, 32), (224, 224), (640, 640)][k])], {"blocksize": 2}))
N = [100, 5000, 30522]
add("Gather", "embedding", lambda k: ([Const(real((N[k], [64, 256, 768][k]))), whole((1, [16, 128, 512][k]), 0, N[k])], {}))
add("Gather", "rows", lambda k: ([real((N[k], 64)), whole(([16, 512, 4096][k],), 0, N[k])], {}))
add("Gather", "elements", lambda k: ([real((N[k],)), whole(([64, 4096, 100000][k],), 0, N[k])], {}))
add("Gather", "i64 elements", lambda k: ([whole((N[k],), 0, 99), whole(([64, 4096, 100000][k],), 0, N[k])], {}))
add("Gather", "last axis", lambda k: ([real(TOKENS[k]), whole((32,), 0, 64)], {"axis": -1}))
add("Gather", "one column", lambda k: ([real(TOKENS[k]), Const(I64(0))], {"axis": 1}))
add("Gather", "i64 last axis", lambda k: ([whole(TOKENS[k], 0, 9), ints(0)], {"axis": -1}))
add("GatherElements", "last axis", lambda k: ([real(TOKENS[k]), whole(TOKENS[k], 0, 64)], {"axis": -1}))
add("GatherElements", "rows", lambda k: ([real(TOKENS[k]), whole(TOKENS[k], 0, 16)], {"axis": 1}))
add("GatherElements", "i64", lambda k: ([whole(TOKENS[k], 0, 99), whole(TOKENS[k], 0, 64)], {"axis": -1}))
add("GatherElements", "boxes", lambda k: (
    [real((1, [200, 8400, 100000][k], 4)), np.repeat(whole((1, [50, 300, 1000][k], 1), 0, 200), 4, 2)], {"axis": 1}))  # fmt: skip
add("GatherND", "rows", lambda k: ([real((N[k], 64)), whole(([16, 512, 4096][k], 1), 0, N[k])], {}))
add("GatherND", "elements", lambda k: ([real(TOKENS[k][1:]), whole(([64, 4096, 100000][k], 2), 0, 16)], {}))
add("GatherND", "batch", lambda k: (
    [real((4,) + TOKENS[k][1:]), whole((4, [8, 64, 300][k], 1), 0, 16)], {"batch_dims": 1}))  # fmt: skip
for reduction in ("none", "add"):
    add("ScatterElements", f"last axis {reduction}", lambda k, r=reduction: (
        [real(TOKENS[k]), np.argsort(real(TOKENS[k]), -1)[..., :32].astype(I64), normal(TOKENS[k][:-1] + (32,))],
        {"axis": -1, "reduction": r}), opset=18)  # fmt: skip
    add("ScatterND", f"rows {reduction}", lambda k, r=reduction: (
        [real((N[k], 64)), rng().permutation(N[k])[: [16, 512, 4096][k], None].astype(I64), normal(([16, 512, 4096][k], 64))],
        {"reduction": r}), opset=18)  # fmt: skip
add("ScatterElements", "i64 rows", lambda k: (
    [whole(TOKENS[k], 0, 9), np.argsort(real(TOKENS[k]), 1).astype(I64), whole(TOKENS[k], 0, 99)], {"axis": 1}))  # fmt: skip
add("ScatterND", "elements", lambda k: (
    [real(TOKENS[k][1:]), np.stack([np.arange([16, 128, 384][k])] * 2, 1), normal(([16, 128, 384][k],))], {}))  # fmt: skip
add("TensorScatter", "", lambda k: (
    [real((1, 12, [64, 512, 2048][k], 64)), normal((1, 12, 1, 64)), whole((1,), 5, 9)], {}), opset=24)  # fmt: skip
add("OneHot", "", lambda k: ([whole(([16, 128, 1024][k],), 0, 100), ints([100, 1000, 1000][k]),
                             Const(np.array([0, 1], F32))], {}))  # fmt: skip
add("OneHot", "i64", lambda k: ([whole(([16, 128, 1024][k],), 0, 100), ints([100, 1000, 1000][k]),
                                Const(np.array([0, 1], I64))], {}))  # fmt: skip
SQUARE = [(1, 16, 16), (1, 128, 128), (1, 1024, 1024)]
for upper in (0, 1):
    add("Trilu", "upper" if upper else "lower", lambda k, upper=upper: ([real(SQUARE[k])], {"upper": upper}))
add("Trilu", "i64", lambda k: ([whole(SQUARE[k], 0, 9)], {"upper": 1}))
add("Trilu", "bool", lambda k: ([flags(SQUARE[k])], {"upper": 0}))
add("EyeLike", "", lambda k: ([real(SQUARE[k][1:])], {}))
add("ConstantOfShape", "f32", lambda k: (
    [np.array(IMAGE[k], I64)], {"value": helper.make_tensor("v", 1, [1], [0.5])}))  # fmt: skip
add("ConstantOfShape", "i64", lambda k: (
    [np.array(IMAGE[k], I64)], {"value": helper.make_tensor("v", 7, [1], [1])}))  # fmt: skip
for dtype in (F32, I64, I32):
    add("Range", type_name(dtype), lambda k, dtype=dtype: (
        [np.array(0, dtype), np.array([64, 4096, 1 << 20][k], dtype), np.array(1, dtype)], {}))  # fmt: skip
for share in (0.02, 0.5):
    add("NonZero", f"bool {share}", lambda k, share=share: ([flags(IMAGE[k][2:] if k < 1 else TOKENS[k][1:], share)], {}))
add("NonZero", "f32", lambda k: ([flags(ROWS[k], 0.3).astype(F32)], {}))
add("NonZero", "i64", lambda k: ([flags(TOKENS[k], 0.1).astype(I64)], {}))
add("Compress", "rows", lambda k: ([real((N[k], 64)), flags((N[k],))], {"axis": 0}))
add("Compress", "elements", lambda k: ([real(ROWS[k]), flags(ROWS[k])], {}))
add("Compress", "last axis", lambda k: ([real(TOKENS[k]), flags(TOKENS[k][-1:])], {"axis": 2}))
SHORT = [(64,), (4096,), (100000,)]
add("Unique", "sorted i64", lambda k: ([whole(SHORT[k], 0, 1000)], {"sorted": 1}))
add("Unique", "all outputs", lambda k: ([whole(SHORT[k], 0, 1000)], {"sorted": 1}), outputs=4)
add("Unique", "unsorted f32", lambda k: ([whole(SHORT[k], 0, 1000, F32)], {"sorted": 0}))
add("ReverseSequence", "", lambda k: (
    [real((TOKENS[k][1], 4, 64)), whole((4,), 2, TOKENS[k][1])], {"time_axis": 0, "batch_axis": 1}))  # fmt: skip
add("CenterCropPad", "", lambda k: (
    [real(IMAGE[k]), Const(np.array([IMAGE[k][2] - 4, IMAGE[k][3] + 4], I64))], {"axes": [2, 3]}))  # fmt: skip
add("Reshape", "", lambda k: ([real(IMAGE[k]), ints(1, -1)], {}))
add("Flatten", "", lambda k: ([real(IMAGE[k])], {}))
add("Squeeze", "", lambda k: ([real(IMAGE[k]), ints(0)], {}))
add("Unsqueeze", "", lambda k: ([real(IMAGE[k]), ints(0)], {}))
add("Shape", "", lambda k: ([real(IMAGE[k])], {}))
add("Size", "", lambda k: ([real(IMAGE[k])], {}))
add("Constant", "", lambda k: ([], {"value": helper.make_tensor("v", 1, IMAGE[k], real(IMAGE[k]).ravel())}))
add("Det", "", lambda k: ([real(([4, 64, 512][k], 4, 4))], {}))
for mode, axis in (("last axis", -2), ("rows", 1)):
    add("DFT", mode, lambda k, axis=axis: (
        [real((1, [64, 256, 1024][k], [64, 256, 512][k], 1)), None, Const(I64(axis))], {}), opset=20)  # fmt: skip
add("DFT", "400 onesided", lambda k: (
    [real(([1, 100, 1000][k], 400, 1)), None, Const(I64(1))], {"onesided": 1}), opset=20)  # fmt: skip
add("DFT", "inverse", lambda k: (
    [real(([1, 100, 1000][k], 512, 2)), None, Const(I64(1))], {"inverse": 1}), opset=20)  # fmt: skip
add("STFT", "512", lambda k: (
    [real((1, [2048, 16000, 160000][k], 1)), Const(I64(160)), Const(real((512,), 0, 1))], {}), opset=17)  # fmt: skip
add("STFT", "400", lambda k: (
    [real((1, [2048, 16000, 160000][k], 1)), Const(I64(160)), Const(real((400,), 0, 1))], {}), opset=17)  # fmt: skip
for op in "BlackmanWindow HammingWindow HannWindow".split():
    add(op, "", lambda k: ([np.array([16, 400, 16384][k], I64)], {}), opset=17)
add("MelWeightMatrix", "", lambda k: (
    [np.array(v) for v in (I64([8, 40, 128][k]), I64([64, 400, 1024][k]), I64(16000), F32(20), F32(8000))], {}),
    opset=17)  # fmt: skip
add("TfIdfVectorizer", "", lambda k: ([whole(([8, 64, 256][k], [16, 128, 512][k]), 0, 500)], {
    "max_gram_length": 2, "max_skip_count": 0, "min_gram_length": 1, "mode": "TF", "ngram_counts": [0, 200],
    "ngram_indexes": list(range(400)), "pool_int64s": list(range(200)) + [i % 500 for i in range(3, 403)]}))  # fmt: skip

# ---- convolutions and pools ----


def conv(x, w, bias=True, **attributes):
    """A Conv of the input x by constant weights of shape w."""
    scale = 1 / np.sqrt(np.prod(w[1:]))
    inputs = [normal(x), Const(normal(w, scale))]
    return inputs + ([Const(normal((w[0],)))] if bias else []), attributes


def square(side, n=2):
    return (side,) * n


SIDE, WIDE = [14, 28, 56], [16, 64, 128]
for kernel in (1, 3, 5):
    add("Conv", f"{kernel}x{kernel}", lambda k, s=kernel: conv(
        (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], WIDE[k], s, s), pads=[s // 2] * 4))  # fmt: skip
add("Conv", "3x3 stride 2", lambda k: conv(
    (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], WIDE[k], 3, 3), pads=[1] * 4, strides=[2, 2]))  # fmt: skip
add("Conv", "7x7 stem", lambda k: conv(
    (1, 3) + square([32, 112, 224][k]), (64, 3, 7, 7), pads=[3] * 4, strides=[2, 2]))  # fmt: skip
for kernel in (3, 5, 7):
    add("Conv", f"depthwise {kernel}x{kernel}", lambda k, s=kernel: conv(
        (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], 1, s, s), pads=[s // 2] * 4, group=WIDE[k]))  # fmt: skip
add("Conv", "depthwise 3x3 stride 2", lambda k: conv(
    (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], 1, 3, 3), pads=[1] * 4, strides=[2, 2], group=WIDE[k]))  # fmt: skip
add("Conv", "grouped 3x3", lambda k: conv(
    (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], WIDE[k] // 8, 3, 3), pads=[1] * 4, group=8))  # fmt: skip
add("Conv", "32 groups of 4", lambda k: conv(
    (1, 128) + square(SIDE[k]), (128, 4, 3, 3), pads=[1] * 4, group=32))  # fmt: skip
for rate in (2, 12):
    add("Conv", f"dilated {rate}", lambda k, r=rate: conv(
        (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], WIDE[k], 3, 3), pads=[r] * 4, dilations=[r, r]))  # fmt: skip
for n in (1, 2, 3):
    add("Conv", f"3x3 to {n}", lambda k, n=n: conv(
        (1, [16, 32, 64][k]) + square([14, 56, 160][k]), (n, [16, 32, 64][k], 3, 3), pads=[1] * 4))  # fmt: skip
add("Conv", "1x1 to 1", lambda k: conv((1, 64) + square([14, 56, 160][k]), (1, 64, 1, 1)))
add("Conv", "1d 3", lambda k: conv((1, WIDE[k], [50, 400, 3000][k]), (WIDE[k], WIDE[k], 3), pads=[1, 1]))
add("Conv", "1d 9 stride 2", lambda k: conv(
    (1, WIDE[k], [50, 400, 3000][k]), (WIDE[k], WIDE[k], 9), pads=[4, 4], strides=[2]))  # fmt: skip
add("Conv", "1d waveform", lambda k: conv((1, 1, [800, 4000, 16000][k]), (128, 1, 10), strides=[5]))
add("Conv", "1d depthwise 31", lambda k: conv(
    (1, WIDE[k], [50, 400, 1000][k]), (WIDE[k], 1, 31), pads=[15, 15], group=WIDE[k]))  # fmt: skip
add("Conv", "3d 3x3x3", lambda k: conv(
    (1, [4, 16, 32][k]) + square([6, 16, 28][k], 3), ([4, 16, 32][k], [4, 16, 32][k], 3, 3, 3), pads=[1] * 6))  # fmt: skip
add("Conv", "3d 1x1x1", lambda k: conv(
    (1, [4, 16, 32][k]) + square([6, 16, 28][k], 3), ([4, 16, 32][k], [4, 16, 32][k], 1, 1, 1)))  # fmt: skip
add("Conv", "3d stem", lambda k: conv(
    (1, 3, [4, 8, 16][k]) + square([16, 56, 112][k]), (32, 3, 3, 7, 7), pads=[1, 3, 3] * 2, strides=[1, 2, 2]))  # fmt: skip
add("Conv", "f64", lambda k: (
    [normal((1, [4, 16, 32][k], 14, 14), dtype=F64), Const(normal(([4, 16, 32][k], [4, 16, 32][k], 3, 3), dtype=F64))], {}))  # fmt: skip
add("com.microsoft.FusedConv", "Relu", lambda k: conv(
    (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], WIDE[k], 3, 3), pads=[1] * 4, activation="Relu"), types=[1])  # fmt: skip
for variant, size, out, attributes in (
    ("2x2", 2, 0, {"strides": [2, 2]}), ("3x3 stride 2", 3, 0, {"strides": [2, 2], "pads": [1] * 4}),
    ("4x4 stride 2", 4, 0, {"strides": [2, 2], "pads": [1] * 4}), ("2x2 to 1", 2, 1, {"strides": [2, 2]}),
    ("4x4 to 3", 4, 3, {"strides": [2, 2], "pads": [1] * 4}), ("3x3 stride 1", 3, 0, {"pads": [1] * 4}),
):  # fmt: skip
    add("ConvTranspose", variant, lambda k, size=size, out=out, a=attributes: conv(
        (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], out or WIDE[k] // 2, size, size), False, **a))  # fmt: skip
add("ConvTranspose", "1d", lambda k: conv(
    (1, WIDE[k], [20, 100, 500][k]), (WIDE[k], WIDE[k] // 2, 16), False, strides=[8], pads=[4, 4]))  # fmt: skip
add("ConvTranspose", "3d", lambda k: conv(
    (1, [4, 16, 32][k]) + square([4, 8, 14][k], 3), ([4, 16, 32][k], [4, 16, 32][k], 2, 2, 2), False, strides=[2] * 3))  # fmt: skip
add("ConvTranspose", "depthwise", lambda k: conv(
    (1, WIDE[k]) + square(SIDE[k]), (WIDE[k], 1, 4, 4), False, strides=[2, 2], pads=[1] * 4, group=WIDE[k]))  # fmt: skip
add("DeformConv", "", lambda k: (
    [normal((1, WIDE[k]) + square(SIDE[k])), Const(normal((WIDE[k], WIDE[k], 3, 3), 0.1)),
     normal((1, 18) + square(SIDE[k])), Const(normal((WIDE[k],))), real((1, 9) + square(SIDE[k]), 0, 1)],
    {"pads": [1] * 4}), opset=22)  # fmt: skip
add("CausalConvWithState", "", lambda k: (
    [normal((1, WIDE[k], [1, 64, 512][k])), Const(normal((WIDE[k], 1, 4))), Const(normal((WIDE[k],))), normal((1, WIDE[k], 3))],
    {}), outputs=2, opset=27)  # fmt: skip
add("Col2Im", "", lambda k: (
    [normal((1, [4, 16, 64][k] * 9, SIDE[k] ** 2)), ints(*square(SIDE[k])), ints(3, 3)], {"pads": [1] * 4}))  # fmt: skip
for op in ("MaxPool", "AveragePool", "LpPool"):
    for size, stride in ((2, 2), (3, 2), (3, 1), (5, 1)):
        add(op, f"{size}x{size} stride {stride}", lambda k, size=size, stride=stride: (
            [real(IMAGE[k])], {"kernel_shape": [size] * 2, "strides": [stride] * 2, "pads": [size // 2 if size > 2 else 0] * 4}))  # fmt: skip
add("MaxPool", "2x2 with indices", lambda k: (
    [real(IMAGE[k])], {"kernel_shape": [2, 2], "strides": [2, 2]}), outputs=2)  # fmt: skip
add("MaxPool", "3x3 with indices", lambda k: (
    [real(IMAGE[k])], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}), outputs=2)  # fmt: skip
add("MaxPool", "13x13", lambda k: ([real(IMAGE[k])], {"kernel_shape": [13, 13], "pads": [6] * 4}))
add("MaxPool", "1d", lambda k: ([real((1, WIDE[k], [50, 400, 3000][k]))], {"kernel_shape": [3], "strides": [2]}))
add("MaxPool", "3d", lambda k: ([real((1, [4, 16, 32][k]) + square([6, 16, 28][k], 3))], {
    "kernel_shape": [2] * 3, "strides": [2] * 3}))  # fmt: skip
add("MaxPool", "u8", lambda k: ([whole(IMAGE[k], 0, 99, U8)], {"kernel_shape": [2, 2], "strides": [2, 2]}))
add("AveragePool", "1d", lambda k: ([real((1, WIDE[k], [50, 400, 3000][k]))], {"kernel_shape": [3], "strides": [2]}))
add("AveragePool", "3d", lambda k: ([real((1, [4, 16, 32][k]) + square([6, 16, 28][k], 3))], {
    "kernel_shape": [2] * 3, "strides": [2] * 3}))  # fmt: skip
for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    add(op, "", lambda k: ([real(IMAGE[k])], {}))
    add(op, "7x7", lambda k: ([real((1, [64, 512, 2048][k], 7, 7))], {}))
add("MaxUnpool", "", lambda k: ([real(IMAGE[k]), whole((1,) + IMAGE[k][1:], 0, 4) + 4 * np.arange(
    np.prod(IMAGE[k])).reshape(IMAGE[k])], {"kernel_shape": [2, 2], "strides": [2, 2]}))  # fmt: skip
add("com.microsoft.NhwcMaxPool", "u8", lambda k: (
    [whole((1,) + square(SIDE[k]) + (WIDE[k],), 0, 99, U8)], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
    types=[2])  # fmt: skip

# ---- images ----

for mode in ("nearest", "linear", "cubic"):
    add("Resize", f"{mode} x2", lambda k, mode=mode: (
        [real(IMAGE[k]), None, Const(F32([1, 1, 2, 2]))],
        {"mode": mode, "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}), opset=19)  # fmt: skip
    add("Resize", f"{mode} half pixel to 0.6", lambda k, mode=mode: (
        [real(IMAGE[k]), None, Const(F32([1, 1, 0.6, 0.6]))], {"mode": mode}), opset=19)  # fmt: skip
add("Resize", "linear align corners x8", lambda k: (
    [real((1, [4, 19, 21][k]) + square([7, 28, 65][k])), None, Const(F32([1, 1, 8, 8]))],
    {"mode": "linear", "coordinate_transformation_mode": "align_corners"}), opset=19)  # fmt: skip
add("Resize", "photo to 224", lambda k: (
    [real((1, 3) + [(64, 64), (480, 640), (1080, 1920)][k]), None, None, ints(1, 3, 224, 224)],
    {"mode": "linear", "antialias": k % 2}), opset=19, tolerance=1e-3)  # fmt: skip
add("Resize", "u8 linear", lambda k: (
    [whole((1, 3) + [(64, 64), (480, 640), (1080, 1920)][k], 0, 255, U8), None, None, ints(1, 3, 224, 224)],
    {"mode": "linear"}), opset=19, tolerance=1)  # fmt: skip
add("Resize", "NHWC linear x2", lambda k: (
    [real((1,) + square(SIDE[k]) + (WIDE[k],)), None, Const(F32([1, 2, 2, 1]))], {"mode": "linear"}), opset=19)  # fmt: skip
add("Resize", "3d linear x2", lambda k: (
    [real((1, [2, 4, 16][k]) + square([6, 16, 28][k], 3)), None, Const(F32([1, 1, 2, 2, 2]))], {"mode": "linear"}), opset=19)  # fmt: skip
for mode in ("linear", "nearest", "cubic"):
    add("GridSample", mode, lambda k, mode=mode: (
        [real(IMAGE[k]), real((1,) + IMAGE[k][2:] + (2,), -1.1, 1.1)], {"mode": mode}), opset=20)  # fmt: skip
add("GridSample", "border", lambda k: (
    [real(IMAGE[k]), real((1,) + IMAGE[k][2:] + (2,), -1.1, 1.1)], {"padding_mode": "border", "align_corners": 1}), opset=20)  # fmt: skip
add("GridSample", "deformable attention", lambda k: (
    [real((8, 32) + square(SIDE[k])), real((8, [100, 300, 900][k], 4, 2), -1, 1)], {}), opset=20)  # fmt: skip
add("GridSample", "3d", lambda k: (
    [real((1, [2, 4, 8][k]) + square([6, 12, 20][k], 3)), real((1,) + square([6, 12, 20][k], 3) + (3,), -1, 1)], {}), opset=20)  # fmt: skip
add("AffineGrid", "", lambda k: ([real((1, 2, 3)), Const(np.array(IMAGE[k], I64))], {}), opset=20)


def boxes(n, side):
    corner, size = real((n, 2), 0, side * 0.8), real((n, 2), side * 0.05, side * 0.2)
    return np.concatenate([corner, corner + size[:, ::-1]], 1).astype(F32)


for mode in ("avg", "max"):
    add("RoiAlign", mode, lambda k, mode=mode: (
        [real((1, WIDE[k]) + square(SIDE[k])), boxes([8, 100, 300][k], SIDE[k] * 16), np.zeros([8, 100, 300][k], I64)],
        {"output_height": 7, "output_width": 7, "sampling_ratio": 2, "spatial_scale": 1 / 16, "mode": mode}), opset=16)  # fmt: skip
add("NonMaxSuppression", "1 class", lambda k: (
    [boxes([100, 1000, 8400][k], 640)[None], real((1, 1, [100, 1000, 8400][k]), 0, 1), ints(100), Const(F32([0.5])),
     Const(F32([0.25]))], {}))  # fmt: skip
add("NonMaxSuppression", "20 classes", lambda k: (
    [boxes([100, 500, 2000][k], 640)[None], real((1, 20, [100, 500, 2000][k]), 0, 1) ** 4, ints(100), Const(F32([0.5])),
     Const(F32([0.25]))], {}))  # fmt: skip

# ---- products ----


def product(m, k, n, dtype=F32, constant=True):
    b = normal((k, n), 1 / np.sqrt(k), dtype)
    return [normal((m, k), 1, dtype), Const(b) if constant else b], {}


add("MatMul", "f32", lambda k: product([16, 128, 512][k], [64, 256, 768][k], [64, 256, 768][k]))
add("MatMul", "f32 computed", lambda k: product(*[(16, 64, 64), (128, 256, 256), (512, 768, 768)][k], constant=False))
add("MatMul", "f32 one row", lambda k: product(1, [64, 512, 2048][k], [64, 512, 2048][k]))
add("MatMul", "f32 one row computed", lambda k: product(1, [64, 512, 2048][k], [64, 512, 2048][k], constant=False))
add("MatMul", "f32 one column", lambda k: product([64, 512, 2048][k], [64, 512, 2048][k], 1))
add("MatMul", "f32 by a vector", lambda k: (
    [normal(square([64, 512, 2048][k])), Const(normal(([64, 512, 2048][k],)))], {}))  # fmt: skip
add("MatMul", "f32 vector by a matrix", lambda k: (
    [normal(([64, 512, 2048][k],)), Const(normal(square([64, 512, 2048][k])))], {}))  # fmt: skip
add("MatMul", "f32 scores", lambda k: (
    [normal((1, 12, [16, 128, 384][k], 64)), normal((1, 12, 64, [16, 128, 384][k]))], {}))  # fmt: skip
add("MatMul", "f32 context", lambda k: (
    [normal((1, 12) + square([16, 128, 384][k])), normal((1, 12, [16, 128, 384][k], 64))], {}))  # fmt: skip
add("MatMul", "f32 small batches", lambda k: ([normal(([4, 64, 1024][k], 4, 4)), normal(([4, 64, 1024][k], 4, 4))], {}))
add("MatMul", "f64", lambda k: product([16, 128, 256][k], [64, 256, 512][k], [64, 256, 512][k], F64))
add("MatMul", "f64 computed", lambda k: product(*[(16, 64, 64), (128, 256, 256), (256, 512, 512)][k], F64, False))
add("MatMul", "f64 one row", lambda k: product(1, [64, 512, 1024][k], [64, 512, 1024][k], F64))
add("MatMul", "i32", lambda k: ([whole((16, [16, 64, 256][k]), 0, 9, I32), whole(([16, 64, 256][k], 64), 0, 9, I32)], {}))
add("Gemm", "transposed weights", lambda k: (
    [normal(([1, 32, 256][k], [64, 256, 768][k])), Const(normal(([64, 256, 768][k], [64, 256, 768][k]), 0.05)),
     Const(normal(([64, 256, 768][k],)))], {"transB": 1}))  # fmt: skip
add("Gemm", "one row", lambda k: (
    [normal((1, [64, 512, 2048][k])), Const(normal((1000, [64, 512, 2048][k]), 0.05)), Const(normal((1000,)))], {"transB": 1}))  # fmt: skip
add("Gemm", "transposed input", lambda k: (
    [normal(([64, 256, 768][k], [16, 32, 256][k])), Const(normal(([64, 256, 768][k], 256), 0.05))], {"transA": 1}))  # fmt: skip
add("Gemm", "f64", lambda k: (
    [normal(([1, 32, 128][k], [64, 256, 512][k]), dtype=F64), Const(normal(([64, 256, 512][k], 256), dtype=F64))], {}))  # fmt: skip
add("com.microsoft.FusedGemm", "Relu", lambda k: (
    [normal(([1, 32, 256][k], [64, 256, 768][k])), Const(normal(([64, 256, 768][k], [64, 256, 768][k]), 0.05)),
     Const(normal(([64, 256, 768][k],)))], {"transB": 1, "activation": "Relu"}), types=[1])  # fmt: skip
for op in ("FusedMatMul", "TransposeMatMul"):
    add(f"com.microsoft.{op}", "scores", lambda k: (
        [normal((1, 12, [16, 128, 384][k], 64)), normal((1, 12, [16, 128, 384][k], 64))], {"transB": 1, "alpha": 0.125}), types=[1])  # fmt: skip
EINSUMS = (
    ("bhid,bhjd->bhij", [((1, 4, 16, 32),) * 2, ((1, 12, 128, 64),) * 2, ((1, 12, 384, 64),) * 2]),
    ("bhij,bhjd->bhid", [((1, 4, 16, 16), (1, 4, 16, 32)), ((1, 12, 128, 128), (1, 12, 128, 64)),
                         ((1, 12, 384, 384), (1, 12, 384, 64))]),
    ("bij,jk->bik", [((1, 16, 64), (64, 64)), ((1, 128, 256), (256, 256)), ((4, 128, 768), (768, 768))]),
    ("nctv,vw->nctw", [((1, 4, 8, 25), (25, 25)), ((1, 16, 75, 25), (25, 25)), ((1, 64, 300, 25), (25, 25))]),
    ("bfnd,ndh->bfh", [((1, 16, 4, 16), (4, 16, 64)), ((1, 128, 12, 64), (12, 64, 256)), ((1, 384, 12, 64), (12, 64, 768))]),
    ("i,j->ij", [((16,), (32,)), ((512,), (64,)), ((2048,), (512,))]),
    ("bij->bji", [((1, 16, 16),), ((1, 128, 128),), ((1, 1024, 512),)]),
    ("bij,bij->b", [((4, 8, 16),) * 2, ((4, 64, 256),) * 2, ((4, 512, 512),) * 2]),
    ("bchw,bkc->bkhw", [((1, 16, 14, 14), (1, 8, 16)), ((1, 64, 28, 28), (1, 100, 64)), ((1, 256, 56, 56), (1, 100, 256))]),
    ("ij->i", [((16, 16),), ((256, 256),), ((2048, 512),)]),
    ("ii->i", [((16, 16),), ((256, 256),), ((1024, 1024),)]),
)  # fmt: skip
for equation, shapes in EINSUMS:
    add("Einsum", equation, lambda k, e=equation, s=shapes: ([normal(x) for x in s[k]], {"equation": e}))
add("com.microsoft.MatMulNBits", "4 bits", lambda k: (
    [normal(([1, 16, 128][k], [256, 1024, 2048][k])), Const(whole((512, [256, 1024, 2048][k] // 32, 16), 0, 255, U8)),
     Const(real((512, [256, 1024, 2048][k] // 32), 0.005, 0.01))],
    {"K": [256, 1024, 2048][k], "N": 512, "bits": 4, "block_size": 32}), types=[1])  # fmt: skip

# ---- attention and other layers of transformers ----

QKV = [(1, 4, 16, 32), (1, 12, 128, 64), (1, 12, 384, 64)]
add("Attention", "", lambda k: ([normal(QKV[k]), normal(QKV[k]), normal(QKV[k])], {}), opset=23)
add("Attention", "causal", lambda k: ([normal(QKV[k]), normal(QKV[k]), normal(QKV[k])], {"is_causal": 1}), opset=23)
add("com.microsoft.Attention", "", lambda k: (
    [normal((1, [16, 128, 384][k], 768), 0.1), Const(normal((768, 2304), 0.05)), Const(normal((2304,)))], {"num_heads": 12}),
    types=[1])  # fmt: skip
add("com.microsoft.MultiHeadAttention", "", lambda k: (
    [normal((1, [16, 128, 384][k], 768))] * 3, {"num_heads": 12}), types=[1])  # fmt: skip
add("RotaryEmbedding", "", lambda k: (
    [normal(QKV[k]), Const(real((512, QKV[k][3] // 2), -1, 1)), Const(real((512, QKV[k][3] // 2), -1, 1)),
     np.arange(QKV[k][2])[None]], {}), opset=23)  # fmt: skip
add("LinearAttention", "", lambda k: (
    [normal((1, [16, 64, 256][k], 256))] * 3, {"q_num_heads": 4, "kv_num_heads": 4}), outputs=2, opset=27)  # fmt: skip
for op in ("Gelu", "QuickGelu", "FastGelu"):
    add(f"com.microsoft.{op}", "", lambda k: ([real(TOKENS[k])], {}), types=[1])
add("com.microsoft.BiasGelu", "", lambda k: ([real(TOKENS[k]), Const(real(TOKENS[k][-1:]))], {}), types=[1])


def recurrent(k, gates, sizes=((16, 32), (64, 128), (128, 256)), steps=(10, 50, 100), directions=1):
    inputs, hidden = sizes[k]
    return [normal((steps[k], 1, inputs)), Const(normal((directions, gates * hidden, inputs), 0.1)),
            Const(normal((directions, gates * hidden, hidden), 0.1)), Const(normal((directions, 2 * gates * hidden), 0.1))], {
            "hidden_size": hidden, "direction": ["forward", "bidirectional"][directions - 1]}  # fmt: skip


for op, gates, extra in (("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1}), ("RNN", 1, {})):
    for directions, variant in ((1, ""), (2, "bidirectional")):
        if op == "RNN":
            extra = {"activations": ["Tanh"] * directions}

        def build(k, gates=gates, extra=extra, directions=directions):
            inputs, attributes = recurrent(k, gates, directions=directions)
            return inputs, {**attributes, **extra}

        add(op, variant, build, outputs=2)


def quantized_lstm(k):
    n, hidden = [(16, 32), (64, 128), (128, 256)][k]
    zero, scale = Const(np.zeros((1, 4 * hidden), I8)), Const(np.full((1, 4 * hidden), 0.002, F32))
    return [normal((10, 1, n)), Const(whole((1, n, 4 * hidden), -99, 99, I8)), Const(whole((1, hidden, 4 * hidden), -99, 99, I8)),
            Const(normal((1, 8 * hidden), 0.1)), None, None, None, None, scale, zero, scale, zero], {
            "hidden_size": hidden, "direction": "forward"}  # fmt: skip


add("com.microsoft.DynamicQuantizeLSTM", "", quantized_lstm, outputs=2, types=[1, 1])

# ---- quantized ----

SCALE, ZERO = Const(F32(0.02)), Const(U8(128))
S8_SCALE, S8_ZERO = Const(F32(0.01)), Const(I8(0))


def channel_scales(n):
    return Const(real((n,), 0.001, 0.01))


def u8(shape):
    return whole(shape, 0, 256, U8)


def s8(shape):
    return whole(shape, -127, 128, I8)


for prefix, types in (("", None), ("com.microsoft.", [2])):
    add(f"{prefix}QuantizeLinear", "u8", lambda k: ([real(IMAGE[k]), SCALE, ZERO], {}), types=types)
for prefix, types in (("", None), ("com.microsoft.", [1])):
    add(f"{prefix}DequantizeLinear", "u8", lambda k: ([u8(IMAGE[k]), SCALE, ZERO], {}), types=types)
add("QuantizeLinear", "i8", lambda k: ([real(IMAGE[k]), SCALE, S8_ZERO], {}))
add("DequantizeLinear", "i8", lambda k: ([s8(IMAGE[k]), SCALE, S8_ZERO], {}))
add("DequantizeLinear", "i8 by channel", lambda k: (
    [s8(IMAGE[k]), channel_scales(IMAGE[k][1]), Const(np.zeros(IMAGE[k][1], I8))], {"axis": 1}))  # fmt: skip
add("DynamicQuantizeLinear", "", lambda k: ([real(IMAGE[k])], {}), outputs=3)
for kernel in (1, 3):
    add("QLinearConv", f"{kernel}x{kernel}", lambda k, s=kernel: (
        [u8((1, WIDE[k]) + square(SIDE[k])), SCALE, ZERO, Const(s8((WIDE[k], WIDE[k], s, s))), S8_SCALE, S8_ZERO,
         Const(F32(0.5)), ZERO], {"pads": [s // 2] * 4}))  # fmt: skip
    add("ConvInteger", f"{kernel}x{kernel}", lambda k, s=kernel: (
        [u8((1, WIDE[k]) + square(SIDE[k])), Const(u8((WIDE[k], WIDE[k], s, s))), ZERO, ZERO], {"pads": [s // 2] * 4}))  # fmt: skip
add("QLinearConv", "depthwise 3x3", lambda k: (
    [u8((1, WIDE[k]) + square(SIDE[k])), SCALE, ZERO, Const(s8((WIDE[k], 1, 3, 3))), S8_SCALE, S8_ZERO, Const(F32(0.5)),
     ZERO], {"pads": [1] * 4, "group": WIDE[k]}))  # fmt: skip
MKN = [(16, 64, 64), (128, 256, 256), (512, 768, 768)]
add("MatMulInteger", "", lambda k: ([u8(MKN[k][:2]), Const(s8(MKN[k][1:])), ZERO, S8_ZERO], {}))
add("QLinearMatMul", "", lambda k: (
    [u8(MKN[k][:2]), SCALE, ZERO, Const(s8(MKN[k][1:])), S8_SCALE, S8_ZERO, Const(F32(2)), ZERO], {}))  # fmt: skip
add("com.microsoft.QGemm", "", lambda k: (
    [u8(MKN[k][:2]), SCALE, ZERO, Const(s8(MKN[k][1:])), S8_SCALE, S8_ZERO, None, Const(F32(2)), ZERO], {}), types=[2])  # fmt: skip
add("com.microsoft.MatMulIntegerToFloat", "", lambda k: (
    [u8(MKN[k][:2]), Const(s8(MKN[k][1:])), SCALE, S8_SCALE, ZERO, S8_ZERO], {}), types=[1])  # fmt: skip
add("com.microsoft.DynamicQuantizeMatMul", "", lambda k: (
    [normal(MKN[k][:2]), Const(s8(MKN[k][1:])), S8_SCALE, S8_ZERO], {}), types=[1])  # fmt: skip
for op in ("QLinearAdd", "QLinearMul"):
    add(f"com.microsoft.{op}", "", lambda k: (
        [u8(IMAGE[k]), SCALE, ZERO, u8(IMAGE[k])[:, ::-1].copy(), SCALE, ZERO, Const(F32(0.05)), ZERO], {}), types=[2])  # fmt: skip
add("com.microsoft.QLinearLeakyRelu", "", lambda k: ([u8(IMAGE[k]), SCALE, ZERO, SCALE, ZERO], {"alpha": 0.1}), types=[2], tolerance=1)
add("com.microsoft.QLinearSigmoid", "", lambda k: ([u8(IMAGE[k]), SCALE, ZERO, Const(F32(1 / 256)), Const(U8(0))], {}), types=[2])
add("com.microsoft.QLinearAveragePool", "3x3", lambda k: (
    [u8(IMAGE[k]), SCALE, ZERO, SCALE, ZERO], {"kernel_shape": [3, 3], "strides": [2, 2]}), types=[2])  # fmt: skip
add("com.microsoft.QLinearGlobalAveragePool", "", lambda k: ([u8(IMAGE[k]), SCALE, ZERO, SCALE, ZERO], {}), types=[2])
add("com.microsoft.QLinearConcat", "", lambda k: (
    [SCALE, ZERO, u8(IMAGE[k]), SCALE, ZERO, u8(IMAGE[k]), Const(F32(0.03)), ZERO], {"axis": 1}), types=[2])  # fmt: skip

# ---- weights that are not constant ----

WEIGHTS = {  # inputs that are weights, biases or scales
    "Conv": (1, 2), "ConvTranspose": (1, 2), "DeformConv": (1, 3), "Gemm": (1, 2), "com.microsoft.FusedConv": (1, 2),
    "com.microsoft.FusedGemm": (1, 2), "com.microsoft.Attention": (1, 2), "LSTM": (1, 2, 3), "GRU": (1, 2, 3), "RNN": (1, 2, 3),
    "com.microsoft.DynamicQuantizeLSTM": (1, 2, 3), "com.microsoft.MatMulNBits": (1, 2), "BatchNormalization": (1, 2, 3, 4),
    "QLinearConv": (3,), "ConvInteger": (1,), "MatMulInteger": (1,), "QLinearMatMul": (3,), "com.microsoft.QGemm": (3,),
    "com.microsoft.MatMulIntegerToFloat": (1,), "com.microsoft.DynamicQuantizeMatMul": (1,),
}  # fmt: skip


def give_weights(case):
    """The case with its weights as inputs of the model."""

    def build(k):
        inputs, attributes = case.build(k)
        given = [x.array if i in WEIGHTS[case.op] and isinstance(x, Const) else x for i, x in enumerate(inputs)]
        return given, attributes

    variant = " ".join(filter(None, [case.variant, "computed weights"]))
    return Case(case.op, variant, build, case.outputs, case.opset, case.domain, case.types, case.compare, case.tolerance)


CASES += [give_weights(case) for case in CASES if case.op in WEIGHTS and "f64" not in case.variant]

# ---- random, losses ----

for op in ("RandomNormal", "RandomUniform"):
    add(op, "", lambda k: ([], {"shape": IMAGE[k]}), compare=False)
    add(f"{op}Like", "", lambda k: ([real(IMAGE[k])], {}), compare=False)
add("Bernoulli", "", lambda k: ([real(IMAGE[k], 0, 1)], {}), compare=False)
add("Multinomial", "", lambda k: ([real((1, [10, 1000, 30522][k]))], {"sample_size": 5}), compare=False)
for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
    add(op, "", lambda k: ([real(([8, 64, 256][k], 1000), -9, -1), whole(([8, 64, 256][k],), 0, 1000)], {}))

# ---- control flow ----


def branch(op):
    """A subgraph that applies op to x, which is the enclosing graph's."""
    return helper.make_graph([helper.make_node(op, ["x0"], ["y"])], op, [], [info("y")])


def loop_body():
    nodes = [helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("MatMul", ["state", "x3"], ["product"]),
             helper.make_node("Tanh", ["product"], ["next"])]  # fmt: skip
    values = [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("state")]
    return helper.make_graph(nodes, "body", values, [info("go_on", TensorProto.BOOL, []), info("next")])


def scan_body(n):
    nodes = [helper.make_node("MatMul", ["state", "x2"], ["product"]), helper.make_node("Add", ["product", "step"], ["sum"]),
             helper.make_node("Tanh", ["sum"], ["next"]), helper.make_node("Identity", ["next"], ["out"])]  # fmt: skip
    values = [info("state", shape=[1, n]), info("step", shape=[1, n])]
    return helper.make_graph(nodes, "body", values, [info("next", shape=[1, n]), info("out", shape=[1, n])])


CASES_OF_SUBGRAPHS = {"If": ["x0"], "Loop": ["x3"], "Scan": ["x2"]}  # inputs that only the subgraphs read
add("If", "", lambda k: ([real(IMAGE[k]), np.array(True)], {"then_branch": branch("Relu"), "else_branch": branch("Neg")}))
add("Loop", "10 steps", lambda k: (
    [np.array(10, I64), np.array(True), normal((1, [16, 128, 512][k])), Const(normal(square([16, 128, 512][k]), 0.05))],
    {"body": loop_body()}))  # fmt: skip
add("Scan", "50 steps", lambda k: (
    [normal((1, [16, 64, 256][k])), normal((50, 1, [16, 64, 256][k])), Const(normal(square([16, 64, 256][k]), 0.05))],
    {"body": scan_body([16, 64, 256][k]), "num_scan_inputs": 1}), outputs=2)  # fmt: skip
