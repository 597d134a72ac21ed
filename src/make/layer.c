#include "make/layer.h"

#include <stdio.h>
#include <string.h>

#include "base/size.h"

const hn_layer *const hn_layers[] = {
#define HN_LAYER(name) &hn_layer_##name,
#include "make/layers.def"
#undef HN_LAYER
};
const int hn_n_layers = sizeof hn_layers / sizeof *hn_layers;

int hn_layer_number(hn_str name) {
    for (int i = 0; i < hn_n_layers; i++)
        if (strlen(hn_layers[i]->name) == name.n && memcmp(hn_layers[i]->name, name.p, name.n) == 0)
            return i;
    return -1;
}

/* Names are cut here: longer ones would be taken twice, which is an error by itself. */
enum { NAME = 512 };

static const char *part_name(const hn_maker *m, const char *part, char *buf) {
    if (part == NULL || part[0] == '\0') return m->at;
    snprintf(buf, NAME, "%s.%s", m->at, part);
    return buf;
}

hone_status hn_make_op(hn_maker *m, const char *op, const char *part, hn_value *const *in, int n_in,
                       hn_node **node, hn_value **out) {
    char buf[NAME];
    const char *name = part_name(m, part, buf);
    hn_node *n;
    hn_value *y;
    HN_TRY(hn_value_create(&y, m->graph, name, NULL, m->err));
    HN_TRY(hn_node_create(&n, m->graph, "", op, name, n_in, 1, m->err));
    hn_node_insert(n, NULL);
    for (int i = 0; i < n_in; i++) hn_node_set_input(n, i, in[i]);
    hn_node_set_output(n, 0, y);
    if (node != NULL) *node = n;
    *out = y;
    return HONE_OK;
}

/* ---- constants ---- */

static hone_status count_params(hn_maker *m, const char *name, int rank, const int64_t *dims) {
    int64_t n, all;
    bool fits = hn_dims_count(dims, rank, &n) && hn_i64_add(m->params, n, &all);
    HN_CHECK(m->err, fits && all <= m->most_params, HONE_E_LIMIT,
             "with '%s' the model has more than %lld parameters", name, (long long)m->most_params);
    m->params = all;
    return HONE_OK;
}

static hone_status param(hn_maker *m, const char *part, const hn_initial *how, int rank,
                         const int64_t *dims, hn_fans f, hn_value **out) {
    char buf[NAME];
    const char *name = part_name(m, part, buf);
    hn_tensor *t;
    HN_TRY(count_params(m, name, rank, dims));
    HN_CHECK(m->err, hn_graph_value(m->graph, name) == NULL, HONE_E_FORMAT,
             "the name '%s' is taken", name);
    HN_TRY(
        hn_tensor_create(&t, m->model->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, rank, dims, m->err));
    hn_initial_fill(how, f, m->seed, name, t);
    return hn_value_create_constant(out, m->graph, name, NULL, t, m->err);
}

hone_status hn_make_param(hn_maker *m, const char *part, hn_initial_kind kind, int rank,
                          const int64_t *dims, hn_fans f, hn_value **out) {
    return param(m, part, &m->initial[kind], rank, dims, f, out);
}

hone_status hn_make_param_of(hn_maker *m, const char *part, int64_t n, double v, hn_value **out) {
    hn_initial how = {hn_initial_find((hn_str){"constant", 8}), v};
    return param(m, part, &how, 1, &n, (hn_fans){1, 1}, out);
}

/* The constant of that name, or a new one; takes over the reference to t. */
static hone_status shared(hn_maker *m, const char *name, hn_tensor *t, hn_value **out) {
    hn_value *v = hn_graph_value(m->graph, name);
    if (v == NULL) return hn_value_create_constant(out, m->graph, name, NULL, t, m->err);
    bool same = v->constant != NULL && hn_tensor_equal(v->constant, t);
    hn_tensor_unref(t);
    HN_CHECK(m->err, same, HONE_E_FORMAT, "the name '%s' is taken", name);
    *out = v;
    return HONE_OK;
}

hone_status hn_make_scalar(hn_maker *m, float v, hn_value **out) {
    char name[64];
    hn_tensor *t;
    snprintf(name, sizeof name, "scalar.%.9g", (double)v);
    HN_TRY(hn_tensor_from_f32(&t, m->model->alloc, 0, NULL, &v, m->err));
    return shared(m, name, t, out);
}

hone_status hn_make_index(hn_maker *m, int64_t v, hn_value **out) {
    char name[64];
    hn_tensor *t;
    snprintf(name, sizeof name, "index.%lld", (long long)v);
    HN_TRY(hn_tensor_from_s64(&t, m->model->alloc, HONE_DTYPE_S64, 0, NULL, &v, m->err));
    return shared(m, name, t, out);
}

hone_status hn_make_integers(hn_maker *m, const int64_t *v, int n, hn_value **out) {
    char name[256] = "integers";
    hn_tensor *t;
    int64_t dims[] = {n};
    for (int i = 0; i < n; i++) {
        size_t at = strlen(name);
        snprintf(name + at, sizeof name - at, "%c%lld", i == 0 ? '.' : '_', (long long)v[i]);
    }
    HN_TRY(hn_tensor_from_s64(&t, m->model->alloc, HONE_DTYPE_S64, 1, dims, v, m->err));
    return shared(m, name, t, out);
}

/* ---- inputs ---- */

hone_status hn_make_input(hn_maker *m, const char *name, hone_dtype dtype, int rank,
                          const int64_t *dims, hn_value **out) {
    hn_dims *table = &m->model->dims;
    hn_value *v;
    HN_TRY(hn_value_create(&v, m->graph, name, NULL, m->err));
    v->type = (hn_type){.kind = HN_TYPE_TENSOR, .dtype = dtype, .shape = {.rank = rank + 1}};
    v->type.shape.dim[0] = hn_dim_symbol(table, "N");
    for (int i = 0; i < rank; i++)
        v->type.shape.dim[i + 1] =
            dims[i] < 0 ? hn_dim_symbol(table, "S") : hn_dim_const(table, dims[i]);
    HN_TRY(hn_graph_add_input(m->graph, v, m->err));
    *out = v;
    return table->status == HONE_OK ? HONE_OK : HN_NOMEM(m->err);
}
