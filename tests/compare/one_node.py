"""One-node models through hone and through ONNX Runtime."""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

HONE = os.environ.get("HONE", "build/hone")
needs_hone = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")


def model(op, inputs, n_outputs=1, domain="", opset=21, constants=(), **attrs):
    """A model of one node. inputs: arrays; None is an absent one, and those whose numbers are among
    the constants are part of the model. Outputs are y0, y1 ..."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f"y{i}" for i in range(n_outputs)], domain=domain, **attrs)
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for i, (name, x) in enumerate(zip(names, inputs))
        if x is not None and i not in constants
    ]
    outputs = [onnx.ValueInfoProto(name=y) for y in node.output]
    known = [numpy_helper.from_array(inputs[i], names[i]) for i in constants]
    graph = helper.make_graph([node], op, values, outputs, known)
    opsets = [helper.make_opsetid("", opset)]
    if domain:
        opsets.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def feed(m, inputs):
    return {x.name: inputs[int(x.name[1:])] for x in m.graph.input}


def run_onnxruntime(m, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        m.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feed(m, inputs))


def run_hone(m, inputs, folder):
    path = os.path.join(folder, "model.onnx")
    onnx.save(m, path)
    command = [HONE, "run", path, "-o", str(folder)]
    for name, x in feed(m, inputs).items():
        file = os.path.join(folder, f"{name}.npy")
        np.save(file, x)
        command += ["--in", f"{name}={file}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [np.load(os.path.join(folder, f"{y.name}.npy")) for y in m.graph.output]


def check(folder, op, inputs, n_outputs=1, error=2e-5, steps=0, **more):
    """hone's outputs are those of ONNX Runtime: floats within max|a - b| / max|b| of `error`,
    integers within `steps`."""
    inputs = [None if x is None else np.asarray(x) for x in inputs]
    m = model(op, inputs, n_outputs, **more)
    for want, found in zip(run_onnxruntime(m, inputs), run_hone(m, inputs, folder)):
        assert found.dtype == want.dtype and found.shape == want.shape
        if want.size == 0:
            continue
        far = np.abs(found.astype(np.float64) - want.astype(np.float64)).max()
        if np.issubdtype(want.dtype, np.integer):
            assert far <= steps
        else:
            assert far <= error * max(np.abs(want).max(), 1e-30)
