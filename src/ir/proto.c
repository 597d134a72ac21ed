#include "ir/proto.h"

#include "base/size.h"

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static bool take_varint(hn_bytes *rest, uint64_t *v) {
    const unsigned char *p = rest->p;
    *v = 0;
    for (size_t i = 0; i < rest->n && i < 10; i++) {
        *v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (p[i] >= 0x80) continue;
        *rest = (hn_bytes){p + i + 1, rest->n - i - 1};
        return true;
    }
    return false;
}

static bool take(hn_bytes *rest, size_t n, hn_bytes *out) {
    if (n > rest->n) return false;
    *out = (hn_bytes){rest->p, n};
    *rest = (hn_bytes){(const unsigned char *)rest->p + n, rest->n - n};
    return true;
}

bool hn_proto_next(hn_bytes *rest, hn_proto_field *f) {
    uint64_t tag, n;
    hn_bytes fixed;
    *f = (hn_proto_field){0};
    if (rest->n == 0) return false;
    bool ok = take_varint(rest, &tag) && tag >> 3 != 0 && tag >> 3 <= UINT32_MAX;
    f->number = (uint32_t)(tag >> 3);
    switch (ok ? (int)(tag & 7) : -1) {
        case WIRE_VARINT: ok = take_varint(rest, &f->value); break;
        case WIRE_64: ok = take(rest, 8, &fixed); break;
        case WIRE_32: ok = take(rest, 4, &fixed); break;
        case WIRE_BYTES:
            ok = take_varint(rest, &n) && n <= SIZE_MAX && take(rest, (size_t)n, &f->bytes);
            break;
        default: ok = false;
    }
    if (!ok) rest->p = NULL;
    return ok;
}

static void put(hn_proto_out *o, const void *p, size_t n) {
    if (o->nomem || n == 0) return;
    if (n > o->cap - o->n) {
        size_t cap;
        unsigned char *grown = NULL;
        if (hn_size_add(o->n + o->cap, n, &cap)) grown = hn_arena_alloc(o->arena, cap);
        o->nomem = grown == NULL;
        if (o->nomem) return;
        if (o->n > 0) memcpy(grown, o->p, o->n);
        o->p = grown;
        o->cap = cap;
    }
    memcpy(o->p + o->n, p, n);
    o->n += n;
}

static void put_varint(hn_proto_out *o, uint64_t v) {
    unsigned char b[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) b[n++] = (unsigned char)(v | 0x80);
    b[n++] = (unsigned char)v;
    put(o, b, n);
}

void hn_proto_put_int(hn_proto_out *o, uint32_t number, uint64_t v) {
    put_varint(o, (uint64_t)number << 3 | WIRE_VARINT);
    put_varint(o, v);
}

void hn_proto_put_bytes(hn_proto_out *o, uint32_t number, const void *p, size_t n) {
    put_varint(o, (uint64_t)number << 3 | WIRE_BYTES);
    put_varint(o, n);
    put(o, p, n);
}
