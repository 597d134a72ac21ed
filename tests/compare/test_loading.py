"""Models that exporters write in unusual ways and ONNX Runtime runs: hone must give the same."""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from one_node import HONE, needs_hone
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

pytestmark = needs_hone


def value(name, dims, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, dims)


def model(nodes, inputs, outputs, constants=(), value_info=(), opset=17):
    weights = [numpy_helper.from_array(np.asarray(a), name) for name, a in dict(constants).items()]
    graph = h.make_graph(nodes, "g", inputs, outputs, weights, value_info=list(value_info))
    return h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8)


def run_onnxruntime(m, feed):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        m.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, feed)


def run_hone(path, feed, folder, backend="cpu"):
    command = [HONE, "run", path, "-o", str(folder), "--backend", backend]
    for name, x in feed.items():
        file = os.path.join(folder, f"{name}.npy")
        np.save(file, x)
        command += ["--in", f"{name}={file}"]
    return subprocess.run(command, capture_output=True, text=True)


def agree(m, feed, folder):
    """Loaded as it is, and loaded again from what `hone simplify` makes of it."""
    want = run_onnxruntime(m, feed)
    path, small = (os.path.join(folder, f"{name}.onnx") for name in ("model", "small"))
    onnx.save(m, path)
    done = subprocess.run([HONE, "simplify", path, "-o", small], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for file, backend in ((path, "cpu"), (path, "reference"), (small, "cpu")):
        done = run_hone(file, feed, folder, backend)
        assert done.returncode == 0, done.stderr
        for y, array in zip(m.graph.output, want):
            found = np.load(os.path.join(folder, f"{y.name}.npy"))
            assert found.shape == array.shape
            assert np.abs(found - array).max(initial=0) <= 2e-5 * np.abs(array).max(initial=1)


def normal(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def small_net(x, mid, y):
    """A convolution, a pool and a product, with the shapes given."""
    return model(
        [
            h.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
            h.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            h.make_node("GlobalAveragePool", ["p"], ["a"]),
            h.make_node("Flatten", ["a"], ["f"]),
            h.make_node("MatMul", ["f", "v"], ["y"]),
        ],
        [value("x", x)],
        [value("y", y)],
        {"w": normal((4, 3, 3, 3)), "v": normal((4, 5), 2)},
        [value("c", mid)],
    )


@pytest.mark.parametrize("n, size", [(1, 8), (3, 11)])
@pytest.mark.parametrize(
    "x, mid, y",
    [
        ([-1, 3, -1, -1], [-1, 4, -1, -1], [-1, 5]),
        (["?", 3, "?", "?"], ["?", 4, "?", "?"], ["?", 5]),
        ([-7, 3, "h", ""], [-1, -1, -1, -1], [-1, -1]),
        ([-1, 3, -1, -1], [0, 4, 0, 0], [0, 5]),
    ],
)
def test_sizes_nobody_knows(tmp_path, x, mid, y, n, size):
    agree(small_net(x, mid, y), {"x": normal((n, 3, size, size + 2))}, tmp_path)


def test_input_of_size_0_that_the_graph_contradicts(tmp_path):
    """ONNX Runtime takes no other size where 0 is written; hone does if 0 makes no sense."""
    path = os.path.join(tmp_path, "model.onnx")
    onnx.save(small_net([0, 3, 0, 0], [0, 4, 0, 0], [0, 5]), path)
    feed = {"x": normal((2, 3, 6, 6))}
    done = run_hone(path, feed, tmp_path)
    assert done.returncode == 0, done.stderr
    want = run_onnxruntime(small_net(["n", 3, "h", "w"], ["n", 4, "h", "w"], ["n", 5]), feed)[0]
    assert np.allclose(np.load(os.path.join(tmp_path, "y.npy")), want, atol=1e-5)


def test_a_pool_that_gives_nothing(tmp_path):
    m = model(
        [
            h.make_node("MaxPool", ["x"], ["p"], kernel_shape=[3, 3]),
            h.make_node("Relu", ["p"], ["y"]),
        ],
        [value("x", [-1, 2, 2, 5])],
        [value("y", [-1, 2, -1, 3])],
    )
    agree(m, {"x": normal((1, 2, 2, 5))}, tmp_path)


def recurrent(name, x, y, prefix):
    """An LSTM whose state is carried; x must have rank 3 when it runs."""
    return h.make_node(
        "LSTM", [x, f"w{prefix}", f"r{prefix}", "", "", "h", "c"], [f"{name}_seq", y], name,
        hidden_size=8,
    )


def branch(name, nodes, out):
    return h.make_graph(nodes, name, [], [value(out, None)])


def voice_activity():
    """Like Silero's voice activity detector: by sample rate, then by a flag, a recurrent layer each.
    One inner branch would give its LSTM an input of rank 5; it is never taken."""
    branches = []
    for rate, frame in ((16000, 16), (8000, 8)):
        p = str(frame)
        plain = branch("plain" + p, [recurrent("lstm" + p, "f" + p, "yp" + p, p)], "yp" + p)
        nested = branch(
            "nested" + p,
            [
                h.make_node("Add", ["zeros", "places"], ["axes" + p]),
                h.make_node("Unsqueeze", ["f" + p, "axes" + p], ["u" + p]),
                recurrent("deep" + p, "u" + p, "yn" + p, p),
            ],
            "yn" + p,
        )
        outer = [
            h.make_node("Reshape", ["x", "frames" + p], ["f" + p]),
            h.make_node("If", ["odd"], ["state" + p], then_branch=nested, else_branch=plain),
            h.make_node("ReduceMean", ["state" + p], ["mean" + p], axes=[2]),
        ]
        branches.append(branch(f"rate{rate}", outer, "mean" + p))
    constants = {"rate": np.int64(16000), "zeros": np.int64([0, 0]), "places": np.int64([0, 1])}
    for frame in (16, 8):
        constants[f"frames{frame}"] = np.int64([-1, 1, frame])
        constants[f"w{frame}"] = normal((1, 32, frame), frame)
        constants[f"r{frame}"] = normal((1, 32, 8), frame + 1)
    return model(
        [
            h.make_node("Equal", ["sr", "rate"], ["fast"]),
            h.make_node("If", ["fast"], ["y"], then_branch=branches[0], else_branch=branches[1]),
        ],
        [
            value("x", [1, "n"]),
            value("sr", [], T.INT64),
            value("odd", [], T.BOOL),
            value("h", [1, 1, 8]),
            value("c", [1, 1, 8]),
        ],
        [value("y", None)],
        constants,
    )


def voice(rate, odd=False):
    return {
        "x": normal((1, 64)),
        "sr": np.array(rate, np.int64),
        "odd": np.array(odd),
        "h": normal((1, 1, 8), 3),
        "c": normal((1, 1, 8), 4),
    }


@pytest.mark.parametrize("rate", [16000, 8000])
def test_a_branch_that_fits_only_when_it_is_taken(tmp_path, rate):
    agree(voice_activity(), voice(rate), tmp_path)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_a_branch_that_does_not_fit_is_refused_when_it_is_taken(tmp_path, backend):
    path = os.path.join(tmp_path, "model.onnx")
    onnx.save(voice_activity(), path)
    done = run_hone(path, voice(8000, odd=True), tmp_path, backend)
    assert done.returncode == 3
    assert "LSTM 'deep8': input 0 has rank 5, expected 3" in done.stderr
