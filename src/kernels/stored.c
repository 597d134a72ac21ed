#include "kernels/stored.h"

#include <string.h>

#include "kernels/kernel.h"

/* Elements that are expanded at a time. */
enum { BLOCK = 256 };

static void expand_run(const hn_stored *s, int64_t first, int64_t n, int64_t scale, float *dst) {
    const hn_any_f32 *factor = (const hn_any_f32 *)s->scale;
    int64_t code[BLOCK];
    while (n > 0) {
        int64_t some = n < BLOCK ? n : BLOCK;
        hn_load_s64_n(s->type, s->data, first, some, code);
        for (int64_t i = 0; i < some; i++) {
            int64_t at = scale + i * s->scale_inner;
            int64_t zero = s->zero != NULL ? hn_load_s64(s->type, s->zero, at) : 0;
            dst[i] = (float)(code[i] - zero) * factor[at];
        }
        first += some;
        dst += some;
        scale += some * s->scale_inner;
        n -= some;
    }
}

/* Elements that follow each other and have one scale, however many axes they come from. */
static void expand_equal(const hn_stored *s, int64_t first, int64_t n, int64_t scale, float *dst) {
    float factor = ((const hn_any_f32 *)s->scale)[scale];
    int64_t zero = s->zero != NULL ? hn_load_s64(s->type, s->zero, scale) : 0, code[BLOCK];
    for (; n > 0; n -= BLOCK, first += BLOCK, dst += BLOCK) {
        int64_t some = n < BLOCK ? n : BLOCK;
        hn_load_s64_n(s->type, s->data, first, some, code);
        for (int64_t i = 0; i < some; i++) dst[i] = (float)(code[i] - zero) * factor;
    }
}

static void expand_codes(const hn_stored *s, void *dst) {
    float *to = dst;
    if (s->scale_outer == 0 && s->scale_axis == 0 && s->scale_inner == 0) {
        expand_equal(s, 0, s->n, 0, to);
        return;
    }
    for (int64_t first = 0, o = 0; first < s->n; o++)
        for (int64_t a = 0; a < s->axis;) {
            int64_t scale = o * s->scale_outer + a / s->block * s->scale_axis;
            int64_t rows = s->scale_inner == 0 ? s->block - a % s->block : 1;
            if (rows > s->axis - a) rows = s->axis - a;
            if (s->scale_inner == 0)
                expand_equal(s, first, rows * s->inner, scale, to + first);
            else
                expand_run(s, first, s->inner, scale, to + first);
            first += rows * s->inner;
            a += rows;
        }
}

static void expand_codebook(const hn_stored *s, void *dst) {
    const hn_any_f32 *table = (const hn_any_f32 *)s->table;
    float *to = dst;
    int64_t index[BLOCK];
    for (int64_t first = 0; first < s->n; first += BLOCK) {
        int64_t some = s->n - first < BLOCK ? s->n - first : BLOCK;
        hn_load_s64_n(s->type, s->data, first, some, index);
        for (int64_t i = 0; i < some; i++) to[first + i] = table[index[i]];
    }
}

static void expand_sparse(const hn_stored *s, void *dst) {
    memset(dst, 0, hn_stored_bytes(s));
    for (int64_t k = 0; k < s->n_stored; k++) {
        int64_t at = 0;
        for (int i = 0; i < s->rank; i++)
            at = at * s->dims[i] + hn_load_s64(HONE_DTYPE_S64, s->places, k * s->rank + i);
        hn_copy_element(s->type, dst, at, s->data, k);
    }
}

static const struct format {
    bool floats; /* it is expanded to f32, else to the type of its data */
    void (*expand)(const hn_stored *s, void *dst);
} formats[] = {[HN_STORED_DENSE] = {false, NULL},
               [HN_STORED_CODES] = {true, expand_codes},
               [HN_STORED_CODEBOOK] = {true, expand_codebook},
               [HN_STORED_SPARSE] = {false, expand_sparse}};

hone_dtype hn_stored_type(const hn_stored *s) {
    return formats[s->kind].floats ? HONE_DTYPE_F32 : s->type;
}

size_t hn_stored_bytes(const hn_stored *s) {
    return ((size_t)s->n * (size_t)hone_dtype_bits(hn_stored_type(s)) + 7) / 8;
}

void hn_stored_expand(const hn_stored *s, void *dst) { formats[s->kind].expand(s, dst); }
