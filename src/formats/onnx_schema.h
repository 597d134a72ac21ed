/* onnx_schema.def as enums (HN_ONNX_GRAPH_NODE is the field's number) and as tables for wire.h. */
#ifndef HN_FORMATS_ONNX_SCHEMA_H
#define HN_FORMATS_ONNX_SCHEMA_H

#include "formats/wire.h"

typedef enum hn_onnx_message {
#define HN_ONNX_MESSAGE(message, name) HN_ONNX_##message,
#define HN_ONNX(message, field, number, kind)
#include "formats/onnx_schema.def"
#undef HN_ONNX_MESSAGE
#undef HN_ONNX
    HN_ONNX_COUNT_
} hn_onnx_message;

enum hn_onnx_field {
#define HN_ONNX_MESSAGE(message, name)
#define HN_ONNX(message, field, number, kind) HN_ONNX_##message##_##field = number,
#include "formats/onnx_schema.def"
#undef HN_ONNX_MESSAGE
#undef HN_ONNX
};

extern const hn_wire_message hn_onnx_messages[HN_ONNX_COUNT_];

/* Which field of an AttributeProto holds the value, by hn_attr_type. */
enum { HN_ONNX_ATTR_TYPES = HN_ATTR_TYPE_PROTOS + 1 };
extern const uint32_t hn_onnx_attr_fields[HN_ONNX_ATTR_TYPES];

#endif
