#include "compress/pack.h"

#include <stdio.h>
#include <string.h>

#include "ops/op.h"

int hn_pack_bits(const hn_qtype *t, const hn_quant_target *target) {
    int bits = t->bits > 1 ? t->bits : 2, stored = hone_dtype_bits(t->dtype);
    if (stored > 8 || t->reduced) return 0;
    return bits < stored || (stored == 2 && !target->two_bits) ? bits : 0;
}

/* The type of the codes when they are unpacked. */
static hone_dtype byte_type(const hn_tensor *codes) {
    return hn_dtype_is_signed(codes->dtype) ? HONE_DTYPE_S8 : HONE_DTYPE_U8;
}

hone_status hn_pack_zeros(hn_tensor **out, const hn_tensor *zero, int bits, hn_allocator *alloc,
                          hn_error *err) {
    *out = NULL;
    if (zero == NULL) return HONE_OK;
    HN_TRY(
        hn_tensor_create(out, alloc, HN_MEM_WEIGHTS, byte_type(zero), zero->rank, zero->dims, err));
    for (int64_t i = 0; i < zero->n; i++)
        hn_store_s64((*out)->dtype, (*out)->data, i, hn_tensor_s64(zero, i) * (1 << (8 - bits)));
    return HONE_OK;
}

typedef struct packing {
    hn_quantizer *q;
    const char *name;
    const hn_tensor *codes;
    int bits;
    hn_node *before;
    int64_t padded;  /* codes, in whole bytes of every plane */
    hn_value *shape; /* to which planes are brought */
} packing;

/* A small constant that all packed weights share. */
static hone_status shared(hn_value **out, packing *p, const char *name, hn_tensor *t,
                          hn_error *err) {
    hn_value *v = hn_graph_value(p->q->g, name);
    if (v == NULL || v->is_input || v->constant == NULL || !hn_tensor_equal(v->constant, t))
        return hn_value_create_constant(out, p->q->g, NULL, name, t, err);
    hn_tensor_unref(t);
    *out = v;
    return HONE_OK;
}

/* [n, 1] bytes, or one of no dims where n is 0. */
static hone_status shared_bytes(hn_value **out, packing *p, const char *name, int n,
                                const int64_t *bytes, hn_error *err) {
    hn_tensor *t;
    int64_t dims[2] = {n, 1};
    HN_TRY(hn_tensor_from_s64(&t, p->q->m->alloc, HONE_DTYPE_U8, n > 0 ? 2 : 0, dims, bytes, err));
    return shared(out, p, name, t, err);
}

/* A node whose second input is b; *x becomes its output. */
static hone_status then(hn_value **x, packing *p, const char *op, const char *suffix, hn_value *b,
                        const char *direction, hn_error *err) {
    hn_node *n;
    hn_value *in[2] = {*x, b};
    const char *hint = hn_quantizer_hint(p->q, p->name, suffix);
    HN_TRY(hn_quantizer_node(&n, p->q, op, hint, b != NULL ? 2 : 1, in, p->before, err));
    if (direction != NULL) HN_TRY(hn_node_set_s(n, "direction", direction, err));
    *x = n->outputs[0];
    return HONE_OK;
}

/* Bits [low, low + width) of each code. */
static hone_status plane_bytes(hn_tensor **out, const packing *p, int low, int width,
                               hn_error *err) {
    int64_t each = 8 / width, m = p->padded / each;
    HN_TRY(hn_tensor_create(out, p->q->m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_U8, 1, &m, err));
    uint8_t *bytes = (*out)->data;
    if (m > 0) memset(bytes, 0, (size_t)m);
    for (int64_t i = 0; i < p->codes->n; i++) {
        unsigned code = (unsigned)hn_tensor_s64(p->codes, i) & 0xffu;
        unsigned part = code >> low & ((1u << width) - 1u);
        bytes[i % m] |= (uint8_t)(part << (unsigned)(i / m * width));
    }
    return HONE_OK;
}

/* The plane of `width` bits that `above` bits of the code come before, where it belongs. */
static hone_status unpack_plane(hn_value **x, packing *p, int above, int width, hn_error *err) {
    char suffix[32], name[32];
    int64_t masks[8], shifts[8], down = above;
    hn_tensor *bytes;
    hn_value *b;
    HN_TRY(plane_bytes(&bytes, p, p->bits - above - width, width, err));
    snprintf(suffix, sizeof suffix, "_plane%d", width);
    HN_TRY(hn_quantizer_constant(x, p->q, p->name, suffix, bytes, err));
    for (int i = 0; i < 8 / width; i++) {
        masks[i] = ((1 << width) - 1) << width * i;
        shifts[i] = 8 - width * (i + 1);
    }
    snprintf(name, sizeof name, "unpack%d_masks", width);
    HN_TRY(shared_bytes(&b, p, name, 8 / width, masks, err));
    HN_TRY(then(x, p, "BitwiseAnd", "_bits", b, NULL, err));
    snprintf(name, sizeof name, "unpack%d_shifts", width);
    HN_TRY(shared_bytes(&b, p, name, 8 / width, shifts, err));
    HN_TRY(then(x, p, "BitShift", "_shifted", b, "LEFT", err));
    if (above > 0) {
        snprintf(name, sizeof name, "unpack%d_down", above);
        HN_TRY(shared_bytes(&b, p, name, 0, &down, err));
        HN_TRY(then(x, p, "BitShift", "_lowered", b, "RIGHT", err));
    }
    return then(x, p, "Reshape", "_flat", p->shape, NULL, err);
}

static hone_status ints(hn_value **out, packing *p, const char *suffix, const int64_t *v, int n,
                        hn_error *err) {
    hn_tensor *t;
    int64_t count = n;
    HN_TRY(hn_tensor_from_s64(&t, p->q->m->alloc, HONE_DTYPE_S64, 1, &count, v, err));
    return hn_quantizer_constant(out, p->q, p->name, suffix, t, err);
}

/* Takes off what the last bytes were filled up with. */
static hone_status cut(hn_value **x, packing *p, hn_error *err) {
    hn_value *in[3] = {*x}, *dims;
    int64_t begin = 0;
    hn_node *n;
    HN_TRY(ints(&in[1], p, "_begin", &begin, 1, err));
    HN_TRY(ints(&in[2], p, "_end", &p->codes->n, 1, err));
    HN_TRY(ints(&dims, p, "_dims", p->codes->dims, p->codes->rank, err));
    HN_TRY(hn_quantizer_node(&n, p->q, "Slice", hn_quantizer_hint(p->q, p->name, "_cut"), 3, in,
                             p->before, err));
    *x = n->outputs[0];
    return then(x, p, "Reshape", "_shaped", dims, NULL, err);
}

hone_status hn_pack_codes(hn_value **out, hn_quantizer *q, const char *name, const hn_tensor *codes,
                          int bits, hn_node *before, hn_error *err) {
    packing p = {q, name, codes, bits, before, (codes->n + 7) / 8 * 8, NULL};
    bool whole = p.padded == codes->n;
    hn_value *x = NULL;
    HN_TRY(whole ? ints(&p.shape, &p, "_dims", codes->dims, codes->rank, err)
                 : ints(&p.shape, &p, "_padded", &p.padded, 1, err));
    for (int width = 4, above = 0; width > 0; width /= 2) {
        if ((bits & width) == 0) continue;
        hn_value *plane;
        HN_TRY(unpack_plane(&plane, &p, above, width, err));
        above += width;
        if (x == NULL)
            x = plane;
        else
            HN_TRY(then(&x, &p, "BitwiseOr", "_joined", plane, NULL, err));
    }
    if (!whole) HN_TRY(cut(&x, &p, err));
    if (byte_type(codes) == HONE_DTYPE_S8) {
        HN_TRY(then(&x, &p, "Cast", "_codes", NULL, NULL, err));
        HN_TRY(hn_node_set_i(x->producer, "to", HONE_DTYPE_S8, err));
    }
    *out = x;
    return HONE_OK;
}
