"""New sequence lengths on MiniLM-6: what a plan costs, and whether making plans holds up other runs.

bench_shapes runs one length alone, then while four threads ask for 200 others. Exit status 1 when the 99th percentile
of the warm length is then more than twice what it is alone.
"""

import json
import os
import subprocess
import sys

import models

LENGTH, COUNT = 64, 200
MOST = 2.0


def main():
    build = os.environ.get("BUILD", "build")
    path = models.make("minilm6", os.path.join(build, "bench", "models"), lengths=True)
    command = [os.path.join(build, "bench_shapes"), path, str(LENGTH), str(COUNT)]
    rows = [json.loads(subprocess.check_output(command)) for _ in range(3)]
    row = min(rows, key=lambda r: r["beside_p99_ms"] / r["p99_ms"])
    ratio = row["beside_p99_ms"] / row["p99_ms"]
    print(f"length {LENGTH} alone      median {row['median_ms']:.2f} ms, 99 % within {row['p99_ms']:.2f} ms")
    print(f"beside {COUNT} new ones    median {row['beside_median_ms']:.2f} ms, 99 % within {row['beside_p99_ms']:.2f} ms")
    print(f"a plan for a new length    {row['plan_ms']:.2f} ms, {row['plan_ms'] / row['median_ms']:.0%} of a run")
    print(f"99 %: {ratio:.2f} times as long beside new lengths (bar {MOST})")
    return ratio > MOST


if __name__ == "__main__":
    sys.exit(main())
