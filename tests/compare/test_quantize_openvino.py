"""hone quantize in OpenVINO: it reads what is written and means the same by it as ONNX Runtime does.

Error of a tensor = max|a - b| / max|b|. OpenVINO rounds single numbers the other way than ONNX Runtime, hence the bounds of what is in
integers; of weights that are only stored in fewer bits nothing but the order of sums differs.
"""
import os
import platform

import numpy as np
import onnxruntime
import pytest

from test_models import ASSETS, HONE, MODELS, error, session
from test_quantize import quantize
from test_quantize_static import CIFAR, NORM, TARGETS

openvino = pytest.importorskip("openvino")
MODEL = os.path.join(ASSETS, "models", "resnet20_cifar10.onnx")
pytestmark = [
    pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built"),
    pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}"),
]
PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
# Groups of 64 do not divide the three channels of an image; 16-bit activations and types of 2 bits it does not take.
TYPES = {
    "f16": ("--type f16", 0.002),
    "int8-weights": ("--type int8-weights", 1e-4),
    "int8-dynamic": ("--type int8-dynamic", 1e-4),
    "int4": ("--type int4", 1e-4),
    "int4 channels": ("--type int4 --group 0", 1e-4),
    "u4": ("--type int4 --weights u4", 1e-4),
    **{f"{bits} bits": (f"--type int8-weights --bits {bits}", 1e-4) for bits in (3, 5, 6, 7)},
    "2 bits": ("--type int8-weights --bits 2 --for openvino", 1e-4),
    **{target: (f"--type int8 --for {target}", 0.03) for target in TARGETS},
    "integer-io": ("--type int8 --integer-io", 0.03),
}


@pytest.mark.parametrize("kind", TYPES)
def test_same_answers(kind, tmp_path):
    options, bound = TYPES[kind]
    options = options.split()
    if platform.machine() == "aarch64" and ("int8" in options or "f16" in options):
        pytest.skip("OpenVINO and ONNX Runtime round otherwise on aarch64")
    if "int8" in options:
        options += ["--data", f"cifar10:{CIFAR}/data_batch_1.bin.xz{NORM},n=100"]
    made = quantize(MODEL, tmp_path / "made.onnx", *options)
    there = session(made, PLAIN)
    x = np.random.default_rng(1).standard_normal((4, 3, 32, 32)).astype(np.float32)
    if "uint8" in there.get_inputs()[0].type:
        x = np.clip(x * 50 + 128, 0, 255).astype(np.uint8)
    exact = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0}
    here = openvino.Core().compile_model(made, "CPU", exact)({0: x})[0]
    assert error(here.astype(np.float64), there.run(None, {there.get_inputs()[0].name: x})[0].astype(np.float64)) <= bound
