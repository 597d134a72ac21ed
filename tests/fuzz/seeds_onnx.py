#!/usr/bin/env python3
"""Writes the seeds of the ONNX fuzz target: tests/fuzz/seeds_onnx.py tests/fuzz/corpus/onnx"""
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, parser

TEXTS = {
    "functions": """
        <ir_version: 10, opset_import: ["" : 18, "f" : 1]>
        main (float[2, n] x, bool c) => (float[2, n] y, float[2, n] z) {
          t = f.scale <by = 3.0> (x)
          y = f.twice (t)
          z = If (c) <then_branch = a () => (r) { r = f.scale (x) },
                      else_branch = b () => (s) { s = Neg (t) }>
        }
        <domain: "f", opset_import: ["" : 18]>
        scale <by: float = 2.0> (a) => (b) {
          k = Constant <value_float: float = @by> ()  b = Mul (a, k) }
        <domain: "f", opset_import: ["" : 18, "f" : 1]>
        twice (a) => (b) { t = f.scale (a)  b = f.scale <by = 5.0> (t) }""",
    "old": """
        <ir_version: 3, opset_import: ["" : 9]>
        main (float[1, 3, h, w] x) => (y) {
          a = Upsample <mode = "nearest"> (x, s)  s = Constant <value = float[4] {1, 1, 2, 2}> ()
          b = Slice <starts = [0], ends = [2], axes = [1]> (a)
          c = Unsqueeze <axes = [0]> (b)  d = Squeeze <axes = [0]> (c)
          e = Softmax <axis = 1> (d)  f = Clip <min = 0.0, max = 6.0> (e)
          g = ReduceSum <axes = [2, 3], keepdims = 0> (f)
          y, mask = Dropout <ratio = 0.5> (g)
        }""",
    "shapes": """
        <ir_version: 8, opset_import: ["" : 17]>
        main (float[batch, 3, seq] x) => (float[batch, p, q] y)
        <int64[1] zero = {0}, int64[1] minus = {-1}, int64[3] perm = {2, 0, 1}> {
          s = Shape (x)  b = Gather <axis = 0> (s, zero)  all = Concat <axis = 0> (b, minus, zero)
          r = Reshape <allowzero = 0> (x, all)  t = Transpose <perm = [0, 2, 1]> (x)
          y = MatMul (t, x)
        }""",
    "loop": """
        <ir_version: 9, opset_import: ["" : 19]>
        main (float[4] x) => (float[4] y, float[k, 4] all)
        <int64 count = {3}, bool go = {1}> {
          y, all = Loop (count, go, x) <body = step (int64 i, bool c, float[4] v) =>
            (bool c2, float[4] v2, float[4] v3) {
              c2 = Identity (c)  v2 = Add (v, v)  v3 = Neg (v2) }>
        }""",
}


def main(folder):
    os.makedirs(folder, exist_ok=True)
    models = {name: parser.parse_model(text) for name, text in TEXTS.items()}
    values = numpy_helper.from_array(np.array([1.5, -2, 3], np.float32), "s")
    places = numpy_helper.from_array(np.array([0, 7, 11], np.int64), "i")
    tensors = [
        helper.make_tensor("typed", TensorProto.INT8, [3], [1, -2, 3]),
        helper.make_tensor("half", TensorProto.FLOAT16, [2], [1.5, -2]),
        helper.make_tensor("four", TensorProto.INT4, [3], [1, -2, 3]),
        helper.make_tensor("texts", TensorProto.STRING, [2], [b"a", b""]),
        numpy_helper.from_array(np.arange(3, dtype=np.int64), "raw"),
    ]
    graph = helper.make_graph(
        [helper.make_node("Identity", [t.name], [t.name + "2"]) for t in tensors],
        "tensors",
        [],
        [helper.make_tensor_value_info(t.name + "2", t.data_type, t.dims) for t in tensors],
        tensors,
        sparse_initializer=[helper.make_sparse_tensor(values, places, [3, 4])],
    )
    models["tensors"] = helper.make_model(
        graph, ir_version=11, opset_imports=[helper.make_opsetid("", 22)]
    )
    for name, model in models.items():
        with open(os.path.join(folder, name + ".onnx"), "wb") as f:
            f.write(model.SerializeToString())


main(*sys.argv[1:])
