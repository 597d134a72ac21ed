/* Matrix products of activations by rows of conv_f32: those that multiply bf16 (they split floats for
 * AMX, or round them, for AMX and for BFMMLA), and those for large products, which copy the left
 * operand, too.
 *
 * To such a row b is weights, which it wants packed: here that is a phase of its own, into shared
 * scratch. A matrix b that batches share is packed once. Rows that multiply bf16 want the rows of a
 * to be adjacent floats: if a comes transposed, the same phase turns it, into scratch too.
 */
#if defined(__x86_64__) || defined(__aarch64__)
#include "base/least.h"
#include "kernels/conv_f32/conv_f32.h"
#include "kernels/matmul_f32/matmul_f32.h"
#include "kernels/tile_f32/tile_f32.h"

/* Rows of a for packing b to pay; by columns it takes longer. Measured on Sapphire Rapids and
 * Neoverse V1. */
#if defined(__x86_64__)
#include "kernels/conv_f32/conv_f32_amx.h"
enum { LEAST_ROWS = 128, LEAST_ROWS_TRANSPOSED = 192 };
extern const hn_kernel hn_conv_f32_product_avx512, hn_conv_f32_product_avx2;
#else
extern const hn_kernel hn_conv_f32_one_neoni8mm, hn_conv_f32_product_neon;
enum { LEAST_ROWS = 32, LEAST_ROWS_TRANSPOSED = 48 };
#endif
/* The same of products that are copied; the distance of rows in floats that makes them push each
 * other out of L1; the most memory that copies may take. */
enum { LEAST_ROWS_COPIED = 56, ALIAS = 1024, MOST_COPIED = 64 << 20 };
/* Columns of b for turning a to pay; rows of a in a task that turns. */
enum { LEAST_COLUMNS_TURNED = 96, TURNED_ROWS = 64 };
/* The distance in floats of which no multiple is one of rows of a turned a. */
enum { APART = 128 };

/* A row of conv_f32; `turn` copies a transposed a for it. NULL: the row reads it as it is. */
typedef struct by_conv {
    const hn_kernel *row;
    hn_tile_f32_copy_fn *turn;
} by_conv;

static bool turns(const by_conv *by, const hn_matmul_f32 *p) {
    return by->turn != NULL && p->a_k != 1;
}

/* Floats from one row of a turned a to the next, and of the whole. Rows do not lie where they push each
 * other out of L1. */
static int64_t turned_pitch(const hn_matmul_f32 *p) {
    int64_t pitch = (p->k + 15) / 16 * 16;
    return pitch % APART == 0 ? pitch + 16 : pitch;
}
static int64_t turned_floats(const hn_matmul_f32 *p) { return p->m * turned_pitch(p); }
static int64_t turned_tasks(const hn_matmul_f32 *p) {
    return hn_matmul_batches(p) * ((p->m + TURNED_ROWS - 1) / TURNED_ROWS);
}

/* One batch. */
static hn_conv_f32 conv_of(const by_conv *by, const hn_matmul_f32 *p) {
    hn_conv_f32 q = hn_conv_of_gemm(p->m, p->n, p->k);
    bool turned = turns(by, p);
    q.x_pixel = turned ? turned_pitch(p) : p->a_m, q.x_channel = turned ? 1 : p->a_k;
    q.y_pixel = p->c_m, q.r_pixel = p->r_m;
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

static bool may_call(const by_conv *by, const hn_matmul_f32 *p, int64_t rows, const char **why) {
    if (p->c_n != 1 || p->r_n != 1) return *why = "the columns of c or r are not adjacent", false;
    if (p->alpha != 1) return *why = "there is a factor", false;
    if (p->m < rows) return *why = "packing b takes longer than multiplying", false;
    hn_conv_f32 q = conv_of(by, p);
    return by->row->ok(&q, why);
}

static bool ok(const by_conv *by, const void *problem, const char **why) {
    const hn_matmul_f32 *p = problem;
    if (turns(by, p)) {
        if (p->a_m != 1) return *why = "neither rows nor columns of a are adjacent floats", false;
        if (p->n < LEAST_COLUMNS_TURNED)
            return *why = "turning a takes longer than multiplying", false;
        if (turned_floats(p) > MOST_COPIED / 4 / hn_matmul_batches(p))
            return *why = "copies would take too much memory", false;
    }
    return may_call(by, p, p->b_n == 1 ? LEAST_ROWS : LEAST_ROWS_TRANSPOSED, why);
}

static bool ok_copied(const by_conv *by, const void *problem, const char **why) {
    const hn_matmul_f32 *p = problem;
    const hn_kernel *row = by->row;
    hn_conv_f32 q = conv_of(by, p);
    if (p->a_k == 1 && p->a_m % ALIAS != 0)
        return *why = "the rows of a are read well where they lie", false;
    if (!may_call(by, p, LEAST_ROWS_COPIED, why)) return false;
    hn_work one;
    row->work(&q, 1, &one);
    size_t each = matrix_bytes(row, &q);
    if (each > MOST_COPIED || one.scratch > MOST_COPIED ||
        count_matrices(p) > (int64_t)(MOST_COPIED / each) ||
        (one.scratch > 0 && hn_matmul_batches(p) > (int64_t)(MOST_COPIED / one.scratch)))
        return *why = "copies would take too much memory", false;
    return true;
}

static int64_t max64(int64_t x, int64_t y) { return x > y ? x : y; }

static size_t scratch_bytes(const hn_work *one) { return (one->scratch + 63) / 64 * 64; }

static void work(const by_conv *by, const void *problem, int lanes, hn_work *w) {
    const hn_matmul_f32 *p = problem;
    const hn_kernel *row = by->row;
    hn_conv_f32 q = conv_of(by, p);
    int64_t batches = hn_matmul_batches(p), matrices = count_matrices(p);
    hn_work one;
    row->work(&q, batches % lanes == 0 ? 1 : lanes, &one);
    *w = (hn_work){
        .n_phases = 1 + one.n_phases,
        .tasks = {matrices * row->pack_tasks(&q)},
        .scratch = (size_t)matrices * matrix_bytes(row, &q) + (size_t)batches * scratch_bytes(&one),
        .lane_scratch = one.lane_scratch,
        .parts = one.parts};
    for (int i = 1; i < HN_MAX_PHASES; i++) w->tasks[i] = batches * hn_work_tasks(&one, i - 1);
    if (!turns(by, p)) return;
    w->tasks[0] += turned_tasks(p);
    w->scratch += (size_t)(batches * turned_floats(p)) * sizeof(float);
}

/* Tasks [begin, end) of those that turn a. */
static void turn(const by_conv *by, const hn_matmul_f32 *p, const float *a, float *turned,
                 int64_t begin, int64_t end) {
    int64_t each = turned_tasks(p) / hn_matmul_batches(p), pitch = turned_pitch(p);
    for (int64_t i = begin; i < end; i++) {
        int64_t batch = i / each, row = i % each * TURNED_ROWS;
        const float *from = a + hn_matmul_offset(p, p->a_batch, batch) + row;
        by->turn(from, 1, p->a_k, hn_least(TURNED_ROWS, p->m - row), p->k, 1,
                 turned + batch * turned_floats(p) + row * pitch, pitch);
    }
}

static void run(const by_conv *by, const hn_call *call, int phase, int64_t begin, int64_t end,
                void *lane) {
    const hn_matmul_f32 *p = call->problem;
    const hn_kernel *row = by->row;
    const hn_conv_f32 q = conv_of(by, p);
    const float *b = call->ptr[HN_MATMUL_B];
    float *a = call->ptr[HN_MATMUL_A], *r = call->ptr[HN_MATMUL_R], *c = call->ptr[HN_MATMUL_C];
    char *packed = call->scratch;
    /* In scratch: what is packed, what is turned, and what the row wants for each batch. */
    char *rest = packed + (size_t)count_matrices(p) * matrix_bytes(row, &q);
    float *turned = turns(by, p) ? (float *)rest : NULL;
    if (turned != NULL) rest += (size_t)(hn_matmul_batches(p) * turned_floats(p)) * sizeof(float);
    if (phase == 0) {
        int64_t each = row->pack_tasks(&q), packing = count_matrices(p) * each;
        if (end > packing) turn(by, p, a, turned, max64(0, begin - packing), end - packing);
        end = hn_least(end, packing);
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
    int64_t batches = hn_matmul_batches(p), each = hn_work_tasks(call->work, phase) / batches;
    size_t room = (call->work->scratch - (size_t)(rest - packed)) / (size_t)batches;
    hn_work one = {.n_phases = call->work->n_phases - 1, .parts = call->work->parts};
    for (int i = 0; i < HN_MAX_PHASES; i++)
        one.tasks[i] = hn_work_tasks(call->work, i + 1) / batches;
    while (begin < end) {
        int64_t batch = begin / each, base = batch * each;
        int64_t stop = base + each < end ? base + each : end;
        void *ptr[HN_CONV_OPERANDS_] = {
            [HN_CONV_X] = turned != NULL ? turned + batch * turned_floats(p)
                                         : a + hn_matmul_offset(p, p->a_batch, batch),
            [HN_CONV_W] = packed + (size_t)matrix_of(p, batch) * matrix_bytes(row, &q),
            [HN_CONV_BIAS] = call->ptr[HN_MATMUL_BIAS],
            [HN_CONV_R] = r == NULL ? NULL : r + hn_matmul_offset(p, p->r_batch, batch),
            [HN_CONV_Y] = c + hn_matmul_offset(p, p->c_batch, batch),
        };
        hn_call conv = {
            .problem = &q, .work = &one, .ptr = ptr, .scratch = rest + (size_t)batch * room};
        row->run(&conv, phase - 1, begin - base, stop - base, lane);
        begin = stop;
    }
}

#define WITH(use, isa, serves, turn_fn)                                                       \
    static const by_conv by_##use##_##isa = {&hn_conv_f32_##use##_##isa, turn_fn};            \
    static bool ok_##use##_##isa(const void *problem, const char **why) {                     \
        return serves(&by_##use##_##isa, problem, why);                                       \
    }                                                                                         \
    static void work_##use##_##isa(const void *problem, int lanes, hn_work *w) {              \
        work(&by_##use##_##isa, problem, lanes, w);                                           \
    }                                                                                         \
    static void run_##use##_##isa(const hn_call *call, int phase, int64_t begin, int64_t end, \
                                  void *lane) {                                               \
        run(&by_##use##_##isa, call, phase, begin, end, lane);                                \
    }

#define COPIED(isa_name, bits)                                                           \
    WITH(product, isa_name, ok_copied, NULL)                                             \
    const hn_kernel hn_matmul_f32_product_##isa_name = {.name = #isa_name "_product",    \
                                                        .isa = bits,                     \
                                                        .order = "fma",                  \
                                                        .ok = ok_product_##isa_name,     \
                                                        .work = work_product_##isa_name, \
                                                        .run = run_product_##isa_name};

#if defined(__x86_64__)
COPIED(avx512, HN_ISA_AVX512)
COPIED(avx2, HN_ISA_AVX2)
WITH(six, amx, ok, hn_tile_f32_copy_avx512)
WITH(three, amx, ok, hn_tile_f32_copy_avx512)
WITH(one, amx, ok, hn_tile_f32_copy_avx512)

const hn_kernel hn_matmul_f32_six_amx = {.name = "amx6",
                                         .isa = HN_ISA_AMX,
                                         .order = "blocks of 32; six products",
                                         .ok = ok_six_amx,
                                         .work = work_six_amx,
                                         .run = run_six_amx};
const hn_kernel hn_matmul_f32_three_amx = {.name = "amx3",
                                           .isa = HN_ISA_AMX,
                                           .order = "blocks of 32; three products",
                                           .precision = HN_PRECISION_RELAXED,
                                           .ok = ok_three_amx,
                                           .work = work_three_amx,
                                           .run = run_three_amx};
const hn_kernel hn_matmul_f32_one_amx = {.name = "amx1",
                                         .isa = HN_ISA_AMX,
                                         .order = "blocks of 32; one product",
                                         .precision = HN_PRECISION_BF16,
                                         .ok = ok_one_amx,
                                         .work = work_one_amx,
                                         .run = run_one_amx};
#else
COPIED(neon, HN_ISA_NEON)
WITH(one, neoni8mm, ok, hn_tile_f32_copy)

const hn_kernel hn_matmul_f32_one_neoni8mm = {.name = "neoni8mm_bf16",
                                              .isa = HN_ISA_NEONI8MM,
                                              .order = "fours; one product",
                                              .precision = HN_PRECISION_BF16,
                                              .ok = ok_one_neoni8mm,
                                              .work = work_one_neoni8mm,
                                              .run = run_one_neoni8mm};
#endif
#endif
