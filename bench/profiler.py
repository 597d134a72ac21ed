"""What hone_session_profile costs beside hone_session_run, and how much of a run its steps are.

Exit status 1 when ResNet-50 takes more than 1.03 times as long, or its steps add up to less than 0.97 of a run.
"""

import argparse
import json
import os
import subprocess
import sys

import models

SLOWER, COVERED = 1.03, 0.97


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=31, help="runs of each kind, in turn")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    build = os.environ["BUILD"]
    path = models.make("resnet50", os.path.join(build, "bench", "models"))
    command = [os.path.join(build, "bench_profiler"), path, str(options.pairs), str(options.threads)]
    row = json.loads(subprocess.check_output(command))
    print(f"profile, ResNet-50, {options.threads} threads, medians of {options.pairs} pairs")
    print(f"  plain {row['plain_ms']:.3f} ms, profiled {row['profiled_ms']:.3f} ms:"
          f" {row['ratio']:.4f} times as long (at most {SLOWER})")
    print(f"  steps are {row['covered']:.4f} of a run (at least {COVERED})")
    return int(row["ratio"] > SLOWER or row["covered"] < COVERED)


if __name__ == "__main__":
    sys.exit(main())
