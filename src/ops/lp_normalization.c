/* LpNormalization: x over the 1- or 2-norm of its neighbours along one axis; all zeros stay zeros.
 */
#include <math.h>

#include "ops/grad.h"
#include "ops/groups.h"

typedef struct job {
    bool squares; /* the 2-norm */
    const hn_tensor *x;
    hn_tensor *y;
    hn_groups groups;
} job;

typedef struct pass {
    const job *j;
    double norm[HN_BLOCK];
} pass;

static void take_norm(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    double x[HN_BLOCK];
    hn_load_f64_n(p->j->x->dtype, p->j->x->data, at, n, x);
    for (int64_t i = 0; i < n; i++) p->norm[i * step] += p->j->squares ? x[i] * x[i] : fabs(x[i]);
}

static void put_result(void *state, int64_t at, int64_t n, int64_t step) {
    pass *p = state;
    double x[HN_BLOCK];
    hn_load_f64_n(p->j->x->dtype, p->j->x->data, at, n, x);
    for (int64_t i = 0; i < n; i++)
        if (p->norm[i * step] != 0) x[i] /= p->norm[i * step];
    hn_store_f64_n(p->j->y->dtype, p->j->y->data, at, n, x);
}

static void run(void *ctx, int64_t first, int64_t width) {
    const job *j = ctx;
    pass p;
    p.j = j;
    for (int64_t i = 0; i < width; i++) p.norm[i] = 0;
    hn_group_walk(&j->groups, first, width, take_norm, &p);
    if (j->squares)
        for (int64_t i = 0; i < width; i++) p.norm[i] = sqrt(p.norm[i]);
    hn_group_walk(&j->groups, first, width, put_result, &p);
}

static hone_status infer(hn_infer *c, hn_error *err) {
    int64_t p = hn_attr_i(c->node, "p"), axis = hn_attr_i(c->node, "axis");
    HN_CHECK(err, p == 1 || p == 2, HONE_E_ARG, "p is %lld, expected 1 or 2", (long long)p);
    if (hn_in_rank(c, 0) >= 0) HN_TRY(hn_want_axis(&axis, hn_in_rank(c, 0), err));
    return hn_infer_same(c, err);
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.squares = hn_attr_i(e->node, "p") == 2, .x = e->in[0], .y = e->out[0]};
    int64_t axis = hn_attr_i(e->node, "axis");
    HN_TRY(hn_want_axis(&axis, j.x->rank, err));
    if (j.x->n == 0) return HONE_OK;
    hn_groups_init(&j.groups, j.x->rank, j.x->dims, 1u << axis);
    hn_for_groups(e->pool, &j.groups, run, &j);
    return HONE_OK;
}

/* Where all are zeros, y is x, and so are their gradients. */
static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    int64_t dims[HONE_MAX_RANK], axis = hn_attr_i(g->node, "axis");
    HN_TRY(hn_want_axis(&axis, hn_grad_dims(g, hn_grad_in(g, 0), dims), err));
    hn_value *in[] = {hn_grad_in(g, 0), hn_emit_ints(g, &axis, 1)};
    if (in[1] == NULL) return HONE_OK;
    bool squares = hn_attr_i(g->node, "p") == 2;
    hn_node *norm = hn_emit_node(g, "", squares ? "ReduceL2" : "ReduceL1", 1, 2, in);
    y[0] = HN_TEXT(g, "a / Where(b == 0, 1, b)", in[0], hn_emitted(norm, 0));
    return HONE_OK;
}

const hn_op_def hn_op_lp_normalization = {
    .name = "LpNormalization",
    .versions = "1 22",
    .sig = "(input:T) -> (output:T); T: float",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("axis", -1), HN_ATTR_I("p", 2), {0}},
    .infer = infer,
    .ref = ref,
    .spell = spell};
