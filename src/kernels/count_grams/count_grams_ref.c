/* The definition of count_grams: slots are looked for one after the other, and an n-gram at a time
 * is counted. A task is a row. */
#include "kernels/count_grams/count_grams.h"

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_count_grams *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1, .tasks = {p->rows}};
}

static int64_t item_at(const hn_call *call, int64_t row, int64_t i) {
    const hn_count_grams *p = call->problem;
    const void *x = call->ptr[HN_COUNT_GRAMS_X];
    int64_t at = row * p->length + i;
    return p->wide ? ((const int64_t *)x)[at] : ((const int32_t *)x)[at];
}

static int64_t find(const hn_count_grams *p, const hn_ngram_slot *table, int64_t parent,
                    int64_t item) {
    for (int64_t i = 0; i < p->slots; i++)
        if (table[i].parent == parent && table[i].item == item) return i;
    return -1;
}

/* How often n-gram g is found from any place on, at that distance. */
static int64_t count_at(const hn_call *call, int64_t row, int64_t g, int64_t distance) {
    const hn_count_grams *p = call->problem;
    const hn_ngram_slot *table = call->ptr[HN_COUNT_GRAMS_TABLE];
    int64_t count = 0;
    for (int64_t i = 0; i < p->length; i++) {
        int64_t slot = HN_NGRAM_ROOT;
        for (int64_t n = 1, at = i; n <= p->longest && at < p->length; n++, at += distance) {
            slot = find(p, table, slot, item_at(call, row, at));
            if (slot < 0) break;
            count += table[slot].gram == g && (n > 1 || distance == 1);
        }
    }
    return count;
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const hn_count_grams *p = call->problem;
    const int64_t *column = call->ptr[HN_COUNT_GRAMS_COLUMN];
    const float *weight = call->ptr[HN_COUNT_GRAMS_WEIGHT];
    for (int64_t row = begin; row < end; row++) {
        float *y = (float *)call->ptr[HN_COUNT_GRAMS_Y] + row * p->width;
        for (int64_t i = 0; i < p->width; i++) {
            double sum = 0;
            for (int64_t g = 0; g < p->grams; g++) {
                int64_t count = 0;
                for (int64_t d = 1; column[g] == i && d <= p->distances; d++)
                    count += count_at(call, row, g, d);
                if (p->once && count > 1) count = 1;
                if (count > 0) sum += (double)count * (weight != NULL ? (double)weight[g] : 1);
            }
            y[i] = (float)sum;
        }
    }
}

const hn_kernel hn_count_grams_ref = {.name = "ref", .order = "double", .work = work, .run = run};
