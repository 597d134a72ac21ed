/* TfIdfVectorizer: its pool becomes a table, once, for count_grams. */
#include "engine/lower.h"
#include "kernels/count_grams/count_grams.h"
#include "ops/tfidf_vectorizer.h"

/* The n-grams of the lengths that are asked for. Of equal ones the last counts. */
static void fill_table(const hn_ngrams *pool, hn_ngram_slot *table, int64_t slots) {
    int64_t number = 0, count;
    hn_ngram_clear(table, slots);
    for (int64_t n = 1; n <= pool->longest; n++) {
        const int64_t *items = pool->items + hn_ngrams_of(pool, n, &count);
        for (int64_t g = 0; g < count; g++, number++, items += n) {
            int64_t slot = HN_NGRAM_ROOT;
            if (n < pool->shortest) continue;
            for (int64_t k = 0; k < n; k++) slot = hn_ngram_add(table, slots, slot, items[k]);
            table[slot].gram = (int32_t)number;
        }
    }
}

hone_status hn_lower_tfidf(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), table, columns, weights;
    hn_ngrams pool;
    hn_tensor *t;
    if (x.dtype != HONE_DTYPE_S64 && x.dtype != HONE_DTYPE_S32)
        HN_DECLINE(L, "neither s64 nor s32");
    HN_TRY(hn_ngrams_read(n, &pool, err));
    if (pool.n_items > HN_NGRAM_MOST) HN_DECLINE(L, "a pool too large for a table");
    if (hn_view_count(&x) == 0 || hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to count");
    HN_TRY(hn_lower_dense(L, n, &x, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_count_grams p = {.rows = hn_view_count(&y) / pool.width,
                        .width = pool.width,
                        .grams = pool.n_columns,
                        .slots = hn_ngram_slots(pool.n_items),
                        .longest = pool.longest,
                        .wide = x.dtype == HONE_DTYPE_S64,
                        .once = pool.once};
    p.length = hn_view_count(&x) / p.rows;
    p.distances = pool.skips < p.length ? pool.skips + 1 : p.length;
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_S64, 2 * p.slots, &t, &table, err));
    fill_table(&pool, t->data, p.slots);
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_S64, p.grams, &t, &columns, err));
    for (int64_t i = 0; i < p.grams; i++) ((int64_t *)t->data)[i] = pool.columns[i];
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_count_grams_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_COUNT_GRAMS_X, &x);
    hn_step_reads(s, HN_COUNT_GRAMS_TABLE, &table);
    hn_step_reads(s, HN_COUNT_GRAMS_COLUMN, &columns);
    if (pool.weights != NULL) {
        HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, p.grams, &t, &weights, err));
        for (int64_t i = 0; i < p.grams; i++) ((float *)t->data)[i] = pool.weights[i];
        hn_step_reads(s, HN_COUNT_GRAMS_WEIGHT, &weights);
    }
    hn_step_writes(s, HN_COUNT_GRAMS_Y, &y);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x) + 4.0 * (double)hn_view_count(&y);
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

_Static_assert(sizeof(hn_ngram_slot) == 2 * sizeof(int64_t), "a constant of s64 holds slots");
