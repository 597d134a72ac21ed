"""The runtimes that bench/versus.py times, each behind the same four functions.

    Runtime.setup(options)          imports; raises with the reason where the runtime is absent
    Runtime(model, batch, threads)  loads and compiles for one batch size; Unable where it cannot
    run()                           runs once on the inputs of the model
    outputs()                       what the last run gave, in the order of the ONNX outputs

Every runtime computes in the precision of the options, or raises Unable: f32, quantized models as
they are (int8), or bf16 and f16 of float models. For these two a peer gets the 16-bit float it has
for the machine: OpenVINO bf16 on x86-64 and f16 on aarch64, PyTorch bf16 by autocast, ncnn bf16 or
f16 likewise, ONNX Runtime its bf16 fast math on aarch64 and f32 on x86-64, where it has none.

Each gets what its own documentation recommends for low latency: sizes fixed before compiling where
that is offered, inputs and outputs in memory that stays.
"""

import importlib.metadata
import lzma
import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import onnx

# Networks in HONE_ASSETS that are fp32, with the sizes of axes that are not fixed (the first one is
# the batch) and what an input stays under: whole numbers from 0 on for integers, else pixels.
REAL = {
    "ad_autoencoder_fp32": {},
    "dtln_1": {},
    "ic_resnet8_cifar10_fp32": {"input": 255},
    "kws_dscnn_fp32": {},
    "magika_v3_3": {"bytes": 256},
    "mnist_mlp_256x2": {},
    "mobilenetv2_fp32": {},
    "nanodet_m": {},
    "resnet20_cifar10": {},
    "resnet56_cifar10": {},
    "squeezenet_fp32": {},
    "sst2_minilm_fp32": {"sequence": 64, "input_ids": 12837},
    "vit_ibp_cifar10": {},
    "vww_mobilenetv1_025_96_fp32": {},
    "yunet_n_320_320": {"input": 255},
    "yunet_n_dynamic": {"height": 320, "width": 320, "input": 255},
}
VOCABULARY = 30522  # of the models of models.py
HALF = {"x86_64": "bf16", "aarch64": "f16"}[platform.machine()]


def is_half(options):
    return options["precision"] in ("bf16", "f16")


class Unable(Exception):
    """The runtime cannot take this model, or not in this way; the text says why."""


def dims_of(value):
    return value.type.tensor_type.shape.dim


class Model:
    """An ONNX file and the inputs it is timed with."""

    def __init__(self, name, path):
        self.name, self.path, self.facts, self.made = name, path, REAL.get(name, {}), {}
        graph = onnx.load(path, load_external_data=False).graph
        constants = {tensor.name for tensor in graph.initializer}
        self.inputs = [value for value in graph.input if value.name not in constants]
        self.n_outputs = len(graph.output)
        # Transformers have one convolution at most.
        self.is_cnn = sum(node.op_type == "Conv" for node in graph.node) >= 4

    def symbols(self, batch):
        """The sizes of the symbolic axes."""
        axes = [d.dim_param for value in self.inputs for d in dims_of(value) if d.dim_param]
        firsts = {dims_of(value)[0].dim_param for value in self.inputs}
        return {axis: batch if axis in firsts else self.facts[axis] for axis in axes}

    def takes(self, batch):
        return batch == 1 or bool(dims_of(self.inputs[0])[0].dim_param)

    def arrays(self, batch):
        """Inputs by name, made once: N(0,1), pixels, or tokens, the last eight of them masked."""
        if batch not in self.made:
            rng, sizes = np.random.default_rng(1), self.symbols(batch)
            self.made[batch] = {value.name: self.array(value, sizes, rng) for value in self.inputs}
        return self.made[batch]

    def array(self, value, sizes, rng):
        dims = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in dims_of(value)]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if dtype.kind == "f" and value.name in self.facts:
            return rng.uniform(0, self.facts[value.name], dims).astype(dtype)
        if dtype.kind == "f":
            return rng.standard_normal(dims).astype(dtype)
        if value.name == "attention_mask":
            mask = np.ones(dims, dtype)
            mask[:, -8:] = 0
            return mask
        if value.name == "token_type_ids":
            return np.zeros(dims, dtype)
        return rng.integers(0, self.facts.get(value.name, VOCABULARY), dims, dtype)


def real_path(name, folder):
    """The file of a network in HONE_ASSETS, unpacked into the folder; None where it is absent."""
    assets = os.path.join(os.environ.get("HONE_ASSETS", "../shared/assets"), "models")
    plain, unpacked = (os.path.join(place, name + ".onnx") for place in (assets, folder))
    if os.path.exists(plain):
        return plain
    if not os.path.exists(plain + ".xz"):
        return None
    if not os.path.exists(unpacked):
        os.makedirs(folder, exist_ok=True)
        with lzma.open(plain + ".xz") as source, open(unpacked + ".part", "wb") as target:
            shutil.copyfileobj(source, target)
        os.replace(unpacked + ".part", unpacked)
    return unpacked


class Hone:
    @classmethod
    def setup(cls, options):
        import hone_ctypes

        cls.session = hone_ctypes.Session
        cls.library = hone_ctypes.Library(options["hone_library"])
        cls.backend, cls.isa = options["hone_backend"], options["isa"]
        cls.precision = options["precision"]
        return cls.library.version()

    def __init__(self, model, batch, threads):
        self.hone = self.session(
            self.library, model.path, threads, self.backend, self.precision, self.isa
        )
        self.hone.bind(model.arrays(batch))
        self.run, self.outputs = self.hone.run, self.hone.outputs


class OnnxRuntime:
    @classmethod
    def setup(cls, options):
        import onnxruntime

        cls.ort, cls.half = onnxruntime, is_half(options)
        return onnxruntime.__version__

    def __init__(self, model, batch, threads):
        options = self.ort.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Workers spin during a run and not into the next runtime's turn.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        if self.half:  # without effect on x86-64
            options.add_session_config_entry("mlas.enable_gemm_fastmath_arm64_bfloat16", "1")
        for symbol, size in model.symbols(batch).items():
            options.add_free_dimension_override_by_name(symbol, size)
        self.session = self.ort.InferenceSession(
            model.path, options, providers=["CPUExecutionProvider"]
        )
        self.arrays = model.arrays(batch)
        self.binding = self.session.io_binding()
        for name, array in self.arrays.items():
            self.binding.bind_cpu_input(name, array)
        self.names = [output.name for output in self.session.get_outputs()]
        for name in self.names:
            self.binding.bind_output(name)
        self.kept = False

    def run(self):
        self.session.run_with_iobinding(self.binding)
        if not self.kept:
            self.kept = True
            for name, value in zip(self.names, self.binding.get_outputs()):
                self.binding.bind_ortvalue_output(name, value)

    def outputs(self):
        return self.binding.copy_outputs_to_cpu()


class OpenVino:
    @classmethod
    def setup(cls, options):
        import openvino

        cls.ov, cls.core = openvino, openvino.Core()
        cls.hint = HALF if is_half(options) else "f32"
        cls.core.get_property("CPU", "FULL_DEVICE_NAME")  # loads the plugin: counted as importing
        return importlib.metadata.version("openvino")

    def __init__(self, model, batch, threads):
        arrays = model.arrays(batch)
        network = self.core.read_model(model.path)
        network.reshape({name: list(array.shape) for name, array in arrays.items()})
        config = {
            "INFERENCE_PRECISION_HINT": self.hint,
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
        }
        self.request = self.core.compile_model(network, "CPU", config).create_infer_request()
        for name, array in arrays.items():
            self.request.set_tensor(name, self.ov.Tensor(array, shared_memory=True))
        self.arrays = arrays

    def run(self):
        self.request.start_async()
        self.request.wait()

    def outputs(self):
        return [tensor.data.copy() for tensor in self.request.output_tensors]


class Torch:
    """Eager mode: the network as models.py defines it."""

    compiled = False

    @classmethod
    def setup(cls, options):
        import models
        import torch

        cls.torch, cls.models, cls.half = torch, models, is_half(options)
        return torch.__version__

    def __init__(self, model, batch, threads):
        if model.name not in self.models.MODELS:
            raise Unable("only the file exists, no PyTorch definition")
        self.torch.set_num_threads(threads)
        self.net = self.models.build(model.name)
        if self.compiled:
            self.net = self.torch.compile(self.net)
        self.arrays = [self.torch.from_numpy(array) for array in model.arrays(batch).values()]

    def run(self):
        cast = self.torch.autocast("cpu", self.torch.bfloat16, self.half)
        with self.torch.inference_mode(), cast:
            self.result = self.net(*self.arrays)

    def outputs(self):
        results = self.result if isinstance(self.result, tuple) else [self.result]
        return [tensor.float().numpy() for tensor in results]


class TorchCompiled(Torch):
    compiled = True


class Ncnn:
    """Convolutional networks through pnnx. A batch is run image by image: ncnn has no such axis."""

    @classmethod
    def setup(cls, options):
        import ncnn

        cls.ncnn, cls.folder, cls.half = ncnn, options["folder"], is_half(options)
        cls.pnnx = os.path.join(os.path.dirname(sys.executable), "pnnx")
        if not os.path.exists(cls.pnnx):
            raise ImportError("the converter pnnx is not installed")
        return importlib.metadata.version("ncnn")

    def __init__(self, model, batch, threads):
        if not model.is_cnn:
            raise Unable("not a convolutional network")
        stem = self.convert(model)
        self.net = self.ncnn.Net()
        options = self.net.opt
        options.num_threads = threads
        f16 = self.half and HALF == "f16"
        options.use_fp16_packed = options.use_fp16_storage = options.use_fp16_arithmetic = f16
        options.use_bf16_storage = self.half and not f16
        if self.net.load_param(stem + ".ncnn.param") or self.net.load_model(stem + ".ncnn.bin"):
            raise Unable("what pnnx wrote does not load")
        self.input = self.net.input_names()[0]
        # Named out0, out1... as in the ONNX file, but listed in the order of computing.
        self.names = sorted(self.net.output_names(), key=lambda name: int(name[len("out") :]))
        if len(self.names) != model.n_outputs:
            raise Unable(f"pnnx made {len(self.names)} of {model.n_outputs} outputs")
        self.array = next(iter(model.arrays(batch).values()))
        self.images = [self.ncnn.Mat(image) for image in self.array]

    def convert(self, model):
        """Converts the ONNX file once; gives the path of the result without its endings."""
        folder = os.path.join(self.folder, "ncnn", model.name)
        stem = os.path.join(folder, "model")
        if len(model.inputs) != 1:
            raise Unable("several inputs")
        if not os.path.exists(stem + ".ncnn.bin"):
            os.makedirs(folder, exist_ok=True)
            shutil.copyfile(model.path, stem + ".onnx")
            sizes = ",".join(map(str, next(iter(model.arrays(1).values())).shape))
            command = [os.path.abspath(self.pnnx), "model.onnx", f"inputshape=[{sizes}]", "fp16=0"]
            quiet = subprocess.DEVNULL
            subprocess.run(command, cwd=folder, stdout=quiet, stderr=quiet, check=False)
            os.remove(stem + ".onnx")
            if not os.path.exists(stem + ".ncnn.bin"):
                raise Unable("pnnx does not convert it")
        return stem

    def run(self):
        self.results = []
        for image in self.images:
            extractor = self.net.create_extractor()
            extractor.input(self.input, image)
            outputs = [extractor.extract(name) for name in self.names]
            if any(status != 0 for status, _ in outputs):
                raise Unable("ncnn fails to run what pnnx wrote")
            self.results.append([mat for _, mat in outputs])

    def outputs(self):
        return [np.stack([np.array(mat) for mat in column]) for column in zip(*self.results)]


class LiteRt:
    """What litert-torch makes of the definitions in models.py, for one batch size."""

    @classmethod
    def setup(cls, options):
        from ai_edge_litert import interpreter

        cls.interpreter, cls.folder = interpreter, os.path.join(options["folder"], "litert")
        cls.half = is_half(options)
        return importlib.metadata.version("ai-edge-litert")

    def __init__(self, model, batch, threads):
        if self.half:
            raise Unable("no 16-bit floats on CPUs")
        path = self.convert(model.name, batch)
        self.net = self.interpreter.Interpreter(path, num_threads=threads)
        self.net.allocate_tensors()
        for detail, array in zip(self.net.get_input_details(), model.arrays(batch).values()):
            self.net.set_tensor(detail["index"], array.astype(detail["dtype"]))
        self.run = self.net.invoke

    def convert(self, name, batch):
        """Converts once, in a process of its own; an empty file stands for what cannot be."""
        path = os.path.join(self.folder, f"{name}.{batch}.tflite")
        if name in REAL:
            raise Unable("only the file exists, no PyTorch definition")
        if not os.path.exists(path):
            script = os.path.join(os.path.dirname(__file__), "models.py")
            command = [sys.executable, script, "--out", self.folder, "--litert", str(batch), name]
            quiet = subprocess.DEVNULL
            subprocess.run(command, stdout=quiet, stderr=quiet, check=False)
            os.makedirs(self.folder, exist_ok=True)
            with open(path, "ab"):
                pass
        if os.path.getsize(path) == 0:
            raise Unable("litert-torch does not convert it")
        return path

    def outputs(self):
        return [self.net.get_tensor(detail["index"]) for detail in self.net.get_output_details()]


RUNTIMES = {
    "hone": Hone,
    "onnxruntime": OnnxRuntime,
    "openvino": OpenVino,
    "torch": Torch,
    "torch-compiled": TorchCompiled,
    "ncnn": Ncnn,
    "litert": LiteRt,
}
