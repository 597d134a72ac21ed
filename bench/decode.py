"""Decoding with a cache of keys and values, where every token is a new length: hone, whose state keeps the cache, beside
ONNX Runtime, which gets the outputs of one token as inputs of the next (as arrays, and as values of its own that are
never turned into arrays; the faster of both counts). One thread, streams of both in turns, median milliseconds per token.

hone plans every length once: its first stream makes the plans, later ones find them. Exit status 1 when a token of the first
stream takes longer than one of ONNX Runtime's.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np
import onnxruntime

import exports_models

TOKENS, STREAMS, TURNS = 128, 3, 5


def empty(session):
    """The inputs of a stream's first token."""
    feed = {}
    for i in session.get_inputs():
        dims = [n if isinstance(n, int) else 0 for n in i.shape]
        feed[i.name] = np.ones(dims, np.int64) if "int64" in i.type else np.zeros(dims, np.float32)
    return feed


def of_arrays(session, feed, names):
    times = []
    for _ in range(TOKENS):
        begun = time.perf_counter()
        scores, *now = session.run(None, feed)
        times.append((time.perf_counter() - begun) * 1e3)
        feed.update(zip(names, now))
        feed["words"] = np.array([[scores.argmax()]], np.int64)
    return times


def of_values(session, feed, names):
    times = []
    values = {n: onnxruntime.OrtValue.ortvalue_from_numpy(a) for n, a in feed.items()}
    outputs = [o.name for o in session.get_outputs()]
    for _ in range(TOKENS):
        begun = time.perf_counter()
        scores, *now = session.run_with_ort_values(outputs, values)
        times.append((time.perf_counter() - begun) * 1e3)
        values.update(zip(names, now))
        values["words"] = onnxruntime.OrtValue.ortvalue_from_numpy(np.array([[scores.numpy().argmax()]], np.int64))
    return times


def main():
    build = os.environ.get("BUILD", "build")
    folder = os.path.join(build, "bench", "exports")
    os.makedirs(folder, exist_ok=True)
    path = exports_models.path_of("gpt2_past", folder)
    if not os.path.exists(path):
        exports_models.export("gpt2_past", path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = exports_models.cache_names("past")
    command = [os.path.join(build, "bench_decode"), path, "past_*=now_*", str(TOKENS), str(STREAMS)]
    rows = []
    for _ in range(TURNS):
        row = json.loads(subprocess.check_output(command))
        row["arrays_ms"] = float(np.median(of_arrays(session, empty(session), names)))
        row["values_ms"] = float(np.median(of_values(session, empty(session), names)))
        rows.append(row)
    first, later, arrays, values = (float(np.median([r[k] for r in rows])) for k in rows[0])
    ort = min(arrays, values)
    print(f"hone, lengths new      {first:.3f} ms a token   {ort / first:.2f} times as fast as ONNX Runtime")
    print(f"hone, later streams    {later:.3f} ms a token   {ort / later:.2f} times")
    print(f"ONNX Runtime           {arrays:.3f} ms with arrays, {values:.3f} ms with its own values")
    return first > ort


if __name__ == "__main__":
    sys.exit(main())
