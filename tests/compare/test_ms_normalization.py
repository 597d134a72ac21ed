"""Normalizations that ONNX Runtime's optimizers write."""
import numpy as np
import pytest
from one_node import check, needs_hone

pytestmark = needs_hone
MS = "com.microsoft"


def normal(*shape, seed=1, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype, error", [(np.float32, 2e-5), (np.float16, 2e-3)])
@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_simplified(tmp_path, dtype, error, axis, n_outputs):
    x = normal(2, 3, 8, dtype=dtype)
    scale = normal(*x.shape[axis:], seed=2, dtype=dtype)
    check(tmp_path, "SimplifiedLayerNormalization", [x, scale], n_outputs, error, axis=axis)


@pytest.mark.parametrize("skip", [(2, 3, 8), (1, 3, 8), (3, 8)])
@pytest.mark.parametrize("beta", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_skip(tmp_path, skip, beta, bias):
    inputs = [normal(2, 3, 8), normal(*skip, seed=2), normal(8, seed=3)]
    inputs += [normal(8, seed=4) if beta else None, normal(8, seed=5) if bias else None]
    check(tmp_path, "SkipLayerNormalization", inputs, 4, domain=MS, epsilon=0.01)


@pytest.mark.parametrize("dtype, error", [(np.float32, 2e-5), (np.float16, 2e-3)])
def test_skip_defaults(tmp_path, dtype, error):
    inputs = [normal(6, 8, seed=k, dtype=dtype) for k in range(2)]
    inputs += [normal(8, seed=k, dtype=dtype) for k in range(2, 4)]
    check(tmp_path, "SkipLayerNormalization", inputs, error=error, domain=MS)


@pytest.mark.parametrize("shape", [(2, 3, 8), (6, 8)])
@pytest.mark.parametrize("bias", [True, False])
def test_skip_simplified(tmp_path, shape, bias):
    inputs = [normal(*shape), normal(*shape, seed=2), normal(8, seed=3)]
    inputs += [normal(8, seed=4)] if bias else []
    check(tmp_path, "SkipSimplifiedLayerNormalization", inputs, 4, domain=MS)


@pytest.mark.parametrize("segments", [True, False])
@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("positions", [None, 1, 2])
def test_embed(tmp_path, segments, mask, positions):
    rng = np.random.default_rng(1)
    ids = [rng.integers(0, n, (2, 3)).astype(np.int32) for n in (5, 2, 3, 6)]
    tables = [normal(n, 8, seed=n) for n in (5, 6, 2)]
    inputs = [ids[0], ids[1] if segments else None, tables[0], tables[1]]
    inputs += [tables[2] if segments else None, normal(8, seed=8), normal(8, seed=9)]
    inputs += [ids[2] if mask else None, ids[3][:positions] if positions else None]
    check(tmp_path, "EmbedLayerNormalization", inputs, 3, domain=MS)
