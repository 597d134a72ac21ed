/* Matrix products of activations by the rows of conv_f32 that split floats for AMX.
 *
 * To such a row b is weights, which it wants packed: here that is a phase of its own, into shared
 * scratch. A matrix b that batches share is packed once.
 */
#if defined(__x86_64__)
#include "kernels/conv_f32/conv_f32_amx.h"
#include "kernels/matmul_f32/matmul_f32.h"

/* Rows of a for packing b to pay, measured on Sapphire Rapids; by columns it takes longer. */
enum { LEAST_ROWS = 128, LEAST_ROWS_TRANSPOSED = 192 };

/* One batch. */
static hn_conv_f32 conv_of(const hn_matmul_f32 *p) {
    hn_conv_f32 q = hn_conv_of_gemm(p->m, p->n, p->k);
    q.x_pixel = p->a_m, q.y_pixel = p->c_m, q.r_pixel = p->r_m;
    q.w_o = p->b_n, q.w_i = p->b_k;
    q.act = p->act;
    return q;
}

/* How many matrices b there are, which of them a batch takes, and where it begins. */
static int64_t count_matrices(const hn_matmul_f32 *p) {
    int64_t n = 1;
    for (int i = 0; i < HN_MATMUL_BATCH_AXES; i++)
        if (p->b_batch[i] != 0) n *= p->batch[i];
    return n;
}

static int64_t matrix_of(const hn_matmul_f32 *p, int64_t batch) {
    int64_t at = 0, step = 1;
    for (int i = HN_MATMUL_BATCH_AXES - 1; i >= 0; i--) {
        if (p->b_batch[i] != 0) at += batch % p->batch[i] * step, step *= p->batch[i];
        batch /= p->batch[i];
    }
    return at;
}

static int64_t matrix_offset(const hn_matmul_f32 *p, int64_t matrix) {
    int64_t at = 0;
    for (int i = HN_MATMUL_BATCH_AXES - 1; i >= 0; i--)
        if (p->b_batch[i] != 0) {
            at += matrix % p->batch[i] * p->b_batch[i];
            matrix /= p->batch[i];
        }
    return at;
}

static size_t matrix_bytes(const hn_kernel *row, const hn_conv_f32 *q) {
    return (row->packed_bytes(q) + 63) / 64 * 64;
}

static bool ok(const hn_kernel *row, const void *problem, const char **why) {
    const hn_matmul_f32 *p = problem;
    if (p->a_k != 1) return *why = "a is transposed", false;
    if (p->c_n != 1 || p->r_n != 1) return *why = "the columns of c or r are not adjacent", false;
    if (p->alpha != 1) return *why = "there is a factor", false;
    if (p->m < (p->b_n == 1 ? LEAST_ROWS : LEAST_ROWS_TRANSPOSED))
        return *why = "packing b takes longer than multiplying", false;
    hn_conv_f32 q = conv_of(p);
    return row->ok(&q, why);
}

static void work(const hn_kernel *row, const void *problem, int lanes, hn_work *w) {
    const hn_matmul_f32 *p = problem;
    hn_conv_f32 q = conv_of(p);
    int64_t batches = hn_matmul_batches(p), matrices = count_matrices(p);
    hn_work one;
    row->work(&q, batches % lanes == 0 ? 1 : lanes, &one);
    *w = (hn_work){.n_phases = 2,
                   .tasks = {matrices * row->pack_tasks(&q), batches * one.tasks[0]},
                   .scratch = (size_t)matrices * matrix_bytes(row, &q),
                   .lane_scratch = one.lane_scratch};
}

static void run(const hn_kernel *row, const hn_call *call, int phase, int64_t begin, int64_t end,
                void *lane) {
    const hn_matmul_f32 *p = call->problem;
    const hn_conv_f32 q = conv_of(p);
    const float *b = call->ptr[HN_MATMUL_B];
    float *a = call->ptr[HN_MATMUL_A], *r = call->ptr[HN_MATMUL_R], *c = call->ptr[HN_MATMUL_C];
    char *packed = call->scratch;
    if (phase == 0) {
        int64_t each = row->pack_tasks(&q);
        while (begin < end) {
            int64_t matrix = begin / each, base = matrix * each;
            int64_t stop = base + each < end ? base + each : end;
            hn_stored plain = hn_stored_plain(b + matrix_offset(p, matrix));
            row->pack(&q, &plain, begin - base, stop - base,
                      packed + (size_t)matrix * matrix_bytes(row, &q));
            begin = stop;
        }
        return;
    }
    int64_t batches = hn_matmul_batches(p);
    hn_work one = {.n_phases = 1, .tasks = {batches == 0 ? 0 : call->work->tasks[1] / batches}};
    while (begin < end) {
        int64_t batch = begin / one.tasks[0], base = batch * one.tasks[0];
        int64_t stop = base + one.tasks[0] < end ? base + one.tasks[0] : end;
        void *ptr[HN_CONV_OPERANDS_] = {
            [HN_CONV_X] = a + hn_matmul_offset(p, p->a_batch, batch),
            [HN_CONV_W] = packed + (size_t)matrix_of(p, batch) * matrix_bytes(row, &q),
            [HN_CONV_BIAS] = call->ptr[HN_MATMUL_BIAS],
            [HN_CONV_R] = r == NULL ? NULL : r + hn_matmul_offset(p, p->r_batch, batch),
            [HN_CONV_Y] = c + hn_matmul_offset(p, p->c_batch, batch),
        };
        hn_call conv = {.problem = &q, .work = &one, .ptr = ptr};
        row->run(&conv, 0, begin - base, stop - base, lane);
        begin = stop;
    }
}

#define WITH(use)                                                                     \
    static bool ok_##use(const void *problem, const char **why) {                     \
        return ok(&hn_conv_f32_##use##_amx, problem, why);                            \
    }                                                                                 \
    static void work_##use(const void *problem, int lanes, hn_work *w) {              \
        work(&hn_conv_f32_##use##_amx, problem, lanes, w);                            \
    }                                                                                 \
    static void run_##use(const hn_call *call, int phase, int64_t begin, int64_t end, \
                          void *lane) {                                               \
        run(&hn_conv_f32_##use##_amx, call, phase, begin, end, lane);                 \
    }
WITH(six)
WITH(three)
WITH(one)

const hn_kernel hn_matmul_f32_six_amx = {.name = "amx6",
                                         .isa = HN_ISA_AMX,
                                         .order = "blocks of 32; six products",
                                         .ok = ok_six,
                                         .work = work_six,
                                         .run = run_six};
const hn_kernel hn_matmul_f32_three_amx = {.name = "amx3",
                                           .isa = HN_ISA_AMX,
                                           .order = "blocks of 32; three products",
                                           .precision = HN_PRECISION_RELAXED,
                                           .ok = ok_three,
                                           .work = work_three,
                                           .run = run_three};
const hn_kernel hn_matmul_f32_one_amx = {.name = "amx1",
                                         .isa = HN_ISA_AMX,
                                         .order = "blocks of 32; one product",
                                         .precision = HN_PRECISION_BF16,
                                         .ok = ok_one,
                                         .work = work_one,
                                         .run = run_one};
#endif
