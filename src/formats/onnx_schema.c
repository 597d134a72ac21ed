#include "formats/onnx_schema.h"

const hn_wire_message hn_onnx_messages[HN_ONNX_COUNT_] = {
#define HN_ONNX_MESSAGE(message, text) [HN_ONNX_##message].name = text,
#define HN_ONNX(message, field, number, kind_) \
    [HN_ONNX_##message].fields[number] = {#field, HN_WIRE_##kind_},
#include "formats/onnx_schema.def"
#undef HN_ONNX_MESSAGE
#undef HN_ONNX
};

const uint32_t hn_onnx_attr_fields[HN_ONNX_ATTR_TYPES] = {
    [HN_ATTR_FLOAT] = HN_ONNX_ATTRIBUTE_F,
    [HN_ATTR_INT] = HN_ONNX_ATTRIBUTE_I,
    [HN_ATTR_STRING] = HN_ONNX_ATTRIBUTE_S,
    [HN_ATTR_TENSOR] = HN_ONNX_ATTRIBUTE_T,
    [HN_ATTR_GRAPH] = HN_ONNX_ATTRIBUTE_G,
    [HN_ATTR_FLOATS] = HN_ONNX_ATTRIBUTE_FLOATS,
    [HN_ATTR_INTS] = HN_ONNX_ATTRIBUTE_INTS,
    [HN_ATTR_STRINGS] = HN_ONNX_ATTRIBUTE_STRINGS,
    [HN_ATTR_TENSORS] = HN_ONNX_ATTRIBUTE_TENSORS,
    [HN_ATTR_GRAPHS] = HN_ONNX_ATTRIBUTE_GRAPHS,
    [HN_ATTR_SPARSE_TENSOR] = HN_ONNX_ATTRIBUTE_SPARSE_TENSOR,
    [HN_ATTR_SPARSE_TENSORS] = HN_ONNX_ATTRIBUTE_SPARSE_TENSORS,
    [HN_ATTR_TYPE_PROTO] = HN_ONNX_ATTRIBUTE_TP,
    [HN_ATTR_TYPE_PROTOS] = HN_ONNX_ATTRIBUTE_TYPE_PROTOS,
};
