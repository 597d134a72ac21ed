"""Models whose batch hone made symbolic, or fixed: ONNX accepts them, and ONNX Runtime gives for
three inputs at once what it gives for each with the model as it was."""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from test_onnx_roundtrip import ASSETS, HONE

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(HONE)), "tests", "set_dim")

pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="set_dim is not built")


def unpacked(name, folder):
    path = os.path.join(ASSETS, "models", name)
    if not os.path.exists(path):
        pytest.skip(f"no models: {path} is missing")
    if not path.endswith(".xz"):
        return path
    target = str(folder / name.removesuffix(".xz"))
    with open(target, "wb") as f:
        subprocess.run(["xz", "-dc", path], stdout=f, check=True)
    return target


def set_dim(path, out, inputs, size):
    args = [x for name in inputs for x in (name, "0", size)]
    done = subprocess.run([PROGRAM, path, out, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    onnx.checker.check_model(onnx.load(out), full_check=True)
    assert onnx.load(out).opset_import[0].version == onnx.load(path).opset_import[0].version


def session(path):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(path, options)


@pytest.mark.parametrize(
    "name, inputs",
    [
        ("mnist_mlp_256x2.onnx", ["0"]),
        ("squeezenet_fp32.onnx.xz", ["data_0"]),
        ("nanodet_m.onnx", ["input.1"]),
        ("yunet_n_320_320.onnx", ["input"]),
        ("dtln_1.onnx", ["input_2", "input_3"]),
    ],
)
def test_batch_becomes_symbolic(name, inputs, tmp_path):
    path, out = unpacked(name, tmp_path), str(tmp_path / "batch.onnx")
    set_dim(path, out, inputs, "batch")
    before, after = session(path), session(out)
    shapes = {i.name: i.shape for i in before.get_inputs()}
    rng = np.random.default_rng(1)
    feeds = [
        {k: rng.standard_normal(shapes[k], dtype=np.float32) for k in inputs} for _ in range(3)
    ]
    wanted = [before.run(None, feed) for feed in feeds]
    found = after.run(None, {k: np.concatenate([f[k] for f in feeds]) for k in inputs})
    for i, output in enumerate(after.get_outputs()):
        assert output.shape[0] == "batch"
        whole = np.concatenate([w[i] for w in wanted])
        assert found[i].shape == whole.shape
        assert np.abs(found[i] - whole).max() <= 1e-5 * max(1, np.abs(whole).max())


def test_batch_becomes_fixed(tmp_path):
    path, out = unpacked("resnet20_cifar10.onnx", tmp_path), str(tmp_path / "fixed.onnx")
    set_dim(path, out, ["input"], "4")
    before, after = session(path), session(out)
    assert after.get_inputs()[0].shape == [4, 3, 32, 32]
    assert after.get_outputs()[0].shape == [4, 10]
    x = np.random.default_rng(1).standard_normal((4, 3, 32, 32), dtype=np.float32)
    assert np.allclose(before.run(None, {"input": x})[0], after.run(None, {"input": x})[0], 1e-5)
