/* count_grams by hashing: from each item on the tree is followed as far as it goes, so that n-grams
 * of all lengths are met on one way. A task is a row. Its counts are in the scratch of the lane,
 * with a bit for each n-gram that has one: most rows have few of those in the pool. */
#include <string.h>

#include "kernels/count_grams/count_grams.h"

/* What a lane counts: number 0 takes what is no n-gram, without a branch, and 1 + g is n-gram g. */
typedef struct tally {
    int64_t *count;
    uint64_t *seen; /* bits */
} tally;

static int64_t words_of(const hn_count_grams *p) { return (1 + p->grams + 63) / 64; }

static void work(const void *problem, int lanes, hn_work *w) {
    const hn_count_grams *p = problem;
    (void)lanes;
    *w = (hn_work){.n_phases = 1,
                   .tasks = {p->rows},
                   .lane_scratch = (size_t)(1 + p->grams + words_of(p)) * sizeof(int64_t)};
}

static inline void meet(tally *t, int64_t number) {
    t->count[number]++;
    t->seen[number / 64] |= (uint64_t)1 << number % 64;
}

/* The slot of an item behind a parent, or -1. */
static inline int64_t find(const hn_ngram_slot *table, int64_t slots, int64_t parent,
                           int64_t item) {
    int64_t i = (int64_t)hn_ngram_hash(parent, item, slots);
    for (; table[i].parent != HN_NGRAM_FREE; i = (i + 1) & (slots - 1))
        if (table[i].parent == parent && table[i].item == item) return i;
    return -1;
}

/* Counts the n-grams of a row at one distance. */
#define COUNT(name, T)                                                                \
    static void name(const hn_count_grams *p, const hn_ngram_slot *table, const T *x, \
                     int64_t distance, tally *t) {                                    \
        bool single = distance == 1;                                                  \
        for (int64_t i = 0; i < p->length; i++) {                                     \
            int64_t slot = find(table, p->slots, HN_NGRAM_ROOT, x[i]), at = i;        \
            if (slot < 0) continue;                                                   \
            meet(t, single ? 1 + table[slot].gram : 0);                               \
            for (int64_t n = 2; n <= p->longest; n++) {                               \
                at += distance;                                                       \
                if (at >= p->length) break;                                           \
                slot = find(table, p->slots, slot, x[at]);                            \
                if (slot < 0) break;                                                  \
                meet(t, 1 + table[slot].gram);                                        \
            }                                                                         \
        }                                                                             \
    }
COUNT(count_s64, int64_t)
COUNT(count_s32, int32_t)

/* Adds what was counted to a row of zeros, and forgets it. */
static void weigh(const hn_call *call, tally *t, float *y) {
    const hn_count_grams *p = call->problem;
    const int64_t *column = call->ptr[HN_COUNT_GRAMS_COLUMN];
    const float *weight = call->ptr[HN_COUNT_GRAMS_WEIGHT];
    t->seen[0] &= ~(uint64_t)1;
    for (int64_t w = 0; w < words_of(p); w++) {
        for (uint64_t bits = t->seen[w]; bits != 0; bits &= bits - 1) {
            int64_t number = w * 64 + __builtin_ctzll(bits), g = number - 1;
            double times = p->once ? 1 : (double)t->count[number];
            t->count[number] = 0;
            y[column[g]] += (float)(weight != NULL ? times * (double)weight[g] : times);
        }
        t->seen[w] = 0;
    }
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase;
    const hn_count_grams *p = call->problem;
    const void *x = call->ptr[HN_COUNT_GRAMS_X];
    const hn_ngram_slot *table = call->ptr[HN_COUNT_GRAMS_TABLE];
    tally t = {lane, (uint64_t *)lane + 1 + p->grams};
    memset(lane, 0, (size_t)(1 + p->grams + words_of(p)) * sizeof(int64_t));
    for (int64_t row = begin; row < end; row++) {
        float *y = (float *)call->ptr[HN_COUNT_GRAMS_Y] + row * p->width;
        memset(y, 0, (size_t)p->width * sizeof *y);
        for (int64_t d = 1; d <= p->distances; d++) {
            if (p->wide)
                count_s64(p, table, (const int64_t *)x + row * p->length, d, &t);
            else
                count_s32(p, table, (const int32_t *)x + row * p->length, d, &t);
        }
        weigh(call, &t, y);
    }
}

const hn_kernel hn_count_grams_hashed = {
    .name = "hashed", .order = "double", .work = work, .run = run};
