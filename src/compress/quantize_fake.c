/* FakeQuantize where integers would be written (fake.h), and what training made of it. */
#include <math.h>
#include <string.h>

#include "compress/course.h"
#include "compress/fake.h"
#include "compress/quantizer.h"
#include "ops/op.h"

void hn_fakes_deinit(hn_fakes *f) {
    for (int i = 0; i < f->n; i++) hn_grid_deinit(&f->v[i].grid);
    if (f->alloc != NULL) hn_arena_deinit(&f->arena);
    *f = (hn_fakes){0};
}

static hone_status add(hn_fakes *f, const char *name, const hn_value *scale, const hn_qtype *type,
                       hn_fake **out, hn_error *err) {
    if (f->n == f->cap) {
        int cap = f->cap > 0 ? 2 * f->cap : 64;
        hn_fake *more = hn_arena_array(&f->arena, (size_t)cap, sizeof *more);
        if (more == NULL) return HN_NOMEM(err);
        if (f->n > 0) memcpy(more, f->v, (size_t)f->n * sizeof *more);
        f->v = more;
        f->cap = cap;
    }
    hn_fake *r = &f->v[f->n];
    *r = (hn_fake){.name = hn_arena_strdup(&f->arena, name),
                   .scale = hn_arena_strdup(&f->arena, scale->name),
                   .type = *type};
    if (r->name == NULL || r->scale == NULL) return HN_NOMEM(err);
    f->n++;
    *out = r;
    return HONE_OK;
}

/* A node of in[0], a scale, and zero points where there are some. */
static hone_status make(hn_node **out, hn_quantizer *q, const char *name, hn_value *const *in,
                        int64_t qmin, int64_t qmax, hn_node *before, hn_error *err) {
    HN_TRY(hn_quantizer_node(out, q, "FakeQuantize", hn_quantizer_hint(q, name, "_rounded"),
                             in[2] != NULL ? 3 : 2, in, before, err));
    HN_TRY(hn_node_set_i(*out, "qmin", qmin, err));
    return hn_node_set_i(*out, "qmax", qmax, err);
}

/* ---- constants ---- */

/* t, one number or one for each of the channels, as f32 that broadcasts to the weight. */
static hone_status spread(hn_quantizer *q, const char *name, const char *suffix, const hn_tensor *t,
                          const hn_tensor *w, int axis, hn_value **out, hn_error *err) {
    int64_t dims[HONE_MAX_RANK];
    hn_tensor *made;
    for (int i = 0; i < w->rank; i++) dims[i] = i == axis ? t->n : 1;
    HN_TRY(hn_tensor_create(&made, q->m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32,
                            axis >= 0 ? w->rank : 0, dims, err));
    for (int64_t i = 0; i < t->n; i++) ((float *)made->data)[i] = (float)hn_tensor_f64(t, i);
    return hn_quantizer_constant(out, q, name, suffix, made, err);
}

hone_status hn_quantizer_fake_constant(hn_quantizer *q, hn_value *v, const hn_grid *g,
                                       hn_node *before, hn_value **scale, hn_value **floats,
                                       hn_error *err) {
    hn_value *in[3] = {v};
    int32_t least, most;
    hn_node *n;
    hn_fake *r;
    HN_CHECK(err, g->group_axis < 0, HONE_E_UNSUPPORTED,
             "weight '%s' has a scale for each group of %lld: groups are not trained, group 0 is",
             v->name, (long long)g->type.group);
    HN_TRY(spread(q, v->name, "_scale", g->scale, v->constant, g->axis, &in[1], err));
    if (g->zero != NULL)
        HN_TRY(spread(q, v->name, "_zero", g->zero, v->constant, g->axis, &in[2], err));
    hn_qtype_limits(&g->type, &least, &most);
    HN_TRY(make(&n, q, v->name, in, least, most, before, err));
    if (g->type.bits == 1) HN_TRY(hn_node_set_i(n, "binary", 1, err));
    HN_TRY(add(q->fakes, v->name, in[1], &g->type, &r, err));
    r->grid = *g;
    r->grid.scale = hn_tensor_ref(g->scale);
    r->grid.zero = hn_tensor_ref(g->zero);
    *scale = in[1];
    *floats = n->outputs[0];
    return HONE_OK;
}

/* ---- values ---- */

static hone_status scale_of(hn_quantizer *q, const hn_value *v, hn_value **scale, hn_error *err) {
    const hn_value *leader = hn_placed_leader(&q->place, v)->value;
    hn_value **at = &q->scales[leader->id];
    hn_qtype type;
    hn_grid_point p = hn_quantizer_point(q, v, &type);
    if (*at == NULL) {
        hn_fake *r;
        HN_TRY(hn_quantizer_scalar(at, q, hn_quantizer_hint(q, leader->name, "_scale"),
                                   HONE_DTYPE_F32, (double)p.scale, err));
        HN_TRY(add(q->fakes, leader->name, *at, &type, &r, err));
        r->is_value = true;
        r->zero = p.zero;
    }
    *scale = *at;
    return HONE_OK;
}

/* The codes that QuantizeLinear gives: all of the type where nothing limits them before, -128 too
 * where the grid begins at -127. */
static void limits(const hn_qtype *t, int64_t *least, int64_t *most) {
    int32_t ends[2];
    hn_qtype_limits(t, &ends[0], &ends[1]);
    bool whole = t->bits == hone_dtype_bits(t->dtype);
    *least = whole ? hn_dtype_min(t->dtype) : ends[0];
    *most = whole ? (int64_t)hn_dtype_max(t->dtype) : ends[1];
}

hone_status hn_quantizer_fake_value(hn_quantizer *q, hn_value *v, hn_error *err) {
    hn_node *n, *before = v->producer != NULL ? v->producer->next : q->g->first;
    hn_value *in[3] = {0};
    hn_qtype type;
    hn_grid_point p = hn_quantizer_point(q, v, &type);
    int64_t least, most;
    limits(&type, &least, &most);
    HN_TRY(scale_of(q, v, &in[1], err));
    if (p.zero != 0)
        HN_TRY(hn_quantizer_scalar(&in[2], q, hn_quantizer_hint(q, v->name, "_zero"),
                                   HONE_DTYPE_F32, p.zero, err));
    HN_TRY(make(&n, q, v->name, in, least, most, before, err));
    if (v->producer == NULL) {
        hn_value_replace(v, n->outputs[0]);
        hn_node_set_input(n, 0, v);
        return HONE_OK;
    }
    hn_value *floats;
    HN_TRY(hn_value_create(&floats, q->g, NULL, hn_quantizer_hint(q, v->name, "_float"), err));
    floats->type = v->type;
    hn_node_set_input(n, 0, floats);
    hn_quantizer_hand_over(v, n, floats);
    return HONE_OK;
}

/* ---- biases ---- */

static hone_status times(hn_quantizer *q, const char *name, hn_value *a, hn_value *b,
                         hn_node *before, hn_value **out, hn_error *err) {
    hn_node *n;
    HN_TRY(hn_quantizer_node(&n, q, "Mul", hn_quantizer_hint(q, name, "_scale"), 2,
                             (hn_value *const[]){a, b}, before, err));
    *out = n->outputs[0];
    return HONE_OK;
}

hone_status hn_quantizer_fake_bias(hn_quantizer *q, const hn_weighted *w, hn_value *scale,
                                   hn_error *err) {
    const char *name = w->bias->name;
    hn_value *sx, *unit = scale, *in[3] = {w->bias};
    hn_node *n;
    HN_TRY(scale_of(q, w->input, &sx, err));
    if (scale->constant->rank > 0) {
        hn_tensor *all;
        hn_value *shape;
        int64_t dims = 1, line = -1;
        HN_TRY(hn_tensor_from_s64(&all, q->m->alloc, HONE_DTYPE_S64, 1, &dims, &line, err));
        HN_TRY(hn_quantizer_constant(&shape, q, name, "_shape", all, err));
        HN_TRY(hn_quantizer_node(&n, q, "Reshape", hn_quantizer_hint(q, name, "_scales"), 2,
                                 (hn_value *const[]){scale, shape}, w->node, err));
        unit = n->outputs[0];
    }
    HN_TRY(times(q, name, unit, sx, w->node, &unit, err));
    if (w->alpha != w->beta && w->beta != 0) {
        hn_value *factor;
        HN_TRY(hn_quantizer_scalar(&factor, q, hn_quantizer_hint(q, name, "_factor"),
                                   HONE_DTYPE_F32, (double)w->alpha / (double)w->beta, err));
        HN_TRY(times(q, name, unit, factor, w->node, &unit, err));
    }
    in[1] = unit;
    HN_TRY(make(&n, q, name, in, -INT32_MAX, INT32_MAX, w->node, err));
    HN_TRY(hn_node_set_i(n, "learn", 0, err));
    hn_node_set_input(w->node, w->node->op->weights->bias, n->outputs[0]);
    return HONE_OK;
}

/* ---- what training made of it ---- */

static const hn_tensor *constant_of(const hn_model *m, const char *name) {
    const hn_value *v = hn_graph_value(m->graph, name);
    return v != NULL ? v->constant : NULL;
}

/* The points that FakeQuantize gives for t, by its own arithmetic. */
static void round_to(const hn_grid *g, hn_tensor *t) {
    float *w = t->data;
    int32_t least, most;
    hn_qtype_limits(&g->type, &least, &most);
    for (int64_t i = 0; i < t->n; i++) {
        hn_grid_point p = hn_grid_at(g, t, i);
        double code = rint((double)(w[i] / p.scale)) + p.zero;
        int32_t c = g->type.bits == 1 ? hn_grid_code(&g->type, p, (double)w[i])
                                      : (int32_t)fmin(fmax(code, least), most);
        w[i] = hn_grid_value(p, c);
    }
}

static hone_status apply_constant(const hn_fake *f, const hn_tensor *scale, bool rounded,
                                  hn_model *m, hn_grids *grids, hn_error *err) {
    hn_grid g = f->grid;
    hn_value *v = hn_graph_value(m->graph, f->name);
    HN_TRY(hn_tensor_create(&g.scale, m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, f->grid.scale->rank,
                            f->grid.scale->dims, err));
    for (int64_t i = 0; i < g.scale->n; i++)
        ((float *)g.scale->data)[i] = hn_grid_scale(hn_tensor_f64(scale, i));
    g.zero = hn_tensor_ref(f->grid.zero);
    if (rounded) round_to(&g, v->constant);
    return hn_grids_set(grids, f->name, &g, err);
}

hone_status hn_fakes_apply(const hn_fakes *f, const hn_model *trained, bool rounded, hn_model *m,
                           hn_grids *grids, hn_error *err) {
    HN_TRY(hn_course_store(trained, m, err));
    for (int i = 0; i < f->n; i++) {
        const hn_fake *v = &f->v[i];
        const hn_tensor *scale = constant_of(trained, v->scale);
        HN_CHECK(err, scale != NULL && (v->is_value || constant_of(m, v->name) != NULL),
                 HONE_E_NOT_FOUND, "the trained model has no scale '%s'", v->scale);
        if (!v->is_value) {
            HN_TRY(apply_constant(v, scale, rounded, m, grids, err));
            continue;
        }
        hn_grid_point p = {hn_grid_scale(hn_tensor_f64(scale, 0)), v->zero};
        HN_TRY(hn_grids_set_point(grids, v->name, p, err));
    }
    return HONE_OK;
}
