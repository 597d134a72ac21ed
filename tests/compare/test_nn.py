"""Products, convolutions, pools and recurrent layers."""
import numpy as np
import pytest
from one_node import check, needs_hone

pytestmark = needs_hone
BYTES = [np.uint8, np.int8]


def normal(shape, dtype=np.float32, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def levels(shape, dtype, seed=1):
    ends = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(ends.min, ends.max + 1, shape).astype(dtype)


@pytest.mark.parametrize(
    "a, b",
    [((300, 520), (520, 270)), ((3, 1, 5, 7), (4, 7, 6)), ((7,), (2, 7, 6)), ((2, 3, 7), (7,))],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matmul(tmp_path, a, b, dtype):
    check(tmp_path, "MatMul", [normal(a, dtype), normal(b, dtype, 2)])


def test_gemm(tmp_path):
    inputs = [normal((40, 30)), normal((50, 40), seed=2), normal((30, 1), seed=3)]
    check(tmp_path, "Gemm", inputs, transA=1, transB=1, alpha=0.7, beta=-1.3)


CONVS = [
    ((2, 6, 20), (8, 6, 5), dict(strides=[3], pads=[2, 1])),
    ((2, 6, 17, 19), (8, 3, 3, 3), dict(group=2, strides=[2, 1], pads=[1, 0, 1, 2])),
    ((1, 12, 17, 19), (12, 1, 3, 3), dict(group=12, pads=[1, 1, 1, 1])),
    ((1, 4, 15, 16), (5, 4, 3, 2), dict(strides=[3, 1], auto_pad="SAME_UPPER")),
    ((1, 4, 15, 16), (5, 4, 4, 2), dict(strides=[2, 3], auto_pad="SAME_LOWER")),
    ((1, 3, 7, 8, 9), (4, 3, 3, 2, 3), dict(strides=[1, 2, 2], pads=[1] * 6)),
    ((1, 200, 30, 30), (150, 200, 1, 1), {}),
]


@pytest.mark.parametrize("x, w, attrs", CONVS)
def test_conv(tmp_path, x, w, attrs):
    check(tmp_path, "Conv", [normal(x), normal(w, seed=2), normal(w[0], seed=3)], **attrs)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("x, w, attrs", CONVS[:5])
def test_qlinear_conv(tmp_path, dtype, x, w, attrs):
    m = w[0]
    zero = dtype(np.iinfo(dtype).min + 120)
    scales = np.random.default_rng(4).uniform(0.01, 0.02, m).astype(np.float32)
    inputs = [levels(x, dtype), np.float32(0.02), zero, levels(w, np.int8, 2), scales]
    inputs += [np.zeros(m, np.int8), np.float32(0.5), zero]
    inputs += [np.random.default_rng(5).integers(-9999, 9999, m).astype(np.int32)]
    check(tmp_path, "QLinearConv", inputs, steps=1, **attrs)


@pytest.mark.parametrize("x, w, attrs", CONVS[:5])
def test_conv_integer(tmp_path, x, w, attrs):
    inputs = [levels(x, np.uint8), levels(w, np.uint8, 2), np.uint8(7), np.uint8(130)]
    check(tmp_path, "ConvInteger", inputs, **attrs)


def test_matmul_integer(tmp_path):
    inputs = [levels((2, 40, 70), np.uint8), levels((70, 50), np.int8, 2), np.uint8(3)]
    check(tmp_path, "MatMulInteger", inputs + [levels(50, np.int8, 3)])


@pytest.mark.parametrize("b", [np.uint8, np.int8])
def test_qlinear_matmul(tmp_path, b):
    scales = np.random.default_rng(4).uniform(0.01, 0.02, 50).astype(np.float32)
    zeros = np.full(50, 3, b)
    inputs = [levels((40, 70), np.uint8), np.float32(0.02), np.uint8(120)]
    inputs += [levels((70, 50), b, 2), scales, zeros, np.float32(0.4), np.uint8(128)]
    check(tmp_path, "QLinearMatMul", inputs, steps=1)


@pytest.mark.parametrize(
    "x, w, attrs",
    [
        ((2, 4, 9), (4, 3, 4), dict(strides=[3], pads=[2, 1], output_padding=[2])),
        ((2, 4, 7, 6), (4, 3, 3, 2), dict(group=2, strides=[2, 1], dilations=[1, 3])),
        ((1, 4, 7, 6), (4, 3, 3, 2), dict(strides=[2, 2], auto_pad="SAME_UPPER")),
        ((1, 4, 7, 6), (4, 3, 3, 2), dict(strides=[2, 2], auto_pad="SAME_LOWER")),
        ((1, 4, 7, 6), (4, 3, 4, 3), dict(strides=[2, 2], output_shape=[15, 12])),
        ((1, 2, 4, 5, 3), (2, 3, 2, 3, 3), dict(strides=[2, 1, 2])),
    ],
)
def test_conv_transpose(tmp_path, x, w, attrs):
    maps = w[1] * attrs.get("group", 1)
    inputs = [normal(x), normal(w, seed=2), normal(maps, seed=3)]
    check(tmp_path, "ConvTranspose", inputs, **attrs)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    "x, attrs",
    [
        ((2, 3, 20), dict(kernel_shape=[4], strides=[3], pads=[1, 2])),
        ((2, 3, 20, 23), dict(kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)),
        ((2, 3, 20, 23), dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")),
        ((2, 3, 20, 23), dict(kernel_shape=[4, 3], strides=[3, 2], auto_pad="SAME_LOWER")),
        ((2, 3, 10, 11, 12), dict(kernel_shape=[2, 3, 3], strides=[2, 1, 2])),
    ],
)
def test_pool(tmp_path, op, x, attrs):
    check(tmp_path, op, [normal(x)], n_outputs=2 if op == "MaxPool" else 1, opset=22, **attrs)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    "x, attrs",
    [
        ((2, 3, 2, 23), dict(kernel_shape=[3, 3])),
        ((2, 3, 2, 23), dict(kernel_shape=[3, 3], strides=[2, 2])),
        ((2, 3, 3, 23), dict(kernel_shape=[6, 3], strides=[3, 1], ceil_mode=1)),
        ((2, 3, 1, 23), dict(kernel_shape=[4, 3], strides=[3, 1], pads=[1, 0, 0, 0])),
    ],
)
def test_pools_of_windows_larger_than_the_input(tmp_path, op, x, attrs):
    check(tmp_path, op, [normal(x)], opset=22, **attrs)


def test_pools_of_dilated_windows(tmp_path):
    attrs = dict(kernel_shape=[3, 2], dilations=[2, 3], pads=[1, 0, 1, 1], strides=[2, 1])
    check(tmp_path, "MaxPool", [normal((1, 2, 12, 13))], n_outputs=2, storage_order=1, **attrs)
    check(tmp_path, "AveragePool", [normal((1, 2, 12, 13))], count_include_pad=1, **attrs)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("bhid,bhjd->bhij", [(2, 3, 5, 4), (2, 3, 6, 4)]),
        ("ij,jk,kl->il", [(4, 5), (5, 6), (6, 3)]),
        ("...ij,...jk", [(3, 1, 4, 5), (1, 2, 5, 6)]),
        ("ii->i", [(5, 5)]),
        ("abc->ca", [(3, 4, 5)]),
        ("b i d, b j d -> b j i", [(2, 3, 4), (2, 5, 4)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
    ],
)
def test_einsum(tmp_path, equation, shapes):
    inputs = [normal(s, seed=i) for i, s in enumerate(shapes)]
    check(tmp_path, "Einsum", inputs, equation=equation)


def recurrent(gates, dirs, batch_first=False, bias=True, lengths=True, states=1, peepholes=False):
    """Inputs of a layer of 5 steps, 3 sequences, 4 inputs, 6 hidden."""
    t, b, i, h = 5, 3, 4, 6
    inputs = [normal((t, b, i)), normal((dirs, gates * h, i), seed=2) * 0.5]
    inputs += [normal((dirs, gates * h, h), seed=3) * 0.5]
    inputs += [normal((dirs, 2 * gates * h), seed=4) if bias else None]
    inputs += [np.array([5, 2, 4], np.int32) if lengths else None]
    inputs += [normal((dirs, b, h), seed=5 + s) for s in range(states)]
    if peepholes:
        inputs += [normal((dirs, 3 * h), seed=8)]
    return inputs


DIRECTIONS = [("forward", 1), ("reverse", 1), ("bidirectional", 2)]


@pytest.mark.parametrize("direction, dirs", DIRECTIONS)
@pytest.mark.parametrize("clip", [None, 0.4])
def test_rnn(tmp_path, direction, dirs, clip):
    attrs = dict(hidden_size=6, direction=direction, activations=["Relu"] * dirs)
    if clip:
        attrs["clip"] = clip
    check(tmp_path, "RNN", recurrent(1, dirs), n_outputs=2, **attrs)


@pytest.mark.parametrize("direction, dirs", DIRECTIONS)
@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("clip", [None, 0.4])
def test_gru(tmp_path, direction, dirs, before, clip):
    attrs = dict(hidden_size=6, direction=direction, linear_before_reset=before)
    if clip:
        attrs["clip"] = clip
    check(tmp_path, "GRU", recurrent(3, dirs), n_outputs=2, **attrs)


@pytest.mark.parametrize("direction, dirs", DIRECTIONS)
@pytest.mark.parametrize("clip", [None, 0.4])
@pytest.mark.parametrize("couple", [0, 1])
def test_lstm(tmp_path, direction, dirs, clip, couple):
    attrs = dict(hidden_size=6, direction=direction, input_forget=couple)
    if clip:
        attrs["clip"] = clip
    inputs = recurrent(4, dirs, states=2, peepholes=True)
    check(tmp_path, "LSTM", inputs, n_outputs=3, **attrs)


def test_lstm_activations_take_their_parameters_in_turn(tmp_path):
    attrs = dict(hidden_size=6, activations=["HardSigmoid", "ScaledTanh", "LeakyRelu"])
    attrs.update(activation_alpha=[0.3, 0.9, 0.1], activation_beta=[0.4, 0.8])
    check(tmp_path, "LSTM", recurrent(4, 1, states=2), n_outputs=3, **attrs)
