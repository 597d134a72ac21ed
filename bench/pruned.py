"""Pruned models beside what they were pruned from, in hone and ONNX Runtime.

    pruned.py [--threads N] [--only TEXT] [--rounds N] [--window S]
    pruned.py DENSE.onnx=PRUNED.onnx ... [--isa NAME]

Without files: ResNet-50 and BERT-base of `hone make`, whose weights are seeded, with zeros among their weights, each at the
instruction set that is named. Zeros make nothing faster in ONNX Runtime, which therefore runs the dense model alone; models
in integers run in hone alone. With files: both run in both, as models with fewer channels or blocks should be faster everywhere.

All run in turns: a window of runs each, round by round, one sample a run. A round's ratio is that of its medians; what counts
is the median of the rounds. The bars are those of each line.
"""

import argparse
import os
import statistics
import subprocess
import sys

import runtimes
from optimized import name_of, window

TOKENS = 128
# What the line is called, `hone make`, `hone prune`, whether in int8, instruction set, and how many times as fast as
# the dense model in hone, and in ONNX Runtime, it must be.
CASES = [
    ("ResNet-50, 80 %", "resnet50", ["--sparsity", "0.8"], False, "avx512", None, None),
    ("ResNet-50, 90 %", "resnet50", ["--sparsity", "0.9"], False, "avx512", 2.0, 2.5),
    ("BERT-base, 80 %", "bert", ["--sparsity", "0.8"], False, "avx512", 1.8, None),
    ("BERT-base, 90 %", "bert", ["--sparsity", "0.9"], False, "avx512", 3.0, None),
    ("ResNet-50, 90 %, int8", "resnet50", ["--sparsity", "0.9"], True, "avx512vnni", 1.3, None),
    ("BERT-base, 90 %, int8", "bert", ["--sparsity", "0.9"], True, "avx512vnni", 1.3, None),
    ("BERT-base, 2:4, int8", "bert", ["--kind", "nm=2:4"], True, "avx512vnni", 0.97, None),
]  # fmt: skip


def made(hone, folder, name, zeros, int8):
    """The file of a model: made, pruned and quantized, unless an earlier run has done it."""
    stem = "-".join([f"made-{name}", *zeros]).replace("=", "").replace(":", "").replace("--", "")
    path = os.path.join(folder, f"{stem}{'-int8' if int8 else ''}.onnx")
    if os.path.exists(path):
        return path
    if int8:
        fixed = path + ".fixed"
        sizes = ["--set-dim", f"input_ids:1={TOKENS}", "--set-dim", f"attention_mask:1={TOKENS}"] if name == "bert" else []
        subprocess.run([hone, "simplify", made(hone, folder, name, zeros, False), *sizes, "-q", "-o", fixed], check=True, stdout=subprocess.DEVNULL)
        command = ["quantize", fixed, "--data", "random,n=16"]
    elif zeros:
        command = ["prune", made(hone, folder, name, [], False), *zeros, "--no-timing"]
    else:
        os.makedirs(folder, exist_ok=True)
        command = ["make", name, "--seed", "1"]
    subprocess.run([hone, *command, "-q", "-o", path], check=True, stdout=subprocess.DEVNULL)
    return path


def model_of(path):
    model = runtimes.Model(name_of(path), path)
    model.facts = {"S": TOKENS, **model.facts}
    return model


def measure(args, kinds):
    """Median times of runtimes that take turns, and by how many times the first was slower in each round, by the median."""
    ms = [[] for _ in kinds]
    for _ in range(args.rounds):
        for runtime, found in zip(kinds, ms):
            found.append(window(runtime, args.window))
    times = [statistics.median(a / b for a, b in zip(ms[0], found)) for found in ms]
    return [statistics.median(found) for found in ms], times


def verdict(found, bar):
    return "" if bar is None or found >= bar else f"  MISSED: {bar} wanted"


def seeded(args, build):
    print(f"{'model':24}{'isa':>12}{'dense ms':>10}{'pruned ms':>11}{'times':>7}{'ORT ms':>9}{'times':>7}")
    folder, missed = os.path.join(build, "bench", "models"), 0
    for title, name, zeros, int8, isa, own, other in CASES:
        if args.only not in title:
            continue
        runtimes.Hone.isa, runtimes.Hone.precision = args.isa or isa, "int8" if int8 else None
        dense, pruned = (model_of(made(os.path.join(build, "hone"), folder, name, z, int8)) for z in ([], zeros))
        runs = [runtimes.Hone(dense, 1, args.threads), runtimes.Hone(pruned, 1, args.threads)]
        if not int8:
            runs.insert(1, runtimes.OnnxRuntime(dense, 1, args.threads))
        ms, times = measure(args, runs)
        text = f"{title:24}{runtimes.Hone.isa:>12}{ms[0]:10.2f}{ms[-1]:11.2f}{times[-1]:7.2f}"
        note = verdict(times[-1], own)
        if not int8:
            text += f"{ms[1]:9.2f}{times[-1] / times[1]:7.2f}"
            note = note or verdict(times[-1] / times[1], other)
        missed += note != ""
        print(text + note, flush=True)
    return missed


def pairs(args):
    print(f"{'model':32}{'hone: dense ms':>15}{'pruned ms':>11}{'times':>7}{'ORT: dense ms':>15}{'pruned ms':>11}{'times':>7}")
    for pair in args.pairs:
        both = [model_of(path) for path in pair.split("=", 1)]
        both[1].facts = both[0].facts
        text = f"{both[1].name:32}"
        for kind in (runtimes.Hone, runtimes.OnnxRuntime):
            ms, times = measure(args, [kind(model, 1, args.threads) for model in both])
            text += f"{ms[0]:15.3f}{ms[1]:11.3f}{times[1]:7.2f}"
        print(text, flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("pairs", nargs="*", metavar="DENSE=PRUNED")
    add("--threads", type=int, default=1)
    add("--only", default="", help="lines whose name has this text")
    add("--rounds", type=int, default=7)
    add("--window", type=float, default=0.5, help="seconds of runs in a round (0.5)")
    add("--isa", help="what hone may use at most")
    build = os.environ.get("BUILD", "build")
    add("--hone-library", default=os.path.join(build, "libhone.so"))
    args = parser.parse_args()
    if bad := [pair for pair in args.pairs if "=" not in pair]:
        parser.error(f"'{bad[0]}' is no pair DENSE.onnx=PRUNED.onnx")
    options = {"hone_library": args.hone_library, "hone_backend": "cpu", "isa": args.isa,
               "precision": None, "threads": args.threads}  # fmt: skip
    runtimes.Hone.setup(options)
    runtimes.OnnxRuntime.setup({**options, "precision": "f32"})
    missed = pairs(args) if args.pairs else seeded(args, build)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
