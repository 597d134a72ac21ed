"""Every operator of `hone ops` by itself, in hone and ONNX Runtime.

    operators.py [--only REGEX] [--sizes small,medium,large] [--threads N] [--seconds S] [--json FILE]

operator_cases.py says what is run: models of one node, at three sizes. Both runtimes run in this process, in turns, with
inputs and outputs bound beforehand; the least time of a call counts. The ratio is ONNX Runtime's time over hone's: above
1, hone is faster. Outputs are compared. The table begins with the worst ratio; below it stand the cases that did not
run, with the reason, and the operators without a case.
"""

import argparse
import ctypes
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

import hone_ctypes
import operator_cases

BUILD = os.environ.get("BUILD", "build")
SIZES = ("small", "medium", "large")
LEAST_RATIO, LEAST_MEAN = 0.9, 1.5
TURN_SECONDS = 5e-4  # a turn makes as many calls as take this long
TOLERANCE = {np.dtype(np.float16): 1e-2, np.dtype(np.float32): 1e-4, np.dtype(np.float64): 1e-6}
MS_OPERATORS = "com.microsoft"


def make_model(case, k):
    """The model of a case at size k, and its inputs by name."""
    arrays, attributes = case.build(k)
    inner = operator_cases.CASES_OF_SUBGRAPHS.get(case.op, [])
    names, inputs, constants, feeds = [], [], [], {}
    for i, array in enumerate(arrays):
        name = "" if array is None else f"x{i}"
        if name not in inner:
            names.append(name)
        if isinstance(array, operator_cases.Const):
            constants.append(numpy_helper.from_array(np.asarray(array.array), name))
        elif array is not None:
            array = np.ascontiguousarray(array) if array.ndim else np.asarray(array)
            dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
            inputs.append(helper.make_tensor_value_info(name, dtype, array.shape))
            feeds[name] = array
    operator = case.op.rpartition(".")[2]
    node = helper.make_node(operator, names, case.outputs, domain=case.domain, **attributes)
    wanted = [name for name in case.outputs if name]
    types = case.types or [TensorProto.UNDEFINED] * len(wanted)
    outputs = [helper.make_tensor_value_info(name, t, None) for name, t in zip(wanted, types)]
    graph = helper.make_graph([node], "operator", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid(MS_OPERATORS, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    if case.types is None:
        del model.graph.output[:]
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
        inferred = shape_inference.infer_shapes(model)
        known = {value.name: value for value in list(inferred.graph.output) + list(inferred.graph.value_info)}
        del model.graph.output[:]
        model.graph.output.extend(known[name] for name in wanted)
    return model, feeds


class Peer:
    """A model in ONNX Runtime."""

    def __init__(self, path, threads, feeds):
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.force_spinning_stop", "1")  # else it keeps a core busy
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.outputs = self.session.run(None, feeds)
        self.binding = self.session.io_binding()
        self.held = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in feeds.values()]
        for name, value in zip(feeds, self.held):
            self.binding.bind_ortvalue_input(name, value)
        for output, array in zip(self.session.get_outputs(), self.outputs):
            value = onnxruntime.OrtValue.ortvalue_from_numpy(np.asarray(array))
            self.held.append(value)
            self.binding.bind_ortvalue_output(output.name, value)

    def run(self):
        self.session.run_with_iobinding(self.binding)


class StepInfo(ctypes.Structure):
    """The beginning of hone_step_info."""

    _fields_ = [(name, ctypes.c_char_p) for name in ("node", "op", "family", "kernel", "output")]


def kernels(session):
    """The kernels of a run: "map_f32 avx512_u64", or "reference"."""
    steps = []

    def step(_, info):
        family, kernel = info.contents.family, info.contents.kernel
        steps.append(f"{family.decode()} {kernel.decode()}" if family else "reference")

    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(StepInfo))(step)
    session.library.call("hone_session_profile", *session.run_args, callback, None)
    return list(dict.fromkeys(steps)) or ["none"]


def disagreement(got, wanted, tolerance):
    """None, or how two outputs differ. tolerance: None for the type's own; of integers the steps they may differ by."""
    wanted = np.asarray(wanted)
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"{got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}"
    if wanted.dtype not in TOLERANCE:
        steps = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
        n = int((steps > (tolerance or 0)).sum())
        return f"{n} of {wanted.size} elements differ" if n else None
    if not np.array_equal(np.isfinite(got), np.isfinite(wanted)):
        return "infinities or NaNs differ"
    finite = np.isfinite(wanted)
    difference = np.abs(got[finite].astype(np.float64) - wanted[finite].astype(np.float64))
    error = difference.max(initial=0) / max(np.abs(wanted[finite]).max(initial=0), 1e-30)
    return f"error {error:.1e}" if error > (tolerance or TOLERANCE[wanted.dtype]) else None


def calls_per_turn(run):
    begun = time.perf_counter()
    run()
    return max(1, int(TURN_SECONDS / max(time.perf_counter() - begun, 1e-7)))


def turn(run, calls):
    begun = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - begun) / calls


def measure(hone, peer, seconds):
    """The least times of a call, in microseconds."""
    runs = hone.run, peer.run
    for run in runs:
        run()
    counts = [calls_per_turn(run) for run in runs]
    best = [math.inf, math.inf]
    end, turns = time.perf_counter() + seconds, 0
    while turns < 3 or time.perf_counter() < end:
        for i, run in enumerate(runs):
            best[i] = min(best[i], turn(run, counts[i]))
        turns += 1
    return [1e6 * t for t in best]


def first_line(error):
    text = str(error).strip().splitlines()
    return text[0][:160] if text else type(error).__name__


def run_case(case, k, library, folder, options):
    """A row of the table; with "left_out" instead of times where a runtime refuses."""
    row = {"case": case.name(), "op": case.op, "size": SIZES[k]}
    path = os.path.join(folder, "operator.onnx")
    try:
        model, feeds = make_model(case, k)
        onnx.save(model, path)
    except Exception as error:
        return {**row, "left_out": f"no model: {first_line(error)}"}
    try:
        peer = Peer(path, options.threads, feeds)
    except Exception as error:
        return {**row, "left_out": f"ONNX Runtime: {first_line(error)}"}
    try:
        hone = hone_ctypes.Session(library, path, options.threads)
        hone.bind(feeds)
        hone.run()
    except hone_ctypes.HoneError as error:
        return {**row, "left_out": f"hone: {first_line(error)}"}
    if case.compare:
        found = [disagreement(a, b, case.tolerance) for a, b in zip(hone.outputs(), peer.outputs)]
        row["differs"] = next(filter(None, found), None)
    row["kernels"] = kernels(hone)
    row["hone_us"], row["peer_us"] = measure(hone, peer, options.seconds)
    row["ratio"] = row["peer_us"] / row["hone_us"]
    hone.close()
    return row


def print_row(row, width):
    line = f"{row['case']:{width}} {row['size']:6} {row['hone_us']:11.1f} {row['peer_us']:11.1f} {row['ratio']:7.2f}  "
    line += ", ".join(row["kernels"])
    if row.get("differs"):
        line += f"  DIFFERS: {row['differs']}"
    print(line)


def print_left_out(rows, known, options):
    reasons = {}
    for row in rows:
        if "left_out" in row:
            reasons.setdefault((row["case"], row["left_out"]), []).append(row["size"])
    covered = {case.op for case in operator_cases.CASES}
    if reasons:
        print("\nnot measured:")
    for (case, why), sizes in reasons.items():
        print(f"  {case} ({', '.join(sizes)}): {why}")
    missing = sorted(known - covered)
    if missing and not options.only:
        print(f"\nwithout a case: {', '.join(missing)}")
    return missing


def summary(measured):
    ratios = [row["ratio"] for row in measured]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    under = sum(ratio < LEAST_RATIO for ratio in ratios)
    operators = len({row["op"] for row in measured})
    print(f"\n{len(measured)} cases of {operators} operators: geometric mean {mean:.2f} (bar {LEAST_MEAN}), "
          f"{under} under {LEAST_RATIO}, {sum(ratio < 1 for ratio in ratios)} under 1")  # fmt: skip
    return mean >= LEAST_MEAN and under == 0


def operators_of(build):
    listed = json.loads(subprocess.check_output([os.path.join(build, "hone"), "ops", "--json"]))
    return {op["name"] if op["domain"] == "ai.onnx" else f"{op['domain']}.{op['name']}" for op in listed["ops"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="REGEX", help="cases whose name matches, as 'Conv |Pool'")
    parser.add_argument("--sizes", default=",".join(SIZES), help="of " + ", ".join(SIZES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.1, help="per case, for both runtimes together (default: 0.1)")
    parser.add_argument("--json", metavar="FILE", help="write the rows there too")
    options = parser.parse_args()
    library = hone_ctypes.Library(os.path.join(BUILD, "libhone.so"))
    chosen = [case for case in operator_cases.CASES if re.search(options.only or "", case.name())]
    width = max((len(case.name()) for case in chosen), default=0)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for i, case in enumerate(chosen):
            if sys.stderr.isatty():
                print(f"\r{i + 1}/{len(chosen)} {case.name():{width}}", end="", file=sys.stderr)
            rows += [run_case(case, SIZES.index(size), library, folder, options) for size in options.sizes.split(",")]
    if sys.stderr.isatty():
        print("\r" + " " * (width + 12), end="\r", file=sys.stderr)
    measured = sorted((row for row in rows if "ratio" in row), key=lambda row: row["ratio"])
    print(f"{'case':{width}} {'size':6} {'hone us':>11} {'peer us':>11} {'ratio':>7}  kernels")
    for row in measured:
        print_row(row, width)
    missing = print_left_out(rows, operators_of(BUILD), options)
    good = bool(measured) and summary(measured) and not any(row.get("differs") for row in measured)
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"rows": rows, "without_a_case": missing}, file, indent=1)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
