/* Clustering: the weights of a layer become a few numbers, found by k-means (Han et al. 2015). A file
 * then needs a table and a code of a few bits for each weight.
 *
 *     cluster clusters=32
 *     cluster clusters=16 channels=8      a table for each 8 output channels
 *     cluster clusters=16 codebook        w = Gather (table, Cast (codes)), codes of 4 or 8 bits
 *
 * Weights of one layer are numbers on a line, and clusters are intervals of it. So the weights are
 * sorted once; with sums over the first i of them, means and errors of intervals cost nothing, and a
 * round of k-means is k searches for the middle between two centers.
 *
 * Where zeros stay, because weights were pruned or there are as many zeros as a cluster has weights,
 * they are one of the clusters, and no other weight becomes zero.
 *
 * In the file weights stay plain numbers, unless a codebook is asked for. Training keeps equal
 * weights equal from then on, and so trains the centers.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "compress/compression.h"
#include "compress/layer_input.h"
#include "engine/layers.h"
#include "ops/nodes.h"
#include "train/diagnose.h"

enum { MOST_CLUSTERS = 256, MOST_ROUNDS = 300 };

/* ---- parameters ---- */

enum { BY_LINE, BY_DENSITY, BY_CHANCE };

static const char *start_word(int i) {
    static const char *const words[] = {"linear", "density", "random", NULL};
    return words[i];
}

/* clang-format off */
const hn_parameter hn_params_cluster[] = {
    {"clusters", HN_PARAM_COUNT, "16", "numbers that the weights of a layer become, zero among them where zeros stay", 2, MOST_CLUSTERS, NULL, false},
    {"start", HN_PARAM_WORD, "linear", "where centers begin: evenly from the least weight to the greatest, evenly among the weights, or at random ones", 0, 0, start_word, false},
    {"channels", HN_PARAM_COUNT, "0", "output channels that share a table; 0: all of the layer", 0, 1e9, NULL, false},
    {"codebook", HN_PARAM_FLAG, NULL, "write tables and codes, and nodes that look the weights up", 0, 0, NULL, false},
    {"only", HN_PARAM_TEXT, NULL, "layers to change, patterns separated by commas", 0, 0, NULL, false},
    {"except", HN_PARAM_TEXT, NULL, "layers to leave alone, likewise", 0, 0, NULL, false},
    {0},
};
/* clang-format on */

hone_status hn_plan_cluster(hn_compress_plan *p, const hn_recipe_step *s, hn_error *err) {
    (void)p;
    HN_CHECK(err, !hn_step_flag(s, "codebook") || hn_step_number(s, "channels") == 0, HONE_E_ARG,
             "codebook writes one table for a layer: it does not go with channels=");
    return HONE_OK;
}

/* ---- k-means on a line ---- */

typedef struct line {
    int64_t n, distinct;
    const float *v;        /* sorted */
    const double *sum;     /* [n + 1]: of the first i */
    const double *squares; /* likewise */
    int k;
    double center[MOST_CLUSTERS];
    int64_t end[MOST_CLUSTERS]; /* cluster j has [end[j - 1], end[j]) */
} line;

static int by_value(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int by_place(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of the sorted weights are up to x. */
static int64_t count_to(const line *l, double x) {
    int64_t low = 0, high = l->n;
    while (low < high) {
        int64_t mid = (low + high) / 2;
        if ((double)l->v[mid] <= x)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int64_t begin_of(const line *l, int j) { return j > 0 ? l->end[j - 1] : 0; }

static void start_centers(line *l, int start, uint64_t seed) {
    double low = (double)l->v[0], high = (double)l->v[l->n - 1];
    hn_rng rng;
    hn_rng_init(&rng, seed);
    for (int j = 0; j < l->k; j++) {
        double at = (j + 0.5) / l->k;
        if (start == BY_LINE)
            l->center[j] = low + (high - low) * at;
        else if (start == BY_DENSITY)
            l->center[j] = (double)l->v[(int64_t)((double)l->n * at)];
        else
            l->center[j] = (double)l->v[hn_rng_below(&rng, (uint64_t)l->n)];
    }
    qsort(l->center, (size_t)l->k, sizeof *l->center, by_place);
}

/* Gives each weight to the nearest center; whether a border has moved. */
static bool assign(line *l) {
    bool moved = false;
    for (int j = 0; j < l->k; j++) {
        int64_t end = l->n;
        if (j + 1 < l->k) end = count_to(l, 0.5 * (l->center[j] + l->center[j + 1]));
        moved = moved || end != l->end[j];
        l->end[j] = end;
    }
    return moved;
}

static double error_of(const line *l, int j) {
    int64_t a = begin_of(l, j), b = l->end[j];
    double sum = l->sum[b] - l->sum[a];
    return b > a ? l->squares[b] - l->squares[a] - sum * sum / (double)(b - a) : 0;
}

/* Puts the center of a cluster that has no weights to the end of the cluster with the greatest
 * error that is farther from its center; whether there was one. */
static bool fill_empty(line *l) {
    int empty = -1, worst = -1;
    for (int j = 0; j < l->k; j++) {
        int64_t a = begin_of(l, j), b = l->end[j];
        if (a == b && empty < 0) empty = j;
        bool several = b > a && l->v[a] < l->v[b - 1];
        if (several && (worst < 0 || error_of(l, j) > error_of(l, worst))) worst = j;
    }
    if (empty < 0 || worst < 0) return false;
    double low = (double)l->v[begin_of(l, worst)], high = (double)l->v[l->end[worst] - 1];
    double middle = l->center[worst];
    l->center[empty] = middle - low > high - middle ? low : high;
    qsort(l->center, (size_t)l->k, sizeof *l->center, by_place);
    return true;
}

static void find_centers(line *l) {
    for (int round = 0; round < MOST_ROUNDS; round++) {
        bool moved = assign(l);
        for (int j = 0; j < l->k; j++) {
            int64_t a = begin_of(l, j), b = l->end[j];
            if (b > a) l->center[j] = (l->sum[b] - l->sum[a]) / (double)(b - a);
        }
        if (!moved && !fill_empty(l)) return;
    }
    assign(l);
}

/* ---- a layer ---- */

typedef struct job {
    hn_transform_ctx *c;
    const hn_weighted *w;
    int k, start;
    int64_t channels;
    bool codebook;
    bool zeros; /* stay, and are a cluster */
    /* Of a table: */
    int64_t n, first, *at; /* elements and their numbers; the sorted ones begin at `first` */
    float *sorted;
    double *sums; /* two of n + 1 */
    /* Of all tables: */
    int most;     /* clusters of one of them, zero counted */
    bool changed; /* some weight has */
} job;

static bool has_zeros(const job *j) {
    const hn_tensor *t = j->w->weight->constant;
    int64_t zeros = 0;
    for (int64_t i = 0; i < t->n; i++) zeros += hn_weight_at(t, i) == 0;
    unsigned keeps = hn_shrinking_keeps(j->c->shrinking, j->w->weight->name);
    return zeros > 0 && ((keeps & HN_KEEPS_ZEROS) != 0 || zeros >= t->n / j->k);
}

/* The element's table: that of its output channel. */
static int64_t table_of(const job *j, int64_t i) {
    const hn_tensor *t = j->w->weight->constant;
    int64_t inner = 1;
    for (int a = j->w->channel_axis + 1; a < t->rank; a++) inner *= t->dims[a];
    return j->channels > 0 ? i / inner % t->dims[j->w->channel_axis] / j->channels : 0;
}

/* Sorts the weights of a table and adds them up; the number of distinct ones. */
static int64_t sort_weights(job *j, const float *v, line *l) {
    int64_t count = 0;
    for (int64_t i = 0; i < j->n; i++)
        if (!j->zeros || v[j->at[i]] != 0) j->sorted[count++] = v[j->at[i]];
    qsort(j->sorted, (size_t)count, sizeof *j->sorted, by_value);
    double *sum = j->sums, *squares = j->sums + count + 1;
    sum[0] = squares[0] = 0;
    *l = (line){.n = count, .v = j->sorted, .sum = sum, .squares = squares};
    for (int64_t i = 0; i < count; i++) {
        double x = (double)j->sorted[i];
        sum[i + 1] = sum[i] + x;
        squares[i + 1] = squares[i] + x * x;
        l->distinct += i == 0 || j->sorted[i] != j->sorted[i - 1];
    }
    return l->distinct;
}

/* The weights of a table that are to change become their centers. */
static void place_weights(job *j, const line *l, float *v) {
    for (int64_t i = 0; i < j->n; i++) {
        float *w = &v[j->at[i]];
        if (j->zeros && *w == 0) continue;
        int low = 0, high = l->k - 1;
        while (low < high) {
            int mid = (low + high) / 2;
            if ((double)*w <= 0.5 * (l->center[mid] + l->center[mid + 1]))
                high = mid;
            else
                low = mid + 1;
        }
        *w = (float)l->center[low];
    }
}

static void cluster_table(job *j, float *v) {
    line l;
    int k = j->k - j->zeros;
    int64_t distinct = sort_weights(j, v, &l);
    if (distinct > k) {
        l.k = k;
        start_centers(&l, j->start, j->c->seed);
        find_centers(&l);
        place_weights(j, &l, v);
        j->changed = true;
        distinct = k;
    }
    if (distinct + j->zeros > j->most) j->most = (int)distinct + j->zeros;
}

static hone_status cluster_tables(job *j, float *v, hn_error *err) {
    const hn_tensor *t = j->w->weight->constant;
    hn_allocator *alloc = j->c->alloc;
    int64_t size = t->dims[j->w->channel_axis];
    int64_t tables = j->channels > 0 ? (size + j->channels - 1) / j->channels : 1;
    size_t n = (size_t)t->n;
    hone_status status = HONE_OK;
    j->at = hn_alloc_array(alloc, n, sizeof *j->at, HN_MEM_SCRATCH);
    j->sorted = hn_alloc_array(alloc, n, sizeof *j->sorted, HN_MEM_SCRATCH);
    j->sums = hn_alloc_array(alloc, 2 * n + 2, sizeof *j->sums, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, j->at != NULL && j->sorted != NULL && j->sums != NULL, HONE_E_NOMEM,
                  "out of memory");
    for (int64_t a = 0; a < tables; a++) {
        j->n = 0;
        for (int64_t i = 0; i < t->n; i++)
            if (table_of(j, i) == a) j->at[j->n++] = i;
        if (j->n > 0) cluster_table(j, v);
    }
fail:
    hn_free(alloc, j->sums);
    hn_free(alloc, j->sorted);
    hn_free(alloc, j->at);
    return status;
}

/* ---- codebooks ---- */

/* The distinct weights, in order, and the code of each weight. HONE_E_NOMEM alone. */
static hone_status find_codes(const job *j, hn_tensor *table, hn_tensor *codes, int *n,
                              hn_error *err) {
    const hn_tensor *t = j->w->weight->constant;
    const float *v = t->data;
    float *to = table->data;
    float *sorted = hn_alloc_array(j->c->alloc, (size_t)t->n, sizeof *sorted, HN_MEM_SCRATCH);
    if (sorted == NULL) return HN_NOMEM(err);
    memcpy(sorted, v, (size_t)t->n * sizeof *sorted);
    qsort(sorted, (size_t)t->n, sizeof *sorted, by_value);
    *n = 0;
    for (int64_t i = 0; i < t->n; i++)
        if (*n == 0 || sorted[i] != to[*n - 1]) to[(*n)++] = sorted[i];
    hn_free(j->c->alloc, sorted);
    for (int64_t i = *n; i < table->n; i++) to[i] = 0;
    for (int64_t i = 0; i < t->n; i++) {
        const float *at = bsearch(&v[i], to, (size_t)*n, sizeof *to, by_value);
        hn_store_f64(codes->dtype, codes->data, i, (double)(at - to));
    }
    return HONE_OK;
}

/* A node of the layer's, before the one that reads its weight. */
static hone_status add_node(const job *j, const char *op, const char *what, int n_in, hn_value **in,
                            hn_node *before, hn_node **out, hn_error *err) {
    char name[300];
    hn_graph *g = before->graph;
    hn_value *v;
    snprintf(name, sizeof name, "%.200s/%s", hn_layer_name(j->w->node), what);
    const char *kept = hn_arena_strdup(&j->c->model->arena, name);
    if (kept == NULL) return HN_NOMEM(err);
    HN_TRY(hn_node_create(out, g, "", op, kept, n_in, 1, err));
    (*out)->op = hn_op_find("", op);
    for (int i = 0; i < n_in; i++) hn_node_set_input(*out, i, in[i]);
    HN_TRY(hn_value_create(&v, g, NULL, kept, err));
    hn_node_set_output(*out, 0, v);
    hn_node_insert(*out, before);
    return HONE_OK;
}

static hone_status write_codebook(const job *j, hn_error *err) {
    hn_value *weight = j->w->weight, *in[2];
    hn_node *reader = weight->uses->node, *cast, *gather;
    const hn_tensor *t = weight->constant;
    hn_tensor *table, *codes;
    hone_dtype type = j->most <= 16 ? HONE_DTYPE_U4 : HONE_DTYPE_U8;
    int64_t size = type == HONE_DTYPE_U4 ? 16 : 256;
    int n;
    HN_TRY(hn_tensor_create(&table, j->c->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, 1, &size, err));
    hone_status status =
        hn_tensor_create(&codes, j->c->alloc, HN_MEM_WEIGHTS, type, t->rank, t->dims, err);
    if (status == HONE_OK) {
        memset(codes->data, 0, codes->bytes);
        status = find_codes(j, table, codes, &n, err);
        if (status != HONE_OK) hn_tensor_unref(codes);
    }
    if (status != HONE_OK) {
        hn_tensor_unref(table);
        return status;
    }
    status = hn_make_constant(&in[1], reader, "codes", codes, err);
    if (status != HONE_OK) {
        hn_tensor_unref(table);
        return status;
    }
    HN_TRY(hn_make_constant(&in[0], reader, "table", table, err));
    HN_TRY(add_node(j, "Cast", "codes", 1, &in[1], reader, &cast, err));
    HN_TRY(hn_node_set_i(cast, "to", HONE_DTYPE_S32, err));
    in[1] = cast->outputs[0];
    HN_TRY(add_node(j, "Gather", "codebook", 2, in, reader, &gather, err));
    hn_value_replace(weight, gather->outputs[0]);
    hn_value_remove(weight);
    return HONE_OK;
}

/* ---- the transform ---- */

static hone_status tell(const job *j, const char *why, hn_error *err) {
    const hn_tensor *t = j->w->weight->constant;
    int64_t kept = 0;
    char what[100];
    for (int64_t i = 0; i < t->n; i++) kept += hn_weight_at(t, i) != 0;
    snprintf(what, sizeof what, "%d clusters%s%s%s", j->most - j->zeros,
             j->zeros ? " and zero" : "", j->channels > 0 ? " for each table" : "",
             j->codebook ? ", a codebook" : "");
    return hn_shrinking_tell(j->c,
                             &(hn_shrunk_layer){.transform = "cluster",
                                                .layer = hn_layer_name(j->w->node),
                                                .op = j->w->node->op->name,
                                                .what = why == NULL ? what : NULL,
                                                .why_not = why,
                                                .weights = t->n,
                                                .kept = kept,
                                                .error = NAN},
                             err);
}

static hone_status cluster_layer(job *j, hn_error *err) {
    hn_transform_ctx *c = j->c;
    char why[100];
    float *v;
    if (!hn_used_once(j->w->weight)) return tell(j, "other nodes read its weight", err);
    HN_TRY(hn_shrinking_edit(c, j->w, &v, err));
    int64_t n = j->w->weight->constant->n;
    if (hn_first_not_finite(v, n) < n) return tell(j, "its weights are not all finite", err);
    j->zeros = has_zeros(j);
    HN_TRY(cluster_tables(j, v, err));
    unsigned keeps = HN_KEEPS_TIES | (j->zeros ? (unsigned)HN_KEEPS_ZEROS : 0);
    HN_TRY(hn_shrinking_keep(c, j->w->weight->name, keeps, err));
    c->changed += j->changed || j->codebook;
    snprintf(why, sizeof why, "it has %d distinct weights, no more than %d clusters", j->most,
             j->k);
    HN_TRY(tell(j, j->changed || j->codebook ? NULL : why, err));
    return j->codebook ? write_codebook(j, err) : HONE_OK;
}

hone_status hn_transform_cluster(hn_transform_ctx *c, hn_error *err) {
    const hn_recipe_step usual = {.transform = hn_transform_named("cluster")};
    const hn_recipe_step *s = c->step != NULL ? c->step : &usual;
    hn_arena arena;
    hn_weighted *layers;
    int n, start = 0;
    while (strcmp(start_word(start), hn_step_word(s, "start")) != 0) start++;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = hn_shrinking_layers(c, hn_step_word(s, "only"), hn_step_word(s, "except"),
                                             &arena, &layers, &n, err);
    for (int i = 0; i < n && status == HONE_OK; i++) {
        job j = {.c = c,
                 .w = &layers[i],
                 .k = (int)hn_step_number(s, "clusters"),
                 .start = start,
                 .channels = (int64_t)hn_step_number(s, "channels"),
                 .codebook = hn_step_flag(s, "codebook")};
        status = c->progress == NULL || c->progress(c->progress_ctx, i, n)
                     ? cluster_layer(&j, err)
                     : HN_FAIL(err, HONE_E_LIMIT, "stopped at layer '%s'",
                               hn_layer_name(layers[i].node));
    }
    hn_arena_deinit(&arena);
    return status;
}
