#include "compress/layer_input.h"

#include <math.h>

#include "base/dense.h"
#include "compress/watch.h"
#include "compress/windows.h"
#include "passes/pass.h"

/* Windows that are looked at: so many for each column, but not fewer than that. */
#define ROWS_PER_COLUMN 16
#define LEAST_ROWS 4096

bool hn_layer_as_matrix(const hn_weighted *w, hn_layer_matrix *m) {
    const hn_tensor *t = w->weight->constant;
    if (w->sum_axis < 0 || w->weight->n_uses != 1 || hn_is(w->node, "ConvTranspose")) return false;
    *m = (hn_layer_matrix){.n = t->dims[w->channel_axis], .k = t->dims[w->sum_axis], .inner = 1};
    if (hn_is(w->node, "Conv")) {
        if (w->channel_axis != 0 || w->sum_axis != 1 || hn_attr_i(w->node, "group") != 1)
            return false;
        for (int i = 2; i < t->rank; i++) m->inner *= t->dims[i];
        m->k *= m->inner;
        m->o_stride = m->k;
        m->k_stride = 1;
        return true;
    }
    if (t->rank != 2 || (hn_is(w->node, "Gemm") && hn_attr_i(w->node, "transA") != 0)) return false;
    m->o_stride = w->channel_axis == 0 ? m->k : 1;
    m->k_stride = w->sum_axis == 0 ? m->n : 1;
    return true;
}

typedef struct collector {
    const hn_weighted *layers;
    hn_layer_input *of;
    int64_t samples; /* that will come */
    int64_t *seen;   /* by layer */
    hn_pool *pool;
    hn_allocator *alloc;
} collector;

static hone_status add_rows(const collector *c, hn_layer_input *in, const float *x, int64_t rows,
                            hn_error *err) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < in->k; k++) {
            double v = (double)x[r * in->k + k];
            in->squares[k] += v * v;
            in->magnitudes[k] += fabs(v);
        }
    in->rows += rows;
    if (in->gram == NULL) return HONE_OK;
    return hn_gram_add(in->gram, in->k, x, rows, c->pool, c->alloc, err);
}

/* ---- windows ---- */

/* Which of `count` windows of a sample is number i of those looked at: the first moves on from
 * sample to sample by a step that has no factor in common with most sizes. */
static int64_t spread(int64_t i, int64_t looked_at, int64_t count, int64_t sample) {
    return (i * count / looked_at + sample % count * 7919) % count;
}

static hone_status add_windows(collector *c, int layer, const hn_tensor *x, hn_error *err) {
    hn_layer_input *in = &c->of[layer];
    const hn_weighted *w = &c->layers[layer];
    hn_windows s;
    HN_TRY(hn_windows_init(&s, w->node, w->weight->constant, x, err));
    if (s.count == 0) return HONE_OK;
    int64_t want = ROWS_PER_COLUMN * in->k > LEAST_ROWS ? ROWS_PER_COLUMN * in->k : LEAST_ROWS;
    int64_t each = want / c->samples + 1, filled = 0;
    if (each > s.count) each = s.count;
    hone_status status = HONE_OK;
    float *rows =
        hn_alloc_array(c->alloc, (size_t)(HN_GRAM_ROWS * in->k), sizeof *rows, HN_MEM_SCRATCH);
    HN_CHECK_GOTO(err, rows != NULL, HONE_E_NOMEM, "out of memory");
    for (int64_t n = 0; n < x->dims[0]; n++) {
        const float *image = (const float *)x->data + n * s.channels * s.in_size;
        for (int64_t i = 0; i < each; i++) {
            hn_windows_copy(&s, image, spread(i, each, s.count, c->seen[layer]),
                            rows + filled++ * in->k);
            if (filled < HN_GRAM_ROWS) continue;
            HN_TRY_GOTO(add_rows(c, in, rows, filled, err));
            filled = 0;
        }
        c->seen[layer]++;
    }
    status = add_rows(c, in, rows, filled, err);
fail:
    hn_free(c->alloc, rows);
    return status;
}

/* ---- all layers ---- */

static hone_status take(void *ctx, int i, const hn_tensor *x, int64_t n, hn_error *err) {
    (void)n;
    collector *c = ctx;
    hn_layer_input *in = &c->of[i];
    bool conv = hn_is(c->layers[i].node, "Conv");
    int axis = conv ? 1 : x->rank - 1;
    int64_t wanted = conv ? c->layers[i].weight->constant->dims[1] : in->k;
    HN_CHECK(
        err, x->dtype == HONE_DTYPE_F32 && axis >= 0 && axis < x->rank && x->dims[axis] == wanted,
        HONE_E_SHAPE, "the input of layer '%s' does not fit its weight", c->layers[i].node->name);
    if (conv) return add_windows(c, i, x, err);
    return add_rows(c, in, x->data, x->n / in->k, err);
}

static hone_status create(hn_layer_input *in, int64_t k, bool gram, hn_allocator *alloc,
                          hn_error *err) {
    in->k = k;
    size_t n = (size_t)k, bytes = n * sizeof(double);
    in->squares = hn_alloc_zero(alloc, bytes, HN_MEM_SCRATCH);
    in->magnitudes = hn_alloc_zero(alloc, bytes, HN_MEM_SCRATCH);
    if (gram && n <= SIZE_MAX / bytes) in->gram = hn_alloc_zero(alloc, n * bytes, HN_MEM_SCRATCH);
    if (in->squares == NULL || in->magnitudes == NULL || (gram && in->gram == NULL))
        return HN_NOMEM(err);
    return HONE_OK;
}

hone_status hn_layer_inputs(hn_layer_input *of, const hn_weighted *layers, int n, bool gram,
                            const hn_model *m, const hn_method_ctx *c, int64_t samples,
                            hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    for (int i = 0; i < n; i++) of[i] = (hn_layer_input){0};
    collector to = {.layers = layers,
                    .of = of,
                    .samples = hn_dataset_count(hn_feed_dataset(c->feed)),
                    .seen = hn_arena_array(&arena, (size_t)n, sizeof *to.seen),
                    .pool = c->how->engine.pool,
                    .alloc = c->alloc};
    if (c->samples > 0 && c->samples < samples) samples = c->samples;
    if (samples < to.samples) to.samples = samples;
    hn_watch_options o = {.samples = to.samples};
    const char **names = hn_arena_array(&arena, (size_t)n, sizeof *names);
    hone_status status = HONE_OK;
    HN_CHECK_GOTO(err, to.seen != NULL && names != NULL, HONE_E_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        hn_layer_matrix matrix;
        hn_layer_as_matrix(&layers[i], &matrix);
        names[i] = layers[i].input->name;
        HN_TRY_GOTO(create(&of[i], matrix.k, gram, c->alloc, err));
    }
    status = hn_watch(m, names, n, c->feed, c->how, &o, take, &to, c->alloc, err);
fail:
    hn_arena_deinit(&arena);
    for (int i = 0; i < n && status != HONE_OK; i++) hn_layer_input_deinit(&of[i], c->alloc);
    return status;
}

void hn_layer_input_deinit(hn_layer_input *in, hn_allocator *alloc) {
    hn_free(alloc, in->squares);
    hn_free(alloc, in->magnitudes);
    hn_free(alloc, in->gram);
    *in = (hn_layer_input){0};
}
