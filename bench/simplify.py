"""What `hone simplify` gains in ONNX Runtime: models before and after, and each pass by itself.

    simplify.py [--models NAME,...] [--each] [--seconds S]

Both models are held by one process and run in turn, in short windows, on one thread; a window's time is its median, and
a ratio (before / after, over 1 when the simplified model is faster) is the median over the windows' ratios. ONNX Runtime
optimizes both as it does by default: what hone simplify did must not get in its way.

--each: for every pass that fires, the model without that pass beside the simplified one, with ONNX Runtime's own
optimizations off, which would hide what a pass does.

Exit status 1 when a simplified model is slower by more than the noise of its measurement and 3 %.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import models
import runtimes

WINDOWS = 15
LIMIT = 0.97


def simplify(hone, path, out, *options):
    command = [hone, "simplify", path, "-o", out, "-q", "--json", *options]
    return json.loads(subprocess.check_output(command))


class Plain(runtimes.OnnxRuntime):
    """ONNX Runtime that computes each node as it is written."""

    def __init__(self, model, batch, threads):
        create = self.ort.SessionOptions

        def options():
            o = create()
            o.graph_optimization_level = self.ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            return o

        self.ort.SessionOptions = options
        try:
            super().__init__(model, batch, threads)
        finally:
            self.ort.SessionOptions = create


def window(run, seconds):
    times, end = [], time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1e3


def compare(kind, name, before, after, seconds):
    """Milliseconds of both, the ratio, and half the spread of the ratio."""
    a, b = (kind(runtimes.Model(name, path), 1, 1) for path in (before, after))
    a.run(), b.run()
    rows = [(window(a.run, seconds), window(b.run, seconds)) for _ in range(WINDOWS)]
    ratios = sorted(x / y for x, y in rows)
    quarter = WINDOWS // 4
    spread = (ratios[-1 - quarter] - ratios[quarter]) / 2
    return (*(statistics.median(column) for column in zip(*rows)), statistics.median(ratios), spread)


def each_pass(hone, name, path, report, after, folder, seconds):
    for row in sorted(report["passes"], key=lambda p: -p["fired"]):
        if row["fired"] == 0 or row["name"] == "remove_dead":
            continue
        without = os.path.join(folder, name + ".without.onnx")
        simplify(hone, path, without, "--without", row["name"])
        x, y, ratio, spread = compare(Plain, name, without, after, seconds)
        print(f"    {row['name']:24}{row['fired']:5} times {x:10.2f}{y:10.2f}{ratio:8.3f} +- {spread:.3f}", flush=True)
        os.remove(without)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", help="separated by commas (default: all of versus)")
    parser.add_argument("--each", action="store_true", help="the gain of each pass")
    parser.add_argument("--seconds", type=float, default=0.2, help="of one window")
    args = parser.parse_args()
    build = os.environ.get("BUILD", "build")
    hone, folder = os.path.join(build, "hone"), os.path.join(build, "bench", "models")
    runtimes.OnnxRuntime.setup(None)
    Plain.setup(None)
    slower = []
    print(f"{'model':28}{'nodes':>12}{'before ms':>10}{'after ms':>10}{'ratio':>8}")
    for name in args.models.split(",") if args.models else [*models.MODELS, *runtimes.REAL]:
        path = (models.make if name in models.MODELS else runtimes.real_path)(name, folder)
        if path is None:
            print(f"{name:28} is not in HONE_ASSETS")
            continue
        after = os.path.join(folder, name + ".simple.onnx")
        report = simplify(hone, path, after)
        x, y, ratio, spread = compare(runtimes.OnnxRuntime, name, path, after, args.seconds)
        nodes = f"{report['before']['nodes']} > {report['after']['nodes']}"
        print(f"{name:28}{nodes:>12}{x:10.2f}{y:10.2f}{ratio:8.3f} +- {spread:.3f}", flush=True)
        if ratio + spread < LIMIT:
            slower.append(name)
        if args.each:
            each_pass(hone, name, path, report, after, folder, args.seconds)
        os.remove(after)
    if slower:
        print("slower once simplified:", ", ".join(slower))
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
