"""bench/versus: its view of hone's C API, and what it makes of results; nothing is timed."""
import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

from one_node import HONE, feed, model, needs_hone, run_onnxruntime

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)
import hone_ctypes  # noqa: E402
import versus  # noqa: E402

LIBRARY = os.path.join(os.path.dirname(HONE), "libhone.so")


@pytest.fixture
def matmul(tmp_path):
    rng = np.random.default_rng(2)
    inputs = [rng.standard_normal(dims).astype(np.float32) for dims in ((3, 5), (5, 2))]
    path = str(tmp_path / "matmul.onnx")
    onnx.save(model("MatMul", inputs), path)
    return path, inputs


@needs_hone
def test_ctypes_runs_a_model(matmul):
    path, inputs = matmul
    session = hone_ctypes.Session(hone_ctypes.Library(LIBRARY), path, 1)
    for scale in 1, 2:  # the second time into the memory of the first
        arrays = [inputs[0] * np.float32(scale), inputs[1]]
        session.bind(feed(onnx.load(path), arrays))
        session.run()
        session.run()
        (found,), (wanted,) = session.outputs(), run_onnxruntime(onnx.load(path), arrays)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    session.close()


@needs_hone
def test_ctypes_passes_options_and_errors(matmul):
    library = hone_ctypes.Library(LIBRARY)
    with pytest.raises(hone_ctypes.HoneError, match="no backend 'nowhere'"):
        hone_ctypes.Session(library, matmul[0], 1, "nowhere")
    with pytest.raises(hone_ctypes.HoneError, match="-7 threads"):
        hone_ctypes.Session(library, matmul[0], -7)


@needs_hone
def test_speed_job(matmul, tmp_path):
    job = {
        "kind": "speed", "model": "matmul", "path": matmul[0], "batch": 1, "threads": 1,
        "runtimes": ["hone", "onnxruntime", "litert"], "cores": sorted(os.sched_getaffinity(0))[:1],
        "rounds": 4, "window": 0.001, "seconds": 60, "limit": 60, "priority": False,
        "folder": str(tmp_path), "hone_library": LIBRARY, "hone_backend": None, "isa": None,
        "precision": "f32",
    }  # fmt: skip
    out = str(tmp_path / "result.json")
    script = os.path.join(BENCH, "versus.py")
    subprocess.run([sys.executable, script, "--child", out, json.dumps(job)], check=True)
    with open(out) as file:
        results = json.load(file)
    for name in "hone", "onnxruntime":
        assert len(results[name]["rounds_ms"]) == 4
        assert results[name]["error"] < 1e-5
    assert results["hone"]["repeats"]
    assert "ai_edge_litert" in results["litert"]["skipped"]


def test_error():
    ones = np.ones(3, np.float32)
    assert versus.error_of([ones * 5], [ones * 4]) == 0.25
    assert versus.error_of([ones, ones * 3], [ones, ones * 4]) == 0.25
    assert versus.error_of([ones], [np.ones(4, np.float32)]) == versus.WHOLLY
    assert versus.error_of([ones * np.nan], [ones]) == versus.WHOLLY
    assert versus.error_of([ones], [ones, ones]) == versus.WHOLLY


def test_middle():
    assert versus.middle([4.0]) == (4.0, 0.0)
    assert versus.middle([1.0, 2.0, 3.0, 4.0, 9.0]) == (3.0, 2 / 3)
