"""hone writes at each opset what that opset can say.

The table of what was added to the operators (src/ops/history.def) is held to ONNX's definitions.
Models saved at other opsets pass the ONNX checker and compute the same, or the node that prevents
it is named.
"""
import collections
import json
import os
import platform
import pathlib
import re
import subprocess

import numpy as np
import onnx
import onnx.defs
import onnx.parser
import pytest
from onnx.defs import OpSchema
from test_onnx_roundtrip import (  # noqa: F401
    HONE,
    PROGRAM,
    ROOT,
    corpus,
    domain,
    load,
    outputs_of,
    round_trip,
    zoo,
)

pytestmark = pytest.mark.skipif(not os.path.exists(PROGRAM), reason="onnx_roundtrip is not built")

# ---- the tables against the definitions -----------------------------------------------------------

SCHEMAS = collections.defaultdict(dict)  # name -> opset -> definition
for schema in onnx.defs.get_all_schemas_with_history():
    if schema.domain == "":
        SCHEMAS[schema.name][schema.since_version] = schema


def operators():
    """What hone knows of the standard domain: name -> opsets its definition changed in."""
    done = subprocess.run([HONE, "ops", "--json"], capture_output=True, text=True, check=True)
    rows = [row for row in json.loads(done.stdout)["ops"] if row["domain"] == "ai.onnx"]
    return {row["name"]: [int(v) for v in row["versions"].split()] for row in rows}


def rows(file, macro):
    """[(operator, the rest)] of a .def file."""
    with open(os.path.join(ROOT, "src", "ops", file)) as f:
        return re.findall(rf"^{macro}\(([\w*]+),([^()]*)\)$", f.read(), re.MULTILINE)


SIGNED, UNSIGNED = {"s8", "s16", "s32", "s64"}, {"u8", "u16", "u32", "u64"}
IEEE = {"f16", "f32", "f64"}
GROUPS = {
    "ieee": IEEE,
    "sint": SIGNED,
    "uint": UNSIGNED,
    "int": SIGNED | UNSIGNED,
    "int4": {"s4", "u4"},
    "int2": {"s2", "u2"},
    "fp8": {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"},
}


def history():
    """{(operator, opset, what)} of history.def, types one by one."""
    table = set()
    for op, texts in rows("history.def", "HN_HISTORY"):
        for part in "".join(re.findall(r'"([^"]*)"', texts)).split(";"):
            since, *words = part.split()
            for word in words:
                what, colon, types = word.partition(":")
                for t in types.split(","):
                    for one in GROUPS.get(t, {t}):
                        table.add((op, int(since), what.replace("<0out", "<0") + colon + one))
    return table


def types_of(parameter):
    """The types hone has a name for."""
    short = {"float": "f32", "double": "f64", "float16": "f16", "bfloat16": "bf16"}
    short |= {"complex64": "c64", "complex128": "c128", "bool": "bool", "string": "string"}
    short |= {f"int{bits}": f"s{bits}" for bits in (2, 4, 8, 16, 32, 64)}
    short |= {f"uint{bits}": f"u{bits}" for bits in (2, 4, 8, 16, 32, 64)}
    short |= {t.replace("f", "float", 1): t for t in GROUPS["fp8"] | {"f8e8m0", "f4e2m1"}}
    names = [t[len("tensor(") : -1] for t in parameter.types if t.startswith("tensor(")]
    return {short[name] for name in names if name in short}


def axes_from_end(definition):
    """The attributes and inputs that may count axes from the end."""
    given = {**definition.attributes, **{p.name: p for p in definition.inputs}}
    pattern = r"(?<!non-)[Nn]egative|\[-r"
    return {n for n, p in given.items() if "ax" in n and re.search(pattern, p.description)}


def added(newest, before, after):
    """What a definition has that the one before it had not, in the words of history.def."""
    option = OpSchema.FormalParameterOption
    known = set(before.attributes) | {p.name for p in before.inputs}
    yield from (f"@{name}" for name in after.attributes if name not in before.attributes)
    yield from (f"@{n}<0" for n in (axes_from_end(after) - axes_from_end(before)) & known)
    said = set()  # type variables of the newest definition
    for kind in ("inputs", "outputs"):
        lists = [getattr(definition, kind) for definition in (newest, before, after)]
        kind = kind.removesuffix("puts")
        for i, parameter in enumerate(lists[2]):
            variable = lists[0][min(i, len(lists[0]) - 1)].type_str
            if i >= len(lists[1]):
                yield f"{kind}{i}"
                continue
            if parameter.option == option.Optional != lists[1][i].option:
                yield f"{kind}{i}?"
            new = types_of(parameter) - types_of(lists[1][i])
            if new and variable not in said:
                more = "+" if parameter.option == option.Variadic else ""
                yield from (f"{kind}{i}{more}:{t}" for t in new)
                said.add(variable)


def test_versions_are_those_of_the_definitions():
    found = operators()
    del found["SimplifiedLayerNormalization"]  # ONNX Runtime's
    assert found == {name: sorted(SCHEMAS[name]) for name in found}


def test_history_is_that_of_the_definitions():
    table = history()
    wanted = set()
    for op in [*operators(), "Scatter", "Upsample"]:
        opsets = sorted(SCHEMAS[op])
        for a, b in zip(opsets, opsets[1:]):
            if b > 7:
                new = added(SCHEMAS[op][opsets[-1]], SCHEMAS[op][a], SCHEMAS[op][b])
                wanted |= {(op, b, what) for what in new}
    changed = {(op, int(rest.split(",")[0])) for op, rest in rows("lift.def", "HN_LIFT")}
    missing = {row for row in wanted - table if row[:2] not in changed}
    assert missing == set()
    for op, since, what in table - wanted:  # values of attributes are told in prose
        name, value = re.fullmatch(r"@(\w+)=(\w+)", what).groups()
        opsets = sorted(SCHEMAS[op])
        before = max(v for v in opsets if v < since)
        for opset, there in ((before, False), (since, True)):
            s = SCHEMAS[op][opset]
            assert (value in s.doc + s.attributes[name].description) == there, (op, since, what)


# ---- models ---------------------------------------------------------------------------------------

OPSETS = (9, 11, 13, 17, 21)


def assert_close(found, wanted, where):
    """Within 1e-5 of the largest value, 1e-2 in f16; on aarch64 ONNX Runtime also adds up in f16."""
    rough = 3e-2 if platform.machine() == "aarch64" else 1e-2
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, where
        half = a.dtype == np.float16
        a, b = a.astype(np.float64), b.astype(np.float64)
        assert (np.isnan(a) == np.isnan(b)).all(), where
        a, b = np.nan_to_num(a), np.nan_to_num(b)
        bound = (rough if half else 1e-5) * np.abs(b).max(initial=1e-30)
        assert np.abs(a - b).max(initial=0) <= bound, where


def check_opsets(path, tmp_path, feeds=None, wanted=None):
    """Saves the model at each opset; what was saved passes the checker and computes the same in ONNX
    Runtime. Returns {opset: why not}."""
    if wanted is None:
        feeds, wanted = outputs_of(path)
    refused = {}
    for opset in OPSETS:
        saved = str(tmp_path / f"{opset}.onnx")
        complaints = round_trip([(path, saved)], "--infer", "--opset", str(opset))
        if complaints:
            refused[opset] = complaints[0].removeprefix(f"{path}: ")
            continue
        assert {domain(o.domain): o.version for o in load(saved).opset_import}[""] == opset
        onnx.checker.check_model(saved, full_check=True)
        assert_close(outputs_of(saved, feeds)[1], wanted, (path, opset))
    for why in refused.values():  # it names a node, or the operator and its output
        assert re.match(r"\w+ ('.+'|\(output '.+'\))(:| cannot be saved below) ", why), why
    return refused


def stored(folder, kind):
    """The data that comes with a backend test."""
    files = sorted(folder.glob(f"test_data_set_0/{kind}_*.pb"))
    return [onnx.numpy_helper.to_array(onnx.load_tensor(f)) for f in files]


def test_models_of_an_old_exporter(corpus, tmp_path):
    paths = [p for p in corpus if re.search("/pytorch-(converted|operator)/", p)]
    assert len(paths) > 100
    written = 0
    for path in paths:
        folder = pathlib.Path(path).parent
        initializers = {t.name for t in load(path).graph.initializer}
        names = [x.name for x in load(path).graph.input if x.name not in initializers]
        feeds = dict(zip(names, stored(folder, "input"), strict=True))
        refused = check_opsets(path, tmp_path, feeds, stored(folder, "output"))
        written += len(OPSETS) - len(refused)
    assert written >= 0.98 * len(OPSETS) * len(paths)


def test_models_of_today(zoo, tmp_path):
    small = [path for path in zoo if os.path.getsize(path) < 4e6]
    assert len(small) > 10
    for path in small:
        refused = check_opsets(path, tmp_path)
        assert not {13, 17, 21} & refused.keys(), (path, refused)


# Forms that the models above do not have: the opset they are written for, the graph, and the opsets
# that cannot say it.
FORMS = {
    "resize_10": (
        10,
        """(float[1,2,4,4] x) => (float[1,2,8,2] y) <float[4] s = {1, 1, 2, 0.5}>
        { y = Resize (x, s) }""",
        {9},
    ),
    "upsample_9": (
        9,
        """(float[1,2,4,4] x) => (float[1,2,8,12] y) <float[4] s = {1, 1, 2, 3}>
        { y = Upsample (x, s) }""",
        set(),
    ),
    "resize_scales": (
        13,
        """(float[1,2,4,4] x) => (float[1,2,8,8] y) <float[4] s = {1, 1, 2, 2}>
        { y = Resize (x, , s) }""",
        {9},
    ),
    "resize_sizes": (
        18,
        """(float[1,2,4,4] x) => (float[1,2,5,6] y) <int64[4] s = {1, 2, 5, 6}>
        { y = Resize (x, , , s) }""",
        {9, 11},
    ),
    "softmax_2d": (12, "(float[2,3,4] x) => (float[2,3,4] y) { y = Softmax (x) }", set()),
    "softmax_axis": (
        13,
        "(float[2,3,4] x) => (float[2,3,4] y) { y = LogSoftmax <axis = 1> (x) }",
        {9, 11},
    ),
    "hardmax": (
        9,
        "(float[2,3,4] x) => (float[2,3,4] y) { y = Hardmax <axis = 0> (x) }",
        set(),
    ),
    "batch_norm": (
        7,
        """(float[2,3,2] x) => (float[2,3,2] y) <float[3] s = {1, 2, 3}, float[3] v = {4, 5, 6}>
        { y = BatchNormalization (x, s, s, s, v) }""",
        set(),
    ),
    "group_norm": (
        18,
        """(float[2,4,3] x) => (float[2,4,3] y) <float[2] s = {1, 2}>
        { y = GroupNormalization <num_groups = 2> (x, s, s) }""",
        {9, 11, 13, 17},
    ),
    "layer_norm": (
        17,
        """(float[2,3] x) => (float[2,3] y) <float[3] s = {1, 2, 3}>
        { y = LayerNormalization (x, s) }""",
        {9, 11, 13},
    ),
    "clip": (
        17,
        "(float[5] x) => (float[5] y) <float low = {-0.5}> { y = Clip (x, low) }",
        set(),
    ),
    "dropout": (9, "(float[5] x) => (float[5] y) { y = Dropout <ratio = 0.25> (x) }", set()),
    "pad": (
        18,
        """(float[2,3] x) => (float[3,5] y) <int64[4] p = {1, 0, 0, 2}, float v = {1.5}>
        { y = Pad (x, p, v) }""",
        set(),
    ),
    "pad_axes": (
        18,
        """(float[2,3] x) => (float[2,6] y) <int64[2] p = {1, 2}, int64[1] a = {-1}>
        { y = Pad (x, p, , a) }""",
        {9, 11, 13, 17},
    ),
    "slice": (
        9,
        "(float[4,5] x) => (float[4,3] y) { y = Slice <axes = [1], ends = [9], starts = [-3]> (x) }",
        set(),
    ),
    "squeeze": (
        13,
        """(float[1,3] x) => (float[1,3,1] y) <int64[1] a = {0}, int64[2] b = {0, -1}>
        { s = Squeeze (x, a) y = Unsqueeze (s, b) }""",
        set(),
    ),
    "top_k": (
        11,
        """(float[3,4] x) => (float[3,2] y, int64[3,2] i) <int64[1] k = {2}>
        { y, i = TopK <axis = -1> (x, k) }""",
        set(),
    ),
    "reduce": (
        18,
        """(float[2,3,4] x) => (float[3] y) <int64[2] a = {-1, 0}>
        { s = ReduceMean (x, a) y = ReduceSum <keepdims = 0> (s, a) }""",
        set(),
    ),
    "split": (
        18,
        "(float[6] x) => (float[3] y, float[3] z) { y, z = Split <num_outputs = 2> (x) }",
        set(),
    ),
    "split_unequal": (
        18,
        "(float[5] x) => (float[3] y, float[2] z) { y, z = Split <num_outputs = 2> (x) }",
        {9, 11, 13, 17},
    ),
    "scatter": (
        9,
        """(float[3,3] x) => (float[3,3] y) <int64[1,2] i = {1, 0}, float[1,2] u = {7, 8}>
        { y = Scatter <axis = -2> (x, i, u) }""",
        set(),
    ),
    "quantize": (
        13,
        """(float[2,3] x) => (float[2,3] y) <float s = {0.1}, uint8 z = {128}>
        { q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }""",
        {9},
    ),
    "quantize_channels": (
        13,
        """(float[2,3] x) => (float[2,3] y)
        <float[3] s = {0.1, 0.2, 0.3}, uint8[3] z = {128, 0, 1}>
        { q = QuantizeLinear (x, s, z) y = DequantizeLinear (q, s, z) }""",
        {9, 11},
    ),
    "grid_sample": (
        16,
        """(float[1,2,4,4] x, float[1,3,3,2] g) => (float[1,2,3,3] y)
        { y = GridSample <mode = "bicubic"> (x, g) }""",
        {9, 11, 13},
    ),
    "loop": (
        21,
        """(float[2] x) => (float[2] y) <int64 n = {3}, bool t = {1}> {
          y = Loop (n, t, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] r)
            { d = Identity (c) r = Add (s, s) }>
        }""",
        set(),
    ),
    "scan": (
        11,
        """(float[2] s, float[2,3] x) => (float[2] y, float[3,2] z) {
          y, z = Scan <num_scan_inputs = 1, scan_input_axes = [-1], body =
            b (float[2] p, float[2] e) => (float[2] q, float[2] r)
            { q = Add (p, e) r = Identity (q) }> (s, x)
        }""",
        set(),
    ),
    "constant": (
        13,
        """(float[2] x) => (float[2] y)
        { c = Constant <value_floats = [1.0, 2.0]> () y = Add (x, c) }""",
        set(),
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name, tmp_path):
    opset, graph, cannot = FORMS[name]
    path = str(tmp_path / "model.onnx")
    text = f'<ir_version: 10, opset_import: ["" : {opset}]> {name} {graph}'
    onnx.save(onnx.parser.parse_model(text), path)
    assert check_opsets(path, tmp_path).keys() == cannot
