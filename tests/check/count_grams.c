/* Cases of count_grams: both types, pools of n-grams of one to four items of which many share their
 * beginnings, columns of several n-grams, items at a distance. */
#include "kernels/count_grams/count_grams.h"

#include <string.h>

#include "check.h"

enum { WEIGHT = 1, WIDE = 2, ONCE = 4, FLAGS_ = 8 };

static check_case *add(check_list *list, int64_t rows, int64_t length, int64_t grams,
                       int64_t longest, int64_t distances, int flags) {
    hn_count_grams p = {.rows = rows,
                        .length = length,
                        .width = grams / 2 + 1,
                        .grams = grams,
                        .slots = hn_ngram_slots(grams * longest),
                        .longest = longest,
                        .distances = distances,
                        .wide = (flags & WIDE) != 0,
                        .once = (flags & ONCE) != 0};
    check_case *c =
        check_add(list, "%lldx%lld_%lldx%lld_%lld_%d", (long long)rows, (long long)length,
                  (long long)grams, (long long)longest, (long long)distances, flags);
    memcpy(c->problem, &p, sizeof p);
    check_operand_add(c, CHECK_IN, flags & WIDE ? CHECK_I64 : CHECK_I32, rows * length);
    check_operand_add(c, CHECK_IN, CHECK_I64, 2 * p.slots);
    check_operand_add(c, CHECK_IN, CHECK_I64, grams);
    check_operand_add(c, flags & WEIGHT ? CHECK_IN : CHECK_ABSENT, CHECK_F32, grams);
    check_operand_add(c, CHECK_OUT, CHECK_F32, rows * p.width);
    c->only_random = true;
    c->rel = 8;
    c->abs = 1e-5; /* of weights of both signs that cancel out */
    c->bytes = 8.0 * (double)(rows * length);
    return c;
}

static void cases(check_list *list) {
    for (int flags = 0; flags < FLAGS_; flags++) {
        add(list, 3, 12, 9, 1, 1, flags);
        add(list, 2, 33, 20, 3, 1, flags);
        add(list, 2, 17, 12, 4, 17, flags);
        add(list, 5, 2, 12, 2, 2, flags);
    }
    add(list, 256, 512, 400, 2, 1, WIDE)->bench = true;
}

static void fill_table(const hn_count_grams *p, hn_rng *rng, hn_ngram_slot *table) {
    hn_ngram_clear(table, p->slots);
    for (int64_t g = 0; g < p->grams; g++) {
        int64_t slot = HN_NGRAM_ROOT, n = (int64_t)hn_rng_below(rng, (uint64_t)p->longest) + 1;
        for (int64_t k = 0; k < n; k++)
            slot = hn_ngram_add(table, p->slots, slot, (int64_t)hn_rng_below(rng, 9) - 4);
        table[slot].gram = (int32_t)g;
    }
}

static bool fill(const check_case *c, int operand, check_data kind, hn_rng *rng, void *data) {
    hn_count_grams p;
    memcpy(&p, c->problem, sizeof p);
    (void)kind;
    if (operand == HN_COUNT_GRAMS_TABLE) fill_table(&p, rng, data);
    for (size_t i = 0; i < c->operand[operand].count; i++) {
        int64_t item = (int64_t)hn_rng_below(rng, 9) - 4;
        if (operand == HN_COUNT_GRAMS_COLUMN)
            ((int64_t *)data)[i] = (int64_t)hn_rng_below(rng, (uint64_t)p.width);
        else if (operand == HN_COUNT_GRAMS_X && p.wide)
            ((int64_t *)data)[i] = item;
        else if (operand == HN_COUNT_GRAMS_X)
            ((int32_t *)data)[i] = (int32_t)item;
    }
    return operand != HN_COUNT_GRAMS_WEIGHT;
}

const check_family check_count_grams = {
    .family = &hn_count_grams_family, .cases = cases, .fill = fill};
