/* The protobuf wire format, in and out, driven by tables.
 *
 * A message is a run of fields: a tag (field number * 8 + wire type), then a varint, 4 or 8 bytes,
 * or a length and that many bytes. A table per message says which fields it has and of which kind;
 * the reader hands out one field at a time, checked against the table, and never touches a byte
 * outside the message. It copies nothing and does not recurse: a nested message is a field whose
 * bytes the caller opens in turn.
 *
 * The writer runs the caller's code twice. The first run measures: the size of each nested message
 * goes to a list, in the order the messages are opened. The second run writes, taking the sizes
 * from that list. So nothing is held in memory, however large the tensors.
 */
#ifndef HN_FORMATS_WIRE_H
#define HN_FORMATS_WIRE_H

#include "base/alloc.h"
#include "base/error.h"
#include "ir/ir.h"

typedef enum hn_wire_type {
    HN_WIRE_VARINT = 0,
    HN_WIRE_FIXED64 = 1,
    HN_WIRE_BYTES = 2,
    HN_WIRE_FIXED32 = 5,
} hn_wire_type;

/* What a field holds. The plural kinds are repeated numbers, packed or one by one. */
typedef enum hn_wire_kind {
    HN_WIRE_UNKNOWN = 0, /* not in the table */
    HN_WIRE_INT,
    HN_WIRE_INTS,
    HN_WIRE_FLOAT,
    HN_WIRE_FLOATS,
    HN_WIRE_DOUBLES,
    HN_WIRE_BLOB, /* text, bytes, a message */
} hn_wire_kind;

typedef struct hn_wire_def {
    const char *name;
    hn_wire_kind kind;
} hn_wire_def;

/* Fields are found by their number; higher ones are unknown. */
#define HN_WIRE_FIELDS 32

typedef struct hn_wire_message {
    const char *name;
    hn_wire_def fields[HN_WIRE_FIELDS];
} hn_wire_message;

/* ---- reading ---- */

typedef struct hn_wire {
    const unsigned char *at, *end;
    const unsigned char *file; /* where the file begins: messages name offsets */
    const hn_wire_message *message;
    hone_status status; /* of the last hn_wire_next */
} hn_wire;

typedef struct hn_wire_field {
    uint32_t number;
    hn_wire_kind kind; /* HN_WIRE_UNKNOWN: not in the table */
    hn_wire_type type;
    uint64_t value; /* VARINT and FIXED*: the bits */
    hn_bytes bytes; /* BYTES */
    hn_bytes whole; /* tag included */
} hn_wire_field;

static inline hn_wire hn_wire_open(const hn_wire_message *message, hn_bytes bytes,
                                   const unsigned char *file) {
    const unsigned char *p = bytes.p;
    return (hn_wire){p, p + bytes.n, file, message, HONE_OK};
}

/* The next field; false at the end of the message and on trouble, which w->status tells apart:
 * HONE_E_FORMAT when the bytes are not a message, or a field has another wire type than the table
 * says.
 *     while (hn_wire_next(&w, &f, err)) switch (f.number) ...
 *     HN_TRY(w.status); */
bool hn_wire_next(hn_wire *w, hn_wire_field *f, hn_error *err);

/* The next varint of [*at, end); false at a cut or overlong one. */
bool hn_wire_varint(const unsigned char **at, const unsigned char *end, uint64_t *v);

/* How many numbers a field of a plural kind holds. HONE_E_FORMAT when the bytes do not divide into
 * numbers. */
hone_status hn_wire_count(const hn_wire *w, const hn_wire_field *f, size_t *count, hn_error *err);
/* The numbers of an INTS / FLOATS field that hn_wire_count has accepted. */
void hn_wire_ints(const hn_wire_field *f, int64_t *v);
void hn_wire_floats(const hn_wire_field *f, float *v);

/* ---- writing ---- */

typedef struct hn_wire_out {
    hn_allocator *alloc;
    hone_status status; /* the first trouble; everything after it does nothing */
    hn_error *err;
    uint64_t at;     /* bytes so far */
    uint64_t *sizes; /* of the nested messages, in the order they begin */
    size_t n_sizes, cap_sizes, next_size;
    hone_status (*put)(void *ctx, const void *data, size_t bytes,
                       hn_error *err); /* NULL: measure */
    void *ctx;
} hn_wire_out;

void hn_wire_out_init(hn_wire_out *w, hn_allocator *alloc, hn_error *err); /* ready to measure */
void hn_wire_out_deinit(hn_wire_out *w);
/* Ends measuring (w->at is the size of all); from now on bytes go to put. */
void hn_wire_out_start(hn_wire_out *w,
                       hone_status (*put)(void *ctx, const void *data, size_t bytes, hn_error *err),
                       void *ctx);

void hn_wire_put(hn_wire_out *w, const void *data, size_t bytes); /* as they are */
void hn_wire_put_int(hn_wire_out *w, uint32_t field, int64_t v);
void hn_wire_put_float(hn_wire_out *w, uint32_t field, float v);
void hn_wire_put_blob(hn_wire_out *w, uint32_t field, const void *data, size_t bytes);
void hn_wire_put_text(hn_wire_out *w, uint32_t field, const char *text);
/* A nested message: what is put between the two belongs to it. */
size_t hn_wire_begin(hn_wire_out *w, uint32_t field);
void hn_wire_end(hn_wire_out *w, uint32_t field, size_t begun);

#endif
