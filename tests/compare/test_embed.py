"""hone embed: what it writes is ONNX, and ONNX Runtime and hone compute of it what they compute of the model it was made of
when the preparation is done outside.
"""
import os
import subprocess

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from test_models import ASSETS, HONE, MODELS, error, run_hone, session, unpacked

pytestmark = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")
LOADER = os.path.join(os.path.dirname(os.path.abspath(HONE)), "tests", "dataset_bytes")
PLAIN = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
ALL = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
NUMBERS = ["--scale", "1/255", "--mean", "0.485:0.456:0.406", "--std", "0.229:0.224:0.225"]


def embed(path, out, *options):
    done = subprocess.run([HONE, "embed", path, "-o", out, "-q", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(out, full_check=True)
    return done.stdout


def make(path, nodes, shape, out, weights, opset=13, element=TensorProto.FLOAT, ir=7):
    """A model of one input x and one output y."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", element, shape)],
        [helper.make_tensor_value_info("y", element, out)],
        [numpy_helper.from_array(w, name) for name, w in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir), path)


def noise(*shape):
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * 0.2).astype(np.float32)


def conv(path, opset=13, bias=True, **attributes):
    group = attributes.get("group", 1)
    w = {"w": noise(6, 3 // group, 3, 3)}
    if bias:
        w["b"] = noise(6)
    make(path, [helper.make_node("Conv", ["x", *w], ["y"], **attributes)], ["n", 3, 12, 10], ["n", 6, None, None], w, opset)


def flat(path, op, turned=0):
    nodes = [helper.make_node("Flatten", ["x"], ["f"])]
    w = {"w": noise(*((5, 3 * 12 * 10) if turned else (3 * 12 * 10, 5))), "b": noise(5)}
    if op == "Gemm":
        nodes.append(helper.make_node("Gemm", ["f", "w", "b"], ["y"], transB=turned))
    else:
        nodes += [helper.make_node("MatMul", ["f", "w"], ["m"]), helper.make_node("Add", ["b", "m"], ["y"])]
    make(path, nodes, ["n", 3, 12, 10], ["n", 5], w)


def channels_last(path):
    """As models of TensorFlow are: the input has its channels last."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["y"]),
    ]
    make(path, nodes, ["n", 12, 10, 3], ["n", 6, 10, 8], {"w": noise(6, 3, 3, 3)})


def two_readers(path):
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("GlobalAveragePool", ["x"], ["p"]),
             helper.make_node("ReduceMean", ["p"], ["m"], axes=[1, 2, 3], keepdims=1), helper.make_node("Add", ["c", "m"], ["y"])]
    make(path, nodes, ["n", 3, 12, 10], ["n", 6, 10, 8], {"w": noise(6, 3, 3, 3)})


# A model, and the parts that go into its weights.
SMALL = {
    "conv": (lambda p: conv(p), "order mean scale"),
    "conv-opset7": (lambda p: conv(p, opset=7), "order mean scale"),
    "conv-no-bias": (lambda p: conv(p, bias=False), "order mean scale"),
    "conv-padded": (lambda p: conv(p, pads=[1, 1, 1, 1]), "order scale"),
    "conv-same": (lambda p: conv(p, auto_pad="SAME_UPPER"), "order scale"),
    "conv-strided": (lambda p: conv(p, strides=[2, 2], dilations=[2, 1]), "order mean scale"),
    "conv-groups": (lambda p: conv(p, group=3), "mean scale"),
    "gemm": (lambda p: flat(p, "Gemm"), "order mean scale"),
    "gemm-turned": (lambda p: flat(p, "Gemm", 1), "order mean scale"),
    "matmul": (lambda p: flat(p, "MatMul"), "order mean scale"),
    "nhwc": (channels_last, "order mean scale"),
    "two-readers": (two_readers, ""),
}


def prepared(x, nhwc, order, mean, std, scale):
    """What datasets make of bytes [n, height, width, 3]: in double, rounded once."""
    v = x.astype(np.float64)[..., :: -1 if order == "bgr" else 1]
    v = ((v * scale - np.array(mean)) / np.array(std)).astype(np.float32)
    return v if nhwc else np.ascontiguousarray(v.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("fold", [True, False], ids=["fold", "no-fold"])
@pytest.mark.parametrize("kind", ["u8", "f32"])
@pytest.mark.parametrize("name", SMALL)
def test_same_answers(name, kind, fold, tmp_path):
    path, made = str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")
    write, folded = SMALL[name]
    write(path)
    options = NUMBERS + ["--order", "bgr", "--layout", "nhwc", "--input-type", kind]
    said = embed(path, made, *options, *([] if fold else ["--no-fold"]))
    parts = [line.split() for line in said.splitlines()]
    assert {p[0] for p in parts if len(p) > 3 and p[2] in ("weights", "bias")} == set(folded.split() if fold else [])
    x = np.random.default_rng(1).integers(0, 256, (4, 12, 10, 3)).astype(np.uint8 if kind == "u8" else np.float32)
    want = session(path, PLAIN).run(None, {"x": prepared(x, name == "nhwc", "bgr", MEAN, STD, 1 / 255)})[0]
    for level in (PLAIN, ALL):
        assert error(session(made, level).run(None, {"x": x})[0], want) <= 1e-5
    assert error(run_hone(made, {"x": x}, tmp_path)[0], want) <= 1e-5


def pixels(path, nhwc, height, width):
    """A model that gives back its input."""
    shape = ["n", height, width, 3] if nhwc else ["n", 3, height, width]
    make(path, [helper.make_node("Identity", ["x"], ["y"])], shape, shape, {}, opset=11)


def test_same_bits(tmp_path):
    """Where f32 holds the means and nothing is scaled, nodes compute what datasets compute."""
    path, made = str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")
    pixels(path, False, 12, 10)
    embed(path, made, "--mean", "104:117:123", "--order", "bgr", "--layout", "nhwc", "--input-type", "u8", "--no-fold")
    x = np.random.default_rng(1).integers(0, 256, (4, 12, 10, 3), np.uint8)
    want = prepared(x, False, "bgr", [104, 117, 123], [1, 1, 1], 1)
    assert np.array_equal(session(made, PLAIN).run(None, {"x": x})[0], want)
    assert np.array_equal(run_hone(made, {"x": x}, tmp_path)[0], want)


# Height and width of what comes in, resize, crop, and how many of a thousand noisy pixels may be off by one or two: where the
# factor makes halves (7/8), the loader rounds them by the digits that its integer weights have lost.
SIZES = [
    ((256, 256), "64", None, 2),
    ((480, 640), "256", 224, 15),
    ((97, 401), "60", 48, 15),
    ((100, 80), "150", None, 40),
    ((256, 256), "224", 200, 50),
    ((50, 70), "40:90", None, 40),
    ((50, 70), None, 32, 0),
    ((64, 64), "64", 48, 0),
]


def loaded(x, keys, folder):
    """The image as hone loads it, [height, width, 3]."""
    os.makedirs(folder / "images", exist_ok=True)
    Image.fromarray(x).save(folder / "images" / "a.png")
    (folder / "y.csv").write_text("a.png,0\n")
    spec = ",".join([f"images:{folder}/images", f"labels={folder}/y.csv", *keys])
    planes = np.frombuffer(subprocess.run([LOADER, spec], capture_output=True, check=True).stdout, np.uint8)
    sides = {key: value for key, value in (k.split("=") for k in keys)}
    height, width = x.shape[:2]
    if "resize" in sides:
        height, width = [int(n) for n in sides["resize"].split(":")] if ":" in sides["resize"] else [
            n * int(sides["resize"]) // min(x.shape[:2]) for n in (height, width)]
    if "crop" in sides:
        height = width = int(sides["crop"])
    return planes.reshape(3, height, width).transpose(1, 2, 0).astype(np.int64)


@pytest.mark.skipif(not os.path.exists(LOADER), reason="dataset_bytes is not built")
@pytest.mark.parametrize("nhwc", [False, True], ids=["nchw", "nhwc"])
@pytest.mark.parametrize("size,resize,crop,most", SIZES, ids=[f"{s[0]}x{s[1]}-{r}-{c}" for s, r, c, _ in SIZES])
def test_resize(size, resize, crop, most, nhwc, tmp_path):
    path, made = str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")
    x = np.random.default_rng(3).integers(0, 256, (*size, 3), np.uint8)
    keys = ([f"resize={resize}"] if resize else []) + ([f"crop={crop}"] if crop else [])
    want = loaded(x, keys, tmp_path)
    pixels(path, nhwc, *want.shape[:2])
    options = ["--layout", "nhwc", "--input-type", "u8", "--image-size", f"{size[0]}x{size[1]}"]
    embed(path, made, *options, *[f"--{key}" for key in keys])
    feeds = {"x": x[None]}
    answers = {"hone": run_hone(made, feeds, tmp_path)[0], "ONNX Runtime": session(made, PLAIN).run(None, feeds)[0]}
    for who, y in answers.items():
        y = y[0] if nhwc else y[0].transpose(1, 2, 0)
        off = np.abs(np.rint(y).astype(np.int64) - want)
        share = 1000 * (off > 0).mean()
        print(f"{who}: {share:.1f} of 1000 are off, by {off.max()} at most")
        assert np.array_equal(y, np.rint(y)) and off.max() <= 2 and share <= most, (who, share, off.max())


def test_answers(tmp_path):
    """Probabilities, and the greatest of them."""
    path, made = str(tmp_path / "a.onnx"), str(tmp_path / "b.onnx")
    flat(path, "Gemm")
    x = {"x": noise(4, 3, 12, 10)}
    logits = session(path, PLAIN).run(None, x)[0]
    want = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    embed(path, made, "--softmax")
    assert [o.name for o in session(made, PLAIN).get_outputs()] == ["probabilities"]
    for found in (session(made, PLAIN).run(None, x)[0], run_hone(made, x, tmp_path)[0]):
        assert error(found, want) <= 1e-5
    embed(path, made, "--softmax", "--top-k", "2")
    assert [o.name for o in session(made, PLAIN).get_outputs()] == ["values", "indices"]
    for values, places in (session(made, PLAIN).run(None, x), run_hone(made, x, tmp_path)):
        assert np.array_equal(places, np.argsort(-want, 1)[:, :2])
        assert error(values, -np.sort(-want, 1)[:, :2]) <= 1e-5


REAL = [
    ("mobilenetv2_fp32", NUMBERS, "rgb", MEAN, STD, 1 / 255, 244, 1e-5),
    ("mobilenetv2_int8", NUMBERS, "rgb", MEAN, STD, 1 / 255, 244, None),
    ("squeezenet_fp32", ["--mean", "104:117:123"], "bgr", [104, 117, 123], [1, 1, 1], 1, 224, 1e-5),
    ("squeezenet_fp16", ["--mean", "104:117:123"], "bgr", [104, 117, 123], [1, 1, 1], 1, 224, 1e-2),
    ("resnet20", NUMBERS, "rgb", MEAN, STD, 1 / 255, 32, 1e-5),
    ("resnet56", NUMBERS, "rgb", MEAN, STD, 1 / 255, 32, 1e-5),
]


@pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}")
@pytest.mark.parametrize("name,options,order,mean,std,scale,size,bound", REAL, ids=[r[0] for r in REAL])
def test_real(name, options, order, mean, std, scale, size, bound, tmp_path):
    path, made = unpacked(next(m for m in MODELS if name in m), str(tmp_path)), str(tmp_path / "made.onnx")
    embed(path, made, *options, "--order", order, "--layout", "nhwc", "--input-type", "u8")
    before, after = session(path, PLAIN), session(made, PLAIN)
    folder = os.path.join(ASSETS, "data", "imagenet256")
    for file in sorted(os.listdir(folder))[:3]:
        edge = (256 - size) // 2
        x = np.asarray(Image.open(os.path.join(folder, file)).convert("RGB"))[None, edge : edge + size, edge : edge + size]
        kind = np.float16 if "fp16" in name else np.float32
        feeds = {before.get_inputs()[0].name: prepared(x, False, order, mean, std, scale).astype(kind)}
        want, there = before.run(None, feeds)[0], after.run(None, {after.get_inputs()[0].name: x})[0]
        here = run_hone(made, {after.get_inputs()[0].name: x}, tmp_path)[0]
        for found in (there, here):
            assert found.argmax() == want.argmax()
            assert bound is None or error(found, want) <= bound, error(found, want)
