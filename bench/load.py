"""Opening a 100 MB model: hone_model_load beside an ONNX Runtime session with optimizations off.

Exit status 1 when hone takes longer, or grows by more than 1.3 times the file.
"""

import json
import os
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RUNS = 7
LAYERS, WIDTH = 25, 1024  # 25 matrices of 4 MiB

ORT = """
import json, re, sys, time
import onnxruntime as ort
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
before, begun = peak(), time.perf_counter()
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
print(json.dumps({"load_ms": (time.perf_counter() - begun) * 1e3, "growth_bytes": peak() - before}))
"""


def make_model(path):
    rng = np.random.default_rng(1)
    weights = [
        numpy_helper.from_array(rng.standard_normal((WIDTH, WIDTH), dtype=np.float32), f"w{i}")
        for i in range(LAYERS)
    ]
    nodes = [
        helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(LAYERS)
    ]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", WIDTH])
    graph = helper.make_graph(nodes, "big", [value("x0")], [value(f"x{LAYERS}")], weights)
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, path)


def best(command):
    rows = [json.loads(subprocess.check_output(command)) for _ in range(RUNS)]
    return min(row["load_ms"] for row in rows), min(row["growth_bytes"] for row in rows)


def main():
    build = os.environ["BUILD"]
    path = os.path.join(build, "bench_load.onnx")
    make_model(path)
    size = os.path.getsize(path)
    hone_ms, hone_growth = best([os.path.join(build, "bench_load"), path])
    ort_ms, ort_growth = best([sys.executable, "-c", ORT, path])
    os.remove(path)
    print(f"load, a model of {size / 1e6:.0f} MB, best of {RUNS}")
    print(f"  {'':14}{'ms':>9}{'memory growth / file':>24}")
    print(f"  {'hone':14}{hone_ms:9.1f}{hone_growth / size:24.2f}")
    print(f"  {'onnxruntime':14}{ort_ms:9.1f}{ort_growth / size:24.2f}")
    return 0 if hone_ms < ort_ms and hone_growth <= 1.3 * size else 1


if __name__ == "__main__":
    sys.exit(main())
