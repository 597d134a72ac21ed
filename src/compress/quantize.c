#include "compress/quantize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compress/quantizer.h"
#include "engine/layers.h"
#include "engine/lower_quant.h"
#include "ops/grad.h"
#include "ops/infer.h"
#include "ops/nodes.h"

/* ---- checks ---- */

static hone_status check(const hn_quantizer *q, hn_error *err) {
    for (const hn_node *n = q->g->first; n != NULL; n = n->next) {
        char label[128];
        HN_CHECK(err, !hn_node_is_quantized(n), HONE_E_ARG,
                 "the model is quantized already (%s): quantize the float model it was made of",
                 hn_node_label(n, label, sizeof label));
    }
    return HONE_OK;
}

/* ---- what all need ---- */

hone_status hn_quantizer_node(hn_node **out, hn_quantizer *q, const char *op, const char *hint,
                              int n_in, hn_value *const *in, hn_node *before, hn_error *err) {
    hn_value *y;
    HN_TRY(hn_value_create(&y, q->g, NULL, hint, err));
    static const char *const domains[] = {"", "com.microsoft", HN_TRAIN_DOMAIN};
    const char *domain = domains[0];
    for (int i = 1; i < 3 && hn_op_find(domain, op) == NULL; i++) domain = domains[i];
    HN_TRY(hn_node_create(out, q->g, domain, op, y->name, n_in, 1, err));
    (*out)->op = hn_op_find(domain, op);
    if (domain[0] != '\0' && hn_model_opset(q->m, domain) == 0)
        HN_TRY(hn_model_set_opset(q->m, domain, 1, err));
    for (int i = 0; i < n_in; i++) hn_node_set_input(*out, i, in[i]);
    hn_node_set_output(*out, 0, y);
    hn_node_insert(*out, before);
    return HONE_OK;
}

const char *hn_quantizer_hint(hn_quantizer *q, const char *name, const char *suffix) {
    size_t n = strlen(name), k = strlen(suffix);
    char *text = hn_arena_alloc(q->arena, n + k + 1);
    if (text == NULL) return name;
    memcpy(text, name, n);
    memcpy(text + n, suffix, k + 1);
    return text;
}

hone_status hn_quantizer_constant(hn_value **out, hn_quantizer *q, const char *name,
                                  const char *suffix, hn_tensor *t, hn_error *err) {
    return hn_value_create_constant(out, q->g, NULL, hn_quantizer_hint(q, name, suffix), t, err);
}

hone_status hn_quantizer_scalar(hn_value **out, hn_quantizer *q, const char *hint, hone_dtype t,
                                double v, hn_error *err) {
    hn_tensor *tensor;
    HN_TRY(hn_tensor_create(&tensor, q->m->alloc, HN_MEM_WEIGHTS, t, 0, NULL, err));
    hn_store_f64(t, tensor->data, 0, v);
    return hn_value_create_constant(out, q->g, NULL, hint, tensor, err);
}

hn_grid_point hn_quantizer_point(const hn_quantizer *q, const hn_value *v, hn_qtype *t) {
    const hn_placed_value *leader = hn_placed_leader(&q->place, v);
    *t = leader->type;
    return q->points[leader->value->id];
}

void hn_quantizer_hand_over(hn_value *v, hn_node *to, hn_value *instead) {
    hn_node *from = v->producer;
    int k = v->out_index;
    hn_node_set_output(from, k, NULL);
    hn_node_set_output(from, k, instead);
    hn_value *unused = to->outputs[0];
    hn_node_set_output(to, 0, NULL);
    hn_node_set_output(to, 0, v);
    hn_value_remove(unused);
}

void hn_quantizer_drop(hn_value *v) {
    if (v == NULL || v->n_uses > 0 || v->producer != NULL || v->is_input) return;
    const hn_tensor *t = v->constant;
    if (t != NULL && t->file != NULL) hn_file_let_go(t->file, t->data, t->bytes);
    hn_value_remove(v);
}

/* ---- ranges ---- */

static hone_status find_range(const hn_quantizer *q, const hn_placed_value *v, const hn_qtype *type,
                              hn_range *r, hn_error *err) {
    *r = v->range;
    HN_CHECK(err,
             v->known || (q->calibration != NULL &&
                          hn_calibration_range(q->calibration, v->value->name, type, r)),
             HONE_E_ARG, "the calibration has no range for '%s'", v->value->name);
    return HONE_OK;
}

/* v is an input of the model, or what limits leave of one. */
static bool is_input(const hn_quantizer *q, const hn_value *v) {
    const hn_placement *p = &q->place;
    while (v->producer != NULL && hn_placed_follows(&p->nodes[p->made_by[v->id]]))
        v = v->producer->inputs[0].value;
    return v->is_input;
}

/* The point that a method has chosen for a leader, whatever the ranges. */
static bool take_point(hn_quantizer *q, const hn_placed_value *leader) {
    hn_grid_point *p = &q->points[leader->value->id];
    int32_t least, most;
    if (!hn_grids_point(q->grids, leader->value->name, p)) return false;
    hn_qtype_limits(&leader->type, &least, &most);
    q->ranges[leader->value->id] =
        (hn_range){(double)hn_grid_value(*p, least), (double)hn_grid_value(*p, most)};
    return true;
}

/* The scale of every group of values, by all that are held in it. */
static hone_status find_points(hn_quantizer *q, hn_error *err) {
    bool may_sign = q->s->target->signed_inputs && !q->s->integer_io;
    for (int i = 0; i < q->g->n_values; i++) {
        const hn_placed_value *v = &q->place.values[i];
        if (!v->held) continue;
        hn_placed_value *leader = hn_placed_leader(&q->place, v->value);
        hn_range r, *all = &q->ranges[leader->value->id];
        if (leader->type.dtype == HONE_DTYPE_NONE) leader->type = v->type;
        HN_TRY(find_range(q, v, &leader->type, &r, err));
        if (may_sign && r.min < 0 && leader == v && leader->type.dtype == HONE_DTYPE_U8 &&
            is_input(q, v->value)) {
            leader->type.dtype = HONE_DTYPE_S8;
            leader->type.symmetric = true;
            HN_TRY(find_range(q, v, &leader->type, &r, err));
        }
        all->min = fmin(all->min, r.min);
        all->max = fmax(all->max, r.max);
        q->points[leader->value->id] = hn_grid_of_range(&leader->type, *all);
        take_point(q, leader);
    }
    return HONE_OK;
}

/* What is held of the result of n: the result itself, or what limits make of it; NULL: nothing. */
static const hn_value *held_of(const hn_quantizer *q, const hn_node *n) {
    const hn_placement *p = &q->place;
    const hn_value *v = n->outputs[0];
    while (!p->values[v->id].held) {
        if (v->n_uses != 1 || v->uses->node == NULL || v->uses->node->graph != q->g) return NULL;
        const hn_node *next = v->uses->node;
        if (next->outputs[0] == NULL) return NULL;
        if (!hn_placed_follows(&p->nodes[p->made_by[next->outputs[0]->id]])) return NULL;
        v = next->outputs[0];
    }
    return v;
}

static bool is_narrow(const hn_qtype *t) { return t->dtype != HONE_DTYPE_NONE && t->bits <= 8; }

/* Sums of two values that are held get scales in which they round alike everywhere. */
static void steady_sums(hn_quantizer *q) {
    for (int i = 0; i < q->place.n_nodes; i++) {
        const hn_placed_node *n = &q->place.nodes[i];
        if (!n->integer || n->role != HN_ROLE_ADD) continue;
        const hn_value *a = n->node->inputs[0].value, *b = n->node->inputs[1].value;
        const hn_value *y = held_of(q, n->node);
        if (y == NULL || !q->place.values[a->id].held || !q->place.values[b->id].held) continue;
        hn_qtype ta, tb, ty;
        hn_grid_point pa = hn_quantizer_point(q, a, &ta), pb = hn_quantizer_point(q, b, &tb);
        hn_grid_point py = hn_quantizer_point(q, y, &ty);
        int leader = hn_placed_leader(&q->place, y)->value->id;
        if (take_point(q, hn_placed_leader(&q->place, y))) continue;
        bool apart = leader != hn_placed_leader(&q->place, a)->value->id &&
                     leader != hn_placed_leader(&q->place, b)->value->id;
        if (apart && is_narrow(&ta) && is_narrow(&tb) && is_narrow(&ty))
            q->points[leader] = hn_grid_of_sum(&ta, pa, &tb, pb, &ty, py);
    }
}

/* ---- the report ---- */

const char *hn_quantizer_type_text(hn_quantizer *q, const hn_qtype *t, const char *per) {
    char text[64];
    int n = q->s->simulate
                ? snprintf(text, sizeof text, "%d bit%s", t->bits, t->bits == 1 ? "" : "s")
                : snprintf(text, sizeof text, "%s", hone_dtype_name(t->dtype));
    if (!q->s->simulate && t->bits != hone_dtype_bits(t->dtype))
        n += snprintf(text + n, sizeof text - (size_t)n, " of %d bits", t->bits);
    if (t->group > 0)
        snprintf(text + n, sizeof text - (size_t)n, " groups of %lld", (long long)t->group);
    else if (t->per_channel)
        snprintf(text + n, sizeof text - (size_t)n, " per %s", per);
    return hn_arena_strdup(&q->report->arena, text);
}

/* What a node with weights that is left in floats keeps. */
static void count_floats(hn_quantized_layer *row, const hn_node *n) {
    if (!hn_has_weights(n) && !hn_reads_matrix(n)) return;
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t = hn_const_in(n, i);
        if (t == NULL || t->dtype != HONE_DTYPE_F32) continue;
        row->params += t->n;
        row->bytes_before += (int64_t)t->bytes;
    }
    row->bytes_after = row->bytes_before;
}

/* What the n weights of a layer, and its bias, take; bytes_after lacks those of the weights. */
static void count_weights(hn_quantized_layer *row, const hn_weighted *w, int n) {
    for (int i = 0; i < n; i++) {
        const hn_tensor *t = w[i].weight->constant;
        const hn_tensor *bias = w[i].bias != NULL ? w[i].bias->constant : NULL;
        row->params += t->n + (bias != NULL ? bias->n : 0);
        row->bytes_before += (int64_t)t->bytes + (bias != NULL ? (int64_t)bias->bytes : 0);
        row->bytes_after += bias != NULL ? (int64_t)bias->bytes : 0;
    }
}

/* The row of a node, if it has one. n_w: the weights it has in integers; 0: none. Before anything
 * is written. */
static hone_status add_row(hn_quantizer *q, const hn_placed_node *n, const hn_weighted *w, int n_w,
                           hn_error *err) {
    if (n_w == 0) w = NULL;
    q->row = NULL;
    bool table = hn_quantizer_table(n->node) != NULL;
    if (q->report == NULL || (table && q->s->embeddings)) return HONE_OK; /* that has its own */
    if (w == NULL && !n->integer && n->why == NULL && !table) return HONE_OK;
    hn_arena *arena = &q->report->arena;
    hn_quantized_layer *row = &q->report->v[q->report->n];
    row->node = hn_arena_strdup(arena, hn_layer_name(n->node));
    row->op = hn_arena_strdup(arena, n->node->op_type);
    bool ok = row->node != NULL && row->op != NULL;
    row->why_not = table                      ? "a table of embeddings (--embeddings quantizes it)"
                   : w == NULL && !n->integer ? n->why
                                              : NULL;
    row->kind = w != NULL ? w->scheme.kind : n->integer ? HN_LAYER_STATIC : HN_LAYER_F32;
    if (w != NULL) {
        row->weights = hn_quantizer_type_text(q, &w->scheme.weights, "channel");
        count_weights(row, w, n_w);
        ok = ok && row->weights != NULL;
    } else {
        count_floats(row, n->node);
    }
    if (n->node->written != HONE_DTYPE_NONE) row->bytes_before /= 2; /* they came in 16 bits */
    if (row->kind == HN_LAYER_STATIC) {
        hn_qtype type =
            hn_quant_target_type(q->s->target, hn_scheme_of(q->s, n->node, NULL).activations);
        if (w != NULL) hn_quantizer_point(q, w->input, &type);
        row->activations = hn_quantizer_type_text(q, &type, "channel");
        ok = ok && row->activations != NULL;
    } else if (row->kind == HN_LAYER_DYNAMIC) {
        row->activations = w->scheme.weights.group > 0 ? "s8" : "u8";
    }
    if (!ok) return HN_NOMEM(err);
    q->report->n++;
    q->row = row;
    return HONE_OK;
}

/* What calibration recorded of a value. */
static hone_status add_spread(hn_quantizer *q, hn_quantized_value *to, hn_error *err) {
    const hn_observer *o =
        q->calibration != NULL ? hn_calibration_of(q->calibration, to->name) : NULL;
    to->seen = (hn_range){NAN, NAN};
    to->clipped = to->zeros = NAN;
    if (o == NULL) return HONE_OK;
    hn_range_method method = hn_observer_method(q->calibration, o);
    if (method < HN_RANGE_METHODS) to->method = hn_range_method_name(method);
    to->seen = (hn_range){(double)o->extremes.least, (double)o->extremes.greatest};
    const hn_histogram *h = o->histogram;
    if (h == NULL || h->n == 0) return HONE_OK;
    to->clipped = hn_histogram_outside(h, to->range);
    to->zeros = (double)h->zeros / (double)h->n;
    to->bars = hn_arena_alloc(&q->report->arena, sizeof *to->bars);
    if (to->bars == NULL) return HN_NOMEM(err);
    hn_histogram_bars(h, to->bars);
    return HONE_OK;
}

/* Before anything is written, once ranges are known. */
static hone_status add_values(hn_quantizer *q, hn_error *err) {
    hn_quantize_report *r = q->report;
    if (r == NULL) return HONE_OK;
    r->values = hn_arena_array(&r->arena, (size_t)q->g->n_values + 1, sizeof *r->values);
    if (r->values == NULL) return HN_NOMEM(err);
    for (int i = 0; i < q->g->n_values; i++) {
        const hn_placed_value *v = &q->place.values[i];
        if (!v->held) continue;
        const hn_placed_value *leader = hn_placed_leader(&q->place, v->value);
        hn_quantized_value *to = &r->values[r->n_values++];
        *to = (hn_quantized_value){.range = q->ranges[leader->value->id]};
        to->name = hn_arena_strdup(&r->arena, v->value->name);
        to->type = hn_quantizer_type_text(q, &leader->type, "channel");
        if (to->name == NULL || to->type == NULL) return HN_NOMEM(err);
        HN_TRY(add_spread(q, to, err));
    }
    return HONE_OK;
}

void hn_quantize_report_deinit(hn_quantize_report *r) {
    if (r->arena.alloc != NULL) hn_arena_deinit(&r->arena);
    *r = (hn_quantize_report){0};
}

/* ---- the whole ---- */

static hone_status write_node(hn_quantizer *q, const hn_placed_node *n, hn_error *err) {
    hn_weighted w[2];
    int n_w = hn_weights_of(n->node, q->s, w, NULL);
    HN_TRY(add_row(q, n, w, n_w, err));
    HN_CHECK(err, q->fakes == NULL || n_w == 0 || w[0].scheme.kind != HN_LAYER_DYNAMIC,
             HONE_E_UNSUPPORTED,
             "%s '%s': activations by their range at run time are not trained, those by ranges "
             "found beforehand are",
             n->node->op_type, hn_layer_name(n->node));
    if (n_w == 0) return hn_quantizer_operands(q, n, err);
    if (n_w == 2) return hn_quantizer_recurrent(q, w, err);
    if (w[0].scheme.kind == HN_LAYER_DYNAMIC) return hn_quantizer_dynamic(q, &w[0], err);
    return hn_quantizer_layer(q, &w[0], n->integer, err);
}

static hone_status prepare(hn_quantizer *q, hn_error *err) {
    size_t n = (size_t)q->g->n_values + 1;
    q->n_values = q->g->n_values;
    q->points = hn_arena_array(q->arena, n, sizeof *q->points);
    q->ranges = hn_arena_array(q->arena, n, sizeof *q->ranges);
    q->dynamic = hn_arena_array(q->arena, n, sizeof *q->dynamic);
    q->weights = hn_arena_array(q->arena, n, sizeof *q->weights);
    q->scales = hn_arena_array(q->arena, n, sizeof *q->scales);
    if (q->points == NULL || q->ranges == NULL || q->dynamic == NULL || q->weights == NULL ||
        q->scales == NULL)
        return HN_NOMEM(err);
    if (q->report == NULL) return HONE_OK;
    q->report->v = hn_arena_array(&q->report->arena, n, sizeof *q->report->v);
    return q->report->v != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status quantize(hn_quantizer *q, hn_error *err) {
    HN_TRY(check(q, err));
    int fixed = hn_model_fix_defaults(q->m);
    HN_TRY(prepare(q, err));
    if (q->report != NULL) q->report->fixed_inputs = fixed;
    HN_TRY(hn_place(&q->place, q->g, q->s, q->arena, err));
    HN_TRY(find_points(q, err));
    steady_sums(q);
    HN_TRY(add_values(q, err));
    for (int i = 0; i < q->place.n_nodes; i++) HN_TRY(write_node(q, &q->place.nodes[i], err));
    HN_TRY(hn_quantizer_pairs(q, err));
    if (q->s->embeddings && q->fakes == NULL) HN_TRY(hn_quantizer_embeddings(q, err));
    HN_TRY(hn_graph_sort(q->g, NULL, err));
    return hn_model_infer(q->m, NULL, err);
}

static hone_status quantize_model(hn_model *m, const hn_scheme *s,
                                  const hn_calibration *calibration, const hn_grids *grids,
                                  hn_pool *pool, hn_quantize_report *report, hn_fakes *fakes,
                                  hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, m->alloc, HN_MEM_OTHER);
    hn_quantizer q = {.m = m,
                      .g = m->graph,
                      .s = s,
                      .calibration = calibration,
                      .grids = grids,
                      .pool = pool,
                      .report = report,
                      .fakes = fakes,
                      .arena = &arena};
    if (report != NULL) {
        *report = (hn_quantize_report){0};
        hn_arena_init(&report->arena, m->alloc, HN_MEM_OTHER);
    }
    hone_status status = quantize(&q, err);
    if (status != HONE_OK && report != NULL) hn_quantize_report_deinit(report);
    for (int i = 0; q.weights != NULL && i < q.n_values; i++) hn_grid_deinit(&q.weights[i].grid);
    hn_arena_deinit(&arena);
    return status;
}

hone_status hn_quantize_model(hn_model *m, const hn_scheme *s, const hn_calibration *calibration,
                              const hn_grids *grids, hn_pool *pool, hn_quantize_report *report,
                              hn_error *err) {
    return quantize_model(m, s, calibration, grids, pool, report, NULL, err);
}

hone_status hn_quantize_fake(hn_model *m, const hn_scheme *s, const hn_calibration *calibration,
                             const hn_grids *grids, hn_pool *pool, hn_fakes *out, hn_error *err) {
    hn_scheme floats = *s;
    floats.integer_io = false;
    *out = (hn_fakes){.alloc = m->alloc};
    hn_arena_init(&out->arena, m->alloc, HN_MEM_OTHER);
    hone_status status = quantize_model(m, &floats, calibration, grids, pool, NULL, out, err);
    if (status != HONE_OK) hn_fakes_deinit(out);
    return status;
}

hone_status hn_quantize_watches(const hn_model *m, const hn_scheme *s, hn_arena *arena,
                                const char *const **names, int *n, hn_error *err) {
    hn_placement p;
    HN_TRY(hn_place(&p, m->graph, s, arena, err));
    const char **all = hn_arena_array(arena, (size_t)m->graph->n_values + 1, sizeof *all);
    if (all == NULL) return HN_NOMEM(err);
    *n = 0;
    for (int i = 0; i < m->graph->n_values; i++)
        if (p.values[i].held && !p.values[i].known) all[(*n)++] = p.values[i].value->name;
    *names = all;
    return HONE_OK;
}
