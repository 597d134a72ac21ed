#include "compress/answers.h"

#include <math.h>
#include <string.h>

#define MOST_NOISE 1e9

/* ---- samples ---- */

static hone_status read_batches(hn_answers *a, int64_t most, const hn_feed *feed, hn_arena *arena,
                                hn_error *err) {
    int64_t all = hn_dataset_count(hn_feed_dataset(feed)), step = hn_feed_batch(feed);
    int64_t n = all < most ? all : most;
    int64_t *order = hn_arena_array(arena, (size_t)n + 1, sizeof *order);
    a->batches = hn_arena_array(arena, (size_t)((n + step - 1) / step) + 1, sizeof *a->batches);
    if (order == NULL || a->batches == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < n; i++) order[i] = i * all / n;
    for (int64_t at = 0; at < n; at += step) {
        hn_samples *s = &a->batches[a->n_batches];
        HN_TRY(hn_feed_read(feed, order, at, at + step < n ? step : n - at, s, err));
        if (s->n > 0)
            a->n_batches++;
        else
            hn_samples_deinit(s);
    }
    HN_CHECK(err, a->n_batches > 0, HONE_E_FORMAT, "none of %lld samples can be decoded",
             (long long)n);
    return HONE_OK;
}

/* ---- runs ---- */

/* Takes over the outputs of a batch. */
typedef void take_outputs(void *ctx, int batch, hn_tensor **out);

static hone_status run_all(const hn_answers *a, const hn_model *m, const hn_transform_ctx *c,
                           take_outputs *take, void *ctx, hn_error *err) {
    hn_run_options how = hn_run_options_for(c->how, m);
    hn_tensor **out = hn_alloc_array(c->alloc, (size_t)a->n_outputs + 1, sizeof *out, HN_MEM_OTHER);
    hn_program *p = NULL;
    hone_status status = out != NULL ? hn_program_create(&p, m, &how, err) : HN_NOMEM(err);
    for (int b = 0; b < a->n_batches && status == HONE_OK; b++) {
        status = hn_program_run(p, (const hn_tensor *const *)a->batches[b].in, out, err);
        if (status == HONE_OK) take(ctx, b, out);
    }
    hn_program_destroy(p);
    hn_free(c->alloc, out);
    return status;
}

static void keep(void *ctx, int batch, hn_tensor **out) {
    const hn_answers *a = ctx;
    memcpy(a->v + batch * a->n_outputs, out, (size_t)a->n_outputs * sizeof(hn_tensor *));
}

hone_status hn_answers_ask(hn_answers *a, int64_t most, const hn_transform_ctx *c, hn_arena *arena,
                           hn_error *err) {
    *a = (hn_answers){.n_outputs = c->model->graph->n_outputs};
    HN_TRY(read_batches(a, most, c->feed, arena, err));
    size_t n = (size_t)a->n_batches * (size_t)a->n_outputs;
    a->v = hn_arena_array(arena, n + 1, sizeof *a->v);
    if (a->v == NULL) return HN_NOMEM(err);
    return run_all(a, c->model, c, keep, a, err);
}

void hn_answers_deinit(hn_answers *a) {
    for (int i = 0; a->v != NULL && i < a->n_batches * a->n_outputs; i++) hn_tensor_unref(a->v[i]);
    for (int i = 0; i < a->n_batches; i++) hn_samples_deinit(&a->batches[i]);
    *a = (hn_answers){0};
}

/* ---- distances ---- */

typedef struct comparing {
    const hn_answers *with;
    hn_distance *d;
} comparing;

static void compare(void *ctx, int batch, hn_tensor **out) {
    const comparing *k = ctx;
    for (int i = 0; i < k->with->n_outputs; i++) {
        const hn_tensor *was = k->with->v[batch * k->with->n_outputs + i];
        if (hn_dtype_is_float(was->dtype) && was->n == out[i]->n)
            hn_distance_add(k->d, was, out[i]);
        hn_tensor_unref(out[i]);
    }
}

hone_status hn_answers_compare(const hn_answers *a, const hn_model *m, const hn_transform_ctx *c,
                               hn_distance *d, hn_error *err) {
    comparing k = {a, d};
    *d = (hn_distance){0};
    return run_all(a, m, c, compare, &k, err);
}

double hn_answers_noise(const hn_distance *d) {
    if (d->broken) return MOST_NOISE;
    return d->noise == 0 ? 0 : d->wanted > 0 ? fmin(d->noise / d->wanted, MOST_NOISE) : MOST_NOISE;
}
