"""Transforms factorize and replace: what they write is ONNX, has fewer weights, and ONNX Runtime computes the same of it as hone.

At a high energy it is near the model it was made of as well.
"""
import os
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
# A line of a recipe, and how far outputs may be from those of the model.
CASES = [
    ("resnet20", "factorize energy=0.98", 0.5),
    ("resnet20", "factorize energy=0.7 form=tucker", None),
    ("resnet20", "factorize rank-share=0.3 form=spatial", None),
    ("sst2", "factorize energy=0.97", 0.5),
    ("mnist", "factorize energy=0.97", 0.5),
    ("vit", "factorize rank=12", None),
    ("squeezenet_fp16", "factorize energy=0.8", None),
    ("mobilenetv2_fp32", "factorize energy=0.9", None),
    ("kws", "factorize rank-share=0.25", None),
    ("resnet20", "replace except=*fc*", None),
    ("ic_resnet8", "replace multiplier=2", None),
]


def elements(path):
    return sum(numpy_helper.to_array(t).size for t in onnx.load(path).graph.initializer)


@pytest.mark.parametrize("name,line,bound", CASES, ids=[f"{n}-{line.replace(' ', '-')}" for n, line, _ in CASES])
def test_same_answers(name, line, bound, tmp_path):
    path = unpacked(next(m for m in MODELS if name in m), str(tmp_path))
    (tmp_path / "recipe").write_text(f"hone recipe 2\n{line}\n")
    made = str(tmp_path / "made.onnx")
    command = [HONE, "quantize", path, "-o", made, "-q", "--recipe", str(tmp_path / "recipe")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(made, full_check=True)
    assert elements(made) < elements(path)
    before, after = session(path, PLAIN), session(made, PLAIN)
    feeds = made_up(before)
    wanted, there, here = before.run(None, feeds), after.run(None, feeds), run_hone(made, feeds, tmp_path)
    for a, b, c in zip(wanted, there, here):
        assert np.isfinite(b).all()
        assert error(c, b) <= (2e-2 if "fp16" in name else 1e-3)
        assert bound is None or error(b, a) <= bound
