#include <string.h>

#include "api/api.h"
#include "measure/cut_down.h"

HN_DEFINE_OPTIONS(reduce, 0)

typedef struct own {
    hone_reduction result;
    hone_reduce_options o;
    size_t value_size; /* of the caller's */
    hn_pairs *pairs;
    hn_tensor **in; /* of the run, per input of the first model's graph */
    int n_in;
    hn_cut_down search;
} own;

static hn_allocator *memory(void) { return hn_allocator_default(); }

void hone_reduction_destroy(hone_reduction *r) {
    if (r == NULL) return;
    own *w = r->owner;
    hone_value_release((hone_value *)w->result.in, w->result.n_in);
    hn_free(memory(), (void *)w->result.in);
    hn_api_model_unref(r->a);
    hn_api_model_unref(r->b);
    hn_cut_down_deinit(&w->search);
    for (int i = 0; i < w->n_in; i++) hn_tensor_unref(w->in[i]);
    hn_free(memory(), w->in);
    hn_pairs_destroy(w->pairs);
    hn_shown_free(r, &w->result);
    hn_free(memory(), w);
}

/* Models of the API from parts, whose nodes then count as changed: how they stood in a file is not
 * known of copies. */
static hone_status adopt(hn_model **part, hone_model **out, hn_error *err) {
    for (int i = 0; i < (*part)->n_graphs; i++)
        for (hn_node *n = (*part)->graphs[i]->first; n != NULL; n = n->next) hn_node_touch(n);
    hn_model *m = *part;
    *part = NULL;
    return hn_api_model_adopt(m, out, err);
}

static void to_value(const hn_cut_part *s, int i, hone_value *v) {
    const hn_tensor *t = s->in[i];
    *v = (hone_value){.dtype = t->dtype, .rank = t->rank, .data = t->data, .bytes = t->bytes};
    memcpy(v->dims, t->dims, sizeof v->dims);
}

/* The inputs a caller gives: those that have no default. Names are the models'. */
static size_t list_inputs(const hn_cut_part *s, const hone_model *a, hone_value *in) {
    size_t n = 0;
    for (int i = 0; i < s->n_in; i++) {
        if (s->in[i] == NULL) continue;
        to_value(s, i, &in[n]);
        in[n].name = a->inputs[n].name;
        n++;
    }
    return n;
}

static hone_status ask(const own *w, hone_model *a, hone_model *b, size_t n, hone_value *in,
                       bool *failed, hn_error *err) {
    hone_value *shown = hn_show_array(in, n, sizeof *in, w->value_size);
    if (shown == NULL) return HN_NOMEM(err);
    hone_status status = w->o.fails(w->o.fails_ctx, a, b, n, shown, failed, err);
    hn_shown_free(shown, in);
    return status;
}

static hone_status fails(void *ctx, const hn_cut_part *s, bool *failed, hn_error *err) {
    own *w = ctx;
    hn_cut_part part = *s;
    hone_model *a = NULL, *b = NULL;
    hone_value *in = hn_alloc_zero(memory(), ((size_t)s->n_in + 1) * sizeof *in, HN_MEM_OTHER);
    if (in == NULL) return HN_NOMEM(err);
    hone_status status = hn_model_clone(&part.a, s->a, memory(), err);
    if (status == HONE_OK) status = adopt(&part.a, &a, err);
    if (status == HONE_OK) status = hn_model_clone(&part.b, s->b, memory(), err);
    if (status == HONE_OK) status = adopt(&part.b, &b, err);
    if (status == HONE_OK) status = ask(w, a, b, list_inputs(s, a, in), in, failed, err);
    hn_api_model_unref(a);
    hn_api_model_unref(b);
    hn_free(memory(), in);
    return status;
}

static hone_status keep(own *w, hn_cut_part *s, hn_error *err) {
    hone_reduction *r = &w->result;
    hone_value *in = hn_alloc_zero(memory(), ((size_t)s->n_in + 1) * sizeof *in, HN_MEM_DATA);
    if (in == NULL) return HN_NOMEM(err);
    hn_cut_part parts = *s;
    s->a = s->b = NULL; /* what s->in lies in goes with the first part, which lives on */
    r->in = in;
    hone_status status = adopt(&parts.a, &r->a, err);
    if (status == HONE_OK) status = adopt(&parts.b, &r->b, err);
    hn_model_destroy(parts.b);
    HN_TRY(status);
    for (int i = 0; i < s->n_in; i++) {
        if (s->in[i] == NULL) continue;
        hone_value *v = &in[r->n_in], given;
        to_value(s, i, &given);
        *v = given;
        HN_TRY(hn_api_own(v, given.bytes, r->a->inputs[r->n_in].name, err));
        if (given.bytes > 0) memcpy(v->data, given.data, given.bytes);
        r->n_in++;
    }
    r->nodes_after = (size_t)r->a->ir->graph->n_nodes;
    return HONE_OK;
}

static hone_status reduce(own *w, hone_session *a, hone_session *b, const hone_samples *samples,
                          hn_error *err) {
    hone_model *first = hn_api_session_model(a), *second = hn_api_session_model(b);
    hn_run_options how = hn_api_session_run_options(a);
    hn_api_source source = {samples, first, memory()};
    hn_cut_part found = {0};
    HN_TRY(hn_pairs_create(&w->pairs, first->ir, second->ir, memory(), err));
    w->in = hn_alloc_zero(memory(), ((size_t)first->ir->graph->n_inputs + 1) * sizeof *w->in,
                          HN_MEM_OTHER);
    if (w->in == NULL) return HN_NOMEM(err);
    HN_TRY(hn_api_load_sample(&source, 0, w->in, err));
    w->n_in = first->ir->graph->n_inputs;
    w->search = (hn_cut_down){.pairs = w->pairs,
                              .how = &how,
                              .alloc = memory(),
                              .in = w->in,
                              .fails = fails,
                              .ctx = w,
                              .progress = w->o.progress,
                              .progress_ctx = w->o.progress_ctx};
    HN_TRY(hn_cut_down_run(&w->search, &found, err));
    w->result.tried = w->search.tried;
    w->result.nodes_before = (size_t)first->ir->graph->n_nodes;
    hone_status status = keep(w, &found, err);
    hn_cut_part_deinit(&found);
    return status;
}

hone_status hone_session_reduce_sized(hone_session *a, hone_session *b, const hone_samples *samples,
                                      const hone_reduce_options *options, hone_reduction **out,
                                      const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(reduction, in, n_in, value)};
    hone_reduce_options o;
    hn_api_samples taken;
    HN_TRY(HN_TAKE_OPTIONS(reduce, &o, options, err));
    HN_TRY(hn_api_take_samples(&taken, samples, hn_api_session_model(a), caller, err));
    own *w = hn_alloc_zero(memory(), sizeof *w, HN_MEM_OTHER);
    if (w == NULL) return HN_NOMEM(err);
    w->result = (hone_reduction){.size = sizeof w->result, .owner = w};
    w->o = o;
    w->value_size = HN_CALLER(caller, value);
    hone_status status = w->o.fails != NULL
                             ? reduce(w, a, b, &taken.own, err)
                             : HN_FAIL(err, HONE_E_ARG, "nothing says what a failure is");
    if (status == HONE_OK) HN_HAND_OUT(out, &w->result, lists, caller, reduction, err);
    hone_reduction_destroy(&w->result);
    return status;
}
