"""Products, convolutions, pools and the quantized LSTM of com.microsoft."""
import numpy as np
import pytest
from one_node import check, needs_hone
from test_nn import BYTES, DIRECTIONS, levels, normal, recurrent

pytestmark = needs_hone
MS = "com.microsoft"


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        dict(activation="Relu"),
        dict(activation="Sigmoid"),
        dict(activation="Tanh"),
        dict(activation="LeakyRelu", activation_params=[0.2]),
        dict(activation="Clip", activation_params=[-0.5, 1.5]),
        dict(activation="HardSigmoid", activation_params=[0.3, 0.4]),
    ],
)
@pytest.mark.parametrize("add", [False, True])
def test_fused_conv(tmp_path, attrs, add):
    inputs = [normal((2, 6, 9, 10)), normal((8, 3, 3, 3), seed=2), normal(8, seed=3)]
    if add:
        inputs += [normal((2, 8, 9, 10), seed=4)]
    check(tmp_path, "FusedConv", inputs, domain=MS, group=2, pads=[1, 1, 1, 1], **attrs)


@pytest.mark.parametrize(
    "attrs",
    [
        dict(activation="Relu"),
        dict(activation="LeakyRelu", activation_alpha=0.2),
        dict(activation="HardSigmoid", activation_alpha=0.3, activation_beta=0.4),
        dict(activation="Selu", activation_alpha=1.5, activation_gamma=1.1),
        dict(activation="Elu", activation_alpha=0.8),
        dict(activation="Softplus"),
        dict(activation="Softsign"),
        dict(activation="ThresholdedRelu", activation_alpha=0.7),
    ],
)
def test_fused_gemm(tmp_path, attrs):
    inputs = [normal((20, 30)), normal((25, 30), seed=2), normal(25, seed=3)]
    check(tmp_path, "FusedGemm", inputs, domain=MS, transB=1, alpha=0.5, beta=2.0, **attrs)


@pytest.mark.parametrize(
    "a, b, attrs",
    [
        ((2, 3, 4, 5), (2, 3, 6, 5), dict(transB=1, alpha=0.125)),
        ((2, 3, 5, 4), (2, 3, 5, 6), dict(transA=1)),
        ((4, 2, 3, 5), (2, 3, 5, 6), dict(transBatchA=1)),
        ((2, 3, 4, 5), (6, 2, 3, 5), dict(transBatchB=1, transB=1)),
        ((5, 2, 3, 4), (5, 2, 3, 6), dict(transBatchA=1, transA=1, transBatchB=1)),
        ((4, 5), (6, 5), dict(transB=1)),
    ],
)
def test_fused_matmul(tmp_path, a, b, attrs):
    inputs = [normal(a), normal(b, seed=2)]
    check(tmp_path, "FusedMatMul", inputs, domain=MS, **attrs)
    if not any("Batch" in name for name in attrs):
        check(tmp_path, "TransposeMatMul", inputs, domain=MS, **attrs)


@pytest.mark.parametrize("b", BYTES)
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_dynamic_quantize_matmul(tmp_path, b, per_column, zero, bias):
    n = 30
    scale = np.random.default_rng(4).uniform(0.01, 0.02, n).astype(np.float32)
    inputs = [normal((2, 5, 40)), levels((40, n), b, 2), scale if per_column else scale[0]]
    inputs += [(np.full(n, 3, b) if per_column else b(3)) if zero else None]
    inputs += [normal(n, seed=5)] if bias else []
    check(tmp_path, "DynamicQuantizeMatMul", inputs, domain=MS)


@pytest.mark.parametrize("a", BYTES)
@pytest.mark.parametrize("b", BYTES)
@pytest.mark.parametrize("per_column", [False, True])
def test_matmul_integer_to_float(tmp_path, a, b, per_column):
    if a == np.int8 and b == np.uint8:
        pytest.skip("ONNX Runtime has no such kernel")
    n = 30
    scale = np.random.default_rng(4).uniform(0.01, 0.02, n).astype(np.float32)
    inputs = [levels((2, 5, 40), a), levels((40, n), b, 2), np.float32(0.03)]
    inputs += [scale if per_column else scale[0], a(5)]
    inputs += [np.full(n, 3, b) if per_column else b(3), normal(n, seed=5)]
    check(tmp_path, "MatMulIntegerToFloat", inputs, domain=MS)


@pytest.mark.parametrize("a", BYTES)
@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
def test_qgemm(tmp_path, a, quantized, trans):
    m, k, n = 20, 40, 30
    scale = np.random.default_rng(4).uniform(0.01, 0.02, n).astype(np.float32)
    inputs = [levels((k, m) if trans else (m, k), a), np.float32(0.03), a(5)]
    inputs += [levels((n, k) if trans else (k, n), np.int8, 2), scale, np.zeros(n, np.int8)]
    inputs += [np.random.default_rng(5).integers(-999, 999, n).astype(np.int32)]
    if quantized:
        inputs += [np.float32(0.6), a(7)]
    attrs = dict(transA=trans, transB=trans, alpha=0.7)
    check(tmp_path, "QGemm", inputs, domain=MS, steps=1, **attrs)


def pack(codes, bits):
    """Codes of the last axis packed into bytes, the lowest bits first."""
    per = 8 // bits
    codes = np.pad(codes, [(0, 0)] * (codes.ndim - 1) + [(0, -codes.shape[-1] % per)])
    codes = codes.reshape(*codes.shape[:-1], -1, per)
    return sum(codes[..., i] << (bits * i) for i in range(per)).astype(np.uint8)


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zeros", ["none", "packed", "float"])
@pytest.mark.parametrize("k, block", [(96, 32), (100, 16)])
@pytest.mark.parametrize("bias", [False, True])
def test_matmul_nbits(tmp_path, bits, zeros, k, block, bias):
    if bits != 4 and zeros == "float":
        pytest.skip("ONNX Runtime has no such kernel")
    n, blocks = 24, -(-k // block)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 1 << bits, (n, blocks, block)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, (n, blocks)).astype(np.float32)
    zero = rng.integers(0, 1 << bits, (n, blocks)).astype(np.uint8)
    inputs = [normal((2, 3, k)), pack(codes, bits), scales]
    inputs += [{"none": None, "packed": pack(zero, bits), "float": zero + np.float32(0.5)}[zeros]]
    inputs += [None, normal(n, seed=4)] if bias else []
    attrs = dict(K=k, N=n, bits=bits, block_size=block)
    check(tmp_path, "MatMulNBits", inputs, domain=MS, **attrs)


POOLS = [
    ((2, 3, 12, 13), dict(kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])),
    ((2, 3, 12, 13), dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)),
    ((2, 3, 20), dict(kernel_shape=[3], auto_pad="SAME_UPPER")),
]


def last(shape):
    return shape[:1] + shape[2:] + shape[1:2]


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("shape, attrs", POOLS)
def test_nhwc_max_pool(tmp_path, dtype, shape, attrs):
    check(tmp_path, "NhwcMaxPool", [levels(last(shape), dtype)], domain=MS, **attrs)


# Averages that are ties, or nearly so, may round either way.
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("shape, attrs", POOLS)
@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("count", [0, 1])
def test_qlinear_average_pool(tmp_path, dtype, shape, attrs, channels_last, count):
    if count and "ceil_mode" in attrs:
        pytest.skip("ONNX Runtime counts what lies beyond the padding, unlike AveragePool")
    x = levels(last(shape) if channels_last else shape, dtype)
    inputs = [x, np.float32(0.03), dtype(100), np.float32(0.02), dtype(60)]
    attrs = dict(attrs, channels_last=channels_last, count_include_pad=count)
    check(tmp_path, "QLinearAveragePool", inputs, steps=1, domain=MS, **attrs)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("channels_last", [0, 1])
def test_qlinear_global_average_pool(tmp_path, dtype, channels_last):
    x = levels((2, 7, 9, 5), dtype)
    inputs = [x, np.float32(0.03), dtype(100), np.float32(0.002), dtype(60)]
    attrs = dict(channels_last=channels_last)
    check(tmp_path, "QLinearGlobalAveragePool", inputs, steps=1, domain=MS, **attrs)


@pytest.mark.parametrize("direction, dirs", DIRECTIONS)
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_dynamic_quantize_lstm(tmp_path, direction, dirs, dtype, per_column, known):
    x, w, r, *rest = recurrent(4, dirs, states=2, peepholes=True)
    rng = np.random.default_rng(9)
    params = []
    for shape in [(dirs, 4, 24), (dirs, 6, 24)]:
        sizes = (dirs, 24) if per_column else (dirs,)
        zero = np.full(sizes, 0 if dtype == np.int8 else 128, dtype)
        params += [levels(shape, dtype, len(params)), rng.uniform(0.005, 0.01, sizes)]
        params += [zero]
    w, w_scale, w_zero, r, r_scale, r_zero = params
    inputs = [x, w, r, *rest, w_scale.astype(np.float32), w_zero]
    inputs += [r_scale.astype(np.float32), r_zero]
    attrs = dict(hidden_size=6, direction=direction)
    if known:  # then it runs in integers; h of each sequence for itself, not of all together
        attrs.update(constants=[1, 2, 8, 9, 10, 11])
    check(tmp_path, "DynamicQuantizeLSTM", inputs, n_outputs=3, error=2e-2, domain=MS, **attrs)
