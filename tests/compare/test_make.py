"""hone make: every architecture passes ONNX's checker and gives the same answers in ONNX Runtime as in hone."""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

from test_models import HONE, error

pytestmark = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")

SIZES = {"N": 2, "S": 7}


def small(name):
    """Settings that keep a model small; its layers stay."""
    if name.startswith(("vit", "bert", "minilm")):
        return ["layers=2", "width=0.5"] + (["resolution=32", "patch=8"] if "vit" in name else ["vocab=200"])
    if name in ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152") or name.startswith(("mobilenet", "efficientnet")):
        return ["resolution=32", "width=0.5", "depth=0.5"]
    return ["n=2"] if name == "resnet110" else []


def architectures():
    if not os.path.exists(HONE):
        return []
    lines = subprocess.run([HONE, "make", "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[0] for line in lines[2:]]


def feeds(session):
    rng = np.random.default_rng(1)
    made = {}
    for i in session.get_inputs():
        shape = [SIZES.get(d, d) for d in i.shape]
        if i.name == "attention_mask":
            made[i.name] = (np.arange(shape[1]) < np.array([[7], [4]])).astype(np.int64)
        elif i.type == "tensor(int64)":
            made[i.name] = rng.integers(0, 100, shape)
        else:
            made[i.name] = rng.standard_normal(shape).astype(np.float32)
    return made


def check(words, folder):
    """Makes a model and compares what it answers in ONNX Runtime and in hone."""
    path = str(folder / "m.onnx")
    done = subprocess.run([HONE, "make", *words, "-o", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path)
    assert [o.version for o in model.opset_import] == [17]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = feeds(session)
    (want,) = session.run(["logits"], given)
    words = [HONE, "run", path, "-q", "-o", str(folder)]
    for key, value in given.items():
        np.save(folder / f"{key}.npy", value)
        words += ["--in", f"{key}={folder}/{key}.npy"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    found = np.load(folder / "logits.npy")
    assert found.shape == want.shape
    assert want.std() > 0.05 * abs(want).max() > 0  # an answer that says something
    assert error(found, want) <= 1e-4


@pytest.mark.parametrize("name", architectures())
def test_same_answers(name, tmp_path):
    check([name, *small(name)], tmp_path)


# Layers, and values of their arguments, that no architecture has.
OTHERS = {
    "image": """
        image 3 17 15
        conv 6 kernel=4 stride=2 pad=1 bias=1
        conv 12 groups=3 dilation=2
        bn gamma=0.7 eps=0.01
        sigmoid
        avgpool 3 stride=1
        subsample 13 stride=2
        unfold
        layernorm
        linear 5 bias=0
        mean
        layernorm
        tanh
        linear 4""",
    "tokens": """
        tokens
        embedding 200 8
        position 20
        attention 4
        silu
        gate
            linear 8
            hardsigmoid
        end
        mean
        linear 3""",
    "vector": """
        vector 9
        linear 8
        bn
        gelu
        hardswish
        residual
            linear 16
            relu6
            linear 8
        shortcut
            linear 8 bias=0
        end""",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_layers(name, tmp_path):
    (tmp_path / "text").write_text(OTHERS[name])
    check([str(tmp_path / "text")], tmp_path)
