"""`hone eval`: metrics beside plain NumPy, accuracies beside ONNX Runtime and the known figures.

An everyday run takes the first 200 samples of each dataset; HONE_SAMPLES=10000 takes all there are
and holds the accuracies to those that are known of the models, to 0.1 points.
"""
import json
import lzma
import os
import subprocess
import tarfile

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from test_models import ASSETS, HONE, MODELS, unpacked

SAMPLES = int(os.environ.get("HONE_SAMPLES", "200"))

pytestmark = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")


def evaluate(model, data, *options):
    command = [HONE, "eval", model, "--data", data, "--json", "-q", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def identity(path, **arrays):
    """A model that gives back what it is given: the outputs are named, the inputs in_<name>."""
    types = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64}
    inputs, outputs, nodes = [], [], []
    for name, x in arrays.items():
        dims, dtype = ["n", *x.shape[1:]], types[str(x.dtype)]
        inputs.append(helper.make_tensor_value_info("in_" + name, dtype, dims))
        outputs.append(helper.make_tensor_value_info(name, dtype, dims))
        nodes.append(helper.make_node("Identity", ["in_" + name], [name]))
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def scored(folder, outputs, wanted, *options):
    """The metrics of a model that answers with these outputs where these targets are wanted."""
    model, data = str(folder / "m.onnx"), str(folder / "d.npz")
    identity(model, **outputs)
    np.savez(data, **{"in_" + name: x for name, x in outputs.items()}, **wanted)
    return {m["name"]: m for m in evaluate(model, "npz:" + data, *options)["metrics"]}


def check(found, **wanted):
    for name, value in wanted.items():
        m = found[name]
        assert m["value"] == pytest.approx(value, rel=1e-6, abs=1e-9), name
        assert m["low"] <= m["value"] <= m["high"], name


def test_classes(tmp_path):
    rng = np.random.default_rng(1)
    n, classes = 300, 7
    label = rng.integers(0, classes, n)
    y = rng.standard_normal((n, classes)).astype(np.float32)
    y[np.arange(n), label] += 1.5
    answer = y.argmax(1)
    both = np.array([((answer == c) & (label == c)).sum() for c in range(classes)])
    precision = both / np.maximum([(answer == c).sum() for c in range(classes)], 1)
    recall = both / np.maximum([(label == c).sum() for c in range(classes)], 1)
    place = (y > y[np.arange(n), label][:, None]).sum(1)
    found = scored(tmp_path, {"y": y}, {"label": label}, "--metric", "default,precision,recall,f1,f1_micro")
    check(
        found,
        top1=(place < 1).mean(),
        top5=(place < 5).mean(),
        precision=precision.mean(),
        recall=recall.mean(),
        f1=(2 * precision * recall / (precision + recall)).mean(),
        f1_micro=(answer == label).mean(),
    )


def test_errors(tmp_path):
    rng = np.random.default_rng(2)
    y = rng.standard_normal((40, 3, 8)).astype(np.float32)
    wanted = (y + 0.1 * rng.standard_normal(y.shape)).astype(np.float32)
    d = y.astype(np.float64) - wanted
    psnr = 10 * np.log10((float(wanted.max()) - float(wanted.min())) ** 2 / (d**2).mean())
    check(scored(tmp_path, {"y": y}, {"target": wanted}), mse=(d**2).mean(), mae=np.abs(d).mean(), psnr=psnr)
    a, b = y.reshape(40, -1).astype(np.float64), wanted.reshape(40, -1).astype(np.float64)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    check(scored(tmp_path, {"y": y}, {"target": wanted}, "--metric", "cosine"), cosine=cosine.mean())


def test_masks(tmp_path):
    rng = np.random.default_rng(3)
    mask = rng.integers(0, 4, (12, 9, 11)).astype(np.uint8)
    y = rng.standard_normal((12, 5, 9, 11)).astype(np.float32)
    np.put_along_axis(y, mask[:, None].astype(np.int64), 2.0, 1)
    mask[:, 0, :3] = 255
    answer, known = y.argmax(1), mask != 255
    iou = []
    for c in range(5):
        a, w = (answer == c) & known, (mask == c) & known
        if (a | w).any():
            iou.append((a & w).sum() / (a | w).sum())
    found = scored(tmp_path, {"y": y}, {"target_mask": mask})
    check(found, miou=np.mean(iou), pixels=(answer == mask)[known].mean())


def test_perplexity(tmp_path):
    rng = np.random.default_rng(4)
    y = rng.standard_normal((10, 6, 20)).astype(np.float32)
    wanted = rng.integers(0, 20, (10, 6))
    wanted[:, 4:] = -100
    p = y.astype(np.float64) - np.log(np.exp(y.astype(np.float64)).sum(-1, keepdims=True))
    nll = -np.take_along_axis(p, np.maximum(wanted, 0)[..., None], -1)[..., 0][wanted >= 0]
    check(scored(tmp_path, {"y": y}, {"target_next": wanted}), perplexity=np.exp(nll.mean()))


def overlap(a, b):
    w = np.minimum(a[2], b[2]) - np.maximum(a[0], b[0])
    h = np.minimum(a[3], b[3]) - np.maximum(a[1], b[1])
    both = max(w, 0) * max(h, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def average_precision(boxes, scores, classes, wanted, wanted_classes, c, threshold):
    """Of class c, as COCO has it, one image and one detection at a time."""
    rows, objects = [], 0
    for i in range(len(boxes)):
        truth = [wanted[i, k] for k in range(wanted.shape[1]) if wanted_classes[i, k] == c]
        objects += len(truth)
        free = [True] * len(truth)
        mine = [k for k in range(boxes.shape[1]) if classes[i, k] == c and scores[i, k] > 0]
        for k in sorted(mine, key=lambda k: -scores[i, k])[:100]:
            fits = [overlap(boxes[i, k], t) if free[j] else -1 for j, t in enumerate(truth)]
            best = int(np.argmax(fits)) if fits else -1
            hit = best >= 0 and fits[best] >= threshold
            if hit:
                free[best] = False
            rows.append((scores[i, k], hit))
    if objects == 0:
        return None
    rows.sort(key=lambda r: -r[0])
    right = np.cumsum([hit for _, hit in rows])
    precision = right / np.arange(1, len(rows) + 1)
    recall = right / objects
    points = [precision[recall >= r / 100].max(initial=0) for r in range(101)]
    return np.mean(points)


def test_boxes(tmp_path):
    rng = np.random.default_rng(5)
    n, k, m = 15, 5, 12
    corner = rng.uniform(0, 80, (n, k, 2))
    wanted = np.concatenate([corner, corner + rng.uniform(10, 30, (n, k, 2))], -1).astype(np.float32)
    wanted_classes = rng.integers(-1, 3, (n, k))
    boxes = rng.uniform(0, 100, (n, m, 4)).astype(np.float32)
    boxes[..., 2:] = boxes[..., :2] + 15
    boxes[:, :k] = wanted + rng.normal(0, 1.5, wanted.shape)
    classes = rng.integers(0, 3, (n, m))
    classes[:, :k] = np.maximum(wanted_classes, 0)
    scores = rng.permutation(n * m).reshape(n, m).astype(np.float32) / (n * m)
    table = []
    for t in range(10):
        row = [
            average_precision(boxes, scores, classes, wanted, wanted_classes, c, 0.5 + 0.05 * t) for c in range(3)
        ]
        table.append(np.mean([x for x in row if x is not None]))
    outputs = {"boxes": boxes, "scores": scores, "classes": classes}
    targets = {"target_boxes": wanted, "target_classes": wanted_classes}
    check(scored(tmp_path, outputs, targets), map=np.mean(table), map50=table[0], map75=table[5])


def test_command(tmp_path):
    """The files a command gets hold what the model gave."""
    rng = np.random.default_rng(6)
    y, label = rng.standard_normal((37, 4)).astype(np.float32), rng.integers(0, 4, 37)
    script = tmp_path / "metric.py"
    script.write_text(
        "import glob, sys\n"
        "import numpy as np\n"
        "files = [np.load(f) for f in sorted(glob.glob(sys.argv[1] + '/*.npz'))]\n"
        "y = np.concatenate([f['output.y'] for f in files])\n"
        "label = np.concatenate([f['label'] for f in files])\n"
        f"assert np.array_equal(y, np.load({str(tmp_path / 'd.npz')!r})['in_y'])\n"
        "print((y.argmax(1) == label).mean())\n"
    )
    command = f"{os.sys.executable} {script}"
    found = scored(tmp_path, {"y": y}, {"label": label}, "--metric-command", command, "--metric", "top1")
    assert found["command"]["value"] == pytest.approx(found["top1"]["value"])


IMAGENET = "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
CIFAR = os.path.join(ASSETS, "data", "cifar10", "test_batch.bin.xz")
MNIST = os.path.join(ASSETS, "data", "mnist", "t10k-")
# Model, dataset, known accuracy in percent.
KNOWN = [
    ("resnet20_cifar10.onnx", f"cifar10:{CIFAR},{IMAGENET}", 91.73),
    ("resnet56_cifar10.onnx", f"cifar10:{CIFAR},{IMAGENET}", 93.39),
    ("ic_resnet8_cifar10_fp32.onnx", f"cifar10:{CIFAR}", 87.19),
    (
        "vit_ibp_cifar10.onnx",
        f"cifar10:{CIFAR},scale=1/255,mean=0.4914:0.4822:0.4465,std=0.2023:0.1994:0.2010",
        62.21,
    ),
    (
        "mnist_mlp_256x2.onnx",
        f"idx:{MNIST}images-idx3-ubyte.gz,labels={MNIST}labels-idx1-ubyte.gz,scale=1/255",
        98.08,
    ),
    ("kws_dscnn_fp32.onnx", "raw:{kws},labels=y_labels.csv,dtype=s8,mean=83,std=1/0.5847029", 91.5),
    (
        "sst2_minilm_fp32.onnx.xz",
        f"npz:{os.path.join(ASSETS, 'data', 'sst2', 'sst2_test_tokens.npz')}",
        88.74,
    ),
    (
        "sst2_minilm_fp32.onnx.xz",
        f"npz:{os.path.join(ASSETS, 'data', 'sst2', 'sst2_dev_tokens.npz')}",
        88.65,
    ),
]


@pytest.fixture(scope="module")
def kws(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kws")
    with tarfile.open(os.path.join(ASSETS, "data", "kws01.tar.xz")) as tar:
        tar.extractall(folder)
    return str(folder / "kws01")


def runtime(path, kws, n):
    """How many of the first n samples ONNX Runtime gets right."""
    s = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x = s.get_inputs()[0]
    if "sst2" in path:
        return None  # test_accuracy.py
    if "kws" in path:
        with open(os.path.join(kws, "y_labels.csv")) as f:
            rows = [line.strip().split(",") for line in f if line.strip()][:n]
        raw = [np.fromfile(os.path.join(kws, r[0]), np.int8) for r in rows]
        data = (np.stack(raw).astype(np.float32) - 83) * 0.5847029
        label = np.array([int(r[2]) for r in rows])
    elif "mnist" in path:
        return None  # nothing is done to the pixels but the scale
    else:
        with lzma.open(CIFAR) as f:
            records = np.frombuffer(f.read(3073 * n), np.uint8).reshape(n, 3073)
        label, data = records[:, 0], records[:, 1:].reshape(n, 3, 32, 32).astype(np.float32)
        if "ic_resnet8" not in path:
            mean, std = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
            if "vit" in path:
                mean, std = ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
            data = (data / 255 - np.reshape(mean, (3, 1, 1))) / np.reshape(std, (3, 1, 1))
    data = data.reshape(len(label), *[d if isinstance(d, int) else -1 for d in x.shape[1:]]).astype(np.float32)
    answers = [s.run(None, {x.name: data[i : i + 50]})[0].argmax(1) for i in range(0, n, 50)]
    return int((np.concatenate(answers) == label).sum())


@pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}")
@pytest.mark.parametrize("name,data,percent", KNOWN)
def test_known(name, data, percent, kws, tmp_path):
    model = unpacked(os.path.join(ASSETS, "models", name), str(tmp_path))
    full = SAMPLES >= 10000
    found = evaluate(model, data.format(kws=kws) + ("" if full else f",n={SAMPLES}"), "--metric", "top1")
    print(f"{name}: {found['top1_correct']} of {found['samples']}, known {percent} %")
    if full:
        assert 100 * found["top1"] == pytest.approx(percent, abs=0.1)
        return
    metric = found["metrics"][0]
    assert metric["low"] <= percent / 100 + 0.05 and metric["high"] >= percent / 100 - 0.05
    want = runtime(model, kws, SAMPLES)
    assert want is None or abs(found["top1_correct"] - want) <= 1
