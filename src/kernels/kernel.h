/* Kernels: how a family of problems is computed, one row per way.
 *
 * A family is a kind of problem (a convolution, a softmax), described by a plain struct. Its rows,
 * best first, are the ways to compute it; the last is the reference in portable C, which serves
 * every problem. A row that cannot serve a problem declines with a reason.
 *
 * Threads stay outside. A row says into how many tasks each of its phases falls. The engine's lanes
 * (threads) take ranges of them, in any order and as many as it takes, until all are done; then the
 * next phase begins:
 *
 *   for (phase = 0; phase < w.n_phases; phase++)
 *       while (tasks are left)                                        // all lanes at the same time
 *           run(call, phase, begin, end, scratch of the lane);
 *
 * What a task writes is a function of the problem and its operands alone, never of the range it
 * came in: so results are the same bits for any number of threads.
 *
 * A kernel computes: it does not allocate, lock, log, read the environment or fail. It reads and
 * writes only what its operands cover.
 */
#ifndef HN_KERNELS_KERNEL_H
#define HN_KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/isa.h"
#include "kernels/act.h"
#include "kernels/stored.h"

#define HN_MAX_PHASES 4

typedef struct hn_work {
    int n_phases;
    int64_t tasks[HN_MAX_PHASES]; /* phases past the last of these have as many as it */
    size_t scratch;               /* bytes that all lanes share, alive through all phases */
    size_t lane_scratch;          /* bytes each lane has to itself, alive within one range */
    int64_t parts; /* that the kernel made of an image for the lanes it was told of */
} hn_work;

static inline int64_t hn_work_tasks(const hn_work *w, int phase) {
    return w->tasks[phase < HN_MAX_PHASES ? phase : HN_MAX_PHASES - 1];
}

typedef struct hn_call {
    const void *problem;
    const hn_work *work;
    void *const *ptr; /* the operands, as the family lists them; NULL: absent */
    void *scratch;    /* 64-byte aligned, as is that of a lane */
    void *device;     /* for kernels of a device; those of the host do not read it */
} hn_call;

/* How exact sums of products are, from the most exact on: a caller that allows one allows those
 * before it. By each, a sum may be off by so much of the sum of its products' absolute values,
 * besides what f32 itself leaves. */
#define HN_PRECISION_LIST(X)                                   \
    X(F32, "f32", 0)                                           \
    X(RELAXED, "f32-relaxed", 8e-5) /* two bf16 for a float */ \
    X(BF16, "bf16", 0x1p-7)         /* one */
typedef enum hn_precision {
#define HN_X(name, text, error) HN_PRECISION_##name,
    HN_PRECISION_LIST(HN_X)
#undef HN_X
        HN_PRECISION_COUNT_
} hn_precision;
double hn_precision_error(hn_precision p);

/* How an operand's floats are stored. */
typedef enum hn_float { HN_FLOAT_F32, HN_FLOAT_BF16, HN_FLOAT_F16 } hn_float;

static inline size_t hn_float_bytes(hn_float type) { return type == HN_FLOAT_F32 ? 4 : 2; }

/* The type of 16 bits that holds each of these finite numbers exactly, f16 first; else f32. */
hn_float hn_floats_fit(const void *floats, int64_t n);
/* How many of these weights at any address are 0: floats, of either sign, or bytes that are `zero`.
 * 0 where a thousand of them show that it is not half of them, and where there are 2^30 or more. */
int64_t hn_floats_zeros(const void *floats, int64_t n);
int64_t hn_bytes_zeros(const void *bytes, int64_t n, int zero);
/* How many different numbers these floats at any address are, by their bits; 0: there are none, or
 * more than HN_MOST_VALUES (values.h). It stops at the first that is too many. */
int hn_floats_values(const void *floats, int64_t n);

typedef struct hn_kernel {
    const char *name; /* unique within its family: "avx512_14x32" */
    hn_isa isa;       /* every bit must be available */
    /* Names the order of its sums. Only rows of one order may replace each other by measurement:
     * what a plan computes is a function of the problem and the instruction set. */
    const char *order;
    hn_precision precision;
    bool sparse; /* it leaves out weights that are 0: its time depends on them */
    bool lookup; /* it looks weights up in a table of the few numbers that they are */
    /* NULL: serves every problem. On refusal *why is a short reason. */
    bool (*ok)(const void *problem, const char **why);
    void (*work)(const void *problem, int lanes, hn_work *w);
    void (*run)(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane);
    /* The constant operand of the family (`weights`) in the layout this row wants. NULL: it takes
     * the plain layout. Packing falls into `pack_tasks` tasks (NULL: one), of which lanes take
     * ranges as they do of a phase; each byte of dst is written by one task. `plain` is dense
     * and may lie at any address, dst is 64-byte aligned. Two problems whose weights agree in
     * `pack_key` (a hash of all the packing depends on) share one packed copy. */
    size_t (*packed_bytes)(const void *problem);
    uint64_t (*pack_key)(const void *problem);
    int64_t (*pack_tasks)(const void *problem);
    /* Operations for each byte of packed weights from which on the row is taken where they are not
     * constant, but packed on every run; 0: however many. For rows that compute while they pack. */
    double pack_worth;
    void (*pack)(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst);
    /* NULL, or whether it is faster than the rows after it; if not, as ok. Only the choice of
     * the first row asks: who wants this row, or measures it, gets it for whatever it serves. */
    bool (*pays)(const void *problem, const char **why);
    /* NULL, or finds out what else `pays` and `packed_bytes` want to know of dense constant weights of
     * which most are 0, and puts it into the problem. Without that, the row serves all the same. */
    void (*look)(void *problem, const void *plain);
} hn_kernel;

/* Into how many tasks the row's packing falls. */
static inline int64_t hn_pack_tasks(const hn_kernel *k, const void *problem) {
    return k->pack_tasks != NULL ? k->pack_tasks(problem) : 1;
}

/* A float at any address, as plain weights are. */
typedef float hn_any_f32 __attribute__((aligned(1), may_alias));

/* For pack_key: of all the packing depends on. */
uint64_t hn_pack_hash(const int64_t *facts, size_t n);

/* Axes of an operand: `n` lengths and as many strides in elements, int64_t fields of the problem
 * that follow each other, from these offsets in bytes. */
typedef struct hn_axes {
    int operand, n;
    size_t dims, strides; /* strides: or HN_ADJACENT, 1 for the only axis */
} hn_axes;

#define HN_ADJACENT SIZE_MAX

/* Whether axes of these lengths run alike with strides a and b. An axis of length 1 always does. */
bool hn_axes_agree(int rank, const int64_t *dims, const int64_t *a, const int64_t *b);

/* The images of a family whose problems begin with hn_windows (window.h). */
typedef struct hn_images {
    int x, r, y;                                       /* operands; r: -1 where there is none */
    size_t (*bytes)(const void *problem, int operand); /* of an element */
} hn_images;

/* How results of a problem may be changed on their way out, by callers that let a step compute what
 * follows it:
 *
 *   result = act(scale * sum + bias + residual)
 */
enum { HN_EPILOGUE_RANK = 6 };
typedef struct hn_epilogue {
    hn_act *act;
    float *scale; /* NULL: there is none */
    int bias;     /* operand: a number for each index of the last axis */
    int residual; /* operand: one for each result */
    int rank;
    int64_t dims[HN_EPILOGUE_RANK], strides[HN_EPILOGUE_RANK]; /* of the results */
    int64_t *r_strides; /* of the residual, along the first n_r axes; along others it is adjacent */
    int n_r;
    bool r_any;         /* these may be anything, else they are positive */
    bool bias_constant; /* the bias must be known before a run */
    bool narrow;        /* vectors are nearly empty: long activations are faster in another step */
} hn_epilogue;

/* What is true of a family. Callers ask these fields; they do not compare families. Zero means no.
 */
typedef struct hn_family {
    const char *name;
    const char *help; /* one line: what it computes */
    const hn_kernel *const *rows;
    int n_rows;
    int weights; /* the operand that rows may want packed; nothing in families whose rows do not */
    uint32_t any_address; /* bit i: operand i is moved as bytes, and may lie anywhere */
    /* Where the problem says how its operands lie, for callers that give them another place. An
     * operand with no axes here stays where it is. */
    const hn_axes *axes;
    int n_axes;
    bool multiplies; /* its operations are multiplications and additions, in pairs */
    bool integers;   /* it computes with 8-bit integers */
    /* Whether a result may be written to the place of an operand before it: the kernels allow it,
     * and both have elements of one size and lie alike. NULL: never. Results are operand `result`
     * and, where n_results is more than 1, so many from there on. */
    bool (*may_replace)(const void *problem, int operand, int result);
    int result, n_results;
    /* The field that says how an operand is stored, where that may be f32 or bf16; else NULL. Such
     * an operand has axes. */
    hn_float *(*stored)(void *problem, int operand);
    /* The field that says which type holds all constant weights exactly (hn_floats_fit), where rows
     * can make use of it for this problem; else NULL. */
    hn_float *(*weights_fit)(void *problem);
    /* Gives a problem its final form: axes that can be joined are joined. Until then the operands
     * may get other places. NULL: problems are made in that form. */
    void (*finish)(void *problem);
    const hn_images *images; /* NULL: its problems do not begin with hn_windows */
    /* False, or NULL: nothing may be done to the results. */
    bool (*end)(void *problem, hn_epilogue *out);
    /* The field that says how many constant weights are 0, in *n how many weights there are, and in
     * *zero what stands for 0 in weights that are bytes, where rows can make use of it for this
     * problem; else NULL. 0: not known, or few. */
    int64_t *(*weights_zeros)(void *problem, int64_t *n, int *zero);
    /* The field that says how many different numbers constant weights are at most, where rows can
     * make use of it for this problem; else NULL. 0: not known, or many. */
    int32_t *(*weights_values)(void *problem);
} hn_family;

/* Every family, sorted by name. */
extern const hn_family *const hn_families[];
extern const int hn_n_families;

/* By name; NULL: there is none. */
const hn_family *hn_family_named(const char *name, size_t n);
const hn_kernel *hn_kernel_named(const hn_family *f, const char *name, size_t n);

/* What a caller allows. */
typedef struct hn_allowed {
    hn_isa isa;
    hn_precision precision; /* rows that are this exact, or more */
    double repacked; /* operations by weights that are packed on every run; 0: they are constant */
} hn_allowed;

/* Whether a row is allowed and accepts the problem; if not, *why is a short reason. */
bool hn_kernel_serves(const hn_kernel *k, hn_allowed allowed, const void *problem,
                      const char **why);

/* The first row that serves; never NULL, since the last row does. `note`, when not NULL, is told
 * why each row before it was passed over. */
const hn_kernel *hn_kernel_choose(const hn_family *f, hn_allowed allowed, const void *problem,
                                  void (*note)(void *ctx, const hn_kernel *k, const char *why),
                                  void *ctx);

/* Runs all phases on the caller's thread; scratch and lane as `work` asked for them. */
void hn_kernel_run(const hn_kernel *k, const hn_call *call, void *lane);

#endif
