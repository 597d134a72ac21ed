/* check: one program that checks and times every row of every kernel family.
 *
 * A family's file describes cases: a problem, its operands, how exact the answer must be. The
 * harness does the rest. For each case, each kind of data and each row that this CPU has and that
 * accepts the problem, it
 *   - packs the weights as the row wants them,
 *   - puts every operand, the packed weights and all scratch at the end of mapped memory, the
 *     outputs poisoned, so that a stray access traps or shows,
 *   - runs the row on 1, 2 and 3 lanes, which must give the same bits,
 *   - compares with the reference row.
 * A case whose reference hardly depends on its inputs is reported as suspicious: it could not fail.
 */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "kernels/kernel.h"

enum { CHECK_MAX_OPERANDS = 12, CHECK_PROBLEM_BYTES = 1024 };

typedef enum check_role {
    CHECK_ABSENT, /* NULL */
    CHECK_IN,
    CHECK_WEIGHTS, /* the constant operand: packed by rows that pack */
    CHECK_OUT,
    CHECK_INOUT, /* an output that holds data before */
    CHECK_SAME,  /* the same memory as operand `same`, which is INOUT */
} check_role;

typedef enum check_type {
    CHECK_F32,
    CHECK_I32,
    CHECK_I64,
    CHECK_U16,
    CHECK_U8,
    CHECK_BF16,
    CHECK_F64
} check_type;

typedef struct check_operand {
    check_role role;
    check_type type;
    size_t count; /* elements */
    int same;
} check_operand;

typedef enum check_data {
    CHECK_RANDOM,  /* uniform in [-1, 1) */
    CHECK_EXACT,   /* small integers */
    CHECK_EXTREME, /* zeros of both signs, denormals, 1e15, 1e-15 */
    CHECK_SPECIAL, /* random, with NaN and infinities here and there, but not in weights */
    CHECK_DATA_COUNT_
} check_data;

typedef struct check_case {
    char name[128];
    _Alignas(16) unsigned char problem[CHECK_PROBLEM_BYTES];
    check_operand operand[CHECK_MAX_OPERANDS];
    int n_operands;
    /* A float may differ from the reference by rel * 2^-24 * magnitude + abs, see `magnitude`; a
     * double by rel * 2^-53 * magnitude + abs. */
    double rel, abs;
    int steps;           /* by which an 8-bit integer may differ, where floats came before it */
    bool exact;          /* with CHECK_EXACT data no float operation rounds: the bits must agree */
    bool only_random;    /* other kinds of data make no sense here */
    bool bench;          /* for timing only, too large for the reference */
    int flags;           /* of the family's own, for its `fill` */
    double flops, bytes; /* per run, for timing */
} check_case;

typedef struct check_list {
    check_case *cases;
    size_t n, capacity;
} check_list;

typedef struct check_family {
    const hn_family *family;
    /* Of the peak that times are compared with; NULL: bf16 for rows of that precision, f32 for all
     * others, those included that make an f32 product of several in bf16. */
    const char *precision;
    /* Adds every case. */
    void (*cases)(check_list *list);
    /* Turns a problem into one whose reference, run on the absolute values of the operands, gives
     * the magnitude that rounding errors are relative to: for a sum of products the sum of their
     * absolute values. NULL: the magnitude is that of the result. */
    void (*magnitude)(void *problem);
    /* Fills one operand; false: the harness does. NULL: the harness does always. */
    bool (*fill)(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data);
    /* The error a row may make relative to the largest element of an output, for rows whose error
     * spreads over neighbours, so that it has no bound per element. 0, or NULL: the bound of the
     * case holds. */
    double (*whole)(const hn_kernel *k);
} check_family;

/* A case of that name, zeroed; valid until the next call. */
check_case *check_add(check_list *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Adds an operand to a case. */
void check_operand_add(check_case *c, check_role role, check_type type, int64_t count);

#endif
