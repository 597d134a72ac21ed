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

static hone_status malformed(const hn_wire *w, const unsigned char *at, const char *what,
                             hn_error *err) {
    return HN_FAIL(err, HONE_E_FORMAT, "byte %zu: %s in a %s", (size_t)(at - w->file), what,
                   w->message->name);
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
                     "byte %zu: a field of a %s says it has %llu bytes, but %zu are left",
                     (size_t)(start - w->file), w->message->name, (unsigned long long)n, left);
            f->bytes = (hn_bytes){p, (size_t)n};
            p += n;
            break;
        default: return malformed(w, start, "unknown wire type", err);
    }
    HN_CHECK(err, fits(f->kind, f->type), HONE_E_FORMAT,
             "byte %zu: field '%s' of a %s has wire type %d, which is not its own",
             (size_t)(start - w->file), w->message->fields[f->number].name, w->message->name,
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
