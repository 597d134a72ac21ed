"""Finding the ranges of BERT-base's values: `hone quantize` beside the calibrator of ONNX Runtime's quantizer.

    calibration.py [--samples N] [--peer-samples N] [--methods NAME,...]

hone is timed as a whole: the model is read, simplified, run on all samples, quantized and written. ONNX Runtime's
calibrator keeps every value of every sample in memory, which no machine has for a thousand: it is timed on some and on
twice as many, and the difference tells what a sample takes. It gets masks without zeros, since it fails on the infinite
values they make otherwise, and watches the operators that it would quantize.

Exit status 1 when hone takes longer, or twice the memory of the model's file.
"""

import argparse
import json
import os
import subprocess
import sys
import time

PEER = """
import json, os, re, sys, tempfile, time
import numpy as np
from onnxruntime import quantization
from onnxruntime.quantization.calibrate import CalibrationMethod, create_calibrator
path, method, samples = sys.argv[1], sys.argv[2], int(sys.argv[3])
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) * 1024

class Reader(quantization.CalibrationDataReader):
    left = samples
    def get_next(self):
        if self.left == 0:
            return None
        self.left -= 1
        bits = lambda: np.random.default_rng(self.left).integers(0, 2, (1, 128))
        return {"input_ids": bits(), "token_type_ids": bits(), "attention_mask": np.ones((1, 128), np.int64)}

with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
    begun = time.perf_counter()
    operators = ["MatMul", "Gemm", "Add", "Mul", "Softmax", "Gelu", "LayerNormalization"]
    calibrator = create_calibrator(path, operators, os.path.join(folder, "model.onnx"),
                                   calibrate_method=getattr(CalibrationMethod, method.capitalize()))
    calibrator.collect_data(Reader())
    calibrator.compute_data()
    print(json.dumps({"s": time.perf_counter() - begun, "bytes": peak()}))
"""


def make_model(folder):
    """In a process of its own: what this one takes would count as what its children take."""
    code = "import models, sys; print(models.make('bert_base', sys.argv[1]))"
    here = os.path.dirname(os.path.abspath(__file__))
    text = subprocess.check_output([sys.executable, "-c", code, os.path.abspath(folder)], cwd=here, text=True)
    return text.splitlines()[-1]


def run_hone(hone, path, method, samples, target):
    begun = time.perf_counter()
    child = subprocess.Popen(
        [hone, "quantize", path, "-o", target, "--data", f"random,n={samples}", "--samples", "0", "--ranges", method, "-q"],
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        raise SystemExit(f"hone quantize failed: status {status}")
    os.remove(target)
    return time.perf_counter() - begun, usage.ru_maxrss * 1024


def run_peer(path, method, samples):
    """Seconds and bytes for these samples, and what one more of them takes."""
    commands = ([sys.executable, "-c", PEER, path, method, str(n)] for n in (samples, 2 * samples))
    texts = (subprocess.check_output(command, stderr=subprocess.DEVNULL) for command in commands)
    few, more = (json.loads(text.splitlines()[-1]) for text in texts)  # it prints what it does
    return few, {key: (more[key] - few[key]) / samples for key in few}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--peer-samples", type=int, default=10)
    parser.add_argument("--methods", default="percentile,entropy")
    options = parser.parse_args()
    build = os.environ.get("BUILD", "build")
    folder = os.path.join(build, "bench", "models")
    path = make_model(folder)
    size = os.path.getsize(path)
    missed = False
    print(f"calibration of BERT-base ({size / 1e6:.0f} MB) on {options.samples} samples")
    print(f"  {'':24}{'s':>9}{'memory / file':>16}")
    for method in options.methods.split(","):
        target = os.path.join(folder, f"bert_base.{os.getpid()}.onnx")
        seconds, memory = run_hone(os.path.join(build, "hone"), path, method, options.samples, target)
        print(f"  {'hone ' + method:24}{seconds:9.1f}{memory / size:16.2f}", flush=True)
        few, each = run_peer(path, method, options.peer_samples)
        ahead = options.samples - options.peer_samples
        peer, peer_memory = few["s"] + ahead * each["s"], few["bytes"] + ahead * each["bytes"]
        print(f"  {'onnxruntime ' + method:24}{peer:9.1f}{peer_memory / size:16.2f}  (from {2 * options.peer_samples} samples)")
        missed |= seconds > peer or memory > 2 * size
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
