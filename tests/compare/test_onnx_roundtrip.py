"""A model that hone loads and saves says the same as before.

"The same" is judged on the protobuf content after normalising what has no meaning: fields set to
their default, the order of value_info and initializers, how tensor data is stored, the spelling
"ai.onnx" of the standard domain, and value_info of values that do not exist. Functions are inlined
by hone, so models with functions are compared by running them.
"""
import glob
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

HONE = os.environ.get("HONE", "build/hone")
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(HONE)), "tests", "onnx_roundtrip")
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ASSETS = os.environ.get("HONE_ASSETS", os.path.join(ROOT, "..", "shared", "assets"))

pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="onnx_roundtrip is not built")


def round_trip(pairs, *options):
    """Runs the program over [(in, out)]; returns its complaints."""
    lines = []
    for i in range(0, len(pairs), 200):
        args = [path for pair in pairs[i : i + 200] for path in pair]
        done = subprocess.run([PROGRAM, *options, *args], capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        lines += done.stdout.splitlines()
    return lines


# ---- what a model says, as plain Python values ----------------------------------------------------


def tensor_content(t, folder):
    rest = [t.doc_string, sorted((p.key, p.value) for p in t.metadata_props)]
    if t.data_type == TensorProto.STRING:
        data = list(t.string_data)
    else:
        full = TensorProto()
        full.CopyFrom(t)
        if full.data_location == TensorProto.EXTERNAL:
            onnx.external_data_helper.load_external_data_for_tensor(full, folder)
        data = numpy_helper.to_array(full).tobytes()
    return (t.data_type, tuple(t.dims), data, rest)


def sparse_content(s, folder):
    return (tuple(s.dims), tensor_content(s.values, folder), tensor_content(s.indices, folder))


def type_content(t):
    kind = t.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        inner = getattr(t, kind)
        shape = None
        if inner.HasField("shape"):
            shape = [
                (d.WhichOneof("value"), d.dim_value, d.dim_param, d.denotation)
                for d in inner.shape.dim
            ]
            shape = [(k if v or k == "dim_value" else None, n, v, x) for k, n, v, x in shape]
        return (kind, inner.elem_type, shape, t.denotation)
    return t.SerializeToString(deterministic=True)


def value_content(v):
    return (
        v.name,
        type_content(v.type),
        v.doc_string,
        [(p.key, p.value) for p in v.metadata_props],
    )


def attribute_content(a, folder):
    content = {"name": a.name, "type": a.type, "doc": a.doc_string}
    value = {
        "FLOAT": lambda: np.float32(a.f).tobytes(),
        "INT": lambda: a.i,
        "STRING": lambda: a.s,
        "TENSOR": lambda: (a.t.name, tensor_content(a.t, folder)),
        "GRAPH": lambda: graph_content(a.g, folder),
        "SPARSE_TENSOR": lambda: sparse_content(a.sparse_tensor, folder),
        "TYPE_PROTO": lambda: a.tp.SerializeToString(deterministic=True),
        "FLOATS": lambda: np.array(a.floats, np.float32).tobytes(),
        "INTS": lambda: list(a.ints),
        "STRINGS": lambda: list(a.strings),
        "TENSORS": lambda: [(t.name, tensor_content(t, folder)) for t in a.tensors],
        "GRAPHS": lambda: [graph_content(g, folder) for g in a.graphs],
        "SPARSE_TENSORS": lambda: [sparse_content(s, folder) for s in a.sparse_tensors],
        "TYPE_PROTOS": lambda: [t.SerializeToString(deterministic=True) for t in a.type_protos],
    }[onnx.AttributeProto.AttributeType.Name(a.type)]()
    return (content, value)


def domain(name):
    return "" if name == "ai.onnx" else name


def node_content(n, folder):
    return (
        list(n.input),
        list(n.output),
        n.name,
        n.op_type,
        domain(n.domain),
        n.overload,
        n.doc_string,
        [attribute_content(a, folder) for a in n.attribute],
        [(p.key, p.value) for p in n.metadata_props],
        [c.SerializeToString(deterministic=True) for c in n.device_configurations],
    )


def graph_content(g, folder):
    known = {v.name for v in g.input} | {t.name for t in g.initializer}
    known |= {s.values.name for s in g.sparse_initializer}
    known |= {o for n in g.node for o in n.output}
    return {
        "name": g.name,
        "doc": g.doc_string,
        "nodes": [node_content(n, folder) for n in g.node],
        "inputs": [value_content(v) for v in g.input],
        "outputs": [value_content(v) for v in g.output],
        "values": sorted((value_content(v) for v in g.value_info if v.name in known), key=str),
        "initializers": {t.name: tensor_content(t, folder) for t in g.initializer},
        "sparse": {s.values.name: sparse_content(s, folder) for s in g.sparse_initializer},
        "metadata": [(p.key, p.value) for p in g.metadata_props],
        "quantization": [q.SerializeToString(deterministic=True) for q in g.quantization_annotation],
    }


def model_content(m, folder):
    return {
        "ir": m.ir_version,
        "opsets": [(domain(o.domain), o.version) for o in m.opset_import],
        "producer": (m.producer_name, m.producer_version, m.domain, m.model_version),
        "doc": m.doc_string,
        "graph": graph_content(m.graph, folder),
        "metadata": [(p.key, p.value) for p in m.metadata_props],
        "training": [t.SerializeToString(deterministic=True) for t in m.training_info],
        "devices": [c.SerializeToString(deterministic=True) for c in m.configuration],
    }


def difference(a, b, at="model"):
    """The first place where two contents differ, as text; None when they agree."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        parts = [(f"{at}.{k}", a[k], b[k]) for k in a]
    elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len(a) == len(b):
        parts = [(f"{at}[{i}]", x, y) for i, (x, y) in enumerate(zip(a, b))]
    else:
        return None if a == b else f"{at}: {str(a)[:200]} became {str(b)[:200]}"
    for name, x, y in parts:
        found = difference(x, y, name)
        if found:
            return found
    return None


def load(path):
    return onnx.load(path, load_external_data=False)


def compare_files(before, after):
    a = model_content(load(before), os.path.dirname(before))
    b = model_content(load(after), os.path.dirname(after))
    return difference(a, b)


# ---- models ---------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """The ONNX backend tests and the models of the assets, unpacked."""
    folder = tmp_path_factory.mktemp("corpus")
    archive = os.path.join(ASSETS, "onnx-backend-tests.tar.xz")
    if not os.path.exists(archive):
        pytest.skip(f"no models: {archive} is missing")
    subprocess.run(["tar", "-C", folder, "-xJf", archive], check=True)
    for path in glob.glob(os.path.join(ASSETS, "models", "*.onnx*")):
        target = os.path.join(folder, os.path.basename(path).removesuffix(".xz"))
        with open(target, "wb") as f:
            subprocess.run(["xz", "-dc", path] if path.endswith("xz") else ["cat", path], stdout=f)
    paths = glob.glob(os.path.join(folder, "**", "*.onnx"), recursive=True)
    assert len(paths) > 1000
    return sorted(paths)


@pytest.mark.parametrize("options", [[], ["--infer"]], ids=["loaded", "inferred"])
def test_content_is_kept(corpus, tmp_path, options):
    pairs = [(path, str(tmp_path / f"{i}.onnx")) for i, path in enumerate(corpus)]
    complaints = round_trip(pairs, *options)
    if options:  # models that cannot be inferred are another test's business
        pairs = [p for p in pairs if os.path.exists(p[1])]
        assert len(pairs) > 0.9 * len(corpus)
    else:
        assert complaints == []
    different = {a: compare_files(a, b) for a, b in pairs}
    assert {os.path.relpath(a): d for a, d in different.items() if d} == {}
