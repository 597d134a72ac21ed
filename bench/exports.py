"""Networks as torch exports them, in hone and ONNX Runtime: agreement, speed, first run, references.

    exports.py [NAME...] [--threads N] [--rounds N] [--window S] [--isa NAME] [--hone-library FILE]

exports_models.py makes the files: detectors with their postprocessing, control flow, recurrent
networks, decoders with past keys, by both of torch's exporters. Each runs at every size listed
there, in one session, in turns with ONNX Runtime: a window of runs each, round by round; the least
time of each counts. The error of an output is max|a-b| / max|b| against ONNX Runtime; a shape that
differs is an infinite error. Detections are compared as sets. "first" is the time from nothing to the first result at the first size,
and the first run at each further one. "references" lists the operators that ran through hone's
references, with their share of a run.

The bars: every output within 1e-4, no size slower than ONNX Runtime.
"""

import argparse
import collections
import ctypes as c
import math
import os
import sys
import time
import warnings

import numpy as np

import exports_models
import hone_ctypes

ERROR, RATIO = 1e-4, 1.0
SHOWN_SHARE = 0.005  # references under this share of a run are left out


class StepInfo(c.Structure):
    """The first fields of hone_step_info."""

    _fields_ = [
        *((name, c.c_char_p) for name in ("node", "op", "family", "kernel", "output")),
        ("flops", c.c_double),
        ("bytes", c.c_double),
        ("begin_ns", c.c_int64),
        ("end_ns", c.c_int64),
    ]


def shares(session):
    """By operator: the share of a run that its references take."""
    spent, total = collections.Counter(), 0

    def note(_, step):
        nonlocal total
        step = step.contents
        total += step.end_ns - step.begin_ns
        if step.family is None:
            spent[step.op.decode()] += step.end_ns - step.begin_ns

    call = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(StepInfo))(note)
    session.library.call("hone_session_profile", *session.run_args, call, None)
    return {op: ns / total for op, ns in spent.most_common() if ns > SHOWN_SHARE * total}


class Peer:
    """ONNX Runtime behind the functions of hone_ctypes.Session."""

    def __init__(self, path, threads):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def bind(self, inputs):
        self.inputs = inputs

    def run(self):
        self.result = self.session.run(None, self.inputs)

    def outputs(self):
        return self.result


def clock(call, now=time.perf_counter):
    begun = now()
    call()
    return now() - begun


def least(runtime, options):
    """The fastest of the runs that fit into a window, after one that warms the caches.

    On one thread that is the thread's own time: other work on the machine counts less.
    """
    now = time.thread_time if options.threads == 1 else time.perf_counter
    runtime.run()
    end, best = time.perf_counter() + options.window, math.inf
    while best == math.inf or time.perf_counter() < end:
        best = min(best, clock(runtime.run, now))
    return best


def relative(apart, theirs):
    return float(np.abs(apart).max() / max(np.abs(theirs).max(), 1e-30))


def error_of_sets(ours, theirs):
    """The same, of detections in any order: two of equal score may change places.

    Each detection is compared with the one of the other side that is nearest in all its numbers.
    """
    rows = []
    for side in (ours, theirs):
        columns = [y.reshape(len(y), -1) / max(np.abs(b).max(), 1e-30) for y, b in zip(side, theirs)]
        rows.append(np.concatenate(columns, axis=1))
    apart = np.abs(rows[0][:, None] - rows[1][None]).max(axis=2)
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


def error(ours, theirs, detections):
    """The largest error among the outputs."""
    ours, theirs = ([y.astype(np.float64) for y in side] for side in (ours, theirs))
    if any(a.shape != b.shape for a, b in zip(ours, theirs)):
        return math.inf
    if theirs[0].size == 0:
        return 0.0
    if detections:
        return error_of_sets(ours, theirs)
    return max(relative(a - b, b) for a, b in zip(ours, theirs))


def measure(name, options, library):
    """A dict per size."""
    how = exports_models.EXPORTS[name]
    path = exports_models.path_of(name, options.folder)
    begun = time.perf_counter()
    hone = hone_ctypes.Session(library, path, options.threads, isa=options.isa)
    opened = time.perf_counter() - begun
    peer = Peer(path, options.threads)
    for size in how.sizes:
        inputs = {n: t.numpy() for n, t in how.inputs(size).items()}
        for runtime in (hone, peer):
            runtime.bind(inputs)
        first = opened + clock(hone.run)
        opened = 0.0
        best, theirs = math.inf, math.inf
        for _ in range(options.rounds):
            best = min(best, least(hone, options))
            theirs = min(theirs, least(peer, options))
        apart = error(hone.outputs(), peer.outputs(), how.outputs == exports_models.FOUND)
        shape = "x".join(map(str, hone.outputs()[0].shape))
        yield {
            "size": size, "hone": best, "peer": theirs, "ratio": theirs / best, "error": apart,
            "first": first, "output": shape, "references": shares(hone),
        }  # fmt: skip
    hone.close()


def show(name, exporter, row):
    size = "x".join(map(str, row["size"])) if isinstance(row["size"], tuple) else str(row["size"])
    marks = "".join(["" if row["error"] <= ERROR else " DIFFERS", "" if row["ratio"] >= RATIO else " slower"])
    references = ", ".join(f"{op} {100 * share:.0f} %" for op, share in row["references"].items())
    print(
        f"{name:18}{exporter:8}{size:>9}{row['output']:>14}{row['hone'] * 1e3:10.2f}{row['peer'] * 1e3:10.2f}"
        f"{row['ratio']:7.2f}{row['error']:10.1e}{row['first'] * 1e3:9.0f}  {references or '-'}{marks}",
        flush=True,
    )


def run(names, options, library):
    """Prints the table; the rows that miss a bar, and what did not run."""
    print(f"{'model':18}{'exporter':8}{'size':>9}{'output':>14}{'hone ms':>10}{'ORT ms':>10}{'ratio':>7}{'error':>10}{'first ms':>9}  references")
    rows, missed = [], []
    for name in names:
        exporter = "dynamo" if exports_models.EXPORTS[name].dynamo else "script"
        try:
            for row in measure(name, options, library):
                show(name, exporter, row)
                rows.append(row)
                if row["error"] > ERROR or row["ratio"] < RATIO:
                    missed.append(name)
        except hone_ctypes.HoneError as failure:
            print(f"{name:18}{exporter:8}  {failure}")
            missed.append(name)
    ratios = [row["ratio"] for row in rows]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.2f}, least {min(ratios):.2f}")
    return missed


def main():
    build = os.environ.get("BUILD", "build")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("name", nargs="*", help="exports to run (default: all)")
    add("--threads", type=int, default=1)
    add("--rounds", type=int, default=5)
    add("--window", type=float, default=0.2, help="seconds of a window")
    add("--isa", help="the strongest instruction set hone may use")
    add("--folder", default=os.path.join(build, "bench", "exports"))
    add("--hone-library", default=os.path.join(build, "libhone.so"))
    options = parser.parse_args()
    names = options.name or list(exports_models.EXPORTS)
    unknown = [name for name in names if name not in exports_models.EXPORTS]
    if unknown:
        parser.error(f"no export named {', '.join(unknown)}; there are {', '.join(exports_models.EXPORTS)}")
    warnings.filterwarnings("ignore")
    failed = exports_models.make(names, options.folder)
    for name, why in failed.items():
        print(f"{name}: not exported: {why}")
    library = hone_ctypes.Library(options.hone_library)
    missed = run([name for name in names if name not in failed], options, library)
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
