"""Quantizers on the same calibration data: accuracy afterwards, time, size.

    quantizers.py [--tasks NAME,...] [--tools NAME,...] [--elsewhere]

Each task is a float model of HONE_ASSETS with data to calibrate on and others to judge by. The
tools are hone, ONNX Runtime's quantizer and NNCF, each with its defaults, and hone with its helpers
(hone+). Peers get the model at opset 17 without value_info, on which they are known to work; one
that fails all the same is recorded with its message. What comes out is judged by `hone eval`; with
--elsewhere hone's own by ONNX Runtime and OpenVINO too, which must be right as often within 0.3
points.

A task is met when hone loses no more points than its bar and is at least as accurate as each peer:
within 0.1 points where there are 10,000 samples, 0.4 where there are hundreds.
"""

import argparse
import ctypes as c
import json
import os
import subprocess
import sys
import tarfile
import time

import numpy as np
import onnx
import onnx.version_converter

import hone_ctypes
import runtimes

BUILD = os.environ.get("BUILD", "build")
ASSETS = os.path.abspath(os.environ.get("HONE_ASSETS", "../shared/assets"))
FOLDER = os.path.join(BUILD, "bench", "quantizers")
IMAGENET = "mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
CIFAR = f"scale=1/255,{IMAGENET}"
SQUEEZE = "resize=256,crop=224,order=bgr,mean=104:117:123"
MOBILE = f"resize=256,crop=244,scale=1/255,{IMAGENET}"


def cifar(keys):
    def data(part):
        name = "data_batch_1" if part == "calibrate" else "test_batch"
        return f"cifar10:{ASSETS}/data/cifar10/{name}.bin.xz" + ("," + keys if keys else "")

    return data


def keywords(part):
    folder = os.path.join(FOLDER, "kws01")
    if not os.path.isdir(folder):
        with tarfile.open(f"{ASSETS}/data/kws01.tar.xz") as tar:
            tar.extractall(folder + ".part", filter="data")
        os.replace(folder + ".part", folder)
    found = [path for path, _, files in os.walk(folder) if "y_labels.csv" in files]
    rows = "n=100" if part == "calibrate" else "skip=100"
    return f"raw:{found[0]},labels=y_labels.csv,dtype=s8,mean=83,std=1/0.5847029,{rows}"


def imagenet(keys):
    def data(part):
        """Every fifth image calibrates."""
        rows = open(f"{ASSETS}/data/imagenet256/labels.csv").read().splitlines()
        head = [] if rows[0].split(",")[1].strip().isdigit() else rows[:1]
        rows = rows[len(head) :]
        taken = [row for i, row in enumerate(rows) if (i % 5 == 0) == (part == "calibrate")]
        path = os.path.abspath(os.path.join(FOLDER, f"imagenet_{part}.csv"))
        with open(path, "w") as file:
            file.write("\n".join(head + taken) + "\n")
        return f"images:{ASSETS}/data/imagenet256,labels={path},{keys}"

    return data


def sentences(part):
    name = "train" if part == "calibrate" else "test"
    return f"npz:{ASSETS}/data/sst2/sst2_{name}_tokens.npz"


# Model, data, samples to calibrate on, what to lose at most in points, hone's options, "static" or
# "dynamic" for the peers (None: they have no such thing).
TASKS = {
    "resnet20": ("resnet20_cifar10", cifar(CIFAR), 500, 0.3, "--type int8", "static"),
    "resnet56": ("resnet56_cifar10", cifar(CIFAR), 500, 0.3, "--type int8", "static"),
    "ic_resnet8": ("ic_resnet8_cifar10_fp32", cifar(""), 500, 0.5, "--type int8", "static"),
    "kws": ("kws_dscnn_fp32", keywords, 100, 0.5, "--type int8", "static"),
    "squeezenet": ("squeezenet_fp32", imagenet(SQUEEZE), 100, 1.0, "--type int8", "static"),
    "mobilenetv2": ("mobilenetv2_fp32", imagenet(MOBILE), 100, 1.0, "--type int8", "static"),
    "sst2": ("sst2_minilm_fp32", sentences, 0, 0.5, "--type int8-dynamic", "dynamic"),
    "sst2_int4": ("sst2_minilm_fp32", sentences, 128, 1.0, "--type int4 --group 64", None),
}
TOOLS = ["hone", "hone+", "onnxruntime", "nncf"]
HELPERS = {"static": "--methods equalize,bias,adaround", None: "--methods gptq", "dynamic": ""}


class Dataset:
    """Samples of a dataset as a model takes them, read by hone."""

    def __init__(self, library, spec, model_path):
        self.library = library
        self.data, self.model = c.c_void_p(), c.c_void_p()
        library.call("hone_dataset_open", c.byref(self.data), spec.encode())
        library.call("hone_model_load", c.byref(self.model), os.fsencode(model_path), None)
        library.lib.hone_model_n_inputs.restype = c.c_size_t
        library.lib.hone_dataset_count.restype = c.c_int64
        self.n_inputs = library.lib.hone_model_n_inputs(self.model)
        self.count = library.lib.hone_dataset_count(self.data)

    def sample(self, i, n=1):
        values = (hone_ctypes.Value * self.n_inputs)()
        self.library.call(
            "hone_dataset_read", self.data, self.model, c.c_int64(i), c.c_int64(n), values
        )
        arrays = {}
        for value in values:
            flat = np.frombuffer(
                c.string_at(value.data, value.bytes), hone_ctypes.DTYPES[value.dtype]
            )
            arrays[value.name.decode()] = flat.reshape(value.dims[: value.rank]).copy()
        self.library.lib.hone_value_release(values, c.c_size_t(self.n_inputs))
        return arrays

    def labels(self):
        labels = (c.c_int64 * self.count)()
        self.library.call(
            "hone_dataset_labels", self.data, c.c_int64(0), c.c_int64(self.count), labels
        )
        return np.array(labels)


def hone(*words):
    done = subprocess.run(
        [os.path.join(BUILD, "hone"), *words], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else "failed")
    return done.stdout


def by_hone(source, target, spec, dataset, samples, options, kind, helpers=False):
    words = options.split() + ((HELPERS[kind].split()) if helpers else [])
    if kind != "dynamic":
        words += ["--data", spec, "--samples", str(samples)]
    hone("quantize", source, "-o", target, "-q", *words)


def prepared(source, target):
    model = onnx.load(source)
    if next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx")) < 17:
        model = onnx.version_converter.convert_version(model, 17)
    constants = {constant.name for constant in model.graph.initializer}
    for value in [value for value in model.graph.input if value.name in constants]:
        model.graph.input.remove(value)
    model.ir_version = max(model.ir_version, 8)  # constants need not be inputs
    del model.graph.value_info[:]
    onnx.save(model, target)
    return target


def by_onnxruntime(source, target, spec, dataset, samples, options, kind):
    from onnxruntime import quantization

    source = prepared(source, target + ".17")
    if kind == "dynamic":
        quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QInt8)
        return

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.at = 0

        def get_next(self):
            self.at += 1
            return dataset.sample(self.at - 1) if self.at <= samples else None

    quantization.quantize_static(source, target, Reader())


def by_nncf(source, target, spec, dataset, samples, options, kind):
    import nncf

    nncf.set_log_level("ERROR")
    source = prepared(source, target + ".17")
    count = samples or 300
    data = nncf.Dataset([dataset.sample(i) for i in range(count)])
    model_type = nncf.ModelType.TRANSFORMER if kind == "dynamic" else None
    model = nncf.quantize(onnx.load(source), data, subset_size=count, model_type=model_type)
    onnx.save(model, target)


MAKERS = {
    "hone": by_hone,
    "hone+": lambda *args: by_hone(*args, helpers=True),
    "onnxruntime": by_onnxruntime,
    "nncf": by_nncf,
}


def judge(path, spec):
    return json.loads(hone("eval", path, "--data", spec, "--json", "-q"))["top1"] * 100


def judge_elsewhere(path, spec, library, run_of):
    """Top-1 of a file in another runtime, on the same samples."""
    data, right, run = Dataset(library, spec, path), 0, run_of(path)
    wanted = data.labels()
    batch = 50 if runtimes.Model("", path).takes(50) else 1
    for i in range(0, data.count, batch):
        n = min(batch, data.count - i)
        right += int((run(data.sample(i, n)).reshape(n, -1).argmax(1) == wanted[i : i + n]).sum())
    return right / data.count * 100


def in_onnxruntime(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)[0]


def in_openvino(precision):
    """OpenVINO computes what is not in integers in bf16 where the machine has it, unless told not to."""

    def run_of(path):
        import openvino

        hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
        compiled = openvino.Core().compile_model(path, "CPU", hints)
        return lambda inputs: compiled(inputs)[0]

    return run_of


# Runtimes that must be right as often as hone is, and one that is told for what it is worth.
ELSEWHERE = {
    "ORT": (in_onnxruntime, True),
    "OV": (in_openvino("f32"), True),
    "OV bf16": (in_openvino("bf16"), False),
}
SAME = 0.3  # points


def elsewhere(path, spec, library, here):
    """What other runtimes make of a file, in words, and how many are not right as often."""
    words, missed = [], 0
    for label, (run_of, binding) in ELSEWHERE.items():
        try:
            there = judge_elsewhere(path, spec, library, run_of)
        except Exception as failure:  # a peer's own, whatever it is
            words.append(f"{label} failed: {str(failure).splitlines()[0][:120]}")
            missed += binding
            continue
        words.append(f"{label} {there:.2f}")
        if binding and abs(there - here) > SAME:
            missed += 1
            words[-1] += f" (not within {SAME})"
    return ", ".join(words), missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--elsewhere", action="store_true", help="hone's models in other runtimes")
    args = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    library = hone_ctypes.Library(os.path.join(BUILD, "libhone.so"))
    print(f"{'task':<12} {'tool':<12} {'top-1 %':>8} {'lost':>6} {'seconds':>8} {'KB':>8}  remark")
    missed, results = 0, []
    for task in args.tasks.split(","):
        name, data, samples, bar, options, kind = TASKS[task]
        source = runtimes.real_path(name, os.path.join(BUILD, "bench", "models"))
        if source is None:
            print(f"{task:<12} skipped: {name} is not in HONE_ASSETS")
            continue
        calibrate, evaluate = data("calibrate"), data("evaluate")
        dataset = Dataset(library, calibrate, source)
        before = judge(source, evaluate)
        print(
            f"{task:<12} {'fp32':<12} {before:8.2f} {'':>6} {'':>8}"
            f" {os.path.getsize(source) / 1e3:8.0f}",
            flush=True,
        )
        scores = {}
        for tool in args.tools.split(","):
            if kind is None and tool in ("onnxruntime", "nncf"):
                continue
            target = os.path.join(FOLDER, f"{task}_{tool}.onnx")
            begin, remark = time.perf_counter(), ""
            try:
                MAKERS[tool](source, target, calibrate, dataset, samples, options, kind)
                seconds = time.perf_counter() - begin
                scores[tool] = judge(target, evaluate)
            except Exception as failure:  # a peer's own, whatever it is
                print(f"{task:<12} {tool:<12} failed: {str(failure).splitlines()[0][:120]}")
                continue
            lost = before - scores[tool]
            slack = 0.1 if "cifar" in name else 0.4
            if tool.startswith("hone"):
                if lost > bar:
                    missed, remark = missed + 1, f"over its bar of {bar}"
                if args.elsewhere:
                    words, differ = elsewhere(target, evaluate, library, scores[tool])
                    missed, remark = missed + differ, f"{remark} {words}"
            elif "hone" in scores and scores["hone"] < scores[tool] - slack:
                missed, remark = missed + 1, "more accurate than hone"
            results.append(
                {"task": task, "tool": tool, "top1": scores[tool], "fp32": before,
                 "seconds": seconds, "bytes": os.path.getsize(target)}
            )  # fmt: skip
            print(
                f"{task:<12} {tool:<12} {scores[tool]:8.2f} {lost:6.2f} {seconds:8.1f}"
                f" {os.path.getsize(target) / 1e3:8.0f}  {remark}",
                flush=True,
            )
    with open(os.path.join(BUILD, "bench", "quantizers.json"), "w") as file:
        json.dump(results, file, indent=1)
    print(f"{missed} missed" if missed else "all met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
