"""Quantized forms of the models that bench/versus.py times, made by other people's tools.

    quantized.py [--out FOLDER] [NAME...]      (default: all, into build/bench/models)

    NAME_int8    ONNX Runtime's quantizer: static QDQ per channel for networks of convolutions,
                 dynamic for the others
    NAME_static  of transformers alone: static QDQ by ONNX Runtime's quantizer
    NAME_nncf    NNCF's post-training quantization of the same file, with its preset for transformers

The first and the last are what their documentation recommends for CPUs. Calibration data are the seeded noise that
the models are timed with: speed and agreement between runtimes do not ask for more. A file that
exists is kept.
"""

import argparse
import os
import sys

import numpy as np
import onnx

CNNS = ["resnet50", "mobilenetv2", "mobilenetv3_small", "efficientnet_b0"]
TRANSFORMERS = ["minilm6", "bert_base", "vit_b16"]
TOOLS = {
    "int8": CNNS + TRANSFORMERS,
    "static": TRANSFORMERS,
    "nncf": CNNS + TRANSFORMERS,
}
NAMES = [f"{name}_{tool}" for tool, names in TOOLS.items() for name in names]
# The float model of each quantized one, those in HONE_ASSETS included.
SOURCES = {name: name.rsplit("_", 1)[0] for name in NAMES}
SOURCES["mobilenetv2_int8_qdq"] = "mobilenetv2_fp32"
SAMPLES = 8


def samples(path):
    """Inputs for calibration, a batch of one each."""
    import runtimes

    model = runtimes.Model("", path)
    for seed in range(SAMPLES):
        rng = np.random.default_rng(100 + seed)
        sizes = model.symbols(1)
        yield {value.name: model.array(value, sizes, rng) for value in model.inputs}


def prepared_by_onnxruntime(base, source, target):
    """The file that ONNX Runtime's quantizer is given."""
    from onnxruntime.quantization import shape_inference

    prepared = target + ".prepared"
    shape_inference.quant_pre_process(source, prepared, skip_symbolic_shape=True)
    if base in TRANSFORMERS:
        model = onnx.load(prepared)
        del model.graph.value_info[:]  # the quantizer turns weights round and trips over them
        onnx.save(model, prepared)
    return prepared


def by_onnxruntime(base, source, target):
    from onnxruntime import quantization

    if base not in TRANSFORMERS:
        by_onnxruntime_static(base, source, target)
        return
    prepared = prepared_by_onnxruntime(base, source, target)
    quantization.quantize_dynamic(prepared, target, weight_type=quantization.QuantType.QInt8)
    os.remove(prepared)


def by_onnxruntime_static(base, source, target):
    from onnxruntime import quantization

    class Reader(quantization.CalibrationDataReader):
        def __init__(self):
            self.left = samples(source)

        def get_next(self):
            return next(self.left, None)

    prepared = prepared_by_onnxruntime(base, source, target)
    quantization.quantize_static(
        prepared, target, Reader(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8,
    )  # fmt: skip
    os.remove(prepared)


def by_nncf(base, source, target):
    import nncf

    model = onnx.load(source)
    kind = nncf.ModelType.TRANSFORMER if base in TRANSFORMERS else None
    data = nncf.Dataset(list(samples(source)))
    onnx.save(nncf.quantize(model, data, model_type=kind, subset_size=SAMPLES), target)


def make(name, folder):
    """The path of the model's file, made if it is not there."""
    import models

    base, tool = name.rsplit("_", 1)
    path = os.path.join(folder, name + ".onnx")
    if not os.path.exists(path):
        source = models.make(base, folder)
        makers = {"int8": by_onnxruntime, "static": by_onnxruntime_static, "nncf": by_nncf}
        makers[tool](base, source, path + ".part")
        os.replace(path + ".part", path)
    return path


def main():
    build_folder = os.environ.get("BUILD", "build")
    parser = argparse.ArgumentParser(description="Makes quantized models for bench/versus.py.")
    parser.add_argument("--out", default=os.path.join(build_folder, "bench", "models"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    args = parser.parse_args()
    for name in args.names or NAMES:
        if name not in NAMES:
            parser.error(f"unknown model '{name}'; there are {', '.join(NAMES)}")
        path = make(name, args.out)
        print(f"{path}  {os.path.getsize(path) / 1e6:.1f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
