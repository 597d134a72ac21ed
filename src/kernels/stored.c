#include "kernels/stored_parts.h"

#include <string.h>

#include "base/least.h"
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

#define EXPAND_BYTES(name, ctype)                                                            \
    static void name(const ctype *code, int64_t n, int32_t zero, float factor, float *dst) { \
        for (int64_t i = 0; i < n; i++) dst[i] = (float)(code[i] - zero) * factor;           \
    }
EXPAND_BYTES(expand_s8, int8_t)
EXPAND_BYTES(expand_u8, uint8_t)

/* Elements that follow each other and have one scale, however many axes they come from. */
static void expand_equal(const hn_stored *s, int64_t first, int64_t n, int64_t scale, float *dst) {
    float factor = ((const hn_any_f32 *)s->scale)[scale];
    int64_t zero = s->zero != NULL ? hn_load_s64(s->type, s->zero, scale) : 0, code[BLOCK];
    if (s->type == HONE_DTYPE_S8) {
        expand_s8((const int8_t *)s->data + first, n, (int32_t)zero, factor, dst);
        return;
    }
    if (s->type == HONE_DTYPE_U8) {
        expand_u8((const uint8_t *)s->data + first, n, (int32_t)zero, factor, dst);
        return;
    }
    for (; n > 0; n -= BLOCK, first += BLOCK, dst += BLOCK) {
        int64_t some = n < BLOCK ? n : BLOCK;
        hn_load_s64_n(s->type, s->data, first, some, code);
        for (int64_t i = 0; i < some; i++) dst[i] = (float)(code[i] - zero) * factor;
    }
}

static bool has_one_scale(const hn_stored *s) {
    return s->scale_outer == 0 && s->scale_axis == 0 && s->scale_inner == 0;
}

/* Parts are [outer][axis]; with one scale, elements. */
static int64_t code_parts(const hn_stored *s) {
    return has_one_scale(s) || s->inner == 0 ? s->n : s->n / s->inner;
}

static void expand_codes(const hn_stored *s, int64_t begin, int64_t end, void *dst) {
    float *to = dst;
    if (has_one_scale(s)) {
        expand_equal(s, begin, end - begin, 0, to + begin);
        return;
    }
    for (int64_t i = begin; i < end;) {
        int64_t a = i % s->axis, first = i * s->inner;
        int64_t scale = i / s->axis * s->scale_outer + a / s->block * s->scale_axis;
        int64_t rows = s->scale_inner == 0 ? s->block - a % s->block : 1;
        rows = hn_least(rows, hn_least(s->axis - a, end - i));
        if (s->scale_inner == 0)
            expand_equal(s, first, rows * s->inner, scale, to + first);
        else
            expand_run(s, first, s->inner, scale, to + first);
        i += rows;
    }
}

static int64_t index_parts(const hn_stored *s) { return s->n; }

static void expand_codebook(const hn_stored *s, int64_t begin, int64_t end, void *dst) {
    const hn_any_f32 *table = (const hn_any_f32 *)s->table;
    float *to = dst;
    int64_t index[BLOCK];
    for (int64_t first = begin; first < end; first += BLOCK) {
        int64_t some = hn_least(end - first, BLOCK);
        hn_load_s64_n(s->type, s->data, first, some, index);
        for (int64_t i = 0; i < some; i++) to[first + i] = table[index[i]];
    }
}

static int64_t one_part(const hn_stored *s) {
    (void)s;
    return 1;
}

static void expand_sparse(const hn_stored *s, int64_t begin, int64_t end, void *dst) {
    if (begin == end) return;
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
    int64_t (*parts)(const hn_stored *s);
    void (*expand)(const hn_stored *s, int64_t begin, int64_t end, void *dst);
} formats[] = {[HN_STORED_DENSE] = {false, NULL, NULL},
               [HN_STORED_CODES] = {true, code_parts, expand_codes},
               [HN_STORED_CODEBOOK] = {true, index_parts, expand_codebook},
               [HN_STORED_SPARSE] = {false, one_part, expand_sparse}};

hone_dtype hn_stored_type(const hn_stored *s) {
    return formats[s->kind].floats ? HONE_DTYPE_F32 : s->type;
}

size_t hn_stored_bytes(const hn_stored *s) {
    return ((size_t)s->n * (size_t)hone_dtype_bits(hn_stored_type(s)) + 7) / 8;
}

int64_t hn_stored_parts(const hn_stored *s) { return formats[s->kind].parts(s); }

void hn_stored_expand_parts(const hn_stored *s, int64_t begin, int64_t end, void *dst) {
    formats[s->kind].expand(s, begin, end, dst);
}

void hn_stored_expand(const hn_stored *s, void *dst) {
    hn_stored_expand_parts(s, 0, hn_stored_parts(s), dst);
}
