"""hone's text form against ONNX's own printer and parser, on ONNX's backend tests.

What hone prints, onnx.parser reads as the same model; what onnx.printer prints, hone reads as the
same model. "The same" leaves aside what the text form does not say: doc strings and metadata of
anything but the model, denotations. Models with functions (inlined by hone), with tensors in a
companion file or with sparse tensors (which onnx.parser cannot read) are only printed and read again
by hone.
"""
import os
import subprocess

import onnx
import onnx.parser
import onnx.printer
import pytest
from test_onnx_roundtrip import HONE, corpus, difference, load, model_content  # noqa: F401

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(HONE)), "tests", "text_roundtrip")

pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="text_roundtrip is not built")


def round_trip(pairs, *options):
    """Runs the program over [(in, out)]; returns its complaints."""
    lines = []
    for i in range(0, len(pairs), 200):
        args = [path for pair in pairs[i : i + 200] for path in pair]
        done = subprocess.run([PROGRAM, *options, *args], capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        lines += done.stdout.splitlines()
    return lines


def strip(message):
    """Takes out what the text form does not say."""
    for field, value in message.ListFields():
        if field.name in ("denotation", "device_configurations"):
            message.ClearField(field.name)
        elif field.name in ("doc_string", "metadata_props"):
            if message.DESCRIPTOR.name != "ModelProto":
                message.ClearField(field.name)
        elif field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                strip(inner)
    return message


def same(model, text):
    """None, or where the model and what onnx.parser makes of the text differ."""
    try:
        found = onnx.parser.parse_model(text)
    except onnx.parser.ParseError as e:
        return str(e)
    return difference(model_content(strip(model), ""), model_content(found, ""))


def comparable(model, text):
    """onnx.parser can read it: no functions, nothing in a companion file, nothing sparse."""
    return not model.functions and " ext(" not in text and "sparse_tensor(" not in text


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def test_onnx_reads_what_hone_prints(corpus, tmp_path):
    pairs = [(path, str(tmp_path / f"{i}.txt")) for i, path in enumerate(corpus)]
    assert round_trip(pairs) == []
    different, compared = {}, 0
    for path, out in pairs:
        model, text = load(path), read(out)
        if not comparable(model, text):
            continue
        compared += 1
        found = same(model, text)
        if found:
            different[os.path.relpath(path)] = found
    assert different == {}
    assert compared > 1000


def test_inferred_models_print_and_parse(corpus, tmp_path):
    pairs = [(path, str(tmp_path / f"{i}.txt")) for i, path in enumerate(corpus)]
    assert round_trip(pairs, "--infer") == []


def test_hone_reads_what_onnx_prints(corpus, tmp_path):
    models, pairs = {}, []
    for i, path in enumerate(corpus):
        if os.path.getsize(path) > 100_000:
            continue
        model = load(path)
        text = onnx.printer.to_text(model)
        if model.functions or same(load(path), text):  # onnx.parser does not understand it either
            continue
        source, out = str(tmp_path / f"{i}.onnxtxt"), str(tmp_path / f"{i}.txt")
        with open(source, "w", encoding="utf-8", newline="") as f:
            f.write(text)
        models[out] = model
        pairs.append((source, out))
    assert len(pairs) > 1000
    assert round_trip(pairs, "--text") == []
    texts = {out: read(out) for out in models}
    different = {
        out: same(model, texts[out]) for out, model in models.items() if " ext(" not in texts[out]
    }
    assert {os.path.relpath(a): d for a, d in different.items() if d} == {}
