#!/usr/bin/env python3
"""Makes models/digits_cnn.onnx: a small CNN for the digits that src/formats/digits.c generates.

Needs a C compiler (cc, or $CC) and the Python packages torch, numpy, onnx and onnxruntime; no GPU,
no downloads. About five minutes on one core:

    python3 scripts/train_digits.py [-o models/digits_cnn.onnx]

The generator is compiled into a shared object and asked for samples through ctypes. Every training
image is new, so there is nothing to overfit. The written file is judged with ONNX Runtime on
samples of seeds the training never saw, beside a linear classifier trained in the same way: the gap
between them says that the task needs more than template matching.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIDE, CLASSES = 28, 10
TRAIN_SEED, TEST_SEEDS = 20250, (1, 2, 3)  # of the generator
N_TEST = 10_000
BATCH = 128


class Digits:
    """hn_digits_sample as NumPy arrays."""

    def __init__(self, folder):
        library = os.path.join(folder, "digits.so")
        sources = [ROOT / "src/formats/digits.c", ROOT / "src/base/rng.c"]
        subprocess.run(
            [os.environ.get("CC", "cc"), "-std=c17", "-D_GNU_SOURCE", "-O2", "-ffp-contract=off"]
            + ["-fno-math-errno", "-fPIC", "-shared", f"-I{ROOT}/src", f"-I{ROOT}/include"]
            + ["-o", library, *map(str, sources), "-lm"],
            check=True,
        )
        self.sample = ctypes.CDLL(library).hn_digits_sample
        self.sample.argtypes = [ctypes.c_uint64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
        self.sample.restype = None

    def batch(self, seed, first, n):
        """Images [n, 1, 28, 28] f32 in 0..1 and labels [n] i64."""
        images = np.empty((n, 1, SIDE, SIDE), np.uint8)
        labels = np.empty(n, np.intc)
        for i in range(n):
            self.sample(seed, first + i, images[i].ctypes.data, labels[i:].ctypes.data)
        return images.astype(np.float32) / 255, labels.astype(np.int64)


class Cnn(nn.Module):
    """Stem, downsampling, residual block, depthwise-separable block, pooled classifier."""

    def __init__(self):
        super().__init__()
        # The names of the modules become the names in the file.
        self.stem_conv, self.stem_bn = self.conv(1, 16)
        self.down_conv, self.down_bn = self.conv(16, 32, stride=2)
        self.res1_conv, self.res1_bn = self.conv(32, 32)
        self.res2_conv, self.res2_bn = self.conv(32, 32)
        self.dw_conv, self.dw_bn = self.conv(32, 32, stride=2, groups=32)
        self.pw_conv, self.pw_bn = self.conv(32, 64, size=1)
        self.fc = nn.Linear(64, CLASSES)

    @staticmethod
    def conv(c_in, c_out, size=3, stride=1, groups=1):
        conv = nn.Conv2d(c_in, c_out, size, stride, padding=size // 2, groups=groups, bias=False)
        return conv, nn.BatchNorm2d(c_out)

    def forward(self, x):
        x = torch.relu(self.stem_bn(self.stem_conv(x)))
        x = torch.relu(self.down_bn(self.down_conv(x)))
        y = torch.relu(self.res1_bn(self.res1_conv(x)))
        y = self.res2_bn(self.res2_conv(y))
        x = torch.relu(x + y)
        x = torch.relu(self.dw_bn(self.dw_conv(x)))
        x = torch.relu(self.pw_bn(self.pw_conv(x)))
        return self.fc(x.mean(dim=(2, 3)))


def train(model, digits, steps, lr):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=steps)
    loss_of = nn.CrossEntropyLoss()
    model.train()
    for step in range(steps):
        images, labels = digits.batch(TRAIN_SEED, step * BATCH, BATCH)
        loss = loss_of(model(torch.from_numpy(images)), torch.from_numpy(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if (step + 1) % 200 == 0:
            print(f"step {step + 1}/{steps} loss {loss.item():.4f}", flush=True)
    model.eval()


def to_onnx(model, steps):
    """The network node by node; Conv, BatchNormalization and Relu stay apart for hone to fuse."""
    nodes, initializers = [], []

    def constant(name, tensor):
        array = tensor.detach().numpy().astype("<f4")
        initializers.append(
            helper.make_tensor(name, TensorProto.FLOAT, array.shape, array.tobytes(), raw=True)
        )
        return name

    def node(op, name, inputs, output=None, **attributes):
        output = output or f"{name}_out"
        nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    def conv_bn(prefix, x):
        conv, bn = getattr(model, f"{prefix}_conv"), getattr(model, f"{prefix}_bn")
        x = node(
            "Conv",
            f"{prefix}_conv",
            [x, constant(f"{prefix}_conv_weight", conv.weight)],
            kernel_shape=list(conv.kernel_size),
            strides=list(conv.stride),
            pads=list(conv.padding) * 2,
            group=conv.groups,
        )
        parts = [("scale", bn.weight), ("bias", bn.bias)]
        parts += [("mean", bn.running_mean), ("var", bn.running_var)]
        inputs = [x] + [constant(f"{prefix}_bn_{part}", tensor) for part, tensor in parts]
        return node("BatchNormalization", f"{prefix}_bn", inputs, epsilon=bn.eps)

    def conv_bn_relu(prefix, x):
        return node("Relu", f"{prefix}_relu", [conv_bn(prefix, x)])

    x = conv_bn_relu("down", conv_bn_relu("stem", "image"))
    y = conv_bn("res2", conv_bn_relu("res1", x))
    x = node("Relu", "res_relu", [node("Add", "res_add", [x, y])])
    x = conv_bn_relu("pw", conv_bn_relu("dw", x))
    x = node("Flatten", "flatten", [node("GlobalAveragePool", "pool", [x])], axis=1)
    weights = [constant("fc_weight", model.fc.weight), constant("fc_bias", model.fc.bias)]
    node("Gemm", "fc", [x, *weights], output="logits", transB=1)

    graph = helper.make_graph(
        nodes,
        "digits_cnn",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])],
        initializers,
    )
    made = helper.make_model(
        graph,
        producer_name="hone/scripts/train_digits.py",
        ir_version=8,
        opset_imports=[helper.make_opsetid("", 17)],
        doc_string="Classifies hone's generated 28x28 digits (--data synthetic:digits). image: "
        "pixel/255, white ink on black; logits: one per digit. Made by scripts/train_digits.py: "
        f"{steps * BATCH} generated samples of seed {TRAIN_SEED}, each seen once.",
    )
    onnx.checker.check_model(made, full_check=True)
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    output = ROOT / "models/digits_cnn.onnx"
    parser.add_argument("-o", "--output", type=pathlib.Path, default=output)
    parser.add_argument("--steps", type=int, default=2000, help=f"batches of {BATCH} to train on")
    args = parser.parse_args()

    torch.manual_seed(1)
    torch.set_num_threads(1)  # sums in one order: the same machine and packages give the same file
    torch.use_deterministic_algorithms(True)
    linear = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, CLASSES))
    cnn = Cnn()
    with tempfile.TemporaryDirectory() as folder:
        digits = Digits(folder)
        train(linear, digits, args.steps, lr=0.003)
        train(cnn, digits, args.steps, lr=0.006)
        tests = {seed: digits.batch(seed, 0, N_TEST) for seed in TEST_SEEDS}

    onnx.save(to_onnx(cnn, args.steps), args.output)
    print(f"{args.output}: {args.output.stat().st_size} bytes")
    session = onnxruntime.InferenceSession(args.output, providers=["CPUExecutionProvider"])
    for seed, (images, labels) in tests.items():
        parts = np.split(images, N_TEST // 500)
        logits = np.concatenate([session.run(None, {"image": part})[0] for part in parts])
        with torch.no_grad():
            expected = np.concatenate([cnn(torch.from_numpy(part)).numpy() for part in parts])
            baseline = linear(torch.from_numpy(images)).numpy()
        np.testing.assert_allclose(logits, expected, rtol=1e-3, atol=1e-3)
        right, linear_right = ((x.argmax(1) == labels).mean() for x in (logits, baseline))
        print(f"{N_TEST} samples of seed {seed}: top-1 {right:.2%}, linear {linear_right:.2%}")


if __name__ == "__main__":
    main()
