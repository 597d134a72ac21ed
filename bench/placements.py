"""Models that hone quantized for another runtime, there, beside what that runtime's own quantizer gives.

    placements.py [--tasks NAME,...] [--runtimes NAME,...] [--rounds N] [--window S] [--again]

The static tasks of quantizers.py. ONNX Runtime's quantizer gets the model as its documentation asks
(quant_pre_process) and makes four of it: activations u8 or s8, weights per channel or not; the
fastest counts. OpenVINO's is NNCF. All are calibrated on few samples, since speed does not depend
on ranges, and kept for the next run unless --again is given. One thread, one sample, in turns; the
least time counts, since a runtime is compared with itself and others on the machine only add.

The bar is ONNX Runtime's: with hone's model it is at least as fast as with the fastest of its own,
within what repeated runs differ by (3 %).
"""

import argparse
import os
import sys

import hone_ctypes
import onnx
import optimized
import quantizers
import runtimes

SAMPLES = 8
SAME = 0.97
FOLDER = os.path.join(quantizers.BUILD, "bench", "placements")


def of_hone(task, target, runtime):
    hone = quantizers.hone
    hone("quantize", task.source, "-o", target, "-q", "--type", "int8", "--for", runtime,
         "--data", task.calibrate, "--samples", str(SAMPLES))  # fmt: skip


def of_onnxruntime(task, target, activations, per_channel):
    from onnxruntime import quantization
    from onnxruntime.quantization import shape_inference

    source = quantizers.prepared(task.source, target + ".17")
    shape_inference.quant_pre_process(source, target + ".pre", skip_symbolic_shape=True)
    dataset, types = task.dataset(), quantization.QuantType

    class Reader(quantization.CalibrationDataReader):
        at = 0

        def get_next(self):
            self.at += 1
            return dataset.sample(self.at - 1) if self.at <= SAMPLES else None

    quantization.quantize_static(
        target + ".pre", target, Reader(), per_channel=per_channel,
        activation_type=types.QUInt8 if activations == "u8" else types.QInt8,
    )  # fmt: skip
    os.remove(target + ".17")
    os.remove(target + ".pre")


def of_nncf(task, target):
    quantizers.by_nncf(task.source, target, None, task.dataset(), SAMPLES, None, "static")
    os.remove(target + ".17")


OWN = {
    "onnxruntime": {
        f"{a} {'channel' if c else 'tensor'}": (of_onnxruntime, a, c)
        for a in ("u8", "s8")
        for c in (False, True)
    },
    "openvino": {"nncf": (of_nncf,)},
}


class Task:
    def __init__(self, name):
        self.name, (self.model, data, *_) = name, quantizers.TASKS[name]
        self.source = runtimes.real_path(self.model, os.path.join(quantizers.BUILD, "bench/models"))
        self.calibrate = data("calibrate")

    def dataset(self):
        library = hone_ctypes.Library(os.path.join(quantizers.BUILD, "libhone.so"))
        return quantizers.Dataset(library, self.calibrate, self.source)


def made(task, label, again, maker, *args):
    """The path of a file, made unless it is there; None and a line where that fails."""
    path = os.path.join(FOLDER, f"{task.name}.{label.replace(' ', '_')}.onnx")
    if again or not os.path.exists(path):
        try:
            maker(task, path, *args)
            onnx.checker.check_model(path)
        except Exception as failure:  # a peer's own, whatever it is
            print(f"{task.name:<12} {label}: failed: {str(failure).splitlines()[0][:100]}")
            return None
    return path


def compare(task, runtime, args):
    """Prints the times; whether hone's model is at least as fast."""
    files = {"hone": made(task, f"hone for {runtime}", args.again, of_hone, runtime)}
    for label, (maker, *rest) in OWN[runtime].items():
        files[label] = made(task, f"{runtime} {label}", args.again, maker, *rest)
    files = {label: path for label, path in files.items() if path is not None}
    kind = runtimes.RUNTIMES[runtime]
    ready = {k: kind(runtimes.Model(task.model, path), 1, 1) for k, path in files.items()}
    times = {label: [] for label in ready}
    for turn in range(args.rounds):
        labels = list(ready)
        for label in labels[turn % len(labels) :] + labels[: turn % len(labels)]:
            times[label].append(optimized.window(ready[label], args.window, min))
    ratios = {label: min(found) / min(times["hone"]) for label, found in times.items()}
    line = f"{task.name:<12} {runtime:<12}"
    for label, found in times.items():
        line += f" {label} {min(found):.3f} ms"
        line += f" ({ratios[label]:.2f})" if label != "hone" else ""
    ok = min(ratios.values()) >= SAME
    print(line + ("" if ok else "  SLOWER"), flush=True)
    return ok


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    static = [name for name, task in quantizers.TASKS.items() if task[5] == "static"]
    add("--tasks", default=",".join(static))
    add("--runtimes", default=",".join(OWN))
    add("--rounds", type=int, default=15)
    add("--window", type=float, default=0.1, help="seconds of runs in a round (0.1)")
    add("--again", action="store_true", help="makes files that are there already anew")
    args = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    os.makedirs(quantizers.FOLDER, exist_ok=True)
    for runtime in args.runtimes.split(","):
        runtimes.RUNTIMES[runtime].setup({"precision": None})
    slower = 0
    for name in args.tasks.split(","):
        for runtime in args.runtimes.split(","):
            ok = compare(Task(name), runtime, args)
            slower += not ok and runtime == "onnxruntime"
    print(f"{slower} slower" if slower else "all met")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
