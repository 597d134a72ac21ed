"""Elementwise and quantizing operators of com.microsoft."""
import numpy as np
import pytest
from one_node import check, needs_hone

pytestmark = needs_hone
MS = "com.microsoft"
FLOATS = [(np.float32, 2e-5), (np.float16, 2e-3)]
BYTES = [np.uint8, np.int8]


def uniform(shape, dtype, low=-6, high=6, seed=1):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)


def levels(shape, dtype, seed=1):
    ends = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(ends.min, ends.max + 1, shape).astype(dtype)


@pytest.mark.parametrize("dtype, error", FLOATS)
@pytest.mark.parametrize("op", ["Gelu", "QuickGelu", "FastGelu"])
def test_gelu(tmp_path, op, dtype, error):
    check(tmp_path, op, [uniform((3, 5, 64), dtype)], error=error, domain=MS)


@pytest.mark.parametrize("dtype, error", FLOATS)
@pytest.mark.parametrize("op", ["FastGelu", "BiasGelu"])
def test_gelu_with_bias(tmp_path, op, dtype, error):
    x, bias = uniform((3, 5, 64), dtype), uniform(64, dtype, seed=2)
    check(tmp_path, op, [x, bias], error=error, domain=MS)


def test_quick_gelu_alpha(tmp_path):
    check(tmp_path, "QuickGelu", [uniform(100, np.float32)], domain=MS, alpha=1.1)


# Sums that are ties, or nearly so, may round either way.
@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("a, b", [((3, 40), (3, 40)), ((3, 40), (40,)), ((2, 3, 1), (1, 5))])
def test_qlinear_binary(tmp_path, op, dtype, a, b):
    inputs = [levels(a, dtype), np.float32(0.013), dtype(100), levels(b, dtype, 2)]
    inputs += [np.float32(0.021), dtype(7), np.float32(0.0217), dtype(60)]
    check(tmp_path, op, inputs, steps=1, domain=MS)


@pytest.mark.parametrize("dtype", BYTES)
@pytest.mark.parametrize("scale", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("op, attrs", [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.2})])
def test_qlinear_function(tmp_path, op, attrs, dtype, scale):
    every = np.arange(256).astype(np.uint8).view(dtype)
    inputs = [every, np.float32(scale), dtype(17), np.float32(1 / 64), dtype(3)]
    check(tmp_path, op, inputs, domain=MS, **attrs)


# In f16 ONNX Runtime divides in f32; ONNX says the scale's type.
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
@pytest.mark.parametrize("scale_dtype, steps", [(np.float32, 0), (np.float16, 1)])
@pytest.mark.parametrize("axis", [None, 1, -1])
def test_quantize(tmp_path, dtype, scale_dtype, steps, axis):
    shape = (4, 6, 5)
    n = () if axis is None else (shape[axis],)
    scale, zero = uniform(n, scale_dtype, 0.05, 0.3), uniform(n, np.float32, 0, 20).astype(dtype)
    attrs = {} if axis is None else {"axis": axis}
    x = uniform(shape, scale_dtype, -20, 20)
    check(tmp_path, "QuantizeLinear", [x, scale, zero], steps=steps, domain=MS, **attrs)
    q = levels(shape, dtype)
    check(tmp_path, "DequantizeLinear", [q, scale, zero], error=1e-3, domain=MS, **attrs)
