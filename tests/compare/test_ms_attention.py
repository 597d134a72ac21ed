"""Attention and MultiHeadAttention of com.microsoft, as ONNX Runtime's CPU kernels do them."""
import numpy as np
import pytest
from one_node import check, needs_hone

pytestmark = needs_hone
MS = "com.microsoft"
SAMPLES, QUERIES, KEYS, HEADS, SIZE = 2, 3, 4, 2, 4
WIDTH = HEADS * SIZE


def normal(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def mask(kind, keys):
    """At least one key stays for every query: with none, the sums lose most of their digits."""
    rng = np.random.default_rng(7)
    if kind == "lengths":
        return np.array([keys - 1, keys], np.int32)
    if kind == "ranges":
        return np.array([keys, keys - 1, 1, 0], np.int32)
    if kind == "sums":
        return np.array([keys - 1, keys, 0, 3, 6, 0, keys - 1, 2 * keys - 1], np.int32)
    shape = (SAMPLES, keys) if kind == "keys" else (SAMPLES, QUERIES, keys)
    m = rng.integers(0, 2, shape).astype(np.int32)
    m[..., 0] = 1
    return m


MASKS = ["lengths", "sums", "keys", "queries"]
BIASES = [(SAMPLES, HEADS), (1, HEADS), (SAMPLES, 1), (1, 1)]


def attention(tmp_path, x=None, weights=None, bias=None, *more, n_outputs=2, **attrs):
    x = normal(SAMPLES, QUERIES, 5) if x is None else x
    weights = normal(5, 3 * WIDTH, seed=2) if weights is None else weights
    bias = normal(weights.shape[1], seed=3) if bias is None else bias
    inputs = [x, weights, bias, *more]
    check(tmp_path, "Attention", inputs, n_outputs, domain=MS, num_heads=HEADS, **attrs)


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("past", [0, 2])
def test_attention(tmp_path, unidirectional, past):
    state = normal(2, SAMPLES, HEADS, past, SIZE, seed=4) if past else None
    attention(tmp_path, None, None, None, None, state, unidirectional=unidirectional)


def test_attention_scale(tmp_path):
    attention(tmp_path, scale=0.3)


def test_attention_wider_values(tmp_path):
    weights = normal(5, 2 * WIDTH + 12, seed=2)
    attention(tmp_path, None, weights, n_outputs=1, qkv_hidden_sizes=[WIDTH, WIDTH, 12])


# Ranges that start late leave the first query nothing when it looks back only.
@pytest.mark.parametrize(
    "kind, unidirectional", [(k, u) for k in MASKS for u in (0, 1)] + [("ranges", 0)]
)
def test_attention_mask(tmp_path, kind, unidirectional):
    attention(tmp_path, None, None, None, mask(kind, QUERIES), unidirectional=unidirectional)


def test_attention_mask_with_past(tmp_path):
    state = normal(2, SAMPLES, HEADS, 2, SIZE, seed=4)
    attention(tmp_path, None, None, None, mask("keys", 2 + QUERIES), state)


def test_attention_mask_filter_value(tmp_path):
    attention(tmp_path, None, None, None, mask("keys", QUERIES), mask_filter_value=-1.0)


@pytest.mark.parametrize("shape", BIASES)
def test_attention_bias(tmp_path, shape):
    bias = normal(*shape, QUERIES, QUERIES, seed=5)
    attention(tmp_path, None, None, None, mask("keys", QUERIES), None, bias)


def multi_head(tmp_path, key=None, value=None, *more, n_outputs=3, **attrs):
    key = normal(SAMPLES, KEYS, WIDTH, seed=2) if key is None else key
    value = normal(SAMPLES, KEYS, WIDTH, seed=3) if value is None else value
    inputs = [normal(SAMPLES, QUERIES, WIDTH), key, value, *more]
    check(tmp_path, "MultiHeadAttention", inputs, n_outputs, domain=MS, num_heads=HEADS, **attrs)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_multi_head(tmp_path, bias, n_outputs):
    more = [normal(3 * WIDTH, seed=4)] if bias else []
    multi_head(tmp_path, None, None, *more, n_outputs=n_outputs)


def test_multi_head_scale(tmp_path):
    multi_head(tmp_path, scale=0.3)


def test_multi_head_wider_values(tmp_path):
    value = normal(SAMPLES, KEYS, 12, seed=3)
    multi_head(tmp_path, None, value, normal(2 * WIDTH + 12, seed=4))


def test_multi_head_unidirectional(tmp_path):
    kv = [normal(SAMPLES, QUERIES, WIDTH, seed=k) for k in (2, 3)]
    multi_head(tmp_path, *kv, unidirectional=1)


@pytest.mark.parametrize("kind", MASKS)
def test_multi_head_mask(tmp_path, kind):
    multi_head(tmp_path, None, None, None, mask(kind, KEYS))


@pytest.mark.parametrize("shape", BIASES)
def test_multi_head_bias(tmp_path, shape):
    multi_head(tmp_path, None, None, None, None, normal(*shape, QUERIES, KEYS, seed=5))


@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_finished_keys(tmp_path, bias):
    kv = [normal(SAMPLES, HEADS, KEYS, SIZE, seed=k) for k in (2, 3)]
    multi_head(tmp_path, *kv, *([normal(3 * WIDTH, seed=4)] if bias else []))


@pytest.mark.parametrize("unidirectional", [0, 1])
def test_multi_head_past(tmp_path, unidirectional):
    kv = [normal(SAMPLES, QUERIES, WIDTH, seed=k) for k in (2, 3)]
    past = [normal(SAMPLES, HEADS, 2, SIZE, seed=k) for k in (5, 6)]
    more = [normal(3 * WIDTH, seed=4), mask("keys", 2 + QUERIES), None, *past]
    multi_head(tmp_path, *kv, *more, unidirectional=unidirectional)
