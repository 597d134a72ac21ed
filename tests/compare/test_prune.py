"""hone prune: what structured pruning writes is ONNX, has fewer weights, and means the same to ONNX Runtime as to hone.

Which channels go together is judged by their going: with shapes kept, the same channels become zero, and the answers are those of the
smaller model. Error of a tensor = max|a - b| / max|b|, where the largest is at least 0.01: detectors answer noise with scores near nothing.
"""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest

from test_models import ASSETS, HONE, MODELS, error, made_up, run_hone, session, unpacked

pytestmark = [
    pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built"),
    pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}"),
]
PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
# Without: models already quantized, and those without convolutions whose layers are narrow or recurrent.
CHANNELS = ("resnet20", "resnet56", "mobilenetv2_fp32", "squeezenet_fp", "ic_resnet8", "kws", "vww", "vit", "sst2", "mnist", "ad_auto",
            "nanodet", "yunet", "magika")
HEADS = ("vit", "sst2")
CASES = [(m, "channels") for m in MODELS if any(n in m for n in CHANNELS)] + [(m, "heads") for m in MODELS if any(n in m for n in HEADS)]


def prune(path, out, line):
    recipe = str(out) + ".recipe"
    with open(recipe, "w") as f:
        f.write(f"hone recipe 2\nsimplify\nprune {line}\n")
    done = subprocess.run([HONE, "quantize", path, "-o", str(out), "-q", "--recipe", recipe], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(out), full_check=True)
    return str(out)


def weights(path):
    return sum(int(np.prod(t.dims)) for t in onnx.load(path).graph.initializer if t.data_type in (1, 10))


def close(a, b, bound):
    return error(a, b) * np.abs(b).max() < bound * max(np.abs(b).max(), 0.01)


@pytest.mark.parametrize("path,kind", CASES, ids=lambda x: os.path.basename(x).split(".")[0])
def test_smaller_and_the_same_everywhere(path, kind, tmp_path):
    path = unpacked(path, str(tmp_path))
    made = prune(path, tmp_path / "made.onnx", f"kind={kind} sparsity=0.25 align=2")
    masked = prune(path, tmp_path / "masked.onnx", f"kind={kind} sparsity=0.25 align=2 keep-shapes")
    assert subprocess.run([HONE, "check", made, "-q"], capture_output=True).returncode == 0
    assert weights(made) < 0.97 * weights(masked)
    before, after = session(path, PLAIN), session(made, PLAIN)
    assert [(v.name, v.type) for v in before.get_inputs()] == [(v.name, v.type) for v in after.get_inputs()]
    assert [(v.name, v.type) for v in before.get_outputs()] == [(v.name, v.type) for v in after.get_outputs()]
    feeds = made_up(before)
    wanted, there, here = session(masked, PLAIN).run(None, feeds), after.run(None, feeds), run_hone(made, feeds, tmp_path)
    bound = 2e-2 if "fp16" in path else 1e-3
    for w, t, h in zip(wanted, there, here):
        assert w.shape == t.shape == h.shape
        assert close(t, w, bound) and close(h, t, bound)


SPARSE = [m for m in MODELS if any(n in m for n in ("resnet20", "mnist", "sst2", "vww"))]


@pytest.mark.parametrize("path", SPARSE, ids=lambda x: os.path.basename(x).split(".")[0])
def test_sparse_initializers(path, tmp_path):
    """The same answers in less room; ONNX Runtime expands them when it loads."""
    path = unpacked(path, str(tmp_path))
    dense, sparse = tmp_path / "dense.onnx", tmp_path / "sparse.onnx"
    for out, more in ((dense, []), (sparse, ["--sparse-initializers"])):
        command = [HONE, "prune", path, "-o", str(out), "-q", "--sparsity", "0.9", "--no-timing", *more]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(sparse))
    assert len(onnx.load(str(sparse)).graph.sparse_initializer) > 0
    assert os.path.getsize(sparse) < 0.75 * os.path.getsize(dense)
    feeds = made_up(session(path, PLAIN))
    wanted, there = session(str(dense), PLAIN).run(None, feeds), session(str(sparse), PLAIN).run(None, feeds)
    for w, t, h in zip(wanted, there, run_hone(str(sparse), feeds, tmp_path)):
        assert np.array_equal(w, t)
        assert close(h, w, 1e-4)
