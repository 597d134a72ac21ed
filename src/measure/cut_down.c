#include "measure/cut_down.h"

void hn_cut_part_deinit(hn_cut_part *s) {
    hn_model_destroy(s->a);
    hn_model_destroy(s->b);
    *s = (hn_cut_part){0};
}

void hn_cut_down_deinit(hn_cut_down *s) {
    for (int i = 0; s->values != NULL && i < s->pairs->n; i++) hn_tensor_unref(s->values[i]);
    hn_free(s->alloc, s->values);
    s->values = NULL;
}

/* ---- parts ---- */

static const hn_tensor *value_of(const hn_cut_down *s, int from) {
    int n = s->pairs->side[HN_SIDE_A].graph->n_inputs;
    return from >= 0 ? s->values[from] : ~from < n ? s->in[~from] : NULL;
}

/* Gives m the inputs that the other part has and it lacks, so that both take the same. */
static hone_status add_missing(const hn_cut_down *s, hn_model *m, const hn_part *other,
                               hn_error *err) {
    for (int i = 0; i < other->model->graph->n_inputs; i++) {
        const hn_value *v = other->model->graph->inputs[i];
        const hn_tensor *t = value_of(s, other->in[i]);
        hn_value *own = hn_graph_value(m->graph, v->name), *added;
        if ((own != NULL && own->is_input) || t == NULL) continue;
        HN_TRY(hn_value_create(&added, m->graph, v->name, NULL, err));
        added->type.kind = HN_TYPE_TENSOR;
        added->type.dtype = t->dtype;
        added->type.shape = hn_shape_of(&m->dims, t->rank, t->dims);
        HN_TRY(hn_graph_add_input(m->graph, added, err));
    }
    return HONE_OK;
}

static hone_status find_inputs(const hn_cut_down *s, const hn_part *a, const hn_part *b,
                               hn_cut_part *out, hn_error *err) {
    int n_a = a->model->graph->n_inputs, n = 0;
    HN_TRY(add_missing(s, a->model, b, err));
    HN_TRY(add_missing(s, b->model, a, err));
    const hn_graph *g = a->model->graph;
    out->in = hn_arena_array(&a->model->arena, (size_t)g->n_inputs + 1, sizeof *out->in);
    if (out->in == NULL) return HN_NOMEM(err);
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_tensor *t = NULL;
        for (int k = 0; i >= n_a && k < b->model->graph->n_inputs && t == NULL; k++)
            if (strcmp(b->model->graph->inputs[k]->name, g->inputs[i]->name) == 0)
                t = value_of(s, b->in[k]);
        if (i < n_a) t = value_of(s, a->in[i]);
        out->in[n++] = t;
    }
    out->n_in = n;
    return HONE_OK;
}

static hone_status make(const hn_cut_down *s, const bool *keep, int output, hn_cut_part *out,
                        hn_error *err) {
    const hn_pairs *p = s->pairs;
    hn_part a = {0}, b = {0};
    bool *cut = hn_alloc_array(s->alloc, (size_t)p->n, sizeof *cut, HN_MEM_SCRATCH);
    if (cut == NULL) return HN_NOMEM(err);
    for (int i = 0; i < p->n; i++) cut[i] = !keep[i];
    const hn_tensor *const *like = (const hn_tensor *const *)s->values;
    hone_status status = hn_pairs_part(p, HN_SIDE_A, cut, like, 1, &output, s->alloc, &a, err);
    if (status == HONE_OK)
        status = hn_pairs_part(p, HN_SIDE_B, cut, like, 1, &output, s->alloc, &b, err);
    *out = (hn_cut_part){.a = a.model, .b = b.model};
    if (status == HONE_OK) status = find_inputs(s, &a, &b, out, err);
    hn_free(s->alloc, cut);
    if (status != HONE_OK) hn_cut_part_deinit(out);
    return status;
}

static hone_status fails(hn_cut_down *s, const bool *keep, int output, bool *failed,
                         hn_error *err) {
    hn_cut_part part;
    HN_TRY(make(s, keep, output, &part, err));
    hone_status status = s->fails(s->ctx, &part, failed, err);
    hn_cut_part_deinit(&part);
    if (status == HONE_OK && s->progress != NULL &&
        !s->progress(s->progress_ctx, s->tried, s->tried + (*failed ? 8 : 4)))
        status = HN_FAIL(err, HONE_E_LIMIT, "stopped after %lld parts", (long long)s->tried);
    s->tried++;
    return status;
}

/* ---- the search ---- */

static hone_status find_output(hn_cut_down *s, const bool *keep, int *output, hn_error *err) {
    const hn_pairs_graph *a = &s->pairs->side[HN_SIDE_A];
    bool failed = false;
    for (int i = 0; i < a->graph->n_outputs && !failed; i++) {
        int pair = a->pair[a->graph->outputs[i].value->id];
        if (pair < 0) continue;
        HN_TRY(fails(s, keep, pair, &failed, err));
        *output = pair;
    }
    HN_CHECK(err, failed, HONE_E_NOT_FOUND, "there is no failure to look for: the models agree");
    return HONE_OK;
}

static hone_status go_backward(hn_cut_down *s, const bool *keep, int *output, hn_error *err) {
    int passes = -1;
    while (*output - passes > 1) {
        int half = passes + (*output - passes) / 2;
        bool failed;
        HN_TRY(fails(s, keep, half, &failed, err));
        if (failed)
            *output = half;
        else
            passes = half;
    }
    return HONE_OK;
}

static hone_status go_forward(hn_cut_down *s, bool *keep, int output, hn_error *err) {
    int fail = 0, passes = output + 1; /* pairs below this are cut */
    while (passes - fail > 1) {
        int half = fail + (passes - fail) / 2;
        bool failed;
        for (int i = 0; i <= output; i++) keep[i] = i >= half;
        HN_TRY(fails(s, keep, output, &failed, err));
        if (failed)
            fail = half;
        else
            passes = half;
    }
    for (int i = 0; i <= output; i++) keep[i] = i >= fail;
    return HONE_OK;
}

/* Takes out steps one by one until none can go. */
static hone_status leave_out(hn_cut_down *s, bool *keep, int output, hn_error *err) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (int i = 0; i < output; i++) {
            bool failed;
            if (!keep[i]) continue;
            keep[i] = false;
            HN_TRY(fails(s, keep, output, &failed, err));
            keep[i] = !failed;
            changed |= failed;
        }
    }
    return HONE_OK;
}

/* Marks in keep what the output is computed from, and nothing else. */
static hone_status keep_needed(hn_cut_down *s, bool *keep, int output, hn_error *err) {
    const hn_pairs *p = s->pairs;
    bool *reads = hn_alloc_zero(s->alloc, (size_t)p->n, HN_MEM_SCRATCH);
    if (reads == NULL) return HN_NOMEM(err);
    hone_status status = HONE_OK;
    reads[output] = true;
    for (int i = output; i >= 0 && status == HONE_OK; i--) {
        keep[i] = keep[i] && reads[i];
        for (int side = 0; side < 2 && keep[i] && status == HONE_OK; side++)
            status = hn_pairs_step(p, (hn_side)side, i, NULL, reads, err);
    }
    for (int i = output + 1; i < p->n; i++) keep[i] = false;
    hn_free(s->alloc, reads);
    return status;
}

static hone_status search(hn_cut_down *s, bool *keep, hn_cut_part *out, hn_error *err) {
    int output = -1;
    for (int i = 0; i < s->pairs->n; i++) keep[i] = true;
    HN_TRY(find_output(s, keep, &output, err));
    HN_TRY(go_backward(s, keep, &output, err));
    HN_TRY(go_forward(s, keep, output, err));
    HN_TRY(keep_needed(s, keep, output, err));
    HN_TRY(leave_out(s, keep, output, err));
    return make(s, keep, output, out, err);
}

/* All values of A for the inputs. */
static hone_status run_a(hn_cut_down *s, hn_error *err) {
    int n = s->pairs->n;
    hn_part part;
    hn_program *program = NULL;
    int *all = hn_alloc_array(s->alloc, (size_t)n, sizeof *all, HN_MEM_SCRATCH);
    if (all == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n; i++) all[i] = i;
    hone_status status =
        hn_pairs_part(s->pairs, HN_SIDE_A, NULL, NULL, n, all, s->alloc, &part, err);
    hn_free(s->alloc, all);
    if (status != HONE_OK) return status;
    int n_in = part.model->graph->n_inputs;
    const hn_tensor **in = hn_alloc_array(s->alloc, (size_t)n_in, sizeof *in, HN_MEM_SCRATCH);
    for (int i = 0; i < n_in && in != NULL; i++) in[i] = value_of(s, part.in[i]);
    status = in == NULL ? HN_NOMEM(err) : hn_program_create(&program, part.model, s->how, err);
    if (status == HONE_OK) status = hn_program_run(program, in, s->values, err);
    hn_program_destroy(program);
    hn_model_destroy(part.model);
    hn_free(s->alloc, in);
    return status;
}

hone_status hn_cut_down_run(hn_cut_down *s, hn_cut_part *out, hn_error *err) {
    size_t n = (size_t)s->pairs->n;
    HN_CHECK(
        err, n > 0, HONE_E_SHAPE,
        "no step of one model could be found in the other: their names have nothing in common");
    s->values = hn_alloc_zero(s->alloc, n * sizeof *s->values, HN_MEM_OTHER);
    bool *keep = hn_alloc_zero(s->alloc, n, HN_MEM_OTHER);
    hone_status status = s->values == NULL || keep == NULL ? HN_NOMEM(err) : run_a(s, err);
    if (status == HONE_OK) status = search(s, keep, out, err);
    hn_free(s->alloc, keep);
    return status;
}
