"""Products of matrices at every instruction set: how much of the machine's peak they reach.

    peaks.py [--levels avx2,avx512,...] [--repeats N] [--json FILE]

The kernels are those of `check --bench`, on one thread, with weights in a near cache: at each level
the first row that takes the product, which is the one the engine takes. `check` brackets each piece
of a run by loops of nothing but multiply-adds of that level, and compares with these; the share here
is that of the fastest of several runs, the one that other work disturbed least. Exit status 1 when
a bar is missed. Integer products count a multiplication and an addition as two operations.
"""

import argparse
import json
import os
import subprocess
import sys

BUILD = os.environ.get("BUILD", "build")
F32_LEVELS = ["avx2", "avx512", "neon"]  # those with multiply-adds of their own
SQUARE = "1024x1024x1024"
SHAPES = [SQUARE, "128x768x768", "128x768x3072", "128x3072x768", "128x384x1536", "128x1536x384"]  # m, k, n
# Levels whose integer products have a bar. Without dot products of bytes, kernels that must not
# saturate take more instructions than the peak loop; tiles of AMX wait for the cache.
DOTS = ["avxvnni", "avx512vnni", "neondot", "neoni8mm"]


def bar(precision, shape, level):
    if precision == "int8":
        return 75 if level in DOTS else 0
    return 90 if shape == SQUARE else 80


def levels_here():
    """The instruction sets of this machine, the least first."""
    out = subprocess.run([f"{BUILD}/hone", "machine", "--json"], stdout=subprocess.PIPE, check=True)
    return [isa["name"] for isa in json.loads(out.stdout)["isas"] if isa["allowed"]]


def measure(family, case, level):
    """The first line of check, as an object, or None where no row of that level is fast."""
    command = [f"{BUILD}/tests/check", "--bench", "--json", "--family", family, "--case", case]
    environment = dict(os.environ, HONE_ISA=level)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as check:
        for line in check.stdout:
            row = json.loads(line)
            if "min_us" in row:
                check.kill()
                return row
    return None


def summary(precision, shape, level, repeats):
    family, case = ("conv_f32", f"gemm_{shape}") if precision == "f32" else ("conv_q8", f"gemm_{shape}_u8s8u8")
    rows = [row for row in (measure(family, case, level) for _ in range(repeats)) if row]
    rows = [row for row in rows if row["peak_percent"] > 0]
    if not rows:
        return None
    best = max(rows, key=lambda row: row["gflops"])
    return {
        "precision": precision,
        "shape": shape,
        "level": level,
        "kernel": best["kernel"],
        "gops": best["gflops"],
        "share": best["peak_percent"],
        "bar": bar(precision, shape, level),
    }


def table(results):
    """Markdown: a row for each product, a column for each level."""
    for precision in ("f32", "int8"):
        these = [r for r in results if r["precision"] == precision]
        levels = list(dict.fromkeys(r["level"] for r in these))
        if not levels:
            continue
        print(f"| {precision}: m x k x n | " + " | ".join(levels) + " |\n|---|" + "---|" * len(levels))
        for shape in SHAPES:
            cells = {r["level"]: f"{r['gops']:.0f} GOP/s, {r['share']:.0f} %" for r in these if r["shape"] == shape}
            print(f"| {shape} | " + " | ".join(cells.get(level, "-") for level in levels) + " |")
        print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--levels", help="instruction sets, with commas between (default: all of this machine)")
    parser.add_argument("--repeats", type=int, default=7, help="runs of each product (default: 7)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there too")
    options = parser.parse_args()
    levels = options.levels.split(",") if options.levels else levels_here()
    results = []
    for precision in ("f32", "int8"):
        for level in levels:
            if precision == "f32" and level not in F32_LEVELS:
                continue
            for shape in SHAPES:
                results.append(summary(precision, shape, level, options.repeats))
    results = [r for r in results if r]
    table(results)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    missed = [r for r in results if r["share"] < r["bar"]]
    for r in missed:
        print(f"missed: {r['precision']} {r['shape']} at {r['level']}: {r['share']:.1f} %, wanted {r['bar']} %")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
