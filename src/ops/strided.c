#include "ops/strided.h"

#include <string.h>
#include <wchar.h>

#include "base/size.h"

void hn_strided_add(hn_strided *s, int64_t n, int64_t src, int64_t dst) {
    if (n <= 0) s->empty = true;
    if (n <= 1 || s->empty) return;
    if (s->rank > 0) {
        /* An axis of size 0 may still follow, and then nothing bounds the product of the others. */
        int64_t whole, whole_src, whole_dst;
        int last = s->rank - 1;
        if (hn_i64_mul(s->axis[last].n, n, &whole) && hn_i64_mul(n, src, &whole_src) &&
            hn_i64_mul(n, dst, &whole_dst) && s->axis[last].src == whole_src &&
            s->axis[last].dst == whole_dst) {
            s->axis[last].n = whole;
            s->axis[last].src = src;
            s->axis[last].dst = dst;
            return;
        }
    }
    assert(s->rank < HN_STRIDED_MAX);
    s->axis[s->rank].n = n;
    s->axis[s->rank].src = src;
    s->axis[s->rank].dst = dst;
    s->rank++;
}

void hn_strides(int rank, const int64_t *dims, int64_t *strides) {
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; i--) {
        strides[i] = stride;
        /* With a zero dim there is nothing to address, and the other dims may overflow. */
        if (!hn_i64_mul(stride, dims[i], &stride)) stride = 0;
    }
}

hn_strided hn_strided_place(int rank, const int64_t *src_dims, const int64_t *dst_dims,
                            const int64_t *at) {
    int64_t src[HONE_MAX_RANK], dst[HONE_MAX_RANK];
    hn_strides(rank, src_dims, src);
    hn_strides(rank, dst_dims, dst);
    hn_strided s = {0};
    for (int i = 0; i < rank; i++) {
        /* The overlap of [0, src_dims) + at with [0, dst_dims). */
        int64_t lo = at[i] > 0 ? at[i] : 0, hi;
        if (!hn_i64_add(src_dims[i], at[i], &hi) || hi > dst_dims[i]) hi = dst_dims[i];
        if (lo >= hi) {
            s.empty = true;
            break;
        }
        s.src_at += (lo - at[i]) * src[i];
        s.dst_at += lo * dst[i];
        hn_strided_add(&s, hi - lo, src[i], dst[i]);
    }
    return s;
}

/* ---- the copy ---- */

/* n elements of W bytes at byte strides. The fixed size makes each memcpy one move. */
#define LINE(W) \
    for (int64_t k = 0; k < n; k++, src += src_step, dst += dst_step) memcpy(dst, src, W)

static void copy_line(size_t width, const unsigned char *src, int64_t src_step, unsigned char *dst,
                      int64_t dst_step, int64_t n) {
    if (src_step == (int64_t)width && dst_step == (int64_t)width) {
        memcpy(dst, src, (size_t)n * width);
        return;
    }
    switch (width) {
        case 1: LINE(1); break;
        case 2: LINE(2); break;
        case 4: LINE(4); break;
        case 8: LINE(8); break;
        default: assert(width == 16); LINE(16);
    }
}
#undef LINE

typedef struct job {
    const hn_strided *s;
    hone_dtype t; /* of packed elements */
    size_t width; /* 0: packed */
    const unsigned char *src;
    unsigned char *dst;
    int64_t n_rows, rows_per_task;
} job;

/* Rows [task * rows_per_task, ...) of the copy; a row is its innermost axis. */
static void copy_rows(void *ctx, int64_t task) {
    const job *j = ctx;
    const hn_strided *s = j->s;
    int inner = s->rank - 1;
    int64_t row = task * j->rows_per_task, index[HN_STRIDED_MAX];
    int64_t end = j->n_rows - row < j->rows_per_task ? j->n_rows : row + j->rows_per_task;
    int64_t src = s->src_at, dst = s->dst_at, rest = row;
    for (int a = inner - 1; a >= 0; a--) {
        index[a] = rest % s->axis[a].n;
        rest /= s->axis[a].n;
        src += index[a] * s->axis[a].src;
        dst += index[a] * s->axis[a].dst;
    }
    int64_t n = s->axis[inner].n, src_step = s->axis[inner].src, dst_step = s->axis[inner].dst;
    int64_t width = (int64_t)j->width;
    for (; row < end; row++) {
        if (width > 0)
            copy_line(j->width, j->src + src * width, src_step * width, j->dst + dst * width,
                      dst_step * width, n);
        else
            for (int64_t k = 0; k < n; k++)
                hn_copy_element(j->t, j->dst, dst + k * dst_step, j->src, src + k * src_step);
        for (int a = inner - 1; a >= 0; a--) {
            src += s->axis[a].src;
            dst += s->axis[a].dst;
            if (++index[a] < s->axis[a].n) break;
            src -= s->axis[a].src * s->axis[a].n;
            dst -= s->axis[a].dst * s->axis[a].n;
            index[a] = 0;
        }
    }
}

/* Elements a thread should have at least, or handing the work out costs more than doing it. */
#define TASK_ELEMENTS 16384

static void copy(hn_pool *pool, hone_dtype t, size_t width, const void *src, void *dst,
                 const hn_strided *plan) {
    if (plan->empty) return;
    hn_strided s = *plan;
    if (s.rank == 0) { /* one element */
        s.rank = 1;
        s.axis[0].n = s.axis[0].src = s.axis[0].dst = 1;
    }
    job j = {.s = &s, .t = t, .width = width, .src = src, .dst = dst, .n_rows = 1};
    for (int a = 0; a < s.rank - 1; a++) j.n_rows *= s.axis[a].n;
    int64_t line = s.axis[s.rank - 1].n;
    j.rows_per_task = line >= TASK_ELEMENTS ? 1 : TASK_ELEMENTS / line;
    /* Packed neighbours share bytes, so one thread must write them. */
    if (width == 0) j.rows_per_task = j.n_rows;
    hn_pool_run(pool, (j.n_rows + j.rows_per_task - 1) / j.rows_per_task, copy_rows, &j);
}

void hn_strided_copy(hn_pool *pool, hone_dtype t, const void *src, void *dst, const hn_strided *s) {
    assert(t != HONE_DTYPE_STRING);
    copy(pool, t, (size_t)hone_dtype_bits(t) / 8, src, dst, s);
}

void hn_strided_dims(const hn_dim *src, hn_dim *dst, const hn_strided *s) {
    copy(NULL, HONE_DTYPE_NONE, sizeof *src, src, dst, s);
}

void hn_copy_run(hone_dtype t, void *dst, int64_t to, const void *src, int64_t from, int64_t n) {
    int64_t width = hone_dtype_bits(t) / 8;
    if (width > 0 && n > 0)
        memcpy((unsigned char *)dst + to * width, (const unsigned char *)src + from * width,
               (size_t)(n * width));
    else
        for (int64_t k = 0; k < n; k++) hn_copy_element(t, dst, to + k, src, from + k);
}

void hn_repeat(void *dst, size_t bytes, int64_t times) {
    unsigned char *to = dst;
    size_t all = bytes * (size_t)times, block = bytes;
    for (; block * 2 <= all && block < 8192; block *= 2) memcpy(to + block, to, block);
    for (size_t at = block; at < all; at += block)
        memcpy(to + at, to, all - at < block ? all - at : block);
}

void hn_fill(hn_pool *pool, hone_dtype t, void *dst, int64_t n, const void *src, int64_t from) {
    size_t width = (size_t)hone_dtype_bits(t) / 8;
    if (width > 0 && n > 0) {
        const unsigned char *value = (const unsigned char *)src + (size_t)from * width;
        wchar_t word;
        if (width == 1) {
            memset(dst, *value, (size_t)n);
        } else if (width == sizeof word) { /* the C library has vectors for it */
            memcpy(&word, value, sizeof word);
            wmemset(dst, word, (size_t)n);
        } else {
            memcpy(dst, value, width);
            hn_repeat(dst, width, n);
        }
        return;
    }
    hn_strided s = {.src_at = from};
    hn_strided_add(&s, n, 0, 1);
    hn_strided_copy(pool, t, src, dst, &s);
}

/* ---- what the operators share ---- */

hone_status hn_movable(const hn_tensor *t, hn_error *err) {
    HN_CHECK(err, t->dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED,
             "tensors of strings can be read and saved, but not computed with");
    return HONE_OK;
}

hone_status hn_ref_copy(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    HN_TRY(hn_movable(x, err));
    if (y->bytes > 0) memcpy(y->data, x->data, y->bytes);
    return HONE_OK;
}

void hn_infer_same_values(hn_infer *c) {
    int n;
    if (c->exact) return;
    const hn_dim *src = hn_in_values(c, 0, &n);
    hn_dim *dst = src != NULL ? hn_set_values(c, 0, n) : NULL;
    if (dst != NULL && n > 0) memcpy(dst, src, (size_t)n * sizeof *dst);
}

const hn_dim *hn_known_values(const hn_infer *c, int i, int64_t *dims) {
    int n;
    int64_t count;
    const hn_dim *v = c->exact ? NULL : hn_in_values(c, i, &n);
    if (v == NULL || !hn_shape_is_const(hn_in_shape(c, i), dims)) return NULL;
    return hn_dims_count(dims, c->in[i].shape.rank, &count) && count == n ? v : NULL;
}

hn_dim *hn_room_for_values(hn_infer *c, int i, const hn_shape *y, int64_t *dims) {
    int64_t n;
    if (!hn_shape_is_const(y, dims) || !hn_dims_count(dims, y->rank, &n)) return NULL;
    return n <= HN_MAX_KNOWN ? hn_set_values(c, i, (int)n) : NULL;
}
