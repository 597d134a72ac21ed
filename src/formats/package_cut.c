#include <limits.h>
#include <string.h>

#include "base/size.h"
#include "formats/onnx_schema.h"
#include "formats/package.h"

/* ---- finding ---- */

enum { DEEPEST = 100 }; /* messages in one another; what is deeper stays in the literal */

typedef struct search {
    hn_file *file;
    size_t least;
    hone_status (*found)(void *ctx, const hn_cut *cut, hn_error *err);
    void *ctx;
    hn_error *err;
} search;

/* Which fields are messages to look into. */
static int inside(hn_onnx_message m, uint32_t field) {
    static const struct {
        hn_onnx_message message;
        uint32_t field;
        hn_onnx_message to;
    } ways[] = {
        {HN_ONNX_MODEL, HN_ONNX_MODEL_GRAPH, HN_ONNX_GRAPH},
        {HN_ONNX_MODEL, HN_ONNX_MODEL_FUNCTIONS, HN_ONNX_FUNCTION},
        {HN_ONNX_FUNCTION, HN_ONNX_FUNCTION_NODE, HN_ONNX_NODE},
        {HN_ONNX_FUNCTION, HN_ONNX_FUNCTION_ATTRIBUTE_PROTO, HN_ONNX_ATTRIBUTE},
        {HN_ONNX_GRAPH, HN_ONNX_GRAPH_NODE, HN_ONNX_NODE},
        {HN_ONNX_GRAPH, HN_ONNX_GRAPH_INITIALIZER, HN_ONNX_TENSOR},
        {HN_ONNX_GRAPH, HN_ONNX_GRAPH_SPARSE_INITIALIZER, HN_ONNX_SPARSE},
        {HN_ONNX_NODE, HN_ONNX_NODE_ATTRIBUTE, HN_ONNX_ATTRIBUTE},
        {HN_ONNX_ATTRIBUTE, HN_ONNX_ATTRIBUTE_T, HN_ONNX_TENSOR},
        {HN_ONNX_ATTRIBUTE, HN_ONNX_ATTRIBUTE_TENSORS, HN_ONNX_TENSOR},
        {HN_ONNX_ATTRIBUTE, HN_ONNX_ATTRIBUTE_SPARSE_TENSOR, HN_ONNX_SPARSE},
        {HN_ONNX_ATTRIBUTE, HN_ONNX_ATTRIBUTE_SPARSE_TENSORS, HN_ONNX_SPARSE},
        {HN_ONNX_ATTRIBUTE, HN_ONNX_ATTRIBUTE_G, HN_ONNX_GRAPH},
        {HN_ONNX_ATTRIBUTE, HN_ONNX_ATTRIBUTE_GRAPHS, HN_ONNX_GRAPH},
        {HN_ONNX_SPARSE, HN_ONNX_SPARSE_VALUES, HN_ONNX_TENSOR},
        {HN_ONNX_SPARSE, HN_ONNX_SPARSE_INDICES, HN_ONNX_TENSOR},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].message == m && ways[i].field == field) return ways[i].to;
    return -1;
}

/* Elements of a row: all axes but the first. */
static void add_dims(const hn_wire_field *f, size_t n, int *rank, int64_t *columns) {
    int64_t dims[HONE_MAX_RANK];
    if (n > (size_t)(HONE_MAX_RANK - *rank)) return;
    hn_wire_ints(f, dims);
    for (size_t i = 0; i < n; i++)
        if ((*rank)++ > 0 && !hn_i64_mul(*columns, dims[i], columns)) *columns = 0;
}

static void add_external(const search *s, hn_bytes entry, hn_cut *cut, bool *whole) {
    hn_bytes key = {"", 0}, value = {"", 0};
    hn_wire w = hn_wire_open(&hn_onnx_messages[HN_ONNX_ENTRY], entry, s->file->data);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, NULL)) {
        if (f.number == HN_ONNX_ENTRY_KEY) key = f.bytes;
        if (f.number == HN_ONNX_ENTRY_VALUE) value = f.bytes;
    }
    uint64_t v = 0;
    const char *digits = value.p;
    for (size_t i = 0; i < value.n && digits[i] >= '0' && digits[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(digits[i] - '0');
    if (key.n == 8 && memcmp(key.p, "location", 8) == 0) cut->location = value;
    if (key.n == 6 && memcmp(key.p, "offset", 6) == 0) cut->offset = v;
    if (key.n == 6 && memcmp(key.p, "length", 6) == 0) {
        cut->bytes = v;
        *whole = false;
    }
}

static hone_status find_tensor(const search *s, hn_bytes bytes) {
    hn_cut here = {.columns = 1}, away = {.bytes = UINT64_MAX};
    bool external = false, whole = true;
    int places = 0, rank = 0;
    int64_t dtype = 0;
    size_t n;
    hn_wire w = hn_wire_open(&hn_onnx_messages[HN_ONNX_TENSOR], bytes, s->file->data);
    hn_wire_field f;
    while (hn_wire_next(&w, &f, NULL)) {
        switch (f.number) {
            case HN_ONNX_TENSOR_NAME: here.name = away.name = f.bytes; break;
            case HN_ONNX_TENSOR_DATA_TYPE: dtype = (int64_t)f.value; break;
            case HN_ONNX_TENSOR_DATA_LOCATION: external = f.value == 1; break;
            case HN_ONNX_TENSOR_EXTERNAL_DATA: add_external(s, f.bytes, &away, &whole); break;
            case HN_ONNX_TENSOR_DIMS:
                if (hn_wire_count(&w, &f, &n, NULL) != HONE_OK) return HONE_OK;
                add_dims(&f, n, &rank, &here.columns);
                break;
            case HN_ONNX_TENSOR_FLOAT_DATA:
            case HN_ONNX_TENSOR_DOUBLE_DATA:
            case HN_ONNX_TENSOR_RAW_DATA:
                places++;
                if (f.type != HN_WIRE_BYTES) places = 2; /* numbers one by one */
                here.bytes = f.bytes.n;
                here.offset = (uint64_t)((const unsigned char *)f.bytes.p - s->file->data);
                break;
        }
    }
    if (w.status != HONE_OK || dtype <= 0 || dtype >= INT_MAX || !hn_dtype_valid((int)dtype))
        return HONE_OK;
    here.dtype = away.dtype = (hone_dtype)dtype;
    if (rank < 2) here.columns = 0;
    away.columns = here.columns;
    if (external && away.location.n > 0) return s->found(s->ctx, &away, s->err);
    if (external || places != 1 || here.bytes < s->least) return HONE_OK;
    return s->found(s->ctx, &here, s->err);
}

static hone_status find(const search *s, hn_onnx_message message, hn_bytes bytes, int depth) {
    hn_wire w = hn_wire_open(&hn_onnx_messages[message], bytes, s->file->data);
    hn_wire_field f;
    if (message == HN_ONNX_TENSOR) return find_tensor(s, bytes);
    while (depth < DEEPEST && hn_wire_next(&w, &f, NULL)) {
        int to = f.type == HN_WIRE_BYTES ? inside(message, f.number) : -1;
        if (to >= 0) HN_TRY(find(s, (hn_onnx_message)to, f.bytes, depth + 1));
    }
    return HONE_OK;
}

hone_status hn_cut_find(hn_file *file, size_t least_bytes,
                        hone_status (*found)(void *ctx, const hn_cut *cut, hn_error *err),
                        void *ctx, hn_error *err) {
    search s = {file, least_bytes, found, ctx, err};
    return find(&s, HN_ONNX_MODEL, (hn_bytes){file->data, file->bytes}, 0);
}

/* ---- lengths ----
 * Fields are walked without a table: whatever field holds an entry besides other bytes is a message.
 * `at` counts in the literal, `offset` in the file as it was. */

typedef struct walk {
    unsigned char *literal;
    size_t at, bytes;
    uint64_t offset;
    const hn_package_entry *entries;
    size_t next, n; /* entries */
} walk;

static bool skip(walk *w, uint64_t n) {
    if (n > w->bytes - w->at) return false;
    w->at += (size_t)n;
    w->offset += n;
    return true;
}

static bool take_number(walk *w, uint64_t *v) {
    const unsigned char *p = w->literal + w->at, *begun = p;
    return hn_wire_varint(&p, w->literal + w->bytes, v) && skip(w, (uint64_t)(p - begun));
}

/* Into the bytes [from, w->at), which hold a number that was no less. */
static void write_number(const walk *w, size_t from, uint64_t v) {
    for (size_t i = from; i < w->at; i++, v >>= 7)
        w->literal[i] = (unsigned char)((v & 127) | (i + 1 < w->at ? 128 : 0));
}

/* The entries within the next n bytes of the file, and what they take; false: one crosses their
 * end. */
static bool entries_within(const walk *w, uint64_t n, size_t *count, uint64_t *sum) {
    uint64_t end;
    *count = 0;
    *sum = 0;
    if (__builtin_add_overflow(w->offset, n, &end)) return false;
    for (size_t i = w->next; i < w->n && w->entries[i].offset < end; i++) {
        if (w->entries[i].block.bytes > end - w->entries[i].offset) return false;
        *sum += w->entries[i].block.bytes;
        ++*count;
    }
    return true;
}

/* One field; *inside becomes the end of a message to go on in, in the file, else 0. */
static bool walk_field(walk *w, uint64_t *inside_end) {
    uint64_t tag, n, sum;
    size_t count;
    *inside_end = 0;
    if (!take_number(w, &tag)) return false;
    switch (tag & 7) {
        case HN_WIRE_VARINT: return take_number(w, &n);
        case HN_WIRE_FIXED64: return skip(w, 8);
        case HN_WIRE_FIXED32: return skip(w, 4);
        case HN_WIRE_BYTES: break;
        default: return false;
    }
    size_t from = w->at;
    if (!take_number(w, &n) || !entries_within(w, n, &count, &sum)) return false;
    if (count == 0) return skip(w, n);
    const hn_package_entry *e = &w->entries[w->next];
    if (e->offset == w->offset && e->block.bytes == n) {
        write_number(w, from, 0);
        w->offset += n;
        w->next++;
        return true;
    }
    write_number(w, from, n - sum);
    *inside_end = w->offset + n;
    return true;
}

hone_status hn_cut_lengths(unsigned char *literal, size_t bytes, const hn_package_entry *entries,
                           size_t n, hn_error *err) {
    enum { LEVELS = DEEPEST + 8 };
    uint64_t end[LEVELS];
    int level = 0;
    walk w = {.literal = literal, .bytes = bytes, .entries = entries, .n = n};
    while (w.next < n) {
        uint64_t into;
        while (level > 0 && w.offset == end[level - 1]) level--;
        bool good = level == 0 || w.offset < end[level - 1];
        good = good && walk_field(&w, &into) && (into == 0 || level < LEVELS);
        HN_CHECK(err, good, HONE_E_FORMAT, "tensor %zu is not a field of the model", w.next);
        if (into != 0) end[level++] = into;
    }
    return HONE_OK;
}
