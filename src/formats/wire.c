#include "formats/wire.h"

bool hn_wire_varint(const unsigned char **at, const unsigned char *end, uint64_t *v) {
    const unsigned char *p = *at;
    uint64_t x = 0;
    for (int shift = 0; shift < 70 && p < end; shift += 7) {
        unsigned char b = *p++;
        /* The tenth byte has one bit left to give; like protobuf, the others are dropped. */
        x |= (uint64_t)(b & 0x7f) << shift;
        if (b >= 0x80) continue;
        *at = p;
        *v = x;
        return true;
    }
    return false;
}

static hn_wire_kind kind_of(const hn_wire_message *m, uint32_t number) {
    return number < HN_WIRE_FIELDS ? m->fields[number].kind : HN_WIRE_UNKNOWN;
}

static bool fits(hn_wire_kind kind, hn_wire_type type) {
    switch (kind) {
        case HN_WIRE_UNKNOWN: return true;
        case HN_WIRE_INT: return type == HN_WIRE_VARINT;
        case HN_WIRE_INTS: return type == HN_WIRE_VARINT || type == HN_WIRE_BYTES;
        case HN_WIRE_FLOAT: return type == HN_WIRE_FIXED32;
        case HN_WIRE_FLOATS: return type == HN_WIRE_FIXED32 || type == HN_WIRE_BYTES;
        case HN_WIRE_DOUBLES: return type == HN_WIRE_FIXED64 || type == HN_WIRE_BYTES;
        case HN_WIRE_BLOB: return type == HN_WIRE_BYTES;
    }
    return false;
}

static uint64_t little_endian(const unsigned char *p, int n) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* Field names stand in capitals in the tables. */
static const char *lower(const char *name, char *buf, size_t size) {
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < size; n++)
        buf[n] = name[n] >= 'A' && name[n] <= 'Z' ? (char)(name[n] + ('a' - 'A')) : name[n];
    buf[n] = '\0';
    return buf;
}

static hone_status malformed(const hn_wire *w, const unsigned char *at, const char *what,
                             hn_error *err) {
    return HN_FAIL(err, HONE_E_FORMAT, "byte %zu (%s): %s", (size_t)(at - w->file),
                   w->message->name, what);
}

static hone_status next(hn_wire *w, hn_wire_field *f, hn_error *err) {
    const unsigned char *start = w->at, *p = w->at;
    uint64_t tag, n;
    if (!hn_wire_varint(&p, w->end, &tag)) return malformed(w, start, "cut or overlong tag", err);
    if (tag >> 3 == 0 || tag > UINT32_MAX) return malformed(w, start, "invalid tag", err);
    f->number = (uint32_t)(tag >> 3);
    f->type = (hn_wire_type)(tag & 7);
    f->kind = kind_of(w->message, f->number);
    size_t left = (size_t)(w->end - p);
    switch (f->type) {
        case HN_WIRE_VARINT:
            if (!hn_wire_varint(&p, w->end, &f->value))
                return malformed(w, start, "cut or overlong number", err);
            break;
        case HN_WIRE_FIXED32:
            if (left < 4) return malformed(w, start, "cut number", err);
            f->value = little_endian(p, 4);
            p += 4;
            break;
        case HN_WIRE_FIXED64:
            if (left < 8) return malformed(w, start, "cut number", err);
            f->value = little_endian(p, 8);
            p += 8;
            break;
        case HN_WIRE_BYTES:
            if (!hn_wire_varint(&p, w->end, &n))
                return malformed(w, start, "cut or overlong length", err);
            left = (size_t)(w->end - p);
            HN_CHECK(err, n <= left, HONE_E_FORMAT,
                     "byte %zu (%s): a field says it has %llu bytes, but %zu are left",
                     (size_t)(start - w->file), w->message->name, (unsigned long long)n, left);
            f->bytes = (hn_bytes){p, (size_t)n};
            p += n;
            break;
        default: return malformed(w, start, "unknown wire type", err);
    }
    char name[40];
    HN_CHECK(err, fits(f->kind, f->type), HONE_E_FORMAT,
             "byte %zu: %s.%s has wire type %d, which is not its own", (size_t)(start - w->file),
             w->message->name, lower(w->message->fields[f->number].name, name, sizeof name),
             (int)f->type);
    f->whole = (hn_bytes){start, (size_t)(p - start)};
    w->at = p;
    return HONE_OK;
}

bool hn_wire_next(hn_wire *w, hn_wire_field *f, hn_error *err) {
    *f = (hn_wire_field){0};
    if (w->at == w->end) return false;
    w->status = next(w, f, err);
    return w->status == HONE_OK;
}

hone_status hn_wire_count(const hn_wire *w, const hn_wire_field *f, size_t *count, hn_error *err) {
    const unsigned char *p = f->bytes.p;
    *count = 1;
    if (f->type != HN_WIRE_BYTES) return HONE_OK;
    size_t width = f->kind == HN_WIRE_FLOATS ? 4 : 8;
    if (f->kind != HN_WIRE_INTS) {
        if (f->bytes.n % width != 0) return malformed(w, p, "cut list of numbers", err);
        *count = f->bytes.n / width;
        return HONE_OK;
    }
    *count = 0;
    uint64_t v;
    for (const unsigned char *end = p + f->bytes.n; p < end; ++*count)
        if (!hn_wire_varint(&p, end, &v))
            return malformed(w, p, "cut or overlong number in a list", err);
    return HONE_OK;
}

void hn_wire_ints(const hn_wire_field *f, int64_t *v) {
    uint64_t x;
    if (f->type != HN_WIRE_BYTES) {
        *v = (int64_t)f->value;
        return;
    }
    const unsigned char *p = f->bytes.p;
    for (const unsigned char *end = p + f->bytes.n; hn_wire_varint(&p, end, &x);) *v++ = (int64_t)x;
}

void hn_wire_floats(const hn_wire_field *f, float *v) {
    if (f->type == HN_WIRE_BYTES) {
        if (f->bytes.n > 0) memcpy(v, f->bytes.p, f->bytes.n);
        return;
    }
    uint32_t bits = (uint32_t)f->value;
    memcpy(v, &bits, sizeof bits);
}

/* ---- writing ---- */

void hn_wire_out_init(hn_wire_out *w, hn_allocator *alloc, hn_error *err) {
    *w = (hn_wire_out){.alloc = alloc, .err = err};
}

void hn_wire_out_deinit(hn_wire_out *w) {
    hn_free(w->alloc, w->sizes);
    w->sizes = NULL;
}

void hn_wire_out_start(hn_wire_out *w,
                       hone_status (*put)(void *ctx, const void *data, size_t bytes, hn_error *err),
                       void *ctx) {
    w->at = 0;
    w->next_size = 0;
    w->put = put;
    w->ctx = ctx;
}

void hn_wire_put(hn_wire_out *w, const void *data, size_t bytes) {
    w->at += bytes;
    if (w->put != NULL && w->status == HONE_OK && bytes > 0)
        w->status = w->put(w->ctx, data, bytes, w->err);
}

static void put_varint(hn_wire_out *w, uint64_t v) {
    unsigned char b[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) b[n++] = (unsigned char)(v | 0x80);
    b[n++] = (unsigned char)v;
    hn_wire_put(w, b, n);
}

static void put_tag(hn_wire_out *w, uint32_t field, hn_wire_type type) {
    put_varint(w, (uint64_t)field << 3 | (uint64_t)type);
}

void hn_wire_put_int(hn_wire_out *w, uint32_t field, int64_t v) {
    put_tag(w, field, HN_WIRE_VARINT);
    put_varint(w, (uint64_t)v);
}

void hn_wire_put_float(hn_wire_out *w, uint32_t field, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    unsigned char b[4] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                          (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
    put_tag(w, field, HN_WIRE_FIXED32);
    hn_wire_put(w, b, sizeof b);
}

void hn_wire_put_blob(hn_wire_out *w, uint32_t field, const void *data, size_t bytes) {
    put_tag(w, field, HN_WIRE_BYTES);
    put_varint(w, bytes);
    hn_wire_put(w, data, bytes);
}

void hn_wire_put_text(hn_wire_out *w, uint32_t field, const char *text) {
    hn_wire_put_blob(w, field, text, strlen(text));
}

static void push_size(hn_wire_out *w, uint64_t v) {
    if (w->n_sizes == w->cap_sizes) {
        size_t cap = w->cap_sizes == 0 ? 256 : w->cap_sizes * 2;
        uint64_t *grown = hn_realloc(w->alloc, w->sizes, cap * sizeof *grown, HN_MEM_OTHER);
        if (grown == NULL) {
            w->status = HN_NOMEM(w->err);
            return;
        }
        w->sizes = grown;
        w->cap_sizes = cap;
    }
    w->sizes[w->n_sizes++] = v;
}

size_t hn_wire_begin(hn_wire_out *w, uint32_t field) {
    if (w->status != HONE_OK) return 0;
    if (w->put == NULL) {
        push_size(w, w->at); /* until the end is known */
        return w->n_sizes - 1;
    }
    put_tag(w, field, HN_WIRE_BYTES);
    put_varint(w, w->sizes[w->next_size]);
    return w->next_size++;
}

void hn_wire_end(hn_wire_out *w, uint32_t field, size_t begun) {
    if (w->status != HONE_OK || w->put != NULL) return;
    w->sizes[begun] = w->at - w->sizes[begun];
    put_tag(w, field, HN_WIRE_BYTES);
    put_varint(w, w->sizes[begun]);
}
