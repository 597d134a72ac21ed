#include "compress/layer_input.h"

#include <assert.h>
#include <math.h>

#include "base/dense.h"
#include "base/size.h"
#include "compress/grid.h"
#include "compress/watch.h"
#include "compress/windows.h"
#include "ops/nodes.h"

/* Rows that are looked at: so many for each column, but not fewer than that. */
#define ROWS_PER_COLUMN 16
#define LEAST_ROWS 4096
/* From so many bits on, cutting off the largest weights gains nothing. */
#define WHOLE_RANGE_BITS 8
/* Of a piece of work. */
enum { COLUMNS = 256, COPIES = 32 };

bool hn_layer_as_matrix(const hn_weighted *w, hn_layer_matrix *m) {
    const hn_tensor *t = w->weight->constant;
    const hn_op_def *op = w->node->op;
    if (w->weight->n_uses != 1) return false;
    if (w->kind == HN_WEIGHT_STATE) {
        *m = (hn_layer_matrix){.n = t->dims[0] * t->dims[1],
                               .k = t->dims[2],
                               .o_stride = t->dims[2],
                               .k_stride = 1,
                               .inner = 1,
                               .groups = 1};
        return w->index == op->weights->input; /* not those of the state */
    }
    if (op->role != HN_ROLE_PRODUCT) return false;
    if (w->kind == HN_WEIGHT_WINDOWS) {
        int64_t n = t->dims[0], groups = hn_attr_i(w->node, "group");
        if (hn_node_input(w->node, w->index) != w->weight || groups < 1 || n % groups != 0)
            return false;
        *m = (hn_layer_matrix){
            .n = n, .k = t->n / n, .o_stride = t->n / n, .k_stride = 1, .groups = groups};
        m->inner = m->k / t->dims[1];
        return true;
    }
    if (t->rank != 2 || w->transposed) return false;
    *m = (hn_layer_matrix){
        .n = t->dims[w->channel_axis], .k = t->dims[w->sum_axis], .inner = 1, .groups = 1};
    m->o_stride = w->channel_axis == 0 ? m->k : 1;
    m->k_stride = w->sum_axis == 0 ? m->n : 1;
    return true;
}

typedef struct collector {
    const hn_weighted *layers;
    hn_layer_matrix *matrices;
    int64_t samples; /* that will come */
    int64_t *seen;   /* by layer */
    hn_layer_input *in;
    const hn_layer_output *wanted; /* by layer; NULL: no products with outputs are asked for */
    hn_layer_output *out;          /* outputs are collected, not inputs, if not NULL */
    hn_pool *pool;
    hn_allocator *alloc;
} collector;

static int64_t rows_wanted(const hn_layer_matrix *m) {
    return ROWS_PER_COLUMN * m->k > LEAST_ROWS ? ROWS_PER_COLUMN * m->k : LEAST_ROWS;
}

/* How many rows of n samples are looked at, of `count`. */
static int64_t share_of(const collector *c, int layer, int64_t n, int64_t count) {
    int64_t share = rows_wanted(&c->matrices[layer]) / c->samples * n + n;
    return share < count ? share : count;
}

/* ---- what becomes of rows ---- */

typedef struct rows {
    const hn_layer_matrix *m;
    const hn_layer_input *in;
    const float *x, *y; /* [n, groups, k], [n, all outputs] */
    int64_t n;
} rows;

/* X^T X of one group of many, which have few columns each. */
static void add_group(void *ctx, int64_t g) {
    const rows *r = ctx;
    int64_t k = r->m->k, width = r->m->groups * k;
    double *gram = r->in->gram + g * k * k;
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j <= i; j++) {
            const float *a = r->x + g * k + i, *b = r->x + g * k + j;
            double sum = 0;
            for (int64_t at = 0; at < r->n; at++)
                sum += (double)a[at * width] * (double)b[at * width];
            gram[i * k + j] += sum;
        }
}

/* Y^T X of one output of a layer of many groups. */
static void add_output(void *ctx, int64_t o) {
    const rows *r = ctx;
    int64_t k = r->m->k, width = r->m->groups * k, group = o / (r->m->n / r->m->groups);
    for (int64_t i = 0; i < k; i++) {
        const float *a = r->x + group * k + i, *b = r->y + o;
        double sum = 0;
        for (int64_t at = 0; at < r->n; at++)
            sum += (double)a[at * width] * (double)b[at * r->m->n];
        r->in->cross[o * k + i] += sum;
    }
}

static hone_status add_products(const collector *c, const rows *r, hn_error *err) {
    const hn_layer_matrix *m = r->m;
    if (m->groups > 1) {
        hn_pool_run(c->pool, m->groups, add_group, (void *)r);
        if (r->y != NULL) hn_pool_run(c->pool, m->n, add_output, (void *)r);
        return HONE_OK;
    }
    HN_TRY(hn_gram_add(r->in->gram, m->k, r->x, r->n, c->pool, c->alloc, err));
    if (r->y == NULL) return HONE_OK;
    return hn_cross_add(r->in->cross, m->n, r->y, m->k, r->x, r->n, c->pool, c->alloc, err);
}

/* Sums of some columns, over the rows in order. */
static void add_columns(void *ctx, int64_t piece) {
    const rows *r = ctx;
    int64_t width = r->m->groups * r->m->k, from = piece * COLUMNS;
    int64_t end = from + COLUMNS < width ? from + COLUMNS : width;
    for (int64_t at = 0; at < r->n; at++)
        for (int64_t k = from; k < end; k++) {
            double v = (double)r->x[at * width + k];
            r->in->squares[k] += v * v;
            r->in->magnitudes[k] += fabs(v);
            r->in->sums[k] += v;
        }
}

static hone_status add_inputs(const collector *c, int layer, const float *x, int64_t n,
                              hn_error *err) {
    const hn_layer_matrix *m = &c->matrices[layer];
    hn_layer_input *in = &c->in[layer];
    rows r = {.m = m, .in = in, .x = x, .n = n};
    hn_pool_run(c->pool, (m->groups * m->k + COLUMNS - 1) / COLUMNS, add_columns, &r);
    if (c->wanted != NULL) {
        assert(in->rows + n <= c->wanted[layer].rows);
        r.y = c->wanted[layer].y + in->rows * m->n;
    }
    in->rows += n;
    return in->gram != NULL ? add_products(c, &r, err) : HONE_OK;
}

/* Outputs less the bias: what the weights make. */
static void keep_outputs(const collector *c, int layer, const float *y, int64_t n) {
    const hn_weighted *w = &c->layers[layer];
    hn_layer_output *out = &c->out[layer];
    int64_t width = c->matrices[layer].n;
    float *to = out->y + out->rows * width;
    for (int64_t i = 0; i < n * width; i++)
        to[i] = w->bias == NULL
                    ? y[i]
                    : (float)((double)y[i] -
                              (double)w->beta * hn_tensor_f64(w->bias->constant, i % width));
    out->rows += n;
}

static hone_status add_rows(const collector *c, int layer, const float *x, int64_t n,
                            hn_error *err) {
    if (c->out == NULL) return add_inputs(c, layer, x, n, err);
    keep_outputs(c, layer, x, n);
    return HONE_OK;
}

/* ---- where rows come from ---- */

/* Windows of samples, pixels of samples, or lines of a batch. */
typedef struct source {
    const hn_windows *windows; /* NULL: it is not these */
    const float *x;
    int64_t n, size;             /* parts, and elements of one */
    int64_t count, width;        /* rows in a part, and their elements */
    int64_t row_step, item_step; /* where they lie in a part; not of windows */
} source;

/* Which of `count` rows of a part is number i of those looked at: the first moves on from sample
 * to sample by a step that has no factor in common with most sizes. */
static int64_t spread(int64_t i, int64_t looked_at, int64_t count, int64_t sample) {
    return (i * count / looked_at + sample % count * 7919) % count;
}

static void copy_row(const source *s, const float *part, int64_t at, float *to) {
    if (s->windows != NULL)
        hn_windows_copy(s->windows, part, at, to);
    else
        for (int64_t i = 0; i < s->width; i++) to[i] = part[at * s->row_step + i * s->item_step];
}

/* Rows that are copied and looked at together. */
typedef struct copies {
    const source *s;
    float *to;
    int64_t n;
    struct {
        int64_t part, at;
    } of[HN_GRAM_ROWS];
} copies;

static void copy_some(void *ctx, int64_t piece) {
    const copies *c = ctx;
    int64_t end = (piece + 1) * COPIES < c->n ? (piece + 1) * COPIES : c->n;
    for (int64_t i = piece * COPIES; i < end; i++)
        copy_row(c->s, c->s->x + c->of[i].part * c->s->size, c->of[i].at, c->to + i * c->s->width);
}

static hone_status add_copies(const collector *c, int layer, copies *k, hn_error *err) {
    int64_t n = k->n;
    hn_pool_run(c->pool, (n + COPIES - 1) / COPIES, copy_some, k);
    k->n = 0;
    return add_rows(c, layer, k->to, n, err);
}

/* Parts of so many samples each. */
static hone_status add_some(const collector *c, int layer, const source *s, int64_t samples,
                            hn_error *err) {
    int64_t each = share_of(c, layer, samples, s->count);
    hone_status status = HONE_OK;
    copies k = {.s = s};
    k.to =
        hn_alloc_array(c->alloc, (size_t)(HN_GRAM_ROWS * s->width), sizeof *k.to, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, k.to != NULL, HONE_E_NOMEM, "out of memory");
    for (int64_t n = 0; n < s->n; n++, c->seen[layer] += samples)
        for (int64_t i = 0; i < each; i++) {
            k.of[k.n].part = n;
            k.of[k.n++].at = spread(i, each, s->count, c->seen[layer]);
            if (k.n == HN_GRAM_ROWS) HN_TRY_GOTO(add_copies(c, layer, &k, err));
        }
    status = add_copies(c, layer, &k, err);
fail:
    hn_free(c->alloc, k.to);
    return status;
}

static hone_status add_windows(const collector *c, int layer, const hn_tensor *x, hn_error *err) {
    const hn_weighted *w = &c->layers[layer];
    hn_windows s;
    HN_TRY(hn_windows_init(&s, w->node, w->weight->constant, x, err));
    source from = {.windows = &s,
                   .x = x->data,
                   .n = s.count > 0 ? x->dims[0] : 0,
                   .size = s.channels * s.in_size,
                   .count = s.count,
                   .width = s.channels * s.taps};
    return add_some(c, layer, &from, 1, err);
}

static hone_status take(void *ctx, int i, const hn_tensor *t, int64_t n, hn_error *err) {
    const collector *c = ctx;
    const hn_layer_matrix *m = &c->matrices[i];
    bool conv = c->layers[i].kind == HN_WEIGHT_WINDOWS, out = c->out != NULL;
    if (conv && !out) return add_windows(c, i, t, err);
    int axis = conv ? 1 : t->rank - 1;
    int64_t width = out ? m->n : m->k;
    HN_CHECK(err,
             t->dtype == HONE_DTYPE_F32 && axis >= 0 && axis < t->rank && t->dims[axis] == width,
             HONE_E_SHAPE, "what goes through layer '%s' does not fit its weight",
             c->layers[i].node->name);
    source s = {.x = t->data, .width = width};
    if (t->n == 0) return HONE_OK;
    if (conv) {
        s.n = t->dims[0], s.size = t->n / s.n, s.count = s.size / width;
        s.row_step = 1, s.item_step = s.count;
        return add_some(c, i, &s, 1, err);
    }
    /* How many lines a sample has may depend on what else is in the batch. */
    s.n = 1, s.size = t->n, s.count = t->n / width;
    s.row_step = width, s.item_step = 1;
    return add_some(c, i, &s, n, err);
}

/* ---- all layers ---- */

/* Models that are compared row by row see the same batches of so many samples. */
#define BATCH 8

static hone_status collect(collector *to, int n, const hn_model *m, const hn_transform_ctx *c,
                           hn_arena *arena, hn_error *err) {
    hn_watch_options o = {.samples = to->samples};
    if (to->out != NULL || to->wanted != NULL) o.batch = BATCH;
    const char **names = hn_arena_array(arena, (size_t)n, sizeof *names);
    to->seen = hn_arena_array(arena, (size_t)n, sizeof *to->seen);
    if (names == NULL || to->seen == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++)
        names[i] =
            to->out != NULL ? to->layers[i].node->outputs[0]->name : to->layers[i].input->name;
    return hn_watch(m, names, n, c->feed, c->how, &o, take, to, c->alloc, err);
}

static hone_status begin(collector *to, const hn_weighted *layers, int n, const hn_transform_ctx *c,
                         int64_t samples, hn_arena *arena, hn_error *err) {
    *to = (collector){.layers = layers,
                      .samples = hn_dataset_count(hn_feed_dataset(c->feed)),
                      .pool = c->how->engine.pool,
                      .alloc = c->alloc};
    if (c->samples > 0 && c->samples < samples) samples = c->samples;
    if (samples < to->samples) to->samples = samples;
    to->matrices = hn_arena_array(arena, (size_t)n, sizeof *to->matrices);
    if (to->matrices == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) hn_layer_as_matrix(&layers[i], &to->matrices[i]);
    return HONE_OK;
}

static hone_status create_input(hn_layer_input *in, const hn_layer_matrix *m,
                                const hn_layer_look *look, hn_allocator *alloc, hn_error *err) {
    in->groups = m->groups;
    in->k = m->k;
    size_t bytes = (size_t)(m->groups * m->k) * sizeof(double), all;
    in->squares = hn_alloc_zero(alloc, bytes, HN_MEM_SCRATCH);
    in->magnitudes = hn_alloc_zero(alloc, bytes, HN_MEM_SCRATCH);
    in->sums = hn_alloc_zero(alloc, bytes, HN_MEM_SCRATCH);
    if (look->gram && hn_size_mul(bytes, (size_t)m->k, &all))
        in->gram = hn_alloc_zero(alloc, all, HN_MEM_SCRATCH);
    if (look->outputs != NULL)
        in->cross = hn_alloc_zero(alloc, (size_t)(m->n * m->k) * sizeof(double), HN_MEM_SCRATCH);
    bool all_there = in->squares != NULL && in->magnitudes != NULL && in->sums != NULL &&
                     (in->gram != NULL || !look->gram) &&
                     (in->cross != NULL || look->outputs == NULL);
    return all_there ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_layer_inputs(hn_layer_input *of, const hn_weighted *layers, int n,
                            const hn_layer_look *look, const hn_model *m, const hn_transform_ctx *c,
                            hn_error *err) {
    hn_arena arena;
    collector to;
    hone_status status = HONE_OK;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    for (int i = 0; i < n; i++) of[i] = (hn_layer_input){0};
    HN_TRY_GOTO(begin(&to, layers, n, c, look->samples, &arena, err));
    to.in = of;
    to.wanted = look->outputs;
    for (int i = 0; i < n; i++)
        HN_TRY_GOTO(create_input(&of[i], &to.matrices[i], look, c->alloc, err));
    status = collect(&to, n, m, c, &arena, err);
fail:
    hn_arena_deinit(&arena);
    for (int i = 0; i < n && status != HONE_OK; i++) hn_layer_input_deinit(&of[i], c->alloc);
    return status;
}

hone_status hn_layer_outputs(hn_layer_output *of, const hn_weighted *layers, int n,
                             const hn_model *m, const hn_transform_ctx *c, int64_t samples,
                             hn_error *err) {
    hn_arena arena;
    collector to;
    hone_status status = HONE_OK;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    for (int i = 0; i < n; i++) of[i] = (hn_layer_output){0};
    HN_TRY_GOTO(begin(&to, layers, n, c, samples, &arena, err));
    to.out = of;
    for (int i = 0; i < n; i++) {
        size_t most = (size_t)(rows_wanted(&to.matrices[i]) + to.samples);
        of[i].y = hn_alloc_array(c->alloc, most * (size_t)to.matrices[i].n, sizeof *of[i].y,
                                 HN_MEM_SCRATCH);
        HN_CHECK_GOTO(err, of[i].y != NULL, HONE_E_NOMEM, "out of memory");
    }
    status = collect(&to, n, m, c, &arena, err);
fail:
    hn_arena_deinit(&arena);
    for (int i = 0; i < n && status != HONE_OK; i++) hn_layer_output_deinit(&of[i], c->alloc);
    return status;
}

void hn_layer_output_deinit(hn_layer_output *out, hn_allocator *alloc) {
    hn_free(alloc, out->y);
    *out = (hn_layer_output){0};
}

void hn_layer_input_deinit(hn_layer_input *in, hn_allocator *alloc) {
    hn_free(alloc, in->squares);
    hn_free(alloc, in->magnitudes);
    hn_free(alloc, in->sums);
    hn_free(alloc, in->gram);
    hn_free(alloc, in->cross);
    *in = (hn_layer_input){0};
}

/* ---- errors ---- */

typedef struct differing {
    const hn_layer_matrix *m;
    const hn_layer_input *in;
    const hn_tensor *is, *was;
    double *scratch; /* [n][2][k] */
    double *errors;  /* [n] */
} differing;

/* d H d^T from the lower triangle, above which there are zeros: twice d times it, less the
 * diagonal. */
static void row_error(void *ctx, int64_t o) {
    const differing *f = ctx;
    int64_t k = f->m->k;
    const double *h = f->in->gram + o / (f->m->n / f->m->groups) * k * k;
    double *d = f->scratch + o * 2 * k, *less = d + k, sum = 0;
    for (int64_t i = 0; i < k; i++) {
        int64_t at = o * f->m->o_stride + i * f->m->k_stride;
        d[i] = (f->is != NULL ? hn_tensor_f64(f->is, at) : 0) - hn_tensor_f64(f->was, at);
        less[i] = 0;
    }
    hn_subtract_rows(less, k, d, k, h, k);
    for (int64_t i = 0; i < k; i++) sum -= d[i] * (2 * less[i] + d[i] * h[i * (k + 1)]);
    f->errors[o] = sum;
}

hone_status hn_layer_error(double *sum, const hn_layer_matrix *m, const hn_layer_input *in,
                           const hn_tensor *is, const hn_tensor *was, hn_pool *pool,
                           hn_allocator *alloc, hn_error *err) {
    differing f = {.m = m, .in = in, .is = is, .was = was};
    hone_status status = HONE_OK;
    f.scratch = hn_alloc_array(alloc, (size_t)(m->n * 2 * m->k), sizeof *f.scratch, HN_MEM_SCRATCH);
    f.errors = hn_alloc_array(alloc, (size_t)m->n, sizeof *f.errors, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, f.scratch != NULL && f.errors != NULL, HONE_E_NOMEM, "out of memory");
    hn_pool_run(pool, m->n, row_error, &f);
    *sum = 0;
    for (int64_t o = 0; o < m->n; o++) *sum += f.errors[o];
fail:
    hn_free(alloc, f.errors);
    hn_free(alloc, f.scratch);
    return status;
}

/* Errors at each index of the sum axis count by the inputs there. */
static hone_status weigh(const hn_weighted *w, const hn_layer_input *in, hn_allocator *alloc,
                         double **importance, hn_error *err) {
    hn_layer_matrix m;
    hn_layer_as_matrix(w, &m);
    *importance = hn_alloc_zero(alloc, (size_t)(m.k / m.inner) * sizeof(double), HN_MEM_SCRATCH);
    if (*importance == NULL) return HN_NOMEM(err);
    for (int64_t k = 0; k < m.groups * m.k; k++) (*importance)[k % m.k / m.inner] += in->squares[k];
    return HONE_OK;
}

hone_status hn_layer_choose_grid(const hn_grid **out, const hn_weighted *w,
                                 const hn_layer_input *in, const hn_transform_ctx *c,
                                 hn_error *err) {
    double *importance;
    hone_status status;
    hn_grid g;
    hn_qtype type = hn_weighted_type(w);
    *out = hn_grids_of(c->grids, w->weight->name, &type);
    if (*out != NULL) return HONE_OK;
    if (w->scheme.weights.bits >= WHOLE_RANGE_BITS || w->sum_axis < 0) {
        status = hn_weighted_grid(&g, w, c->how->engine.pool, c->alloc, err);
    } else {
        HN_TRY(weigh(w, in, c->alloc, &importance, err));
        status = hn_grid_create_mse(&g, w->weight->constant, &w->scheme.weights, w->channel_axis,
                                    w->sum_axis, importance, c->how->engine.pool, c->alloc, err);
        hn_free(c->alloc, importance);
    }
    HN_TRY(status);
    HN_TRY(hn_grids_set(c->grids, w->weight->name, &g, err));
    *out = hn_grids_of(c->grids, w->weight->name, &type);
    return HONE_OK;
}
