/* Which steps of a changed model harm it, and which to change back.
 *
 * B is A after something was done to it, in steps (measure/pairs.h). A hybrid is B with some steps
 * put back to what they are in A. The harm of a step is the error of the outputs when it alone is
 * B's. To find a small set that passes when it is put back:
 *
 *     1  the harm of each step whose own error is not nil: a hybrid each
 *     2  the most harmful first, the fewest of them that pass: found by halving, since more steps
 *        put back hardly ever make it worse
 *     3  each of those left out once, the least harmful first: what passes without it stays out
 *
 * So none of what is left can be left out. It need not be the smallest set there is: that would
 * take trying all.
 */
#ifndef HN_COMPRESS_SENSITIVITY_H
#define HN_COMPRESS_SENSITIVITY_H

#include "measure/pair_errors.h"

/* How good a hybrid is: higher is better. */
typedef hone_status hn_sensitivity_score(void *ctx, const hn_model *m, double *score,
                                         hn_error *err);

typedef struct hn_sensitivity {
    const hn_pairs *pairs;
    const hn_pair_error *errors;  /* of each: those whose own error is nil are never looked at */
    hn_sensitivity_score *rank;   /* by which steps are ordered */
    hn_sensitivity_score *decide; /* a hybrid passes when this is at least `enough` */
    void *ctx;
    double enough;
    bool (*progress)(void *ctx, int64_t done, int64_t total); /* may be NULL */
    void *progress_ctx;
} hn_sensitivity;

typedef struct hn_step_harm {
    int pair;
    double score; /* by `rank`, of A with this step of B */
} hn_step_harm;

/* The steps that differ, most harmful first; harms[] has room for all pairs. *tried counts hybrids.
 */
hone_status hn_sensitivity_rank(const hn_sensitivity *s, hn_step_harm *harms, int *n,
                                int64_t *tried, hn_error *err);
/* back[]: of the steps in harms, those to put back; *score: what that gives. HONE_E_NOT_FOUND: all
 * of them are not enough. */
hone_status hn_sensitivity_bisect(const hn_sensitivity *s, const hn_step_harm *harms, int n,
                                  bool *back, double *score, int64_t *tried, hn_error *err);

#endif
