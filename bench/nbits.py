"""Products by weights of 4 bits, MatMulNBits, in hone and ONNX Runtime.

    nbits.py [--threads 1,2] [--rounds N] [--only PART]

One row (gemv) is a matter of memory: a model has as many products of one size, each with weights
of its own, as make up twice the last-level cache, so that each run reads all of them from memory.
What counts is the bytes of codes and scales per second beside those of a plain read of as many
bytes, which bench_nbits does in turns with the models. 128 rows (gemm) are a matter of arithmetic:
what counts is the time beside ONNX Runtime's. Numbers are medians of the rounds, least in brackets.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import hone_ctypes

BUILD = os.environ.get("BUILD", "build")
MODELS = os.path.join(BUILD, "bench", "models")
# name, rows, K, N, accuracy_level
PARTS = [
    ("gemv", 1, 4096, 4096, 0),
    ("gemv", 1, 4096, 11008, 0),
    ("gemv4", 1, 4096, 4096, 4),
    ("gemm", 128, 4096, 4096, 0),
    ("gemm4", 128, 4096, 4096, 4),
]
BLOCKS = (32, 128)
LEAST_OF_READ = 0.85  # gemv
LEAST_RATIO = 1.5  # gemm


def cache_bytes():
    sizes = []
    folder = "/sys/devices/system/cpu/cpu0/cache"
    for index in os.listdir(folder):
        if index.startswith("index"):
            with open(os.path.join(folder, index, "size")) as file:
                text = file.read().strip()
            sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]])
    return max(sizes)


def weight_bytes(k, n, block):
    return n * k // 2 + 4 * n * (k // block)


def make_model(path, rows, k, n, block, level, layers):
    """Products of one x, each by weights of its own."""
    rng = np.random.default_rng(0)
    nodes, constants, outputs = [], [], []
    for i in range(layers):
        codes = np.frombuffer(rng.bytes(n * k // 2), np.uint8).reshape(n, k // block, block // 2)
        scales = rng.uniform(0.005, 0.01, (n, k // block)).astype(np.float32)
        constants += [numpy_helper.from_array(codes, f"b{i}")]
        constants += [numpy_helper.from_array(scales, f"s{i}")]
        nodes.append(
            helper.make_node("MatMulNBits", ["x", f"b{i}", f"s{i}"], [f"y{i}"],
                             domain="com.microsoft", K=k, N=n, bits=4, block_size=block,
                             accuracy_level=level)
        )  # fmt: skip
        outputs.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, [rows, n]))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, k])
    graph = helper.make_graph(nodes, "nbits", [x], outputs, constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


class Reader:
    def __init__(self, size, threads):
        command = [os.path.join(BUILD, "bench_nbits"), str(size), str(threads)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def gb_s(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def timed(run):
    begun = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - begun)


def open_peer(path, threads, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.force_spinning_stop", "1")  # else it keeps a core busy
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def text(values):
    return f"{statistics.median(values):8.2f} ({min(values):.2f})"


def measure(part, block, threads, rounds, library):
    name, rows, k, n, level = part
    gemv = rows == 1
    size = weight_bytes(k, n, block)
    layers = -(-2 * cache_bytes() // size) if gemv else 1
    path = os.path.join(MODELS, f"nbits_{rows}x{k}x{n}b{block}_{level}x{layers}.onnx")
    if not os.path.exists(path):
        make_model(path, rows, k, n, block, level, layers)
    inputs = {"x": np.random.default_rng(1).normal(size=(rows, k)).astype(np.float32)}
    hone = hone_ctypes.Session(library, path, threads)
    hone.bind(inputs)
    peer = open_peer(path, threads, inputs)
    reader = Reader(size * layers, threads) if gemv else None
    wanted = peer()
    hone.run()
    largest = max(np.abs(y).max() for y in wanted)
    error = max(np.abs(a - b).max() for a, b in zip(hone.outputs(), wanted)) / largest
    times, peer_times, reads = [], [], []
    for _ in range(rounds):
        times.append(timed(hone.run))
        peer_times.append(timed(peer))
        if gemv:
            reads.append(reader.gb_s())
    hone.close()
    if gemv:
        reader.close()
    ratio = statistics.median(peer_times) / statistics.median(times)
    line = f"{name:6}{rows:4}x{k}x{n:<6} block {block:<4} {threads}T  hone {text(times)} ms"
    line += f"  ONNX Runtime {text(peer_times)} ms  {ratio:5.2f} times  error {error:.1e}"
    good = ratio >= LEAST_RATIO
    if gemv:
        rates = [size * layers / t / 1e6 for t in times]
        share = statistics.median(rates) / statistics.median(reads)
        good = share >= LEAST_OF_READ
        line += f"  {statistics.median(rates):5.1f} of {statistics.median(reads):5.1f} GB/s"
        line += f" = {100 * share:.0f} % ({layers} products)"
    print(line, "" if good else "  below the bar", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", help="one part: " + ", ".join(sorted({p[0] for p in PARTS})))
    args = parser.parse_args()
    os.makedirs(MODELS, exist_ok=True)
    library = hone_ctypes.Library(os.path.join(BUILD, "libhone.so"))
    good = True
    for threads in map(int, args.threads.split(",")):
        for part in PARTS:
            if args.only in (None, part[0]):
                for block in BLOCKS:
                    good &= measure(part, block, threads, args.rounds, library)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
