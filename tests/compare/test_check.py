"""`hone check` against ONNX's checker: what that rejects is found, what it accepts has no findings.

Each case below breaks a good model in one way. Two differences are known: hone finds an opset newer
than it knows (`hone_only`), and checks element types against the newest definition of an operator,
so that a type which a later opset allowed passes in an earlier one (`onnx_only`).
"""
import json
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper
from test_onnx_roundtrip import HONE, corpus  # noqa: F401

pytestmark = pytest.mark.skipif(not os.path.exists(HONE), reason="the hone program is not built")


def onnx_rejects(path):
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as e:  # the kinds are many
        return str(e) or type(e).__name__
    return None


def findings(path):
    """What hone says is wrong; the exit status must agree."""
    done = subprocess.run([HONE, "check", "--json", path], capture_output=True, text=True)
    said = json.loads(done.stdout)
    found = said["findings"] + ([said["error"]] if said["error"] else [])
    assert done.returncode == (3 if said["error"] else 1 if found else 0), done.stderr
    assert said["conforms"] == (not found)
    return found


# ---- models broken in one way --------------------------------------------------------------------

CASES = []


def case(marks="", says=""):
    """The function changes the good model (or returns another); hone's finding holds `says`."""

    def add(function):
        CASES.append(pytest.param(function, marks, says, id=function.__name__))
        return function

    return add


def value(name, dims, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def good():
    """y = Relu(x @ w + b), then a branch."""
    then = h.make_graph([h.make_node("Abs", ["r"], ["t"])], "then", [], [value("t", ["n", 4])])
    other = h.make_graph([h.make_node("Add", ["r", "k"], ["e"])], "else", [], [value("e", ["n", 4])],
                         [constant("k", np.float32([1]))])
    graph = h.make_graph(
        [
            h.make_node("Gemm", ["x", "w", "b"], ["g"], "gemm", alpha=1.0),
            h.make_node("Relu", ["g"], ["r"], "relu"),
            h.make_node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other),
        ],
        "graph",
        [value("x", ["n", 3]), value("c", [], T.BOOL)],
        [value("y", ["n", 4])],
        [constant("w", np.ones((3, 4), np.float32)), constant("b", np.ones(4, np.float32))],
        value_info=[value("g", ["n", 4])],
    )
    return h.make_model(graph, ir_version=8, opset_imports=[h.make_opsetid("", 17)])


@case(says="input 'nowhere' is computed nowhere")
def dangling_input(m):
    m.graph.node[1].input[0] = "nowhere"


@case(says="'g'")
def duplicate_output(m):
    m.graph.node.add().CopyFrom(h.make_node("Abs", ["x"], ["g"]))


@case(says="computed by a later node")
def unsorted(m):
    nodes = list(m.graph.node)
    del m.graph.node[:]
    m.graph.node.extend([nodes[1], nodes[0], nodes[2]])


@case(says="cycle")
def cycle(m):
    m.graph.node[0].input[2] = "r"


@case(says="later node")
def own_input(m):
    m.graph.node[1].input[0] = "r"


@case(says="ai.onnx has no such operator")
def unknown_operator(m):
    m.graph.node[1].op_type = "Reluu"


@case(says="names no operator")
def no_operator(m):
    m.graph.node[1].op_type = ""


@case(says="does not have the operator yet")
def operator_of_a_later_opset(m):
    m.graph.node[1].op_type = "Gelu"


@case(says="does not have the operator any more")
def operator_of_an_earlier_opset(m):
    m.graph.node[1].CopyFrom(h.make_node("Upsample", ["g", "b"], ["r"]))


@case(says="not among the model's opset imports")
def domain_not_imported(m):
    m.graph.node[1].domain = "com.example"


@case(says="no opset of ai.onnx is imported")
def no_opset(m):
    del m.opset_import[:]


@case(marks="hone_only", says="opset 99")
def opset_of_the_future(m):
    m.opset_import[0].version = 99


@case(says="IR version 0")
def no_ir_version(m):
    m.ir_version = 0


@case(says="IR version 99")
def ir_version_of_the_future(m):
    m.ir_version = 99


@case(says="no attribute 'colour'")
def unknown_attribute(m):
    m.graph.node[0].attribute.append(h.make_attribute("colour", 3))


@case(says="'alpha'")
def attribute_of_another_type(m):
    m.graph.node[0].attribute[0].CopyFrom(h.make_attribute("alpha", 1))


@case(says="holds another type")
def attribute_says_one_type_and_holds_another(m):
    m.graph.node[0].attribute[0].type = onnx.AttributeProto.INT


@case(says="holds another type")
def attribute_with_two_values(m):
    m.graph.node[0].attribute[0].i = 3


@case(says="does not say its type")
def attribute_without_a_type(m):
    m.graph.node[0].attribute[0].ClearField("type")


@case(says="an attribute has no name")
def attribute_without_a_name(m):
    m.graph.node[0].attribute[0].name = ""


@case(says="given twice")
def attribute_given_twice(m):
    m.graph.node[0].attribute.append(h.make_attribute("alpha", 1.0))


@case(says="'to'")
def required_attribute_missing(m):
    m.graph.node[1].CopyFrom(h.make_node("Cast", ["g"], ["r"]))


@case(says="from opset 19 on")
def attribute_of_a_later_opset(m):
    m.graph.node[1].CopyFrom(h.make_node("Cast", ["g"], ["r"], to=1, saturate=1))


@case(says="inputs")
def too_many_inputs(m):
    m.graph.node[1].input.append("g")


@case(says="inputs")
def too_few_inputs(m):
    del m.graph.node[0].input[1:]


@case(says="input 0")
def required_input_absent(m):
    m.graph.node[0].input[0] = ""


@case(says="outputs")
def too_many_outputs(m):
    m.graph.node[1].output.append("extra")


@case(says="neither inputs nor outputs")
def node_of_nothing(m):
    m.graph.node.append(h.make_node("Constant", [], []))


@case(says="a graph has no name")
def graph_without_a_name(m):
    m.graph.name = ""


@case(says="a graph has no name")
def subgraph_without_a_name(m):
    m.graph.node[2].attribute[0].g.name = ""


@case(says="input 'x' has no type")
def input_without_a_type(m):
    m.graph.input[0].ClearField("type")


@case(says="output 'y' has no type")
def output_without_a_type(m):
    m.graph.output[0].ClearField("type")


@case(says="input 'x' has no shape")
def input_without_a_shape(m):
    m.graph.input[0].type.tensor_type.ClearField("shape")


@case(says="has no element type")
def input_without_an_element_type(m):
    m.graph.input[0].type.tensor_type.ClearField("elem_type")


@case(says="element type 77")
def unknown_element_type(m):
    m.graph.input[0].type.tensor_type.elem_type = 77


@case(says="has no name")
def input_without_a_name(m):
    m.graph.input.append(value("", [1]))


@case(says="listed twice")
def input_listed_twice(m):
    m.graph.input.append(value("x", ["n", 3]))


@case(says="computed nowhere")
def output_computed_nowhere(m):
    m.graph.output.append(value("z", [1]))


@case(says="'b'")
def initializer_given_twice(m):
    m.graph.initializer.append(constant("b", np.ones(4, np.float32)))


@case(says="unknown data type 77")
def initializer_of_an_unknown_type(m):
    m.graph.initializer[1].data_type = 77


@case(says="unknown data type 0")
def initializer_without_a_type(m):
    m.graph.initializer[1].data_type = 0


@case(says="16 bytes has 12")
def initializer_too_short(m):
    m.graph.initializer[1].raw_data = bytes(12)


@case(says="two")
def initializer_in_two_fields(m):
    m.graph.initializer[1].float_data.extend([1, 2, 3, 4])


@case(says="has its data in")
def initializer_in_the_wrong_field(m):
    m.graph.initializer[1].ClearField("raw_data")
    m.graph.initializer[1].int64_data.extend([1, 2, 3, 4])


@case(says="need 4 numbers has 0")
def initializer_without_data(m):
    m.graph.initializer[1].ClearField("raw_data")


@case(says="need 4 numbers has 3")
def typed_data_too_short(m):
    m.graph.initializer[1].ClearField("raw_data")
    m.graph.initializer[1].float_data.extend([1, 2, 3])


@case(says="negative size -4")
def initializer_of_a_negative_size(m):
    m.graph.initializer[1].dims[0] = -4


@case(says="not among the inputs")
def initializer_that_is_no_input_in_ir_3(m):
    m.ir_version = 3


@case(says="declared as f32, but its initializer is f64")
def initializer_of_another_type_than_declared(m):
    m.graph.initializer[1].CopyFrom(constant("b", np.ones(4)))
    m.graph.input.append(value("b", [4]))


@case(says="key 'k' twice")
def metadata_with_a_key_twice(m):
    for v in "ab":
        m.metadata_props.add(key="k", value=v)


@case(says="external")
def external_data_missing(m):
    t = m.graph.initializer[1]
    t.ClearField("raw_data")
    t.data_location = T.EXTERNAL
    t.external_data.add(key="location", value="none.data")


@case(says="no location")
def external_data_without_a_location(m):
    t = m.graph.initializer[1]
    t.ClearField("raw_data")
    t.data_location = T.EXTERNAL


@case(says="not inside the model's folder")
def external_data_outside(m):
    t = m.graph.initializer[1]
    t.ClearField("raw_data")
    t.data_location = T.EXTERNAL
    t.external_data.add(key="location", value="../outside.data")


@case(says="'t'")
def subgraph_hides_a_name(m):
    m.graph.node[0].output[0] = "t"
    m.graph.node[1].input[0] = "t"
    del m.graph.value_info[:]


@case(says="input 'inside' is computed nowhere")
def dangling_input_in_a_subgraph(m):
    m.graph.node[2].attribute[0].g.node[0].input[0] = "inside"


@case(says="Gemm 'gemm'")
def shapes_do_not_fit(m):
    m.graph.initializer[0].CopyFrom(constant("w", np.ones((5, 4), np.float32)))


@case(says="Gemm 'gemm'")
def types_do_not_fit(m):
    m.graph.initializer[1].CopyFrom(constant("b", np.ones(4, np.float64)))


@case(says="'g' is declared")
def declared_element_type_is_wrong(m):
    m.graph.value_info[0].CopyFrom(value("g", ["n", 4], T.DOUBLE))


@case(says="'g' is declared")
def declared_shape_is_wrong(m):
    m.graph.value_info[0].CopyFrom(value("g", ["n", 5]))


@case(says="'y' is declared")
def declared_rank_is_wrong(m):
    m.graph.output[0].CopyFrom(value("y", ["n", 4, 1]))


@case(says="axis")
def axis_out_of_range(m):
    m.graph.node[1].CopyFrom(h.make_node("Softmax", ["g"], ["r"], axis=7))


@case(says="can be written like this from opset 14 on, this is 13")
def type_of_a_later_opset(m):
    m.opset_import[0].version = 13
    m.graph.node.append(h.make_node("Cast", ["x"], ["i"], to=T.INT32))
    m.graph.node.append(h.make_node("Relu", ["i"], ["j"]))


def functions(m, body, inputs=("p",), outputs=("q",)):
    m.opset_import.append(h.make_opsetid("local", 1))
    m.functions.append(h.make_function("local", "f", inputs, outputs, body, [h.make_opsetid("", 17)]))
    m.graph.node[1].CopyFrom(h.make_node("f", ["g"], ["r"], "call", domain="local"))


@case(says="input 'absent' is computed nowhere")
def dangling_input_in_a_function(m):
    functions(m, [h.make_node("Add", ["p", "absent"], ["q"])])


@case(says="ai.onnx has no such operator")
def unknown_operator_in_a_function(m):
    functions(m, [h.make_node("Reluu", ["p"], ["q"])])


@case(says="no name of its own")
def function_with_an_input_twice(m):
    functions(m, [h.make_node("Relu", ["p"], ["q"])], inputs=("p", "p"))


@case(says="calls itself")
def function_that_calls_itself(m):
    functions(m, [h.make_node("f", ["p"], ["q"], domain="local")])
    m.functions[0].opset_import.append(h.make_opsetid("local", 1))


@case(says="input 'absent' is computed nowhere")
def dangling_input_in_an_unused_function(m):
    functions(m, [h.make_node("Add", ["p", "absent"], ["q"])])
    m.graph.node[1].CopyFrom(h.make_node("Relu", ["g"], ["r"]))


@case(says="output 0 of function 'f' is computed nowhere")
def function_output_computed_nowhere(m):
    functions(m, [h.make_node("Relu", ["p"], ["other"])])


@case(says="given twice")
def function_given_twice(m):
    functions(m, [h.make_node("Relu", ["p"], ["q"])])
    m.functions.append(m.functions[0])


@case(says="sparse")
def sparse_initializer_whose_parts_disagree(m):
    s = h.make_sparse_tensor(constant("s", np.float32([1, 2])), constant("", np.int64([0, 1, 2])), [9])
    m.graph.sparse_initializer.append(s)


@pytest.mark.parametrize("breaking, marks, says", CASES)
def test_broken(tmp_path, breaking, marks, says):
    m = good()
    breaking(m)
    path = str(tmp_path / "model.onnx")
    with open(path, "wb") as f:
        f.write(m.SerializeToString())
    rejected, found = onnx_rejects(path), findings(path)
    assert (rejected is None) == (marks == "hone_only"), rejected
    if marks == "onnx_only":
        assert not found
    else:
        assert any(says in text for text in found), found


def test_good(tmp_path):
    path = str(tmp_path / "model.onnx")
    onnx.save(good(), path)
    assert onnx_rejects(path) is None
    assert findings(path) == []


def test_all_of_several(tmp_path):
    """What is wrong in one place does not hide what is wrong in another."""
    m = good()
    single = [dangling_input, unknown_attribute, initializer_too_short, output_computed_nowhere,
              metadata_with_a_key_twice, dangling_input_in_a_subgraph, graph_without_a_name]
    for breaking in single:
        breaking(m)
    path = str(tmp_path / "model.onnx")
    with open(path, "wb") as f:
        f.write(m.SerializeToString())
    assert len(findings(path)) == len(single)


# ---- models that conform -------------------------------------------------------------------------


def test_models_that_conform(corpus):
    """Nothing ONNX's checker accepts has findings here."""
    wrong = {}
    for path in corpus:
        found = findings(path)
        if found and onnx_rejects(path) is None:
            wrong[os.path.relpath(path)] = found
    assert wrong == {}
