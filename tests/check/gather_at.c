/* Cases of gather_at: elements and slices of all sizes, one index and several, from the end and
 * outside. */
#include "kernels/gather_at/gather_at.h"

#include <string.h>

#include "check.h"

static check_case *add(check_list *list, const char *name, const hn_places *places, int64_t bytes,
                       int64_t x_bytes, bool flag) {
    hn_gather_at p = {.places = *places, .bytes = bytes};
    int64_t n = hn_places_count(places);
    check_case *c = check_add(list, "%s_%lldx%lld_%d%s", name, (long long)n, (long long)bytes,
                              places->wide ? 64 : 32, flag ? "" : "_unseen");
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, CHECK_U8, x_bytes);
    check_operand_add(c, CHECK_IN, places->wide ? CHECK_I64 : CHECK_I32, n * places->n);
    check_operand_add(c, CHECK_OUT, CHECK_U8, n * bytes);
    check_operand_add(c, flag ? CHECK_INOUT : CHECK_ABSENT, CHECK_I32, 1);
    c->only_random = true;
    c->bytes = 2.0 * (double)(n * bytes);
    return c;
}

/* Along the middle axis of [a][b][c], indices [a][m][c]. */
static check_case *elements(check_list *list, const char *name, int64_t a, int64_t b, int64_t c,
                            int64_t m, int64_t bytes, bool wide) {
    hn_places p = {.rank = 3,
                   .n = 1,
                   .dims = {a, m, c},
                   .base = {b * c * bytes, 0, bytes},
                   .size = {b},
                   .step = {c * bytes},
                   .wide = wide};
    return add(list, name, &p, bytes, a * b * c * bytes, true);
}

/* Pairs that name slices of [batch][a][b], m for each batch. */
static check_case *tuples(check_list *list, const char *name, int64_t batch, int64_t a, int64_t b,
                          int64_t m, int64_t bytes, bool flag) {
    hn_places p = {.rank = 2,
                   .n = 2,
                   .dims = {batch, m},
                   .base = {a * b * bytes, 0},
                   .size = {a, b},
                   .step = {b * bytes, bytes},
                   .wide = true};
    return add(list, name, &p, bytes, batch * a * b * bytes, flag);
}

static void cases(check_list *list) {
    static const int64_t bytes[] = {1, 2, 4, 8, 16};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        for (int wide = 0; wide < 2; wide++) {
            elements(list, "elements", 3, 7, 5, 11, bytes[i], wide != 0);
            elements(list, "last", 4, 50, 1, 33, bytes[i], wide != 0);
            elements(list, "outside_elements", 2, 9, 3, 20, bytes[i], wide != 0);
        }
    static const int64_t slices[] = {1, 4, 12, 8, 256, 40000};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        tuples(list, "tuples", 1, 5, 7, 13, slices[i], true);
        tuples(list, "batches", 3, 4, 6, 5, slices[i], true);
        tuples(list, "outside_tuples", 2, 3, 4, 9, slices[i], true);
        tuples(list, "outside_tuples", 2, 3, 4, 9, slices[i], false);
    }
    elements(list, "many", 5, 100, 60, 80, 4, true);
    elements(list, "elements_bench", 16, 128, 64, 128, 4, true)->bench = true;
    tuples(list, "tuples_bench", 8, 100, 100, 1000, 256, true)->bench = true;
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_gather_at p;
    memcpy(&p, c->problem, sizeof p);
    (void)kind;
    int64_t edge = strncmp(c->name, "outside", 7) == 0 ? 1 : 0; /* beyond both ends */
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        int64_t range = 2 * (p.places.size[i % (size_t)p.places.n] + edge);
        int64_t v = (int64_t)hn_rng_below(rng, (uint64_t)range) - range / 2;
        if (edge > 0 && i % 7 == 3) v = i % 2 != 0 ? INT32_MAX : INT32_MIN;
        if (operand == HN_GATHER_AT_X)
            ((uint8_t *)data)[i] = (uint8_t)hn_rng_below(rng, 256);
        else if (operand == HN_GATHER_AT_OUTSIDE)
            ((int32_t *)data)[i] = 0;
        else if (p.places.wide)
            ((int64_t *)data)[i] = v;
        else
            ((int32_t *)data)[i] = (int32_t)v;
    }
    return true;
}

const check_family check_gather_at = {.family = &hn_gather_at_family, .cases = cases, .fill = fill};
