/* The little protobuf the graph needs: sequences, maps, optionals and opaque types are kept as the
 * bytes of their TypeProto (ir.h), and the text form reads and writes them. Files are the business
 * of formats/wire.h. */
#ifndef HN_IR_PROTO_H
#define HN_IR_PROTO_H

#include "ir/ir.h"

/* Field numbers of the ONNX specification. */
enum {
    HN_PROTO_TYPE_TENSOR = 1,
    HN_PROTO_TYPE_SEQUENCE = 4,
    HN_PROTO_TYPE_MAP = 5,
    HN_PROTO_TYPE_DENOTATION = 6,
    HN_PROTO_TYPE_OPAQUE = 7,
    HN_PROTO_TYPE_SPARSE = 8,
    HN_PROTO_TYPE_OPTIONAL = 9,
    HN_PROTO_TENSOR_ELEM = 1, /* of a tensor type, and of a sparse one */
    HN_PROTO_TENSOR_SHAPE = 2,
    HN_PROTO_SHAPE_DIM = 1,
    HN_PROTO_DIM_VALUE = 1,
    HN_PROTO_DIM_PARAM = 2,
    HN_PROTO_ELEM = 1, /* of a sequence, and of an optional */
    HN_PROTO_MAP_KEY = 1,
    HN_PROTO_MAP_VALUE = 2,
    HN_PROTO_OPAQUE_DOMAIN = 1,
    HN_PROTO_OPAQUE_NAME = 2,
    HN_PROTO_TENSOR_PROTO_NAME = 8,
};

typedef struct hn_proto_field {
    uint32_t number;
    uint64_t value; /* a number, or */
    hn_bytes bytes; /* contents of a given length (p not NULL) */
} hn_proto_field;

/* Takes the first field off *rest. False at the end, and with rest->p NULL when the bytes are
 * malformed. */
bool hn_proto_next(hn_bytes *rest, hn_proto_field *f);

/* A message being written. Once memory ran out, `nomem` stays set and nothing more is written. */
typedef struct hn_proto_out {
    hn_arena *arena;
    unsigned char *p;
    size_t n, cap;
    bool nomem;
} hn_proto_out;

void hn_proto_put_int(hn_proto_out *o, uint32_t number, uint64_t v);
void hn_proto_put_bytes(hn_proto_out *o, uint32_t number, const void *p, size_t n);

#endif
