"""Accuracy on real data in low precision, beside ONNX Runtime's.

An everyday run takes the first 20 pictures and 100 sentences; HONE_IMAGES=500 and
HONE_SENTENCES=1821 take all there are. Bounds in points are of all the data; a fraction of it may
differ by one answer.
"""
import csv
import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnxruntime import GraphOptimizationLevel
from onnxruntime.quantization import QuantType, quantize_dynamic
from test_models import ASSETS, HONE, MODELS, images, run_hone, session, unpacked

IMAGES = int(os.environ.get("HONE_IMAGES", "20"))
SENTENCES = int(os.environ.get("HONE_SENTENCES", "100"))

pytestmark = [
    pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built"),
    pytest.mark.skipif(not MODELS, reason=f"there are no models in {ASSETS}"),
]


def near(a, b, points, n):
    """Whether a is no further below b, both correct answers of n, than so many points."""
    return a >= b - max(points / 100 * n, 1)


def test_pictures():
    """MobileNetV2 in int8 by `hone eval`, with ONNX Runtime on Pillow's pixels."""
    model = os.path.join(ASSETS, "models", "mobilenetv2_int8_qdq.onnx")
    folder = os.path.join(ASSETS, "data", "imagenet256")
    with open(os.path.join(folder, "labels.csv")) as f:
        rows = sorted(csv.DictReader(f), key=lambda row: row["file"])[:IMAGES]
    labels = np.array([int(row["class_index"]) for row in rows])
    s = session(model, GraphOptimizationLevel.ORT_DISABLE_ALL)
    x = images(IMAGES, 244)
    answers = [s.run(None, {s.get_inputs()[0].name: x[i : i + 10]})[0].argmax(1) for i in range(0, IMAGES, 10)]
    want = int((np.concatenate(answers) == labels).sum())
    values = "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225,resize=256,crop=244"
    data = f"images:{folder},labels=labels.csv,{values},n={IMAGES}"
    done = subprocess.run([HONE, "eval", model, "--data", data, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["top1_correct"]
    print(f"top-1 of {IMAGES}: hone {found}, ONNX Runtime {want}")
    assert near(found, want, 0.6, IMAGES) and near(want, found, 0.6, IMAGES)


@pytest.fixture(scope="module")
def sentences():
    """In batches of 64 of about one length, cut at the longest; what is asked and what is right."""
    data = np.load(os.path.join(ASSETS, "data", "sst2", "sst2_test_tokens.npz"))
    mask, label = data["attention_mask"][:SENTENCES], data["label"][:SENTENCES]
    order = np.argsort(mask.sum(1), kind="stable")
    batches = []
    for i in range(0, len(order), 64):
        at = order[i : i + 64]
        n = int(mask[at].sum(1).max())
        feeds = {name: data[name][:SENTENCES][at, :n] for name in ("input_ids", "attention_mask")}
        batches.append((feeds, label[at].reshape(-1)))
    return batches


def correct(run, batches):
    return sum(int((run(feeds)[0].argmax(1) == labels).sum()) for feeds, labels in batches)


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sst2")
    return unpacked(os.path.join(ASSETS, "models", "sst2_minilm_fp32.onnx.xz"), str(folder))


def test_sentences_bf16(sentences, minilm, tmp_path):
    f32 = correct(lambda feeds: run_hone(minilm, feeds, tmp_path), sentences)
    bf16 = correct(lambda feeds: run_hone(minilm, feeds, tmp_path, "--precision", "bf16"), sentences)
    print(f"of {SENTENCES}: f32 {f32}, bf16 {bf16}")
    assert near(bf16, f32, 0.2, SENTENCES)


def test_sentences_int8(sentences, minilm, tmp_path):
    path = str(tmp_path / "int8.onnx")
    model = onnx.load(minilm)
    del model.graph.value_info[:]  # the quantizer turns weights round and trips over them
    quantize_dynamic(model, path, weight_type=QuantType.QInt8)
    s = session(path, GraphOptimizationLevel.ORT_ENABLE_ALL)
    want = correct(lambda feeds: s.run(None, feeds), sentences)
    found = correct(lambda feeds: run_hone(path, feeds, tmp_path), sentences)
    print(f"of {SENTENCES}: hone {found}, ONNX Runtime {want}")
    assert near(found, want, 0.3, SENTENCES) and near(want, found, 0.3, SENTENCES)
