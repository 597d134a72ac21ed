"""Opening a model, and starting to run one, beside ONNX Runtime.

    load.py                                           opens a 100 MB model
    load.py [--threads N,...] [--runs N] [--precision P] MODEL.onnx...
                                                      opens each model and runs it once

Every measurement has a process of its own; hone and ONNX Runtime take turns, and the least time of
each counts. Files are in the page cache. Opening only, ONNX Runtime has its optimizations off: exit
status 1 when hone takes longer, or grows by more than 1.3 times the file. Starting, both work as
they do by default: exit status 1 when hone takes more than half of ONNX Runtime's time.
"""

import argparse
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
import numpy as np
import onnxruntime as ort
options = ort.SessionOptions()
options.log_severity_level = 3
runs = len(sys.argv) > 2
if runs:
    options.intra_op_num_threads, options.inter_op_num_threads = int(sys.argv[2]), 1
else:
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024
before, begun, spent = peak(), time.perf_counter(), time.process_time()
session = ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
took = {"load_ms": (time.perf_counter() - begun) * 1e3}
if runs:
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    size = lambda d, axis: d if isinstance(d, int) else 128 if axis else 1
    given = {
        x.name: np.ones([size(d, axis) for axis, d in enumerate(x.shape)], types[x.type])
        for x in session.get_inputs()
    }
    begun = time.perf_counter()
    session.run(None, given)
    took["first_ms"] = (time.perf_counter() - begun) * 1e3
    took["cpu_ms"] = (time.process_time() - spent) * 1e3
    took["start_ms"] = took["load_ms"] + took["first_ms"]
print(json.dumps({**took, "growth_bytes": peak() - before}))
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


def least(commands, runs):
    """Per command the least of each number it prints, the commands taking turns."""
    best = [{} for _ in commands]
    for _ in range(runs):
        for row, command in zip(best, commands):
            for key, value in json.loads(subprocess.check_output(command)).items():
                row[key] = min(value, row.get(key, value))
    return best


def compare_loading(program):
    path = os.path.join(os.path.dirname(program), "bench_load.onnx")
    make_model(path)
    size = os.path.getsize(path)
    hone, ort = least([[program, path], [sys.executable, "-c", ORT, path]], RUNS)
    os.remove(path)
    print(f"load, a model of {size / 1e6:.0f} MB, best of {RUNS}")
    print(f"  {'':14}{'ms':>9}{'memory growth / file':>24}")
    for name, row in ("hone", hone), ("onnxruntime", ort):
        print(f"  {name:14}{row['load_ms']:9.1f}{row['growth_bytes'] / size:24.2f}")
    return hone["load_ms"] < ort["load_ms"] and hone["growth_bytes"] <= 1.3 * size


def compare_starts(programs, args):
    parts = ("start_ms", "cpu_ms", "load_ms", "create_ms", "prepare_ms", "first_ms", "second_ms")
    names = [p.removesuffix("_ms") for p in parts]
    print(f"start: open a model and run it once; best of {args.runs}, ms")
    print(f"  {'model':20}{'threads':>8}  {'':24}" + "".join(f"{n:>9}" for n in names + ["MB"]))
    met = True
    for path in args.models:
        for threads in args.threads.split(","):
            wanted = [args.precision] if args.precision else []
            commands = [[program, path, threads, *wanted] for program in programs]
            commands.append([sys.executable, "-c", ORT, path, threads])
            rows = least(commands, args.runs)
            for name, row in zip([*programs, "onnxruntime"], rows):
                cells = "".join(f"{row[p]:9.1f}" if p in row else f"{'':9}" for p in parts)
                cells += f"{row['growth_bytes'] / 1e6:9.0f}"
                model = os.path.basename(path).removesuffix(".onnx")
                print(f"  {model:20}{threads:>8}  {os.path.basename(name):24}{cells}", flush=True)
            met &= rows[0]["start_ms"] <= rows[-1]["start_ms"] / 2
    return met


def main():
    program = os.path.join(os.environ["BUILD"], "bench_load")
    parser = argparse.ArgumentParser(description="Opening and starting models.")
    parser.add_argument("models", nargs="*", metavar="MODEL.onnx")
    parser.add_argument("--threads", default="1,2", help="default: 1,2")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"default: {RUNS}")
    parser.add_argument("--precision", help="that hone computes in")
    parser.add_argument("--beside", action="append", default=[], help="another bench_load")
    args = parser.parse_args()
    if not args.models:
        return 0 if compare_loading(program) else 1
    return 0 if compare_starts([program, *args.beside], args) else 1


if __name__ == "__main__":
    sys.exit(main())
