"""What the engine's own steps gain: models as compiled, and with parts of the compiler left out.

    fusion.py [--models NAME,...] [--rounds N] [--seconds S]

Each variant is a run of `hone bench` on one thread, and the rounds go through the variants in turn; the latency of a
variant is the median of its rounds' medians. Behind it stands what it gains over the variant before it.

    nothing   Conv, BatchNormalization and Relu each by itself: no folding of the second into weights, a step per node
    folding   BatchNormalization multiplied into weights; a step per node
    fusion    and activations, residuals and chains of elementwise nodes in the step before, and steps in strips
    sharing   and memory shared by activations that do not live at once: what hone does
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import models

VARIANTS = {
    "nothing": ["--no-sharing", "--without", "fold_batch_norm,fuse"],
    "folding": ["--no-sharing", "--without", "fuse"],
    "fusion": ["--no-sharing"],
    "sharing": [],
}


def bench(hone, path, options, seconds):
    command = [hone, "bench", path, "-q", "-t", "1", "--seconds", str(seconds), "--json"]
    return json.loads(subprocess.check_output(command + options))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default="resnet50,mobilenetv2,mobilenetv3_small,efficientnet_b0,bert_base,minilm6")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    build = os.environ.get("BUILD", "build")
    hone, folder = os.path.join(build, "hone"), os.path.join(build, "bench", "models")
    print(f"{'model':20}" + "".join(f"{name + ' ms':>19}" for name in VARIANTS) + f"{'gain':>8}{'activations':>22}")
    for name in options.models.split(","):
        path = models.make(name, folder)
        rows = [
            {variant: bench(hone, path, flags, options.seconds) for variant, flags in VARIANTS.items()}
            for _ in range(options.rounds)
        ]
        ms = [statistics.median(row[variant]["latency_ms"]["p50"] for row in rows) for variant in VARIANTS]
        before, after = (rows[0][variant]["arena_bytes"] / 1e6 for variant in ("fusion", "sharing"))
        cells = [f"{ms[0]:19.2f}"] + [f"{x:11.2f} (x{last / x:4.2f})" for last, x in zip(ms, ms[1:])]
        print(
            f"{name:20}" + "".join(cells) + f"{ms[0] / ms[-1]:8.2f}{before:12.1f} -> {after:.1f} MB",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
