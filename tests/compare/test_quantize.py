"""hone quantize: what it writes is ONNX, keeps inputs and outputs, and means the same to ONNX Runtime as to hone.

Fewer bits give other answers than the float model; each type has a bound that only a wrong scale or a wrong axis would pass. Error of a
tensor = max|a - b| / max|b|. ONNX Runtime has no kernels for bf16 on CPUs: there the checker alone judges.
"""
import os
import platform
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from test_models import ASSETS, HONE, MODELS, error, made_up, run_hone, session, unpacked

pytestmark = [
    pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built"),
    pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}"),
]
PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
# Detectors answer noise with scores near nothing; one of the models does not run with a size that it does not know.
SOME = ("resnet20", "ic_resnet8", "kws", "mobilenetv2_fp32", "squeezenet_fp", "sst2", "magika", "mnist", "vit", "ad_auto")
FLOATS = [m for m in MODELS if any(name in m for name in SOME)]
TYPES = {"f16": 0.02, "bf16": None, "int8-weights": 0.2, "int8-dynamic": 0.3, "int4": 2, "int4-dynamic": 2}


def quantize(path, out, *options):
    done = subprocess.run([HONE, "quantize", path, "-o", str(out), "-q", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(out), full_check=True)
    return str(out)


def refuse(path, out, *options):
    """Of a network of convolutions alone nothing becomes dynamic."""
    done = subprocess.run([HONE, "quantize", path, "-o", str(out), "-q", *options], capture_output=True, text=True)
    assert done.returncode == 1 and "nothing in the model can become" in done.stderr
    assert not out.exists()


def signature(values):
    return [(v.name, v.type, v.shape) for v in values]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("path", FLOATS, ids=os.path.basename)
def test_same_answers(path, kind, tmp_path):
    path = unpacked(path, str(tmp_path))
    if "squeezenet_fp32" in path and kind.endswith("-dynamic"):
        return refuse(path, tmp_path / "made.onnx", "--type", kind)
    made = quantize(path, tmp_path / "made.onnx", "--type", kind)
    if TYPES[kind] is None:
        return
    before, after = session(path, PLAIN), session(made, PLAIN)
    assert signature(before.get_inputs()) == signature(after.get_inputs())
    assert signature(before.get_outputs()) == signature(after.get_outputs())
    feeds = made_up(before)
    wanted, there, here = before.run(None, feeds), after.run(None, feeds), run_hone(made, feeds, tmp_path)
    # On aarch64 ONNX Runtime adds up in f16, and multiplies 4 bits by inputs in 8.
    arm = platform.machine() == "aarch64"
    for a, b, c in zip(wanted, there, here):
        if arm and kind == "f16":
            assert error(c, a) <= TYPES[kind]
            continue
        assert error(b, a) <= TYPES[kind]
        assert error(c, b) <= (0.05 if arm and kind.startswith("int4") else 0.02)


@pytest.mark.parametrize("kind", ["int8-weights", "int4"])
@pytest.mark.parametrize("name", ["sst2", "vit"])
def test_what_came_in_16_bits(name, kind, tmp_path):
    """Weights of f16 are quantized, and every node has a name of its own or none."""
    path = unpacked(next(m for m in MODELS if name in m), str(tmp_path))
    half = quantize(path, tmp_path / "half.onnx", "--type", "f16")
    made = quantize(half, tmp_path / "made.onnx", "--type", kind)
    before, after = session(half, PLAIN), session(made, PLAIN)
    assert signature(before.get_inputs()) == signature(after.get_inputs())
    assert os.path.getsize(made) < 0.8 * os.path.getsize(half)
    feeds = made_up(before)
    for a, b, c in zip(before.run(None, feeds), after.run(None, feeds), run_hone(made, feeds, tmp_path)):
        assert error(b, a) <= TYPES[kind]
        assert error(c, b) <= 0.02


def weights(path):
    """Of convolutions and Gemms, by output channel."""
    graph = onnx.load(path).graph
    named = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    found = [named[n.input[1]] for n in graph.node if n.op_type in ("Conv", "Gemm") and n.input[1] in named]
    return [w.reshape(len(w), -1) for w in found]


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 8, 12, 16])
def test_simulated_weights(bits, tmp_path):
    """They have no more levels than so many bits have, and the model answers as one that is stored in them."""
    path = unpacked(next(m for m in MODELS if "resnet20" in m), str(tmp_path))
    made = quantize(path, tmp_path / "made.onnx", "--simulate", "--bits", str(bits))
    stored = quantize(path, tmp_path / "stored.onnx", "--type", "int8-weights", "--bits", str(bits))
    levels = max(len(np.unique(channel)) for w in weights(made) for channel in w)
    assert weights(made) and levels <= 2**bits
    feeds = made_up(session(path, PLAIN))
    there, same = session(made, PLAIN).run(None, feeds)[0], session(stored, PLAIN).run(None, feeds)[0]
    assert error(there, same) <= 1e-4
    assert error(run_hone(made, feeds, tmp_path)[0], there) <= 1e-4


def test_tables_of_4_bits(tmp_path):
    path = unpacked(next(m for m in MODELS if "sst2" in m and "fp32" in m), str(tmp_path))
    made = quantize(path, tmp_path / "made.onnx", "--type", "int4", "--embeddings")
    assert os.path.getsize(made) < 0.16 * os.path.getsize(path)
    feeds = made_up(session(path, PLAIN))
    wanted, there = session(path, PLAIN).run(None, feeds)[0], session(made, PLAIN).run(None, feeds)[0]
    assert error(there, wanted) <= TYPES["int4"]
    assert error(run_hone(made, feeds, tmp_path)[0], there) <= 0.02
