"""hone simplify: what it writes is ONNX, keeps inputs and outputs, and gives the same answers in ONNX Runtime.

Both models are run with ONNX Runtime's optimizations off, so that each node is computed as it is written. Error of a
tensor = max|a - b| / max|b|: none at level 1, else at most 1e-5. ONNX Runtime computes f16 in f32 between nodes it has no
f16 kernel for, so f16 models move by the rounding of f16 when a node goes.
"""
import os
import platform
import subprocess

import onnx
import onnxruntime
import pytest

from test_models import ASSETS, HONE, MODELS, error, made_up, session, unpacked

pytestmark = [
    pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built"),
    pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}"),
]
PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL


def simplify(path, out, *options):
    done = subprocess.run([HONE, "simplify", path, "-o", str(out), "-q", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(out)


def signature(values):
    return [(v.name, v.type, v.shape) for v in values]


def opset(path):
    return {o.domain: o.version for o in onnx.load(path, load_external_data=False).opset_import}


@pytest.mark.parametrize("options", [["--level", "1"], [], ["--opset", "23"]], ids=["level1", "level3", "opset23"])
@pytest.mark.parametrize("path", MODELS, ids=os.path.basename)
def test_same_answers(path, options, tmp_path):
    path = unpacked(path, str(tmp_path))
    simple = simplify(path, tmp_path / "simple.onnx", *options)
    onnx.checker.check_model(simple, full_check=True)
    before, after = session(path, PLAIN), session(simple, PLAIN)
    assert signature(before.get_inputs()) == signature(after.get_inputs())
    assert signature(before.get_outputs()) == signature(after.get_outputs())
    if not options:
        assert opset(path) == opset(simple)
    feeds = made_up(before)
    half = 3e-2 if platform.machine() == "aarch64" else 2e-3  # there ONNX Runtime adds up in f16
    bound = half if "fp16" in path else 0 if "1" in options else 1e-5
    for a, b in zip(before.run(None, feeds), after.run(None, feeds)):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert error(b, a) <= bound


@pytest.mark.parametrize("path", MODELS, ids=os.path.basename)
def test_twice_is_once(path, tmp_path):
    once = simplify(unpacked(path, str(tmp_path)), tmp_path / "once.onnx")
    twice = simplify(once, tmp_path / "twice.onnx")
    with open(once, "rb") as a, open(twice, "rb") as b:
        assert a.read() == b.read()
