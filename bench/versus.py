"""hone beside other runtimes: speed, start and memory on the same models and inputs.

    versus.py [--speed] [--start] [--memory] [option...]     (default: all three)

Speed: one process per model and number of threads, pinned to that many cores, holds every runtime.
Each round gives each of them a short window in turn, so that a slow minute of the machine hits all.
A round's time is the median of its window; a runtime's time is the median of its rounds, its spread
the interquartile range over that. A ratio (other / hone, over 1 when hone is faster) is the median
of the rounds' ratios. The error of an output is max|a-b| / max|b| against ONNX Runtime.

Start: load, compile and first run, in a fresh process per measurement, imports excluded.
Memory: growth of the resident set from just before loading until after three runs, likewise.

Exit status 1 when a bar is missed.
"""

import argparse
import gc
import hashlib
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

PEERS = ["onnxruntime", "openvino", "torch", "ncnn", "litert"]
LIMIT_ERROR = 1e-4
# A peer whose error is larger computes something else, and its time says nothing.
DISAGREES = 1e-3
WHOLLY = 1e30  # stands for an error that no number tells: NaN, other sizes
# Of the ratios with each peer: the least geometric mean, the least single ratio.
BARS = {
    "x86_64": {
        "onnxruntime": (1.3, 1.0),
        "openvino": (1.1, 0.95),
        "ncnn": (1.05, 0.95),
        "torch": (1.5, 0),
    },
    "aarch64": {
        "onnxruntime": (1.5, 1.0),
        "openvino": (1.25, 0.95),
        "ncnn": (1.05, 0.95),
        "torch": (1.5, 0),
    },
}
# Quantized models (quantized.py): runtimes round where they like, so outputs agree but roughly.
DISAGREES_QUANTIZED = 0.5
# The least ratio with each peer, by machine and model.
QUANTIZED_BARS = {
    "x86_64": {
        "resnet50": {"onnxruntime": 3.5, "openvino": 1.2},
        "mobilenetv2": {"onnxruntime": 2.0, "openvino": 1.1},
        "bert_base": {"onnxruntime": 2.5, "openvino": 1.1},
        "minilm6": {"onnxruntime": 2.5, "openvino": 1.1},
    },
}
# Where hone must need less than ONNX Runtime and OpenVINO.
START_MODELS = ["resnet50", "bert_base"]
MEMORY_MODELS = ["resnet50", "mobilenetv2", "bert_base"]
LESS_THAN = ["onnxruntime", "openvino"]


# ---- in the child: one job, its results as JSON ----


def resident():
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def error_of(outputs, wanted):
    import numpy as np

    if len(outputs) != len(wanted):
        return WHOLLY
    worst = 0.0
    for a, b in zip(outputs, wanted):
        if a.size != b.size:
            return WHOLLY
        a, b = a.reshape(b.shape).astype(np.float64), b.astype(np.float64)
        error = float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30))
        worst = max(worst, min(error, WHOLLY) if error == error else WHOLLY)
    return worst


def digest_of(outputs):
    return hashlib.sha256(b"".join(array.tobytes() for array in outputs)).hexdigest()


def timed(run):
    begun = time.perf_counter()
    run()
    return time.perf_counter() - begun


def window(runtime, expected, seconds):
    """The median time of the runs that fit into a window, after one that warms the caches."""
    if expected < seconds:
        runtime.run()
    times, begun = [], time.perf_counter()
    while not times or time.perf_counter() - begun + times[-1] < seconds:
        times.append(timed(runtime.run))
    return statistics.median(times), min(times)


def speed_job(job, runtimes, model, report):
    """Times every runtime at one batch size; a runtime over the limit is timed once."""
    ready, results, made = {}, {}, {}
    for name, cls in runtimes.items():
        report({"crashed": name})
        try:
            runtime = cls(model, job["batch"], job["threads"])
            runtime.run()  # may compile
            took = timed(runtime.run)
            made[name] = runtime.outputs()
        except Exception as problem:  # whatever a peer raises, the others are still compared
            results[name] = {"skipped": reason(problem)}
            continue
        results[name] = {"rounds_ms": [], "min_ms": took * 1e3, "digest": digest_of(made[name])}
        if took < job["limit"]:
            ready[name] = (runtime, took)
        else:
            results[name]["rounds_ms"].append(took * 1e3)
    for name in made if "onnxruntime" in made else []:
        results[name]["error"] = error_of(made[name], made["onnxruntime"])

    gc.disable()
    if job["priority"]:
        go_first()
    begun = time.perf_counter()
    for turn in range(job["rounds"] if ready else 0):
        if turn >= 3 and time.perf_counter() - begun > job["seconds"]:
            break
        names = list(ready)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            report({"crashed": name})
            runtime, expected = ready[name]
            median, least = window(runtime, expected, job["window"])
            results[name]["rounds_ms"].append(median * 1e3)
            results[name]["min_ms"] = min(results[name]["min_ms"], least * 1e3)
    gc.enable()
    if "hone" in ready:
        last = digest_of(ready["hone"][0].outputs())
        results["hone"]["repeats"] = last == results["hone"]["digest"]
    return results


def start_job(job, runtimes, model):
    cls = next(iter(runtimes.values()))
    model.arrays(job["batch"])  # made before the clock starts
    begun = time.perf_counter()
    runtime = cls(model, job["batch"], job["threads"])
    loaded = time.perf_counter()
    runtime.run()
    done = time.perf_counter()
    return {"load_ms": (loaded - begun) * 1e3, "first_ms": (done - loaded) * 1e3}


def memory_job(job, runtimes, model):
    cls = next(iter(runtimes.values()))
    model.arrays(job["batch"])  # made before memory is looked at
    before = resident()
    runtime = cls(model, job["batch"], job["threads"])
    for _ in range(3):
        runtime.run()
    return {"growth_bytes": resident() - before}


def reason(problem):
    text = str(problem).strip().splitlines()
    return text[0][:160] if text else type(problem).__name__


def go_first():
    """The highest priority for every thread there is, and for this session among the others."""
    for thread in os.listdir("/proc/self/task"):
        os.setpriority(os.PRIO_PROCESS, int(thread), -20)
    if os.path.exists("/proc/self/autogroup"):
        with open("/proc/self/autogroup", "w") as file:
            file.write("-20")


def child(job, report):
    """Runs a job and reports its result. Until then, who is to blame if this process dies."""
    os.sched_setaffinity(0, job["cores"])
    import runtimes

    model = runtimes.Model(job["model"], job["path"])
    ready, absent = {}, {}
    for name in job["runtimes"]:
        try:
            runtimes.RUNTIMES[name].setup(job)
            ready[name] = runtimes.RUNTIMES[name]
        except Exception as problem:
            absent[name] = {"skipped": reason(problem)}
    if job["kind"] == "speed":
        report({**absent, **speed_job(job, ready, model, report)})
        return
    work = {"start": start_job, "memory": memory_job}[job["kind"]]
    if job["priority"]:
        go_first()
    try:
        report(next(iter(absent.values()), None) or work(job, ready, model))
    except Exception as problem:
        report({"skipped": reason(problem)})


# ---- in the parent: jobs, tables, bars ----


class Versus:
    def __init__(self, args):
        self.args = args
        self.rows, self.starts, self.memories, self.bars = [], [], [], []
        self.means = {}

    def job(self, kind, model, threads, batch, names, timeout=None):
        """Runs a job in a fresh process and gives its result."""
        args = self.args
        job = {
            "kind": kind, "model": model, "path": args.paths[model], "runtimes": names,
            "threads": threads, "batch": batch, "cores": args.cores[:threads],
            "rounds": args.rounds, "window": args.window, "seconds": args.seconds,
            "limit": args.limit, "folder": args.folder, "priority": args.priority,
            "hone_library": args.hone_library, "hone_backend": args.hone_backend,
        }  # fmt: skip
        # Runtimes print what they like; the result has a file of its own.
        with tempfile.NamedTemporaryFile("r", dir=args.folder, suffix=".json") as file:
            command = [sys.executable, __file__, "--child", file.name, json.dumps(job)]
            environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
            try:
                subprocess.run(
                    command, env=environment, stdout=subprocess.DEVNULL, timeout=timeout,
                    stderr=None if args.verbose else subprocess.DEVNULL, start_new_session=True,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return {"skipped": f"over the limit of {timeout:g} s"}
            text = file.read()
        return json.loads(text) if text else {"skipped": "its process ended; -v shows why"}

    # -- speed --

    def speed(self):
        args = self.args
        print("\nspeed: median ms, spread, ratio to hone\n")
        print(f"{'model':28}{'batch':>5}{'thr':>4}" + "".join(f"{n:>22}" for n in args.runtimes))
        for model in args.models:
            for threads in args.threads:
                for batch in args.batches:
                    if args.fits(model, batch):
                        self.speed_row(model, threads, batch)
        self.speed_summary()

    def speed_row(self, model, threads, batch):
        """One line of the table. hone is tried alone first: there it can be stopped."""
        names = list(self.args.runtimes)
        row = {"model": model, "batch": batch, "threads": threads, "runtimes": {}}
        if "hone" in names:
            tried = self.job("start", model, threads, batch, ["hone"], self.args.limit)
            if "skipped" in tried:
                names.remove("hone")
                row["runtimes"]["hone"] = tried
        while "crashed" in (results := self.job("speed", model, threads, batch, names)):
            names.remove(results["crashed"])
            row["runtimes"][results["crashed"]] = {"skipped": "crashes"}
        if "skipped" in results:
            results = {name: results for name in names}
        row["runtimes"].update(results)
        for name, result in row["runtimes"].items():
            error = result.get("error") or 0
            limit = DISAGREES_QUANTIZED if model in self.args.quantized else DISAGREES
            if error > limit and name != "hone":
                row["runtimes"][name] = {"skipped": f"outputs disagree, error {error:.0e}"}
            elif "rounds_ms" in result:
                result["median_ms"], result["spread"] = middle(result["rounds_ms"])
        mine = row["runtimes"].get("hone", {}).get("rounds_ms", [])
        row["ratios"] = {
            name: dict(zip(("ratio", "spread"), middle([b / a for a, b in zip(mine, theirs)])))
            for name, result in row["runtimes"].items()
            if name != "hone" and mine and (theirs := result.get("rounds_ms"))
        }
        self.rows.append(row)
        line = f"{model:28}{batch:5}{threads:4}"
        for name in self.args.runtimes:
            result = row["runtimes"][name]
            cell = "-"
            if "median_ms" in result:
                cell = f"{result['median_ms']:.2f} {result['spread'] * 100:3.0f}%"
                ratio = row["ratios"].get(name, {}).get("ratio")
                cell += f" {ratio:6.2f}x" if ratio else " " * 8
            line += f"{cell:>22}"
        print(line, flush=True)
        self.save()

    def speed_summary(self):
        self.say_skipped(
            (row["model"], name, result)
            for row in self.rows
            for name, result in row["runtimes"].items()
        )
        worst = {}
        for row in self.rows:
            for name, result in row["runtimes"].items():
                if result.get("error") is not None and name != "onnxruntime":
                    worst[name] = max(worst.get(name, (0, "")), (result["error"], row["model"]))
        print("\nlargest error against ONNX Runtime")
        for name, (error, model) in worst.items():
            print(f"  {name:16}{error:9.1e}  {model}")
        plain = [row for row in self.rows if row["model"] not in self.args.quantized]
        for name in self.args.runtimes:
            ratios = [row["ratios"][name]["ratio"] for row in plain if name in row["ratios"]]
            if not ratios:
                continue
            # Of each runtime's fastest run: what a machine without neighbours would show.
            best = [
                row["runtimes"][name]["min_ms"] / row["runtimes"]["hone"]["min_ms"]
                for row in plain
                if name in row["ratios"]
            ]
            self.means[name] = {
                "geometric_mean": statistics.geometric_mean(ratios), "least": min(ratios),
                "count": len(ratios), "best_geometric_mean": statistics.geometric_mean(best),
                "best_least": min(best),
            }  # fmt: skip
        for name, (least_mean, least) in BARS.get(platform.machine(), {}).items():
            if name in self.means:
                of = self.means[name]
                mean, worst_one = of["geometric_mean"], of["least"]
                text = f"{name}: geometric mean of the ratios at least {least_mean}"
                best = f"(of the fastest runs {of['best_geometric_mean']:.3f})"
                self.bar(text, f"{mean:.3f} {best}", mean >= least_mean)
                if least:
                    text = f"{name}: no ratio under {least}"
                    best = f"(of the fastest runs {of['best_least']:.3f})"
                    self.bar(text, f"{worst_one:.3f} {best}", worst_one >= least)
        self.quantized_bars()
        errors = [row["runtimes"].get("hone", {}).get("error") for row in plain]
        if any(error is not None for error in errors):
            error = max(error for error in errors if error is not None)
            self.bar(f"error at most {LIMIT_ERROR:g}", f"{error:.1e}", error <= LIMIT_ERROR)
        self.check_bits()

    def quantized_bars(self):
        """Each quantized file against the peers' times on it; for transformers, which have a
        dynamic and a static form, hone's better one against each peer's better one."""
        import quantized

        groups = {}
        for row in self.rows:
            if row["model"] in self.args.quantized:
                base = row["model"].rsplit("_", 1)[0]
                what = base if base in quantized.TRANSFORMERS else row["model"]
                groups.setdefault((what, base, row["batch"], row["threads"]), []).append(row)
        for (what, base, batch, threads), rows in groups.items():
            best = {}
            for row in rows:
                for name, result in row["runtimes"].items():
                    if "median_ms" in result:
                        best[name] = min(best.get(name, math.inf), result["median_ms"])
            for name, least in QUANTIZED_BARS.get(platform.machine(), {}).get(base, {}).items():
                if name in best and "hone" in best:
                    ratio = best[name] / best["hone"]
                    text = f"{what}, batch {batch}, {threads} threads: {name} at least {least}"
                    self.bar(text, f"{ratio:.2f}", ratio >= least)

    def check_bits(self):
        """hone's outputs must be the same bits in every run and for any number of threads."""
        seen, good = {}, True
        for row in self.rows:
            result = row["runtimes"].get("hone", {})
            if "digest" in result:
                key = row["model"], row["batch"]
                same = seen.setdefault(key, result["digest"]) == result["digest"]
                good = good and same and result.get("repeats", True)
        if seen:
            text = "same bits in every run and for any number of threads"
            self.bar(text, "same" if good else "different", good)

    # -- start and memory --

    def start(self):
        def total(result):
            return result["load_ms"] + result["first_ms"]

        self.small("start", START_MODELS, "ms", total, self.starts)

    def memory(self):
        def growth(result):
            return result["growth_bytes"] / 1e6

        self.small("memory", MEMORY_MODELS, "MB", growth, self.memories)

    def small(self, kind, models, unit, number, rows):
        """A measurement with a process for each runtime and repetition, batch 1; medians."""
        args, models = self.args, [model for model in models if model in self.args.models]
        if not models:
            return
        names = [name for name in args.runtimes if not name.startswith("torch")]
        what = "load, compile and first run" if kind == "start" else "growth of resident memory"
        print(f"\n{kind}: {what}, median {unit} of {args.repeats}, spread\n")
        print(f"{'model':28}{'batch':>5}{'thr':>4}" + "".join(f"{n:>22}" for n in names))
        for model in models:
            for threads in args.threads:
                results = {name: [] for name in names}
                for _ in range(args.repeats):
                    for name in names:
                        if "skipped" not in (results[name] or [{}])[-1]:
                            result = self.job(kind, model, threads, 1, [name], args.limit + 30)
                            results[name].append(result)
                row = {"model": model, "batch": 1, "threads": threads, "runtimes": {}}
                line = f"{model:28}{1:5}{threads:4}"
                for name, found in results.items():
                    if "skipped" in found[-1]:
                        row["runtimes"][name], cell = found[-1], "-"
                    else:
                        median, spread = middle([number(result) for result in found])
                        row["runtimes"][name] = {f"median_{unit.lower()}": median, "spread": spread}
                        cell = f"{median:.1f} {spread * 100:3.0f}%" + " " * 8
                    line += f"{cell:>22}"
                print(line, flush=True)
                rows.append(row)
                self.save()
                self.less_than(kind, row, f"median_{unit.lower()}")
        self.say_skipped((r["model"], n, x) for r in rows for n, x in r["runtimes"].items())

    def less_than(self, kind, row, key):
        mine = row["runtimes"].get("hone", {}).get(key)
        others = {n: row["runtimes"].get(n, {}).get(key) for n in LESS_THAN}
        if mine is None:
            return
        for name, theirs in others.items():
            if theirs is not None:
                text = f"{kind} of {row['model']}, {row['threads']} threads: less than {name}"
                self.bar(text, f"{mine:.1f} / {theirs:.1f}", mine < theirs)

    # -- saying it --

    def bar(self, text, found, met):
        self.bars.append({"bar": text, "found": found, "met": met})

    @staticmethod
    def say_skipped(results):
        reasons = {}
        for model, name, result in results:
            if "skipped" in result:
                reasons.setdefault((name, result["skipped"]), []).append(model)
        if reasons:
            print("\nleft out")
        for (name, why), models in reasons.items():
            print(f"  {name}: {why} ({', '.join(dict.fromkeys(models))})")

    def finish(self):
        if self.bars:
            print("\nbars")
        for bar in self.bars:
            print(f"  {'met    ' if bar['met'] else 'NOT MET'}  {bar['bar']}: {bar['found']}")
        self.save()
        print(f"\nwritten to {self.args.json}")
        return 0 if all(bar["met"] for bar in self.bars) else 1

    def save(self):
        """Writes what is known so far: a run that is interrupted has not been for nothing."""
        report = {
            "schema": "hone.versus/1",
            "machine": machine(),
            "versions": versions(),
            "cores": self.args.cores,
            "speed": self.rows,
            "means": self.means,
            "start": self.starts,
            "memory": self.memories,
            "bars": self.bars,
        }
        with open(self.args.json, "w") as file:
            json.dump(report, file, indent=1)
            file.write("\n")


def middle(values):
    """Median, and interquartile range over median."""
    median = statistics.median(values)
    if len(values) < 2:
        return median, 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return median, (high - low) / median


def machine():
    model = platform.processor()
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {"arch": platform.machine(), "cpu": model, "cpus": os.cpu_count()}


def versions():
    from importlib import metadata

    found = {}
    for name in ("onnxruntime", "openvino", "torch", "ncnn", "pnnx", "ai-edge-litert"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return found


def options():
    build = os.environ.get("BUILD", "build")
    folder = os.path.join(build, "bench")

    def numbers(text):
        return [int(part) for part in text.split(",")]

    def names(text):
        return text.split(",")

    parser = argparse.ArgumentParser(description="hone beside other runtimes.")
    add = parser.add_argument
    add("--speed", action="store_true")
    add("--start", action="store_true")
    add("--memory", action="store_true")
    text = "names, large, real, all (both; default), or int8"
    add("--models", type=names, metavar="A,B", help=text)
    default = ["hone", *PEERS]
    text = f"default: {','.join(default)}; there is torch-compiled too, slow to start"
    add("--runtimes", type=names, default=default, metavar="A,B", help=text)
    add("--batches", type=numbers, default=[1, 8], metavar="N,M")
    add("--threads", type=numbers, default=[1, 2], metavar="N,M")
    add("--cores", type=numbers, metavar="N,M", help="to pin to; default: the first allowed ones")
    add("--priority", action="store_true", help="ahead of all other processes; needs root")
    add("--rounds", type=int, default=15)
    add("--window", type=float, default=0.1, metavar="S", help="seconds of a runtime in a round")
    text = "for the rounds of a row; three are always run"
    add("--seconds", type=float, default=60, metavar="S", help=text)
    text = "seconds after which a run is not repeated, and hone stopped"
    add("--limit", type=float, default=30, metavar="S", help=text)
    add("--repeats", type=int, default=5, help="processes per number of --start and --memory")
    add("--folder", default=folder, help="of models and converted models (default: %(default)s)")
    add("--json", metavar="FILE", help="default: versus.json in the folder")
    add("--hone-library", default=os.path.join(build, "libhone.so"), metavar="FILE")
    add("--hone-backend", metavar="NAME", help="default: the library's own default")
    add("-v", "--verbose", action="store_true", help="let runtimes write to stderr")
    return parser


def choose(parser, args):
    """Resolves names and cores; makes the models."""
    import models
    import quantized
    import runtimes

    known = {"large": list(models.MODELS), "real": list(runtimes.REAL)}
    known["all"] = known["large"] + known["real"]
    known["int8"] = quantized.NAMES
    args.quantized = set(quantized.NAMES)
    every = known["all"] + known["int8"]
    wanted = [n for name in args.models or ["all"] for n in known.get(name, [name])]
    for name in wanted:
        if name not in every:
            parser.error(f"unknown model '{name}'; there are {', '.join(every)}")
    for name in args.runtimes:
        if name not in runtimes.RUNTIMES:
            parser.error(f"unknown runtime '{name}'; there are {', '.join(runtimes.RUNTIMES)}")
    args.cores = args.cores or sorted(os.sched_getaffinity(0))
    if max(args.threads) > len(args.cores):
        parser.error(f"{max(args.threads)} threads, but {len(args.cores)} cores")
    args.json = args.json or os.path.join(args.folder, "versus.json")
    os.makedirs(args.folder, exist_ok=True)
    args.paths, batchable = {}, {}
    folder = os.path.join(args.folder, "models")
    for name in wanted:
        make = models.make if name in models.MODELS else runtimes.real_path
        if name in args.quantized:
            make = quantized.make
        path = make(name, folder)
        if path is None:
            print(f"{name}: not in HONE_ASSETS, left out")
            continue
        args.paths[name] = path
        batchable[name] = runtimes.Model(name, path)
    args.models = list(args.paths)
    args.fits = lambda name, batch: batchable[name].takes(batch)


def main():
    if sys.argv[1:2] == ["--child"]:

        def report(result):
            with open(sys.argv[2], "w") as file:
                json.dump(result, file)

        child(json.loads(sys.argv[3]), report)
        return 0
    parser = options()
    args = parser.parse_args()
    choose(parser, args)
    versus = Versus(args)
    every = not (args.speed or args.start or args.memory)
    for part in ("speed", "start", "memory"):
        if every or getattr(args, part):
            getattr(versus, part)()
    return versus.finish()


if __name__ == "__main__":
    sys.exit(main())
