"""hone quantize with ranges from data: what it writes for each runtime is ONNX, runs in ONNX Runtime, and is right as often
there as in hone.

Every model is quantized on made-up data and must load and run; those with labelled data keep their accuracy too. An
everyday run takes the first 200 samples; HONE_SAMPLES=10000 takes all there are.
"""
import lzma
import os

import numpy as np
import onnx
import onnxruntime
import pytest
from test_eval import SAMPLES, evaluate
from test_models import ASSETS, HONE, MODELS, made_up, session, unpacked
from test_quantize import quantize

pytestmark = [
    pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built"),
    pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}"),
]
ALL = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
FLOATS = [p for p in MODELS if "int8" not in p and "fp16" not in p and os.path.getsize(p) < 4 << 20]
TARGETS = ["hone", "onnxruntime", "openvino", "tensorrt"]
CIFAR = os.path.join(ASSETS, "data", "cifar10")
NORM = ",scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"


def samples(path, folder, n=4):
    """Made-up samples of what a model takes, as a dataset."""
    s = session(path, ALL)
    feeds = [made_up(s, batch=1) for _ in range(n)]
    arrays = {k: np.stack([f[k] if s.get_inputs()[i].shape[0] == 1 else f[k][0] for f in feeds])
              for i, k in enumerate(feeds[0])}
    np.savez(os.path.join(folder, "made_up.npz"), **arrays)
    return "npz:" + os.path.join(folder, "made_up.npz")


def has_operator(path, name):
    return any(n.op_type == name for n in onnx.load(path).graph.node)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", FLOATS, ids=os.path.basename)
def test_static_runs(path, target, tmp_path):
    path = unpacked(path, str(tmp_path))
    done = quantize(path, tmp_path / "q.onnx", "--data", samples(path, tmp_path), "--for", target)
    s = session(done, ALL)
    assert has_operator(done, "QuantizeLinear")
    for y in s.run(None, made_up(s)):
        assert y.dtype != np.float32 or np.isfinite(y).all()


def right(path, norm, level=ALL):
    """How many of the test images ONNX Runtime is right about."""
    with lzma.open(os.path.join(CIFAR, "test_batch.bin.xz")) as f:
        data = np.frombuffer(f.read(3073 * SAMPLES), np.uint8).reshape(-1, 3073)
    x = data[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32)
    if norm:
        mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
        x = (x / 255 - mean.reshape(3, 1, 1)) / std.reshape(3, 1, 1)
    s = session(path, level)
    name, found = s.get_inputs()[0].name, 0
    for i in range(0, len(x), 100):
        y = s.run(None, {name: x[i : i + 100].astype(np.float32)})[0]
        found += int((y.reshape(-1, 10).argmax(1) == data[i : i + 100, 0]).sum())
    return found, len(x)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name,norm,drop", [("resnet20_cifar10", NORM, 0.3), ("ic_resnet8_cifar10_fp32", "", 0.5)])
def test_accuracy(name, norm, drop, target, tmp_path):
    model = os.path.join(ASSETS, "models", name + ".onnx")
    train = f"cifar10:{CIFAR}/data_batch_1.bin.xz{norm},n=500"
    done = quantize(model, tmp_path / "q.onnx", "--data", train, "--for", target)
    before, n = right(model, norm)
    after, _ = right(done, norm)
    here = evaluate(done, f"cifar10:{CIFAR}/test_batch.bin.xz{norm},n={SAMPLES}", "--metric", "top1")
    here = round(here["metrics"][0]["value"] * n)
    slack = 0.3 + 100 * 4 / n  # a sample more or less is no rounding error of 200
    assert 100 * (before - after) / n <= drop + slack
    assert 100 * abs(here - after) / n <= slack


@pytest.mark.parametrize("bits,least", [("16,12", 0.85), ("8,8", 0.85), ("6,6", 0.8), ("4,5", 0.6), ("4,2", 0)])
def test_simulated(bits, least, tmp_path):
    """Any number of bits runs everywhere, and is right there as often as in hone: as the file says, since in 2 bits a
    sum in another order may fall to another code, and ONNX Runtime's optimizations answer otherwise."""
    model = os.path.join(ASSETS, "models", "resnet20_cifar10.onnx")
    train = f"cifar10:{CIFAR}/data_batch_1.bin.xz{NORM},n=500"
    done = quantize(model, tmp_path / "q.onnx", "--data", train, "--simulate", "--bits", bits)
    there, n = right(done, NORM, PLAIN)
    here = evaluate(done, f"cifar10:{CIFAR}/test_batch.bin.xz{NORM},n={SAMPLES}", "--metric", "top1")
    assert there >= least * n
    assert abs(here["metrics"][0]["value"] * n - there) <= 0.003 * n + 4
