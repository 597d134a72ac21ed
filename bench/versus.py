"""hone beside other runtimes: speed, start and memory on the same models and inputs.

    versus.py [--speed] [--start] [--memory] [option...]     (default: these three)
    versus.py --own [option...]

Speed: one process per model and number of threads, pinned to that many cores, holds every runtime.
Each round gives each of them a short window in turn, so that a slow minute of the machine hits all.
A round's time is the median of its window; a runtime's time is the median of its rounds, its spread
the interquartile range over that. A ratio (other / hone, over 1 when hone is faster) is the median
of the rounds' ratios. The error of an output is max|a-b| / max|b| against ONNX Runtime.
With --precision bf16 or f16, all but ONNX Runtime on x86-64 compute in the 16-bit floats they have
for the machine (runtimes.py); int8 stands for quantized models, the same file in all runtimes.
With --isa, hone and the runtimes that compute with oneDNN (OpenVINO, PyTorch) use no more than that
instruction set. ONNX Runtime has no such switch: it uses what the machine has, AMX included.

Own: a quantized model against the float model it was made of, both in hone and taking turns.

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
WHOLLY = 1e30  # stands for an error that no number tells: NaN, other sizes
# A peer whose error is larger computes something else, and its time says nothing.
# By precision: outputs of 16-bit floats agree but roughly, and where quantized values are rounded is
# every runtime's own affair.
DISAGREES = {"f32": 1e-3, "bf16": 0.2, "f16": 0.2, "int8": 0.5}
HALF = ["resnet50", "bert_base", "minilm6", "vit_b16"]
CNNS = ["resnet50", "mobilenetv2", "mobilenetv3_small", "efficientnet_b0"]
TRANSFORMERS = ["minilm6", "bert_base", "vit_b16"]
# By machine and precision, of the ratios with a peer: for which models (None: all), the least
# geometric mean, the least single ratio (0: none asked for).
BARS = {
    "x86_64": {
        "f32": [
            ("onnxruntime", None, 1.3, 1.0),
            ("openvino", None, 1.1, 0.95),
            ("ncnn", None, 1.05, 0.95),
            ("torch", None, 1.5, 0),
        ],
        "bf16": [
            ("openvino", HALF, 0, 1.1),
            ("torch", HALF, 0, 1.1),
            ("torch-compiled", HALF, 0, 1.1),
        ],
        "int8": [
            ("onnxruntime", ["resnet50"], 0, 3.5),
            ("onnxruntime", ["mobilenetv2"], 0, 2.0),
            ("onnxruntime", ["bert_base", "minilm6"], 0, 2.5),
            ("openvino", ["resnet50"], 0, 1.2),
            ("openvino", ["mobilenetv2", "bert_base", "minilm6"], 0, 1.1),
        ],
    },
    "aarch64": {
        "f32": [
            ("onnxruntime", None, 1.5, 1.0),
            ("openvino", None, 1.25, 0.95),
            ("ncnn", None, 1.05, 0.95),
            ("torch", None, 1.5, 0),
        ],
        "bf16": [
            ("openvino", None, 1.5, 1.15),
            ("ncnn", CNNS, 0, 1.2),
            ("onnxruntime", None, 0, 2.0),
            ("torch", None, 0, 2.0),
        ],
        "f16": [("openvino", TRANSFORMERS, 0, 1.3)],
        "int8": [
            ("onnxruntime", None, 1.8, 1.4),
            ("litert", ["resnet50", "mobilenetv2", "efficientnet_b0"], 0, 1.2),
        ],
    },
}
# The bars of x86-64 that replace those with --isa: by instruction set and precision.
BARS_AT = {
    "avx512vnni": {"int8": [("onnxruntime", None, 2.2, 1.5), ("openvino", None, 1.4, 1.1)]},
}
# What oneDNN calls the instruction sets of --isa.
ONEDNN_ISA = {
    "avx2": "AVX2",
    "avxvnni": "AVX2_VNNI",
    "avx512": "AVX512_CORE",
    "avx512vnni": "AVX512_CORE_VNNI",
}
# In f16 on aarch64 the error may be this much of OpenVINO's.
F16_ERROR = 0.2
# Of a quantized model's ratio with its float model: with auto the least geometric mean and single
# ratio; with int8 the least of networks of convolutions, where there are no instructions for it.
OWN_AUTO = (1.0, 0.97)
OWN_INT8, OWN_INT8_SETS = 1.5, ("avx2", "neon")
# Where hone must need less than ONNX Runtime and OpenVINO.
START_MODELS = ["resnet50", "bert_base"]
MEMORY_MODELS = ["resnet50", "mobilenetv2", "bert_base"]
LESS_THAN = ["onnxruntime", "openvino"]


HEAD = f"{'model':28}{'':>5}{'batch':>6}{'thr':>4}"


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

    take_turns(job, ready, results, report)
    if "hone" in ready:
        last = digest_of(ready["hone"][0].outputs())
        results["hone"]["repeats"] = last == results["hone"]["digest"]
    return results


def take_turns(job, ready, results, report):
    """Times runtimes, each with the time a run is expected to take, round by round."""
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


def own_job(job, runtimes, model, report):
    """Times hone on a quantized model, as asked for, and on its float model in f32."""
    from runtimes import Model

    hone = runtimes["hone"]
    ready = {"hone": hone(model, job["batch"], job["threads"])}
    hone.precision = "f32"
    source = Model(job["source"], job["source_path"])
    ready["float"] = hone(source, job["batch"], job["threads"])
    for name, runtime in ready.items():
        runtime.run()
        ready[name] = runtime, timed(runtime.run)
    results = {n: {"rounds_ms": [], "min_ms": took * 1e3} for n, (_, took) in ready.items()}
    take_turns(job, ready, results, report)
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
    if job["kind"] == "own":
        try:
            report(absent.get("hone") or own_job(job, ready, model, report))
        except Exception as problem:
            report({"skipped": reason(problem)})
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
        self.rows, self.starts, self.memories, self.owns, self.bars = [], [], [], [], []
        self.means = {}

    def job(self, kind, model, threads, batch, names, precision, timeout=None):
        """Runs a job in a fresh process and gives its result."""
        args = self.args
        job = {
            "kind": kind, "model": model, "path": args.paths[model], "runtimes": names,
            "threads": threads, "batch": batch, "cores": args.cores[:threads],
            "rounds": args.rounds, "window": args.window, "seconds": args.seconds,
            "limit": args.limit, "folder": args.folder, "priority": args.priority,
            "hone_library": args.hone_library, "hone_backend": args.hone_backend,
            "isa": args.isa, "precision": precision,
        }  # fmt: skip
        if kind == "own":
            job["source"] = args.source_of(model)
            job["source_path"] = args.paths[job["source"]]
        # Runtimes print what they like; the result has a file of its own.
        with tempfile.NamedTemporaryFile("r", dir=args.folder, suffix=".json") as file:
            command = [sys.executable, __file__, "--child", file.name, json.dumps(job)]
            environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
            if args.isa in ONEDNN_ISA:
                environment["ONEDNN_MAX_CPU_ISA"] = ONEDNN_ISA[args.isa]
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
        print(HEAD + "".join(f"{n:>22}" for n in args.runtimes))
        for precision, model in args.rows:
            for threads in args.threads:
                for batch in args.batches:
                    if args.fits(model, batch):
                        self.speed_row(precision, model, threads, batch)
        self.speed_summary()

    def speed_row(self, precision, model, threads, batch):
        """One line of the table. hone is tried alone first: there it can be stopped."""
        names = list(self.args.runtimes)
        row = {"precision": precision, "model": model, "batch": batch, "threads": threads}
        row["runtimes"] = {}
        if "hone" in names:
            limit = self.args.limit
            tried = self.job("start", model, threads, batch, ["hone"], precision, limit)
            if "skipped" in tried:
                names.remove("hone")
                row["runtimes"]["hone"] = tried
        while "crashed" in (results := self.job("speed", model, threads, batch, names, precision)):
            names.remove(results["crashed"])
            row["runtimes"][results["crashed"]] = {"skipped": "crashes"}
        if "skipped" in results:
            results = {name: results for name in names}
        row["runtimes"].update(results)
        for name, result in row["runtimes"].items():
            error = result.get("error") or 0
            if error > DISAGREES[precision] and name != "hone":
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
        line = f"{model:28}{precision:>5}{batch:6}{threads:4}"
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
                    key = row["precision"], name
                    worst[key] = max(worst.get(key, (0, "")), (result["error"], row["model"]))
        print("\nlargest error against ONNX Runtime")
        for (precision, name), (error, model) in worst.items():
            print(f"  {precision:6}{name:16}{error:9.1e}  {model}")
        for precision in dict.fromkeys(row["precision"] for row in self.rows):
            self.speed_bars(precision)
        errors = [
            row["runtimes"].get("hone", {}).get("error")
            for row in self.rows
            if row["precision"] == "f32"
        ]
        if any(error is not None for error in errors):
            error = max(error for error in errors if error is not None)
            self.bar(f"error at most {LIMIT_ERROR:g}", f"{error:.1e}", error <= LIMIT_ERROR)
        self.f16_errors()
        self.check_bits()

    def speed_bars(self, precision):
        """Geometric means and least ratios with each peer, and whether they are as asked for."""
        found = {}
        for base, where, ratios in self.ratios(precision):
            for name, (ratio, best) in ratios.items():
                found.setdefault(name, []).append((base, where, ratio, best))
        self.means[precision] = {
            name: {
                "geometric_mean": statistics.geometric_mean([ratio for _, _, ratio, _ in of]),
                "least": min(ratio for _, _, ratio, _ in of),
                "count": len(of),
                "best_geometric_mean": statistics.geometric_mean([best for *_, best in of]),
                "best_least": min(best for *_, best in of),
            }
            for name, of in found.items()
        }
        bars = BARS_AT.get(self.args.isa, {}) if self.args.isa else BARS[platform.machine()]
        for name, models, least_mean, least in bars.get(precision, []):
            of = [x for x in found.get(name, []) if models is None or x[0] in models]
            if not of:
                continue
            about = f"{precision}, {name}"
            if models is not None:
                about += f" on {', '.join(dict.fromkeys(base for base, *_ in of))}"
            if least_mean:
                mean = statistics.geometric_mean([ratio for _, _, ratio, _ in of])
                best = statistics.geometric_mean([best for *_, best in of])
                text = f"{about}: geometric mean of the ratios at least {least_mean}"
                self.bar(text, f"{mean:.3f} (of the fastest runs {best:.3f})", mean >= least_mean)
            if least:
                _, where, ratio, _ = min(of, key=lambda x: x[2])
                best = min(best for *_, best in of)
                text = f"{about}: no ratio under {least}"
                what = f"{ratio:.3f} by {where} (of the fastest runs {best:.3f})"
                self.bar(text, what, ratio >= least)

    def ratios(self, precision):
        """What bars compare, as (float model, description, {peer: (ratio, of the fastest runs)}).
        A row each; but transformers, which have dynamic and static quantized forms, count once:
        hone's better form against each peer's better one."""
        groups = {}
        for row in self.rows:
            if row["precision"] == precision:
                base = self.args.source_of(row["model"])
                merged = precision == "int8" and base in TRANSFORMERS
                key = base if merged else row["model"], row["batch"], row["threads"]
                groups.setdefault(key, (base, []))[1].append(row)
        for (what, batch, threads), (base, rows) in groups.items():
            where = f"{what}, batch {batch}, {threads} thr"
            if len(rows) == 1:
                times = rows[0]["runtimes"]
                yield base, where, {
                    name: (of["ratio"], times[name]["min_ms"] / times["hone"]["min_ms"])
                    for name, of in rows[0]["ratios"].items()
                }
                continue
            medians, least = {}, {}
            for row in rows:
                for name, result in row["runtimes"].items():
                    if "median_ms" in result:
                        medians[name] = min(medians.get(name, math.inf), result["median_ms"])
                        least[name] = min(least.get(name, math.inf), result["min_ms"])
            if "hone" in medians:
                yield base, where, {
                    name: (medians[name] / medians["hone"], least[name] / least["hone"])
                    for name in medians
                    if name != "hone"
                }

    def f16_errors(self):
        """In f16, hone's sums are those of f32: its error beside OpenVINO's."""
        for row in self.rows:
            mine, theirs = (row["runtimes"].get(n, {}).get("error") for n in ("hone", "openvino"))
            if row["precision"] == "f16" and mine is not None and theirs:
                text = f"f16, {row['model']}: error at most {F16_ERROR} of OpenVINO's"
                self.bar(text, f"{mine:.1e} / {theirs:.1e}", mine <= F16_ERROR * theirs)

    def check_bits(self):
        """hone's outputs must be the same bits in every run and for any number of threads."""
        seen, good = {}, True
        for row in self.rows:
            result = row["runtimes"].get("hone", {})
            if "digest" in result:
                key = row["precision"], row["model"], row["batch"]
                same = seen.setdefault(key, result["digest"]) == result["digest"]
                good = good and same and result.get("repeats", True)
        if seen:
            text = "same bits in every run and for any number of threads"
            self.bar(text, "same" if good else "different", good)

    # -- quantized models beside the float models they were made of --

    def own(self):
        args = self.args
        at = f", {args.isa}" if args.isa else ""
        print(f"\nown: median ms of hone, spread, ratio of float to quantized{at}\n")
        print(f"{HEAD}{'f32':>14}{'quantized':>16}{'ratio':>12}")
        skipped = []
        for model in args.quantized_models:
            for threads in args.threads:
                for batch in args.batches:
                    if args.fits(model, batch):
                        skipped += self.own_row(model, threads, batch)
        self.say_skipped(skipped)
        self.own_bars()

    def own_row(self, model, threads, batch):
        """One line; what was skipped."""
        precision = self.args.own_precision
        result = self.job("own", model, threads, batch, ["hone"], precision)
        if "skipped" in result or "crashed" in result:
            return [(model, "hone", {"skipped": result.get("skipped", "crashes")})]
        mine, floats = result["hone"]["rounds_ms"], result["float"]["rounds_ms"]
        row = {"model": model, "precision": precision, "isa": self.args.isa, "batch": batch}
        row["threads"] = threads
        row["float_ms"], row["float_spread"] = middle(floats)
        row["median_ms"], row["spread"] = middle(mine)
        row["ratio"], row["ratio_spread"] = middle([b / a for a, b in zip(mine, floats)])
        row["best_ratio"] = result["float"]["min_ms"] / result["hone"]["min_ms"]
        self.owns.append(row)
        print(
            f"{model:28}{precision:>5}{batch:6}{threads:4}"
            f"{row['float_ms']:9.2f} {row['float_spread'] * 100:3.0f}%"
            f"{row['median_ms']:11.2f} {row['spread'] * 100:3.0f}%"
            f"{row['ratio']:7.2f} {row['ratio_spread'] * 100:3.0f}%",
            flush=True,
        )
        self.save()
        return []

    def own_bars(self):
        def least(rows):
            row = min(rows, key=lambda row: row["ratio"])
            where = f"{row['model']}, batch {row['batch']}, {row['threads']} thr"
            best = min(row["best_ratio"] for row in rows)
            return row["ratio"], f"{row['ratio']:.3f} by {where} (of the fastest runs {best:.3f})"

        auto = [row for row in self.owns if row["precision"] == "auto"]
        if auto:
            mean = statistics.geometric_mean([row["ratio"] for row in auto])
            best = statistics.geometric_mean([row["best_ratio"] for row in auto])
            text = f"auto beside f32: geometric mean at least {OWN_AUTO[0]}"
            found = f"{mean:.3f} (of the fastest runs {best:.3f})"
            self.bar(text, found, mean >= OWN_AUTO[0])
            ratio, found = least(auto)
            self.bar(f"auto beside f32: none under {OWN_AUTO[1]}", found, ratio >= OWN_AUTO[1])
        cnns = [
            row
            for row in self.owns
            if row["precision"] == "int8"
            and row["isa"] in OWN_INT8_SETS
            and self.args.source_of(row["model"]) not in TRANSFORMERS
        ]
        if cnns:
            ratio, found = least(cnns)
            text = f"int8 beside f32 with {cnns[0]['isa']}, networks of convolutions"
            self.bar(f"{text}: none under {OWN_INT8}", found, ratio >= OWN_INT8)

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
        args, models = self.args, [model for model in models if model in self.args.float_models]
        if not models:
            return
        names = [name for name in args.runtimes if not name.startswith("torch")]
        what = "load, compile and first run" if kind == "start" else "growth of resident memory"
        print(f"\n{kind}: {what}, median {unit} of {args.repeats}, spread\n")
        print(HEAD + "".join(f"{n:>22}" for n in names))
        for model in models:
            for threads in args.threads:
                results = {name: [] for name in names}
                for _ in range(args.repeats):
                    for name in names:
                        if "skipped" not in (results[name] or [{}])[-1]:
                            limit = args.limit + 30
                            result = self.job(kind, model, threads, 1, [name], "f32", limit)
                            results[name].append(result)
                row = {"model": model, "batch": 1, "threads": threads, "runtimes": {}}
                line = f"{model:28}{'f32':>5}{1:6}{threads:4}"
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
            "schema": "hone.versus/2",
            "machine": machine(),
            "versions": versions(),
            "cores": self.args.cores,
            "isa": self.args.isa,
            "speed": self.rows,
            "means": self.means,
            "own": self.owns,
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
    text = "instead of these: quantized models beside their float models"
    add("--own", action="store_true", help=text)
    text = "names, large, real, all (both), or int8; default: all, large of 16-bit floats, or int8"
    add("--models", type=names, metavar="A,B", help=text)
    text = "of f32, bf16, f16, int8 (quantized models); with --own auto (default) or int8"
    add("--precision", type=names, metavar="A,B", help=text)
    text = "hone, OpenVINO and PyTorch use no more than this instruction set"
    add("--isa", metavar="NAME", help=text)
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
    known["int8"] = list(quantized.SOURCES)
    every = known["all"] + known["int8"]
    named = [n for name in args.models or [] for n in known.get(name, [name])]
    for name in named:
        if name not in every:
            parser.error(f"unknown model '{name}'; there are {', '.join(every)}")
    accepted = ["auto", "int8"] if args.own else list(DISAGREES)
    for precision in args.precision or []:
        if precision not in accepted:
            parser.error(f"unknown precision '{precision}'; there are {', '.join(accepted)}")
    args.source_of = lambda name: quantized.SOURCES.get(name, name)

    def rows_of(precision):
        """The models a precision is for; int8: the quantized forms of those named."""
        if precision == "int8":
            wanted = named or quantized.SOURCES
            return [n for n in known["int8"] if n in wanted or args.source_of(n) in wanted]
        default = known["all"] if precision == "f32" else known["large"]
        return [name for name in named or default if name not in quantized.SOURCES]

    args.rows, args.quantized_models = [], []
    if args.own:
        args.own_precision = (args.precision or ["auto"])[0]
        args.quantized_models = rows_of("int8")
    else:
        implied = ["f32"] + ["int8"] * any(name in quantized.SOURCES for name in named)
        args.rows = [(p, name) for p in args.precision or implied for name in rows_of(p)]
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
    wanted = [name for _, name in args.rows]
    wanted += [n for name in args.quantized_models for n in (name, args.source_of(name))]
    for name in dict.fromkeys(wanted):
        make = models.make if name in models.MODELS else runtimes.real_path
        if name in quantized.NAMES:
            make = quantized.make
        path = make(name, folder)
        if path is None:
            print(f"{name}: not in HONE_ASSETS, left out")
            continue
        args.paths[name] = path
        batchable[name] = runtimes.Model(name, path)
    args.rows = [(precision, name) for precision, name in args.rows if name in args.paths]
    args.quantized_models = [
        n for n in args.quantized_models if n in args.paths and args.source_of(n) in args.paths
    ]
    args.float_models = [name for precision, name in args.rows if precision == "f32"]
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
    parts = ["speed", "start", "memory"]
    asked = ["own"] if args.own else [part for part in parts if getattr(args, part)]
    for part in asked or parts:
        getattr(versus, part)()
    return versus.finish()


if __name__ == "__main__":
    sys.exit(main())
