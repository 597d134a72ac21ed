"""New sequence lengths on MiniLM-6: what a plan costs, and whether making plans holds up other runs. Beside it stands what
a new length costs ONNX Runtime, which makes no plans: the first run of a length less the best of three more.

bench_shapes runs one length alone, then while four threads ask for 200 others. Exit status 1 when the 99th percentile
of the warm length is then more than twice what it is alone.
"""

import json
import os
import subprocess
import sys

import time

import numpy as np
import onnxruntime

import models

LENGTH, COUNT = 64, 200
MOST = 2.0


def ort_cost(path):
    """Milliseconds that the first run of a length takes longer than the next ones."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    costs = []
    for length in range(LENGTH, LENGTH + COUNT // 4):
        feed = {i.name: np.ones((1, length), np.int64) for i in session.get_inputs()}
        times = []
        for _ in range(4):
            begun = time.perf_counter()
            session.run(None, feed)
            times.append((time.perf_counter() - begun) * 1e3)
        costs.append(times[0] - min(times[1:]))
    return float(np.median(costs))


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
    print(f"in ONNX Runtime            {ort_cost(path):.2f} ms")
    print(f"99 %: {ratio:.2f} times as long beside new lengths (bar {MOST})")
    return ratio > MOST


if __name__ == "__main__":
    sys.exit(main())
