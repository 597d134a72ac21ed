#include "formats/onnx_schema.h"

const hn_wire_message hn_onnx_messages[HN_ONNX_COUNT_] = {
#define HN_ONNX_MESSAGE(message, text) [HN_ONNX_##message].name = text,
#define HN_ONNX(message, field, number, kind_) \
    [HN_ONNX_##message].fields[number] = {#field, HN_WIRE_##kind_},
#include "formats/onnx_schema.def"
#undef HN_ONNX_MESSAGE
#undef HN_ONNX
};
