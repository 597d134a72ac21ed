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
import onnx.parser
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


# ---- the checker and ONNX Runtime -----------------------------------------------------------------


def session(path):
    import onnxruntime as ort

    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads = 1
    o.log_severity_level = 4
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def invent_inputs(s, seed=0):
    rng = np.random.default_rng(seed)
    feeds = {}
    for x in s.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 2 for d in x.shape]
        if "float" in x.type or "double" in x.type:
            dtype = {"tensor(float16)": np.float16, "tensor(double)": np.float64}.get(
                x.type, np.float32
            )
            feeds[x.name] = rng.standard_normal(shape).astype(dtype)
        else:
            dtype = np.dtype(x.type[len("tensor(") : -1].replace("bool", "bool_"))
            most = 1 if "mask" in x.name else 5  # nothing masked: it would give NaN
            feeds[x.name] = rng.integers(1, most + 1, shape).astype(dtype)
    return feeds


def outputs_of(path, feeds=None):
    s = session(path)
    feeds = invent_inputs(s) if feeds is None else feeds
    return feeds, s.run(None, feeds)


def assert_same_outputs(before, after, bound=0.0):
    feeds, wanted = outputs_of(before)
    _, found = outputs_of(after, feeds)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        assert a.dtype == b.dtype and a.shape == b.shape
        assert not np.issubdtype(a.dtype, np.floating) or np.all(np.isfinite(b))
        if bound == 0.0:
            assert a.tobytes() == b.tobytes()
        else:
            allowed = 1e-2 if a.dtype == np.float16 else bound
            assert np.max(np.abs(a - b), initial=0) <= allowed * np.max(np.abs(b), initial=1e-30)


@pytest.fixture(scope="session")
def zoo(corpus):
    return [path for path in corpus if os.path.basename(path) != "model.onnx"]


def test_models_pass_the_checker_and_run_the_same(zoo, tmp_path):
    for path in zoo:
        saved = str(tmp_path / os.path.basename(path))
        assert round_trip([(path, saved)], "--infer") == []
        onnx.checker.check_model(saved)
        assert_same_outputs(path, saved)


# ---- models made for this test --------------------------------------------------------------------


def save_and_load(model, tmp_path, *options):
    before, after = str(tmp_path / "before.onnx"), str(tmp_path / "after.onnx")
    with open(before, "wb") as f:
        f.write(model if isinstance(model, bytes) else model.SerializeToString())
    assert round_trip([(before, after)], *options) == []
    return before, after


def identity_model(tensors=(), sparse=(), ir_version=10, opset=21):
    nodes, outputs = [], []
    for t in tensors:
        nodes.append(helper.make_node("Identity", [t.name], [f"{t.name}_out"]))
        outputs.append(helper.make_tensor_value_info(f"{t.name}_out", t.data_type, t.dims))
    for s in sparse:
        name = s.values.name
        nodes.append(helper.make_node("Identity", [name], [f"{name}_out"]))
        outputs.append(helper.make_tensor_value_info(f"{name}_out", s.values.data_type, s.dims))
    graph = helper.make_graph(
        nodes, "made", [], outputs, list(tensors), sparse_initializer=list(sparse)
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, ir_version=ir_version, opset_imports=opsets)


TYPED = {
    TensorProto.FLOAT: [1.5, -2.0, 3e38, 0.0, float("inf"), -1e-40],
    TensorProto.DOUBLE: [1.5, -2.0, 1e300, 0.0, float("inf"), 5e-324],
    TensorProto.FLOAT16: [1.5, -2.0, 65504, 0.0, float("inf"), 6e-8],
    TensorProto.BFLOAT16: [1.5, -2.0, 3e38, 0.0, float("inf"), 1e-40],
    TensorProto.COMPLEX64: [1.5 + 2j, -2j, 0, 1, 2, 3 - 1j],
    TensorProto.COMPLEX128: [1.5 + 2j, -2j, 0, 1, 2, 3 - 1j],
    TensorProto.BOOL: [True, False, True, True, False, True],
    TensorProto.INT8: [-128, 127, 0, -1, 5, 6],
    TensorProto.UINT8: [255, 0, 1, 2, 128, 7],
    TensorProto.INT16: [-32768, 32767, 0, -1, 5, 6],
    TensorProto.UINT16: [65535, 0, 1, 2, 3, 4],
    TensorProto.INT32: [-(2**31), 2**31 - 1, 0, -1, 5, 6],
    TensorProto.UINT32: [2**32 - 1, 0, 1, 2, 3, 4],
    TensorProto.INT64: [-(2**63), 2**63 - 1, 0, -1, 5, 6],
    TensorProto.UINT64: [2**64 - 1, 0, 1, 2, 3, 4],
    TensorProto.FLOAT8E4M3FN: [1.5, -2.0, 448, 0.0, 0.25, -1],
    TensorProto.FLOAT8E5M2: [1.5, -2.0, 448, 0.0, 0.25, -1],
    TensorProto.UINT4: [15, 0, 1, 7, 8, 9],
    TensorProto.INT4: [7, -8, 0, -1, 3, 2],
    TensorProto.STRING: [b"one", b"", b"\x00zero", b"four", b"5", b"6"],
}


@pytest.mark.parametrize("kind", TYPED, ids=lambda k: TensorProto.DataType.Name(k).lower())
def test_typed_data(kind, tmp_path):
    """Every field that can hold elements, also with an odd count and with none."""
    whole = helper.make_tensor("whole", kind, [2, 3], TYPED[kind])
    odd = helper.make_tensor("odd", kind, [5], TYPED[kind][:5])
    empty = helper.make_tensor("empty", kind, [0, 4], [])
    before, after = save_and_load(identity_model([whole, odd, empty], ir_version=11), tmp_path)
    assert compare_files(before, after) is None
    onnx.checker.check_model(after)


def test_external_data_both_ways(tmp_path):
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(n).astype(np.float32) for n in (1000, 3, 70000)]
    tensors = [numpy_helper.from_array(a, f"w{i}") for i, a in enumerate(arrays)]
    model = identity_model(tensors)
    before, after = save_and_load(model, tmp_path, "--external")
    assert compare_files(before, after) is None
    onnx.checker.check_model(after)
    assert os.path.getsize(after) < 2000 < os.path.getsize(after + ".data")
    stored = load(after).graph.initializer
    entries = [{e.key: e.value for e in t.external_data} for t in stored]
    assert [bool(e) for e in entries] == [True, False, True]  # the small one stays
    assert all(int(e["offset"]) % 4096 == 0 for e in entries if e)
    assert_same_outputs(before, after)
    again = str(tmp_path / "again.onnx")
    assert round_trip([(after, again)]) == []
    assert compare_files(before, again) is None
    assert not os.path.exists(again + ".data")
    [line] = round_trip([(after, str(tmp_path / "after.onnx.data"))])
    assert "will not be overwritten" in line
    [line] = round_trip([(after, after)])
    assert "will not be overwritten" in line


def test_sparse_initializers(tmp_path):
    values = numpy_helper.from_array(np.array([1.5, -2, 3], np.float32), "sparse")
    linear = numpy_helper.from_array(np.array([0, 7, 11], np.int64), "places")
    pairs = numpy_helper.from_array(np.array([[0, 0], [1, 3], [2, 3]], np.int64), "places")
    for indices in (linear, pairs):
        sparse = helper.make_sparse_tensor(values, indices, [3, 4])
        before, after = save_and_load(identity_model(sparse=[sparse]), tmp_path)
        assert compare_files(before, after) is None
        onnx.checker.check_model(after)


def test_everything_else_a_model_may_hold(tmp_path):
    model = onnx.parser.parse_model(
        """
        <ir_version: 11, opset_import: ["" : 21, "my.ops" : 3], producer_name: "p",
         producer_version: "1.2", domain: "d", model_version: 7, doc_string: "a model",
         metadata_props: ["k": "v", "k2": ""]>
        main (float[batch, 4] x, float[2, 1] y = {1.0, 2.0}) => (float[batch, 4] z)
        <int64[1] axes = {1}> {
          a = my.ops.Strange <texts: strings = ["p", "q"], f: float = 0.5, fs: floats = [1.0, -2.5]>
              (x, , y)
          [second] b, c = my.ops.Strange2 (a)
          t = Constant <value = int64[2] {3, 4}> ()
          flag = Constant <value = bool {1}> ()
          z = If (flag) <
            then_branch = yes () => (float[batch, 4] r) { r = Add (x, x) },
            else_branch = no () => (float[batch, 4] s) <float one = {1.0}> { s = Mul (x, one) }>
        }
        """
    )
    g = model.graph
    g.doc_string = "a graph"
    g.metadata_props.add(key="g", value="h")
    g.node[0].doc_string = "a node"
    g.node[0].metadata_props.add(key="n", value="m")
    g.node[0].attribute[0].doc_string = "an attribute"
    g.node[2].attribute[0].t.name = "the tensor of a Constant"
    g.initializer[0].doc_string = "an initializer"
    g.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    g.input[0].type.denotation = "TENSOR"
    g.input[0].doc_string = "an input"
    g.input[0].metadata_props.add(key="i", value="j")
    g.value_info.add().CopyFrom(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["?", 3, None]))
    seq = helper.make_tensor_sequence_value_info("b", TensorProto.FLOAT, [1])
    g.value_info.add().CopyFrom(seq)
    g.value_info.add().CopyFrom(helper.make_tensor_value_info("nobody", TensorProto.FLOAT, [1]))
    q = g.quantization_annotation.add(tensor_name="x")
    q.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="y")
    model.training_info.add().algorithm.name = "training"
    model.configuration.add(name="two", num_devices=2)
    g.node[0].device_configurations.add(configuration_id="two", pipeline_stage=1)
    for options in ([], ["--infer"]):
        before, after = save_and_load(model, tmp_path, *options)
        assert compare_files(before, after) is None


def test_initializers_as_inputs(tmp_path):
    """Before IR version 4 they must be; afterwards they are defaults. Order and types stay."""
    for ir_version in (3, 4):
        w = numpy_helper.from_array(np.array([1, 2], np.float32), "w")
        b = numpy_helper.from_array(np.array([3, 4], np.float32), "b")
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        nodes = [helper.make_node("Mul", ["x", "w"], ["t"]), helper.make_node("Add", ["t", "b"], ["y"])]
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N"]) for n in "bw"]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])]
        graph = helper.make_graph(nodes, "g", [inputs[0], x, inputs[1]], outputs, [w, b])
        model = helper.make_model(
            graph, ir_version=ir_version, opset_imports=[helper.make_opsetid("", 9)]
        )
        before, after = save_and_load(model, tmp_path, "--infer")
        onnx.checker.check_model(after)
        assert compare_files(before, after) is None


FUNCTIONS = """
<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
main (float[2, 3] x, bool flag) => (float[2, 3] y, float[2, 3] z, float[2, 3] same, float[2, 3] w)
{
  t = f.scale <by = 3.0> (x)
  y = f.twice (t)
  z, unused = f.both <axis = 0> (x, t)
  same = f.pass (x)
  inner = If (flag) <
    then_branch = yes () => (float[2, 3] r) { r = f.scale (x) },
    else_branch = no () => (float[2, 3] s) { t2 = f.scale (x)  s = f.twice (t2) }>
  w = f.choose (inner, flag)
}
<domain: "f", opset_import: ["" : 18, "f" : 1]>
scale <by: float = 2.0> (a) => (b) { k = Constant <value_float: float = @by> ()  b = Mul (a, k) }
<domain: "f", opset_import: ["" : 18, "f" : 1]>
twice (a) => (b) { t = f.scale (a)  b = f.scale <by = 5.0> (t) }
<domain: "f", opset_import: ["" : 18, "f" : 1]>
both <axis: int = 1> (a, b, c) => (p, q) {
  p = Softmax <axis: int = @axis> (a)
  q = Add (b, p)
}
<domain: "f", opset_import: ["" : 18, "f" : 1]>
choose (a, flag) => (b) {
  t = Neg (a)
  b = If (flag) <
    then_branch = yes () => (r) { t2 = Exp (t)  r = Add (t2, a) },
    else_branch = no () => (r) { t2 = Abs (t)  r = f.scale (t2) }>
}
"""


# ONNX Runtime does not take a function whose output is its input.
PASS = """
<domain: "f", opset_import: ["" : 18]>
pass (a) => (a) { }
"""


def test_functions_are_inlined(tmp_path):
    before, after = save_and_load(onnx.parser.parse_model(FUNCTIONS + PASS), tmp_path, "--infer")
    saved = load(after)
    assert len(saved.functions) == 0
    assert all(n.domain == "" for n in saved.graph.node)
    onnx.checker.check_model(after, full_check=True)
    plain = FUNCTIONS.replace("same = f.pass (x)", "same = Identity (x)")
    onnx.save(onnx.parser.parse_model(plain), before)
    for flag in (True, False):
        feeds = {"x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3), "flag": np.array(flag)}
        _, wanted = outputs_of(before, feeds)
        _, found = outputs_of(after, feeds)
        for a, b in zip(found, wanted):
            np.testing.assert_array_equal(a, b)
