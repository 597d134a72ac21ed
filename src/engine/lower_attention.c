/* Attention: as exporters spell it, and as an operator.
 *
 *   scores = MatMul(q, k) [* scale] [+ mask]      [Where(mask, scores, fill)]
 *   weights = Softmax(scores)                     [w = Softmax(scores); Where(IsNaN(w), 0, w)]
 *   y = MatMul(weights, v)
 *
 * When the last product is reached, the scores are a step of matmul_f32 already, with scale and
 * mask taken in. Its problem and operands are all that attention_f32 needs to compute y from q, k
 * and v; nothing reads the scores and the weights any more, and their steps are dropped.
 *
 * Splitting and merging heads are transposes, so they are strides here. Where q and k come
 * multiplied by a number each, the scale takes them in.
 */
#include <math.h>
#include <string.h>

#include "engine/lower.h"
#include "kernels/attention_f32/attention_f32.h"
#include "kernels/map_f32/map_f32.h"
#include "kernels/matmul_f32/matmul_f32.h"

_Static_assert((int)HN_ATTENTION_BATCH_AXES == (int)HN_MATMUL_BATCH_AXES, "batches are copied");

/* The node of ai.onnx that makes v, if it is of that kind. */
static const hn_node *made_by(const hn_value *v, const char *op) {
    const hn_node *n = v != NULL ? v->producer : NULL;
    return n != NULL && n->domain[0] == '\0' && strcmp(n->op_type, op) == 0 ? n : NULL;
}

/* The Where that puts 0 for each NaN of its last input, if n is one. */
static bool replaces_nan(const hn_node *n) {
    const hn_tensor *zero = hn_node_constant(n, 1);
    const hn_value *w = hn_node_input(n, 2), *condition = hn_node_input(n, 0);
    const hn_node *test = made_by(condition, "IsNaN");
    return test != NULL && condition->n_uses == 1 && hn_node_input(test, 0) == w &&
           w->n_uses == 2 && zero != NULL && zero->n == 1 && hn_tensor_f64(zero, 0) == 0;
}

/* The Softmax, along the last axis, that n multiplies something by and nothing else uses. */
static const hn_node *softmax_of(const hn_node *n, hn_attention_blind *blind) {
    const hn_value *w = hn_node_input(n, 0);
    const hn_node *where = made_by(w, "Where");
    if (w->n_uses != 1) return NULL;
    *blind = HN_BLIND_NAN;
    if (where != NULL) {
        if (!replaces_nan(where)) return NULL;
        *blind = HN_BLIND_ANY;
        w = hn_node_input(where, 2);
    }
    const hn_node *softmax = made_by(w, "Softmax");
    if (softmax == NULL) return NULL;
    int64_t axis = hn_attr_i(softmax, "axis");
    return axis == -1 || axis == w->type.shape.rank - 1 ? softmax : NULL;
}

/* The MatMul that step s, which made v, has begun with. */
static const hn_node *beginning(const hn_lower *L, const hn_value *v, const hn_step *s) {
    const hn_node *n = v->producer, *before = NULL;
    while (n != before && made_by(hn_node_output(n, 0), "MatMul") == NULL) {
        before = n;
        for (int i = 0; i < before->n_inputs; i++) {
            const hn_value *in = hn_node_input(before, i);
            if (in != NULL && in->producer != NULL && L->makers[in->id] == s) n = in->producer;
        }
    }
    return n != before ? n : NULL;
}

/* Keys may come by way of [samples * heads, positions, size], whose axes 1 and 2 are then swapped:
 * with more samples than one that is a copy, which k need not be taken from. False: they do not. */
static bool straight_keys(const hn_lower *L, const hn_node *product, hn_view *k) {
    const hn_node *last = made_by(hn_node_input(product, 1), "Reshape");
    const hn_node *swap = last != NULL ? made_by(hn_node_input(last, 0), "Transpose") : NULL;
    const hn_node *first = swap != NULL ? made_by(hn_node_input(swap, 0), "Reshape") : NULL;
    if (first == NULL) return false;
    int count;
    const int64_t *perm = hn_attr_ints(swap, "perm", &count);
    if (perm == NULL || count != 3 || perm[0] != 0 || perm[1] != 2) return false;
    hn_view x = hn_lower_in(L, first, 0), b = hn_lower_in(L, last, 0);
    hn_view y = hn_lower_in(L, product, 1);
    if (x.rank != 4 || y.rank != 4 || x.dims[0] != y.dims[0] || x.dims[1] != y.dims[1] ||
        x.dims[2] != y.dims[3] || x.dims[3] != y.dims[2] || b.dims[1] != y.dims[2] ||
        b.dims[2] != y.dims[3])
        return false;
    *k = x;
    return true;
}

/* Input i of the product may be something times a number, by which the scores may be multiplied as
 * well: then *x is that something, and *scale takes in the number. False: it is not. */
static bool unscaled(const hn_lower *L, const hn_node *product, int i, hn_view *x, double *scale) {
    const hn_value *v = hn_node_input(product, i);
    const hn_node *n = made_by(v, "Mul");
    const hn_step *s = L->makers[v->id];
    if (n == NULL || hn_step_problem(s, &hn_map_f32_family) == NULL) return false;
    int side = hn_node_constant(n, 0) != NULL ? 1 : 0;
    const hn_tensor *number = hn_node_constant(n, 1 - side);
    const hn_value *in = hn_node_input(n, side);
    if (number == NULL || number->n != 1 || !isfinite(hn_tensor_f64(number, 0))) return false;
    /* What the step has computed on the way exists nowhere. */
    if (!L->known[in->id] || L->makers[in->id] == s || in->type.shape.rank < 2 ||
        in->type.shape.rank != v->type.shape.rank)
        return false;
    *x = L->views[in->id];
    *scale *= hn_tensor_f64(number, 0);
    return true;
}

/* Strides of v's batch axes under those of y; 0 where it is broadcast. */
static void batch_strides(const hn_view *v, const hn_view *y, int64_t *strides) {
    int missing = y->rank - v->rank;
    for (int i = 0; i < y->rank - 2; i++)
        strides[i] = i >= missing && v->dims[i - missing] > 1 ? v->strides[i - missing] : 0;
}

/* A Where that puts a number for some scores. */
typedef struct choice {
    const hn_value *scores; /* as they are elsewhere */
    hn_view mask;           /* bool */
    bool hides;
    float fill;
} choice;

/* False: that is not what makes v, or the mask exists nowhere, being computed on the way. */
static bool choice_of(const hn_lower *L, const hn_value *v, choice *c) {
    const hn_node *n = made_by(v, "Where");
    if (n == NULL) return false;
    int side = hn_node_constant(n, 1) != NULL ? 1 : 2;
    const hn_tensor *fill = hn_node_constant(n, side);
    const hn_value *mask = hn_node_input(n, 0);
    if (fill == NULL || fill->n != 1 || fill->dtype != HONE_DTYPE_F32 || !L->known[mask->id])
        return false;
    const hn_step *s = L->makers[v->id];
    if (s == NULL || s == L->makers[mask->id]) return false;
    *c = (choice){.scores = hn_node_input(n, 3 - side),
                  .mask = L->views[mask->id],
                  .hides = side == 1,
                  .fill = (float)hn_tensor_f64(fill, 0)};
    return c->scores->n_uses == 1 && c->scores->type.shape.rank == v->type.shape.rank;
}

/* Gives p the mask; y: the result, whose axes but the last two are batches. False: its keys are not
 * adjacent, or it hides what is scores of another shape. */
static bool choose(hn_attention_f32 *p, const choice *c, const hn_view *y) {
    const hn_view *m = &c->mask;
    if (m->rank == 0 || m->rank > y->rank || m->dims[m->rank - 1] != p->keys ||
        (p->keys > 1 && m->strides[m->rank - 1] != 1))
        return false;
    batch_strides(m, y, p->mask_batch);
    p->mask_row = m->rank > 1 && m->dims[m->rank - 2] > 1 ? m->strides[m->rank - 2] : 0;
    p->chooses = true;
    p->hides = c->hides;
    p->fill = c->fill;
    return true;
}

/* Whether v, of its dims, is what m computes and not a transpose of it. */
static bool lies_as(const hn_view *v, const hn_matmul_f32 *m) {
    int rows = v->rank - 2, columns = v->rank - 1;
    for (int i = 0; i < rows; i++)
        if (v->dims[i] != 1 && v->strides[i] != m->c_batch[i]) return false;
    return (m->m == 1 || v->strides[rows] == m->c_m) &&
           (m->n == 1 || v->strides[columns] == m->c_n);
}

/* The attention whose scores m computes: v the values, y the result, which has no place yet. */
static hn_attention_f32 problem_of(const hn_matmul_f32 *m, const hn_view *v, const hn_view *y,
                                   hn_attention_blind blind) {
    hn_attention_f32 p = {.queries = m->m,
                          .keys = m->n,
                          .size = m->k,
                          .v_size = y->dims[y->rank - 1],
                          .q_row = m->a_m,
                          .q_col = m->a_k,
                          .k_row = m->b_n,
                          .k_col = m->b_k,
                          .v_row = v->strides[v->rank - 2],
                          .v_col = v->strides[v->rank - 1],
                          .mask_row = m->r_m,
                          .blind = blind};
    memcpy(p.batch, m->batch, sizeof p.batch);
    memcpy(p.q_batch, m->a_batch, sizeof p.q_batch);
    memcpy(p.k_batch, m->b_batch, sizeof p.k_batch);
    memcpy(p.mask_batch, m->r_batch, sizeof p.mask_batch);
    batch_strides(v, y, p.v_batch);
    return p;
}

static void count_work(hn_step *s, const hn_attention_f32 *p) {
    double batches = (double)hn_attention_batches(p);
    double per_key = (double)(p->size + p->v_size);
    s->facts->label = "attention";
    s->facts->flops = 2 * batches * (double)p->queries * (double)p->keys * per_key;
    s->facts->bytes = 4 * batches * (double)(p->queries + p->keys) * per_key;
}

hone_status hn_lower_attention_product(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_attention_blind blind;
    const hn_node *softmax = softmax_of(n, &blind);
    const hn_value *scores = softmax != NULL ? hn_node_input(softmax, 0) : NULL;
    if (scores == NULL || scores->n_uses != 1 || L->no_fuse) HN_DECLINE(L, "no attention");
    choice hidden;
    bool chooses = choice_of(L, scores, &hidden);
    hn_view whole = L->views[scores->id];
    if (chooses) scores = hidden.scores;
    const hn_step *from = L->makers[scores->id];
    const hn_matmul_f32 *m = hn_step_problem(from, &hn_matmul_f32_family);
    if (m == NULL) HN_DECLINE(L, "no attention");
    const hn_operand *bias = &from->operands[HN_MATMUL_BIAS], *r = &from->operands[HN_MATMUL_R];
    int masks = (bias->buffer >= 0) + (r->buffer >= 0) + chooses;
    if (m->act.kind != HN_ACT_NONE || masks > 1 || (r->buffer >= 0 && m->r_n != 1 && m->n != 1))
        HN_DECLINE(L, "scores that no attention has");
    hn_view v = hn_lower_in(L, n, 1), y = hn_lower_out(n, 0);
    int rank = scores->type.shape.rank;
    bool fits = v.rank >= 2 && y.rank == rank && rank - 2 <= HN_ATTENTION_BATCH_AXES;
    for (int i = 0; fits && i < rank - 2; i++)
        fits = y.dims[i] == m->batch[i] && whole.dims[i] == m->batch[i];
    fits = fits && whole.dims[rank - 2] == m->m && whole.dims[rank - 1] == m->n &&
           lies_as(&L->views[scores->id], m);
    if (!fits) HN_DECLINE(L, "values of another shape");

    hn_attention_f32 p = problem_of(m, &v, &y, blind);
    if (chooses && !choose(&p, &hidden, &y)) HN_DECLINE(L, "a mask whose keys lie apart");
    const hn_node *product = beginning(L, scores, from);
    hn_view q, k;
    double scale = (double)m->alpha;
    bool other_q = product != NULL && unscaled(L, product, 0, &q, &scale);
    bool other_k = product != NULL && straight_keys(L, product, &k);
    if (!other_k && product != NULL && unscaled(L, product, 1, &k, &scale)) {
        hn_view_swap_last(&k);
        other_k = true;
    }
    if (other_q) {
        batch_strides(&q, &y, p.q_batch);
        p.q_row = q.strides[q.rank - 2];
        p.q_col = q.strides[q.rank - 1];
    }
    if (other_k) {
        batch_strides(&k, &y, p.k_batch);
        p.k_row = k.strides[k.rank - 2];
        p.k_col = k.strides[k.rank - 1];
    }
    p.scale = (float)scale;
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    batch_strides(&y, &y, p.y_batch);
    p.y_row = y.strides[rank - 2];
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_attention_f32_family, &p, sizeof p, &s, err));
    if (from->precision < s->precision) /* of its two products the more exact one decides */
        s->precision = from->precision, s->facts->maker = from->facts->maker;
    s->operands[HN_ATTENTION_Q] = from->operands[HN_MATMUL_A];
    s->operands[HN_ATTENTION_K] = from->operands[HN_MATMUL_B];
    if (other_q) hn_step_reads(s, HN_ATTENTION_Q, &q);
    if (other_k) hn_step_reads(s, HN_ATTENTION_K, &k);
    hn_step_reads(s, HN_ATTENTION_V, &v);
    s->operands[HN_ATTENTION_MASK] = bias->buffer >= 0 ? *bias : *r;
    if (chooses) hn_step_reads(s, HN_ATTENTION_MASK, &hidden.mask);
    hn_step_writes(s, HN_ATTENTION_Y, &y);
    count_work(s, &p);
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

/* ---- the operator ---- */

/* [samples, positions, heads * size] as [samples, heads, positions, size]. */
static hn_view by_heads(const hn_view *x, int64_t heads) {
    hn_view v = *x;
    if (x->rank == 4) return v;
    v.rank = 4;
    v.dims[1] = heads;
    v.dims[2] = x->dims[1];
    v.dims[3] = x->dims[2] / heads;
    v.strides[1] = v.dims[3] * x->strides[2];
    v.strides[2] = x->strides[1];
    v.strides[3] = x->strides[2];
    return v;
}

/* Strides of the axes [samples, heads of keys, heads of queries for each, 1]. */
static void head_strides(const hn_view *v, int64_t group, bool queries, int64_t *strides) {
    strides[0] = v->dims[0] > 1 ? v->strides[0] : 0;
    strides[1] = v->dims[1] > 1 ? v->strides[1] : 0;
    strides[2] = queries ? strides[1] : 0;
    if (queries) strides[1] *= group;
}

/* What the operator can do and the kernel cannot; NULL: nothing. */
static const char *beyond_kernel(const hn_node *n) {
    enum { MASK = 3, MOST_OUT = 4 };
    for (int i = MASK + 1; i < n->n_inputs; i++)
        if (hn_node_input(n, i) != NULL) return "past keys or padding";
    for (int i = 1; i < MOST_OUT; i++)
        if (hn_node_output(n, i) != NULL) return "more outputs than one";
    if (hn_attr_i(n, "left_window_size") != -1 || hn_attr_i(n, "right_window_size") != -1)
        return "windows";
    if (hn_attr_f(n, "softcap") != 0) return "soft cap";
    const hn_attr *precision = hn_node_attr(n, "softmax_precision");
    if (precision != NULL && precision->u.i != HONE_DTYPE_F32) return "softmax not in f32";
    return NULL;
}

hone_status hn_lower_attention_heads(hn_lower *L, const hn_node *n, const hn_heads_views *h,
                                     hn_error *err) {
    const hn_view *q = &h->q, *k = &h->k, *v = &h->v, *mask = &h->mask;
    int64_t group = q->dims[1] / k->dims[1];
    hn_attention_f32 p = {.batch = {q->dims[0], k->dims[1], group, 1},
                          .queries = q->dims[2],
                          .keys = k->dims[2],
                          .size = q->dims[3],
                          .v_size = v->dims[3],
                          .q_row = q->strides[2],
                          .q_col = q->strides[3],
                          .k_row = k->strides[2],
                          .k_col = k->strides[3],
                          .v_row = v->strides[2],
                          .v_col = v->strides[3],
                          .y_row = h->y.strides[2],
                          .scale = h->scale,
                          .chooses = mask->buffer >= 0 && mask->dtype == HONE_DTYPE_BOOL,
                          .fill = -INFINITY,
                          .causal = h->causal,
                          .blind = HN_BLIND_NONE};
    head_strides(q, group, true, p.q_batch);
    head_strides(k, group, false, p.k_batch);
    head_strides(v, group, false, p.v_batch);
    head_strides(&h->y, group, true, p.y_batch);
    if (mask->buffer >= 0) {
        hn_view m = {.rank = 4, .dims = {1, 1, 1, 1}};
        for (int i = 4 - mask->rank; i < 4; i++) {
            m.dims[i] = mask->dims[i - (4 - mask->rank)];
            m.strides[i] = mask->strides[i - (4 - mask->rank)];
        }
        head_strides(&m, group, true, p.mask_batch);
        p.mask_row = m.dims[2] > 1 ? m.strides[2] : 0;
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_attention_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_ATTENTION_Q, q);
    hn_step_reads(s, HN_ATTENTION_K, k);
    hn_step_reads(s, HN_ATTENTION_V, v);
    if (mask->buffer >= 0) hn_step_reads(s, HN_ATTENTION_MASK, mask);
    hn_step_writes(s, HN_ATTENTION_Y, &h->y);
    count_work(s, &p);
    return HONE_OK;
}

hone_status hn_lower_attention(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view q = hn_lower_in(L, n, 0), k = hn_lower_in(L, n, 1), v = hn_lower_in(L, n, 2);
    hn_view mask = hn_lower_in(L, n, 3), y = hn_lower_out(n, 0);
    L->why = beyond_kernel(n);
    if (L->why != NULL) HN_DECLINE(L, L->why);
    if (q.dtype != HONE_DTYPE_F32 || v.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&q) == 0 || hn_view_count(&k) == 0 || hn_view_count(&v) == 0)
        HN_DECLINE(L, "nothing to compute");
    if (mask.buffer >= 0) {
        if (mask.dims[mask.rank - 1] != k.dims[k.rank == 4 ? 2 : 1])
            HN_DECLINE(L, "a mask of fewer keys");
        if (mask.dtype != HONE_DTYPE_F32 && mask.dtype != HONE_DTYPE_BOOL)
            HN_DECLINE(L, "a mask that is neither f32 nor bool");
        if (mask.strides[mask.rank - 1] != 1) HN_TRY(hn_lower_dense(L, n, &mask, err));
    }
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    if (q.rank == 3) {
        q = by_heads(&q, hn_attr_i(n, "q_num_heads"));
        k = by_heads(&k, hn_attr_i(n, "kv_num_heads"));
        v = by_heads(&v, hn_attr_i(n, "kv_num_heads"));
    }
    const hn_attr *scale = hn_node_attr(n, "scale");
    hn_heads_views h = {.q = q,
                        .k = k,
                        .v = v,
                        .mask = mask,
                        .y = by_heads(&y, q.dims[1]),
                        .scale = scale != NULL ? scale->u.f : 1 / sqrtf((float)q.dims[3]),
                        .causal = hn_attr_i(n, "is_causal") != 0};
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return hn_lower_attention_heads(L, n, &h, err);
}
