/* TfIdfVectorizer: how often each n-gram of a pool occurs in each row of integers, weighted.
 *
 * The pool is one list: the 1-grams, then the 2-grams from ngram_counts[1] on, and so on; n-gram k
 * of all of them counts for output column ngram_indexes[k], with weights[k]. An n-gram occurs where
 * its items follow each other at a constant distance of 1 .. max_skip_count + 1; single items count
 * once.
 *
 * The n-grams of one length are sorted, and found by bisection. */
#include "ops/tfidf_vectorizer.h"

#include "ops/order.h"

int64_t hn_ngrams_of(const hn_ngrams *p, int64_t n, int64_t *count) {
    int64_t start = p->starts[n - 1], end = n < p->n_starts ? p->starts[n] : p->n_items;
    *count = (end - start) / n;
    return start;
}

hone_status hn_ngrams_read(const hn_node *n, hn_ngrams *p, hn_error *err) {
    int n_weights;
    p->items = hn_attr_ints(n, "pool_int64s", &p->n_items);
    p->starts = hn_attr_ints(n, "ngram_counts", &p->n_starts);
    p->columns = hn_attr_ints(n, "ngram_indexes", &p->n_columns);
    p->weights = hn_attr_floats(n, "weights", &n_weights);
    p->shortest = hn_attr_i(n, "min_gram_length");
    p->longest = hn_attr_i(n, "max_gram_length");
    p->skips = hn_attr_i(n, "max_skip_count");
    p->once = hn_attr_is(n, "mode", "IDF");
    p->width = 0;
    HN_CHECK(err, hn_node_attr(n, "pool_strings") == NULL, HONE_E_UNSUPPORTED,
             "pools of strings are not supported");
    HN_CHECK(err, p->shortest >= 1 && p->shortest <= p->longest && p->longest <= p->n_starts,
             HONE_E_ARG, "n-grams of length %lld to %lld are asked for, ngram_counts has 1 to %d",
             (long long)p->shortest, (long long)p->longest, p->n_starts);
    HN_CHECK(err, p->skips >= 0, HONE_E_ARG, "max_skip_count is %lld, expected 0 or more",
             (long long)p->skips);
    int64_t grams = 0;
    for (int i = 0; i < p->n_starts; i++) {
        int64_t end = i + 1 < p->n_starts ? p->starts[i + 1] : p->n_items, start = p->starts[i];
        HN_CHECK(err,
                 start >= 0 && start <= end && end <= p->n_items && (end - start) % (i + 1) == 0,
                 HONE_E_ARG, "the %d-grams are entries %lld to %lld of a pool of %d", i + 1,
                 (long long)start, (long long)end, p->n_items);
        grams += (end - start) / (i + 1);
    }
    HN_CHECK(err, grams <= p->n_columns && p->n_columns > 0, HONE_E_ARG,
             "ngram_indexes has %d entries, the pool %lld n-grams", p->n_columns, (long long)grams);
    for (int i = 0; i < p->n_columns; i++) {
        HN_CHECK(err, p->columns[i] >= 0 && p->columns[i] < INT64_MAX, HONE_E_ARG,
                 "entry %d of ngram_indexes is %lld", i, (long long)p->columns[i]);
        if (p->columns[i] >= p->width) p->width = p->columns[i] + 1;
    }
    HN_CHECK(err, n_weights == 0 || n_weights == p->n_columns, HONE_E_ARG,
             "weights has %d entries, ngram_indexes %d", n_weights, p->n_columns);
    if (n_weights == 0 || hn_attr_is(n, "mode", "TF")) p->weights = NULL;
    return HONE_OK;
}

static hone_status infer(hn_infer *c, hn_error *err) {
    hn_ngrams p;
    HN_TRY(hn_want_rank(c, 0, 0, 2, err));
    HN_TRY(hn_ngrams_read(c->node, &p, err));
    const hn_shape *x = hn_in_shape(c, 0);
    if (x->rank < 0) return HONE_OK;
    hn_shape y = {.rank = x->rank < 2 ? 1 : 2};
    if (x->rank == 2) y.dim[0] = x->dim[0];
    y.dim[y.rank - 1] = hn_dim_const(c->dims, p.width);
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* The n-grams of one length in ascending order, by their number among all. */
typedef struct grams {
    const int64_t *items; /* [count][n] */
    int64_t *order;
    int64_t n, count, first; /* first: number of the one that order[] calls 0 */
} grams;

/* The number of the n-gram, -1: not in the pool. Of equal ones, the last. */
static int64_t find(const grams *g, const int64_t *gram) {
    int64_t lo = 0, hi = g->count; /* the first greater one is in [lo, hi] */
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (hn_compare_rows(g->items + g->order[mid] * g->n, gram, g->n) <= 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0) return -1;
    int64_t k = g->order[lo - 1];
    return hn_compare_rows(g->items + k * g->n, gram, g->n) == 0 ? g->first + k : -1;
}

static void count_row(const hn_ngrams *p, const grams *g, const int64_t *row, int64_t length,
                      int64_t *gram, double *counts) {
    int64_t distances = g->n == 1 ? 1 : p->skips < length ? p->skips + 1 : length;
    for (int64_t d = 1; d <= distances; d++) {
        /* The last item must be in the row. */
        if (g->n - 1 > (length - 1) / d) break;
        for (int64_t i = 0; i < length - (g->n - 1) * d; i++) {
            for (int64_t k = 0; k < g->n; k++) gram[k] = row[i + k * d];
            int64_t found = find(g, gram);
            if (found >= 0) counts[found]++;
        }
    }
}

/* One row of the output. */
static void weigh(const hn_ngrams *p, const double *counts, double *row) {
    for (int64_t i = 0; i < p->width; i++) row[i] = 0;
    for (int k = 0; k < p->n_columns; k++) {
        if (counts[k] == 0) continue;
        double count = p->once ? 1 : counts[k];
        row[p->columns[k]] += p->weights == NULL ? count : count * (double)p->weights[k];
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    const hn_tensor *x = e->in[0];
    hn_tensor *y = e->out[0];
    hn_ngrams p;
    HN_TRY(hn_ngrams_read(e->node, &p, err));
    HN_CHECK(err, x->dtype != HONE_DTYPE_STRING, HONE_E_UNSUPPORTED, "strings are not supported");
    if (y->n == 0) return HONE_OK;
    int64_t rows = y->n / p.width, length = x->n / rows, numbered = 0, *tmp, *gram;
    const int64_t *items = hn_scratch_s64(e, x);
    double *counts = hn_scratch(e, p.n_columns, sizeof *counts);
    double *row = hn_scratch(e, p.width, sizeof *row);
    grams *g = hn_scratch(e, p.longest, sizeof *g);
    gram = hn_scratch(e, p.longest, sizeof *gram);
    tmp = hn_scratch(e, p.n_items, sizeof *tmp);
    if (items == NULL || counts == NULL || row == NULL || g == NULL || gram == NULL || tmp == NULL)
        return HN_NOMEM(err);
    for (int64_t n = 1; n <= p.longest; n++) {
        int64_t count, start = hn_ngrams_of(&p, n, &count);
        g[n - 1] = (grams){.items = p.items + start, .n = n, .count = count, .first = numbered};
        g[n - 1].order = hn_scratch(e, count, sizeof *g[n - 1].order);
        if (g[n - 1].order == NULL) return HN_NOMEM(err);
        for (int64_t i = 0; i < count; i++) g[n - 1].order[i] = i;
        hn_sort_rows(g[n - 1].items, n, g[n - 1].order, count, tmp);
        numbered += count;
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int k = 0; k < p.n_columns; k++) counts[k] = 0;
        for (int64_t n = p.shortest; n <= p.longest && length > 0; n++)
            count_row(&p, &g[n - 1], items + r * length, length, gram, counts);
        weigh(&p, counts, row);
        hn_store_f64_n(y->dtype, y->data, r * p.width, p.width, row);
    }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_REQ("max_gram_length", INT),
    HN_ATTR_REQ("max_skip_count", INT),
    HN_ATTR_REQ("min_gram_length", INT),
    {.name = "mode", .type = HN_ATTR_STRING, .required = true, .one_of = "TF IDF TFIDF"},
    HN_ATTR_REQ("ngram_counts", INTS),
    HN_ATTR_REQ("ngram_indexes", INTS),
    HN_ATTR_OPT("pool_int64s", INTS),
    HN_ATTR_OPT("pool_strings", STRINGS),
    HN_ATTR_OPT("weights", FLOATS),
    {0},
};

const hn_op_def hn_op_tfidf_vectorizer = {
    .name = "TfIdfVectorizer",
    .versions = "9",
    .sig = "(X:T) -> (Y:f32); T: s32 s64 string",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
};
