#include "measure/output_errors.h"

/* A list of detections may be longer in one than in the other: then only these are compared. */
static void measure_distance(hn_distance *d, const hn_tensor *a, const hn_tensor *b) {
    if (!hn_dtype_is_float(a->dtype)) return;
    if (a->n == b->n)
        hn_distance_add(d, a, b);
    else
        d->broken = true;
}

static hone_status add_runs(const hn_output_runs *r, hn_output_run *values, hn_likeness *likeness,
                            hn_distance *errors, hn_error *err) {
    for (int64_t done = 0, run = 0; done < r->samples; run++) {
        int64_t rows = r->samples - done < r->batch ? r->samples - done : r->batch;
        HN_TRY(r->run(r->ctx, run, values, err));
        HN_TRY(
            hn_likeness_add(likeness, values->in, values->out[0], values->out[1], rows, rows, err));
        for (int i = 0; i < r->graph->n_outputs; i++)
            measure_distance(&errors[i], values->out[0][i], values->out[1][i]);
        done += rows;
        HN_CHECK(err, r->progress == NULL || r->progress(r->progress_ctx, run + 1, r->total),
                 HONE_E_LIMIT, "stopped after %lld runs", (long long)run + 1);
    }
    return HONE_OK;
}

static hone_status tell(const hn_output_runs *r, const hn_distance *errors,
                        const hn_output_forms *forms, const hn_likeness *likeness, hn_arena *arena,
                        hone_comparison *c, hn_error *err) {
    const hn_graph *g = r->graph;
    hone_output_error *list = hn_arena_array(arena, (size_t)g->n_outputs, sizeof *list);
    double *kept = hn_arena_array(arena, (size_t)g->n_outputs, sizeof *kept);
    char worst[256];
    if (list == NULL || kept == NULL) return HN_NOMEM(err);
    for (int i = 0; i < g->n_outputs; i++) {
        const hn_distance *d = &errors[i];
        const hn_type *type = &g->outputs[i].value->type;
        if (type->kind != HN_TYPE_TENSOR || !hn_dtype_is_float(type->dtype)) continue;
        kept[c->n_outputs] = hn_likeness_of(likeness, i).value;
        list[c->n_outputs++] = (hone_output_error){.name = g->outputs[i].value->name,
                                                   .sqnr_db = hn_distance_sqnr(d),
                                                   .cosine = hn_distance_cosine(d),
                                                   .mean_error = hn_distance_mean(d),
                                                   .max_error = hn_distance_max(d)};
    }
    c->outputs = list;
    c->samples = r->samples;
    c->kept = kept;
    hn_likeness_result f = hn_likeness_figure(likeness);
    hn_likeness_result_text(&f, forms, worst, sizeof worst);
    c->agreement = f.value;
    c->agreement_low = f.low;
    c->agreement_high = f.high;
    c->measure = f.measure;
    c->worst = hn_arena_strdup(arena, worst);
    return c->worst != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_output_errors(const hn_output_runs *r, hn_allocator *alloc, hn_arena *arena,
                             hone_comparison *c, hn_error *err) {
    size_t n_in = (size_t)r->graph->n_inputs + 1, n_out = (size_t)r->graph->n_outputs;
    hn_output_run values = {.in = hn_arena_array(arena, n_in, sizeof *values.in)};
    hn_distance *errors = hn_arena_array(arena, n_out, sizeof *errors);
    for (int k = 0; k < 2; k++) values.out[k] = hn_arena_array(arena, n_out, sizeof *values.out[k]);
    if (values.in == NULL || errors == NULL || values.out[0] == NULL || values.out[1] == NULL)
        return HN_NOMEM(err);
    hn_output_forms forms;
    hn_likeness *likeness;
    HN_TRY(hn_output_forms_init(&forms, r->graph, false, arena, err));
    HN_TRY(hn_likeness_create(&likeness, &forms, alloc, err));
    hone_status status = add_runs(r, &values, likeness, errors, err);
    if (status == HONE_OK) status = tell(r, errors, &forms, likeness, arena, c, err);
    hn_likeness_destroy(likeness);
    return status;
}
