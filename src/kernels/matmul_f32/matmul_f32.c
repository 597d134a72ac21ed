#include "kernels/matmul_f32/matmul_f32.h"

#include <string.h>

#define HN_KERNEL(row) extern const hn_kernel hn_##row;
#include "kernels/matmul_f32/matmul_f32.def"
#undef HN_KERNEL

static const hn_kernel *const rows[] = {
#define HN_KERNEL(row) &hn_##row,
#include "kernels/matmul_f32/matmul_f32.def"
#undef HN_KERNEL
};

static const hn_axes axes[] = {
    {HN_MATMUL_A, HN_MATMUL_BATCH_AXES, offsetof(hn_matmul_f32, batch),
     offsetof(hn_matmul_f32, a_batch)},
    {HN_MATMUL_A, 1, offsetof(hn_matmul_f32, m), offsetof(hn_matmul_f32, a_m)},
    {HN_MATMUL_A, 1, offsetof(hn_matmul_f32, k), offsetof(hn_matmul_f32, a_k)},
    {HN_MATMUL_B, HN_MATMUL_BATCH_AXES, offsetof(hn_matmul_f32, batch),
     offsetof(hn_matmul_f32, b_batch)},
    {HN_MATMUL_B, 1, offsetof(hn_matmul_f32, k), offsetof(hn_matmul_f32, b_k)},
    {HN_MATMUL_B, 1, offsetof(hn_matmul_f32, n), offsetof(hn_matmul_f32, b_n)},
    {HN_MATMUL_R, HN_MATMUL_BATCH_AXES, offsetof(hn_matmul_f32, batch),
     offsetof(hn_matmul_f32, r_batch)},
    {HN_MATMUL_R, 2, offsetof(hn_matmul_f32, m), offsetof(hn_matmul_f32, r_m)},
    {HN_MATMUL_C, HN_MATMUL_BATCH_AXES, offsetof(hn_matmul_f32, batch),
     offsetof(hn_matmul_f32, c_batch)},
    {HN_MATMUL_C, 2, offsetof(hn_matmul_f32, m), offsetof(hn_matmul_f32, c_m)},
};

static bool may_replace(const void *problem, int operand, int result) {
    (void)result;
    const hn_matmul_f32 *p = problem;
    return operand == HN_MATMUL_R &&
           hn_axes_agree(HN_MATMUL_BATCH_AXES, p->batch, p->r_batch, p->c_batch) &&
           hn_axes_agree(2, (int64_t[]){p->m, p->n}, (int64_t[]){p->r_m, p->r_n},
                         (int64_t[]){p->c_m, p->c_n});
}

/* Batches that follow each other and share b are rows of one matrix. */
static void finish(void *problem) {
    hn_matmul_f32 *p = problem;
    for (int i = HN_MATMUL_BATCH_AXES - 1; i >= 0; i--) {
        if (p->batch[i] == 1) continue;
        if (p->b_batch[i] != 0 || p->a_batch[i] != p->m * p->a_m ||
            p->r_batch[i] != p->m * p->r_m || p->c_batch[i] != p->m * p->c_m)
            return;
        p->m *= p->batch[i];
        p->batch[i] = 1;
        p->a_batch[i] = p->r_batch[i] = p->c_batch[i] = 0;
    }
}

static bool end(void *problem, hn_epilogue *out) {
    enum { B = HN_MATMUL_BATCH_AXES };
    hn_matmul_f32 *p = problem;
    *out = (hn_epilogue){.act = &p->act,
                         .scale = &p->alpha,
                         .bias = HN_MATMUL_BIAS,
                         .residual = HN_MATMUL_R,
                         .rank = B + 2,
                         .r_strides = p->r_batch,
                         .n_r = B + 2,
                         .r_any = true};
    memcpy(out->dims, p->batch, sizeof p->batch);
    memcpy(out->strides, p->c_batch, sizeof p->c_batch);
    out->dims[B] = p->m, out->dims[B + 1] = p->n;
    out->strides[B] = p->c_m, out->strides[B + 1] = p->c_n;
    return true;
}

const hn_family hn_matmul_f32_family = {
    .name = "matmul_f32",
    .help = "batched matrix product of two activations",
    .rows = rows,
    .n_rows = sizeof rows / sizeof *rows,
    .axes = axes,
    .n_axes = sizeof axes / sizeof *axes,
    .multiplies = true,
    .may_replace = may_replace,
    .result = HN_MATMUL_C,
    .finish = finish,
    .end = end,
};

int64_t hn_matmul_offset(const hn_matmul_f32 *p, const int64_t *strides, int64_t index) {
    int64_t at = 0;
    for (int i = HN_MATMUL_BATCH_AXES - 1; i >= 0; i--) {
        at += index % p->batch[i] * strides[i];
        index /= p->batch[i];
    }
    return at;
}

int64_t hn_matmul_batches(const hn_matmul_f32 *p) {
    int64_t n = 1;
    for (int i = 0; i < HN_MATMUL_BATCH_AXES; i++) n *= p->batch[i];
    return n;
}
