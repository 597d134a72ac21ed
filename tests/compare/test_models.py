"""Real models: hone's reference gives what ONNX Runtime gives.

Error of a tensor = max|a - b| / max|b|. Float models are held to 1e-4, f16 ones to 1e-2. The int8
model is compared with ONNX Runtime's optimizations off, so that both compute each node as it is
written: nearly every value must lie within two steps of the output's scale.
"""
import glob
import lzma
import os
import platform
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

HONE = os.environ.get("HONE", "build/hone")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ASSETS = os.environ.get("HONE_ASSETS", os.path.join(ROOT, "..", "shared", "assets"))
MODELS = sorted(glob.glob(os.path.join(ASSETS, "models", "*.onnx*")))

pytestmark = [
    pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built"),
    pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}"),
]


def unpacked(path, folder):
    if not path.endswith(".xz"):
        return path
    out = os.path.join(folder, os.path.basename(path)[:-3])
    with lzma.open(path) as src, open(out, "wb") as dst:
        dst.write(src.read())
    return out


def session(path, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def made_up(s, batch=2, length=24):
    """Inputs a model could meet: small integers, masks of ones with a padded tail, pixels, noise."""
    rng = np.random.default_rng(5)
    feeds = {}
    for x in s.get_inputs():
        dims = [
            d if isinstance(d, int) else batch if i == 0 else length if "int64" in x.type else 64
            for i, d in enumerate(x.shape)
        ]
        if x.type == "tensor(int64)" and "mask" in x.name:
            a = np.ones(dims, np.int64)
            a[0, dims[1] // 2 :] = 0
        elif "int" in x.type:
            a = rng.integers(0, 250, dims).astype({"tensor(int64)": np.int64}.get(x.type, np.int32))
        else:
            a = rng.standard_normal(dims).astype({"tensor(float16)": np.float16}.get(x.type, np.float32))
        feeds[x.name] = a
    return feeds


def run_hone(path, feeds, folder, *options):
    command = [HONE, "run", path, "-o", str(folder), "-q", *options]
    for i, (name, x) in enumerate(feeds.items()):
        file = os.path.join(folder, f"in{i}.npy")
        np.save(file, x)
        command += ["--in", f"{name}={file}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return [np.load(line.split("  ")[-1].strip()) for line in lines]


def error(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-30)


def pictures(s):
    """Real pictures, 0..255, tiled to the size of the only input: the face detector's scores for noise
    are so small that ONNX Runtime's sigmoid has no digit left."""
    from PIL import Image

    x = s.get_inputs()[0]
    height, width = (d if isinstance(d, int) else 256 for d in x.shape[2:])
    path = sorted(glob.glob(os.path.join(ASSETS, "data", "imagenet256", "*.jpg")))[3]
    a = np.asarray(Image.open(path).convert("RGB"), np.float32)[:, :, ::-1].transpose(2, 0, 1)
    return {x.name: np.ascontiguousarray(np.tile(a, (1, 2, 2))[None, :, :height, :width])}


FLOAT = [p for p in MODELS if "int8" not in p]


@pytest.mark.parametrize("path", FLOAT, ids=os.path.basename)
def test_float(path, tmp_path):
    path = unpacked(path, tmp_path)
    s = session(path, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    feeds = pictures(s) if "yunet" in path else made_up(s)
    want = s.run(None, feeds)
    found = run_hone(path, feeds, tmp_path)
    # On aarch64 ONNX Runtime also adds up in f16.
    half = 3e-2 if platform.machine() == "aarch64" else 1e-2
    bound = half if "fp16" in path else 1e-4
    for value, a, b in zip(s.get_outputs(), found, want):
        assert a.shape == b.shape and a.dtype == b.dtype, value.name
        assert error(a, b) <= bound, f"{value.name}: {error(a, b):.3g}"


def images(n, size):
    """The first n pictures, as MobileNetV2 wants them."""
    from PIL import Image

    mean = np.array([0.485, 0.456, 0.406], np.float32)
    std = np.array([0.229, 0.224, 0.225], np.float32)
    out = []
    for path in sorted(glob.glob(os.path.join(ASSETS, "data", "imagenet256", "*.jpg")))[:n]:
        x = np.asarray(Image.open(path).convert("RGB"), np.float32)
        edge = (x.shape[0] - size) // 2
        x = x[edge : edge + size, edge : edge + size]
        out.append(((x / 255 - mean) / std).transpose(2, 0, 1))
    return np.stack(out)


def output_scale(path):
    """The scale of the last QuantizeLinear before the output."""
    m = onnx.load(path)
    values = {t.name: onnx.numpy_helper.to_array(t) for t in m.graph.initializer}
    for node in m.graph.node:
        if node.op_type == "Constant":
            values[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
    last = [n for n in m.graph.node if n.op_type == "QuantizeLinear"][-1]
    return float(values[last.input[1]])


# The whole comparison takes 100 pictures (HONE_IMAGES=100); a tenth of it fits an everyday run.
IMAGES = int(os.environ.get("HONE_IMAGES", "10"))


def test_int8(tmp_path):
    path = os.path.join(ASSETS, "models", "mobilenetv2_int8_qdq.onnx")
    x = images(IMAGES, 244)
    s = session(path, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    name = s.get_inputs()[0].name
    parts = [{name: x[i : i + 10]} for i in range(0, IMAGES, 10)]
    want = np.concatenate([s.run(None, part)[0] for part in parts])
    found = np.concatenate([run_hone(path, part, tmp_path)[0] for part in parts])
    steps = np.abs(found - want) / output_scale(path)
    print(f"within 2 steps: {(steps <= 2.01).mean():.4%}, most {steps.max():.2f}")
    assert (steps <= 2.01).mean() >= 0.98
    assert steps.max() <= 8.01
