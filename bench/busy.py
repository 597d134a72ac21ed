"""Whether `hone optimize` makes up speed-ups on a busy machine.

    busy.py [--repeats N] [--quiet-runs N] [--processes N] [--hone PROGRAM]

Runs the search of `make demo` while other processes keep the cores busy, and a few times without
them. A speed that is told without a mark (`doubt` of at most 0.05) on the busy machine must lie
within MARGIN of what the quiet runs measured, and one told apart from 1 must be apart from 1 there.
A quiet run counts with its own doubt. Exit status 1: some speed contradicts the quiet runs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

MARGIN = 0.1  # of the speed
DOUBTFUL = 0.05
MODEL, DATA = "models/digits_cnn.onnx", "synthetic:digits,n=4000,seed=7"


def search(hone):
    """The rows of a search, by name."""
    with tempfile.TemporaryDirectory() as folder:
        command = [hone, "optimize", MODEL, "-q", "--data", DATA, "--max-drop", "1%",
                   "-o", os.path.join(folder, "out.onnx"), "--json"]  # fmt: skip
        text = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    return {row["name"]: row for row in json.loads(text)["rows"][1:]}


def busy_search(hone, processes):
    others = [subprocess.Popen(["sha256sum", "/dev/zero"]) for _ in range(processes)]
    try:
        return search(hone)
    finally:
        for other in others:
            other.kill()
            other.wait()


def known(quiet):
    """By name the least and the greatest speed that quiet runs allow."""
    found = {}
    for rows in quiet:
        for name, row in rows.items():
            low, high = found.get(name, (row["speed"], row["speed"]))
            off = row["speed"] * (row["doubt"] if row["doubt"] > DOUBTFUL else 0)
            found[name] = min(low, row["speed"] - off), max(high, row["speed"] + off)
    return found


def shown(row):
    return f"{'~' if row['doubt'] > DOUBTFUL else ''}{row['speed']:.2f}"


def contradicts(row, allowed):
    if row["doubt"] > DOUBTFUL or row["speed"] == 1:
        return False
    low, high = allowed
    return not low * (1 - MARGIN) <= row["speed"] <= high * (1 + MARGIN)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--repeats", type=int, default=10)
    add("--quiet-runs", type=int, default=3)
    add("--processes", type=int, default=2, help="that keep the cores busy (2)")
    add("--hone", default=os.path.join(os.environ.get("BUILD", "build"), "hone"))
    args = parser.parse_args()
    allowed = known([search(args.hone) for _ in range(args.quiet_runs)])
    repeats = [busy_search(args.hone, args.processes) for _ in range(args.repeats)]
    unmarked = wrong = 0
    for name, (low, high) in allowed.items():
        rows = [rows[name] for rows in repeats if name in rows]
        unmarked += sum(row["doubt"] <= DOUBTFUL and row["speed"] != 1 for row in rows)
        bad = sum(contradicts(row, (low, high)) for row in rows)
        wrong += bad
        print(f"{name:14} quiet {low:.2f} to {high:.2f}, busy", *map(shown, rows),
              "CONTRADICTED" if bad else "")  # fmt: skip
    print(f"{args.repeats} searches beside {args.processes} busy processes: {unmarked} speeds "
          f"claimed without a mark, {wrong} contradicted by quiet runs")  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
