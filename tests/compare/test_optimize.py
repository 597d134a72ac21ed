"""hone optimize --for onnxruntime: what it writes runs there, and it was measured there.

Whether something is faster there is the machine's affair: the test looks at what follows from it.
"""

import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
from test_models import HONE

DIGITS = os.path.join(os.path.dirname(__file__), "..", "..", "models", "digits_cnn.onnx")
pytestmark = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")


def optimized(target, *options, python=sys.executable):
    command = [HONE, "optimize", DIGITS, "-q", "--json", "--data", "synthetic:digits,n=400,seed=7",
               "--threads", "1", "-o", str(target), *options]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, "HONE_PYTHON": python}, check=True)
    return json.loads(done.stdout)


def runs(path):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    entry = session.get_inputs()[0]
    shape = [size if isinstance(size, int) else 1 for size in entry.shape]
    return np.isfinite(session.run(None, {entry.name: np.zeros(shape, np.float32)})[0]).all()


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_it_is_measured_there(runtime, tmp_path):
    pytest.importorskip(runtime)
    found = optimized(tmp_path / "o.onnx", "--for", runtime)
    assert found["runtime"] == runtime and not found["by_rule"]
    assert found["runtime_version"].split()[-1][0].isdigit()
    tried = {row["name"]: row for row in found["rows"]}
    assert tried["int8"]["state"] in ("chosen", "passed", "slower")
    assert ("bf16" in tried) == (runtime == "openvino")
    if found["chosen"]:
        assert tried[found["chosen"]]["speed"] > 1
        assert runs(tmp_path / "o.onnx")


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino", "tensorrt"])
def test_by_rule_it_still_runs(runtime, tmp_path):
    found = optimized(tmp_path / "o.onnx", "--for", runtime, python="/nonexistent/python")
    assert found["by_rule"] and found["chosen"]
    assert all(row["speed"] is None and row["ms"] is None for row in found["rows"])
    if runtime == "onnxruntime":
        assert runs(tmp_path / "o.onnx")
