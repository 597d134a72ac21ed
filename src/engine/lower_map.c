/* Elementwise operators.
 *
 * What can be computed on the way out of another step is no step: activations, additions and
 * scalings go into the convolution or product that made their input, and whatever follows a map
 * step over the same elements becomes more instructions of its program:
 *
 *   Conv ─▶ Add ─▶ Relu             one conv_f32 step, with r and act
 *   Mul ─▶ Add ─▶ Tanh ─▶ Mul       one map_f32 step of four instructions
 *
 * That is right only where nobody else wants the value in between: all its uses must be inputs of
 * the node at hand. The outputs of a graph are uses too.
 *
 * While lowering goes on, the axes of a map step are those of its value, so that operands can be
 * added; the family joins axes when lowering is done (hn_family.finish).
 */
#include <math.h>
#include <string.h>

#include "engine/lower.h"
#include "kernels/conv_q8/conv_q8.h"
#include "kernels/map_f32/map_f32.h"

/* ---- the operators ---- */

typedef enum kind {
    VIEW,   /* the input as it is */
    DIRECT, /* one instruction, the inputs its operands */
    FOLD,   /* one instruction for each input after the first */
    MEAN,   /* the same, then divided by their number */
    ACT,    /* the activation of the first input */
    BIASED, /* the activation of the sum of both inputs, if there are two */
    SPELT,  /* several instructions; see spell */
} kind;

typedef struct row {
    const char *domain, *op;
    kind kind;
    int most; /* inputs that are data; 0: all */
    hn_map_op map;
} row;

static const row rows[] = {
#define HN_LOWER_MAP(domain, op, kind, most, map) {domain, op, kind, most, HN_MAP_##map},
#include "engine/lower_map.def"
#undef HN_LOWER_MAP
};

static const row *row_of(const hn_node *n) {
    const char *domain = n->op->domain != NULL ? n->op->domain : "";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (hn_same_name(rows[i].op, n->op->name) && hn_same_name(rows[i].domain, domain))
            return &rows[i];
    return NULL;
}

/* Of ai.onnx. */
static bool is(const hn_node *n, const char *op) {
    return n != NULL && n->domain[0] == '\0' && hn_same_name(n->op_type, op);
}

/* The Mul that multiplies x by n = Sigmoid (x), when nobody else uses either. The pair is SILU: the
 * Sigmoid is lowered as that, and the Mul gives on its value. */
static const hn_node *silu_mul(const hn_node *n) {
    const hn_value *x = hn_node_input(n, 0), *s = hn_node_output(n, 0);
    if (!is(n, "Sigmoid") || x->type.dtype != HONE_DTYPE_F32 || x->constant != NULL) return NULL;
    if (x->n_uses != 2 || s == NULL || s->n_uses != 1) return NULL;
    const hn_node *mul = s->uses->node;
    if (!is(mul, "Mul")) return NULL;
    return hn_node_input(mul, 1 - s->uses->index) == x ? mul : NULL;
}

/* The input of a Mul that is such a Sigmoid's, or -1. */
static int silu_input(const hn_node *mul) {
    for (int i = 0; i < 2 && is(mul, "Mul"); i++) {
        const hn_node *n = hn_node_input(mul, i)->producer;
        if (is(n, "Sigmoid") && silu_mul(n) == mul) return i;
    }
    return -1;
}

/* The only element of constant input i; a NaN limits nothing, as when the input is absent. */
static bool limit(const hn_node *n, int i, float none, float *out) {
    const hn_tensor *t = hn_node_constant(n, i);
    *out = none;
    if (hn_node_input(n, i) == NULL) return true;
    if (t == NULL || t->n != 1) return false;
    float x = (float)hn_tensor_f64(t, 0);
    if (!isnan(x)) *out = x;
    return true;
}

/* The activation of a row of kind ACT or BIASED. False: its parameters are computed. */
static bool activation(const hn_node *n, const row *r, hn_act *act) {
    *act = (hn_act){.kind = (hn_act_kind)(r->map - HN_MAP_ACT_NONE)};
    switch (act->kind) {
        case HN_ACT_CLIP:
            act->b = INFINITY;
            if (is(n, "Relu")) return true;
            return limit(n, 1, -INFINITY, &act->a) && limit(n, 2, INFINITY, &act->b);
        case HN_ACT_SIGMOID:
            if (silu_mul(n) != NULL) *act = (hn_act){.kind = HN_ACT_SILU, .a = 1};
            return true;
        case HN_ACT_HARD_SIGMOID: act->b = hn_attr_f(n, "beta"); /* fall through */
        case HN_ACT_LEAKY:
        case HN_ACT_SILU:
        case HN_ACT_ELU: act->a = hn_attr_f(n, "alpha"); return true;
        case HN_ACT_GELU:
            if (is(n, "Gelu") && hn_attr_is(n, "approximate", "tanh")) act->kind = HN_ACT_GELU_TANH;
            return true;
        default: return true;
    }
}

/* ---- views ---- */

static bool same_dims(const hn_view *a, const hn_view *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0);
}

/* v as if it had the dims of `to`, to which it broadcasts. */
static hn_view spread(const hn_view *v, const hn_view *to) {
    hn_view s = *v;
    int missing = to->rank - v->rank;
    s.rank = to->rank;
    for (int i = 0; i < to->rank; i++) {
        bool repeats = i < missing || (v->dims[i - missing] == 1 && to->dims[i] != 1);
        s.dims[i] = to->dims[i];
        s.strides[i] = repeats ? 0 : v->strides[i - missing];
    }
    return s;
}

/* A vector with one element for each channel of `to`, as it broadcasts to that. */
static hn_view along_channels(const hn_view *v, const hn_view *to) {
    hn_view s = *v;
    s.rank = to->rank;
    for (int i = 0; i < to->rank; i++) {
        s.dims[i] = i == 1 ? v->dims[0] : 1;
        s.strides[i] = i == 1 ? v->strides[0] : 0;
    }
    return s;
}

/* The strides of y and r, of the same dims, under the dims that y has in memory order. False: they
 * have none. */
static bool strides_under(const hn_view *y, const hn_view *r, int rank, const int64_t *dims,
                          int64_t *y_strides, int64_t *r_strides) {
    int order[HONE_MAX_RANK];
    hn_lower_order(y, order);
    hn_view a = *y, b = *r;
    for (int i = 0; i < y->rank; i++) {
        a.dims[i] = b.dims[i] = y->dims[order[i]];
        a.strides[i] = y->strides[order[i]];
        b.strides[i] = r->strides[order[i]];
    }
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    if (count != hn_view_count(y) || !hn_view_reshape(&a, rank, dims, &a) ||
        !hn_view_reshape(&b, rank, dims, &b))
        return false;
    memcpy(y_strides, a.strides, (size_t)rank * sizeof *y_strides);
    memcpy(r_strides, b.strides, (size_t)rank * sizeof *r_strides);
    return true;
}

/* ---- steps ---- */

/* The step that made input i of n, when all uses of the value but `elsewhere` are inputs of n. */
static hn_step *maker_but(const hn_lower *L, const hn_node *n, int i, int elsewhere) {
    const hn_value *v = hn_node_input(n, i);
    int here = silu_mul(n) != NULL;
    for (int k = 0; k < n->n_inputs; k++) here += hn_node_input(n, k) == v;
    bool alone = v != NULL && L->known[v->id] && here + elsewhere == v->n_uses && !L->no_fuse;
    return alone ? L->makers[v->id] : NULL;
}

static hn_step *maker(const hn_lower *L, const hn_node *n, int i) { return maker_but(L, n, i, 0); }

static bool writes(const hn_plan *p, const hn_step *s, int root) {
    for (int i = 0; i < s->n_operands; i++)
        if ((s->writes >> i & 1) != 0 && hn_buffer_root(p, s->operands[i].buffer) == root)
            return true;
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i].buffer >= 0 && hn_buffer_root(p, s->out[i].buffer) == root) return true;
    return false;
}

/* Puts s, which now reads v, behind the steps that write it. */
static void read_after(hn_lower *L, hn_step *s, const hn_view *v) {
    const hn_plan *p = L->plan;
    int root = hn_buffer_root(p, v->buffer);
    for (int i = p->n_steps - 1; p->steps[i] != s; i--) {
        if (!writes(p, p->steps[i], root)) continue;
        hn_lower_move_last(L, s);
        return;
    }
}

static bool is_before(const hn_plan *p, const hn_step *a, const hn_step *b) {
    int i = p->n_steps - 1;
    while (p->steps[i] != a && p->steps[i] != b) i--;
    return p->steps[i] == b;
}

/* ---- into a convolution or product ---- */

bool hn_step_end(const hn_step *s, hn_epilogue *out) {
    return s != NULL && s->family != NULL && s->family->end != NULL &&
           s->family->end(s->problem, out);
}

static float clip(float x, const hn_act *limits) {
    x = x < limits->a ? limits->a : x;
    return x > limits->b ? limits->b : x;
}

/* Lets `end` be what it is and then act; false: one activation cannot be both. A limit within
 * limits is one between the limits that are left. */
static bool follow(hn_act *end, const hn_act *act) {
    if (end->kind == HN_ACT_NONE) {
        *end = *act;
        return true;
    }
    if (end->kind != HN_ACT_CLIP || act->kind != HN_ACT_CLIP) return false;
    if (!(end->a <= end->b) || !(act->a <= act->b)) return false;
    end->a = clip(end->a, act);
    end->b = clip(end->b, act);
    return true;
}

static bool has(const hn_step *s, int operand) { return s->operands[operand].buffer >= 0; }

/* Whether v, over the elements of y, has strides rs under the axes of the results, and y is all of
 * these. vector: v is one number for each index of the last axis. */
static bool lies_over(const hn_epilogue *e, const hn_view *y, const hn_view *v, int64_t *rs,
                      bool *vector) {
    int64_t ys[HN_EPILOGUE_RANK], along[HN_EPILOGUE_RANK] = {0};
    along[e->rank - 1] = 1;
    if (!strides_under(y, v, e->rank, e->dims, ys, rs) ||
        !hn_axes_agree(e->rank, e->dims, ys, e->strides))
        return false;
    *vector = hn_axes_agree(e->rank, e->dims, rs, along);
    return true;
}

/* Adds r to what s computes, whose value is y: as its bias, or else as its residual. False: it
 * cannot. */
static bool add_to(const hn_lower *L, hn_step *s, const hn_epilogue *e, const hn_view *y,
                   const hn_view *r) {
    int64_t rs[HN_EPILOGUE_RANK];
    bool vector;
    if (!lies_over(e, y, r, rs, &vector)) return false;
    if (vector && !has(s, e->bias) && (!e->bias_constant || hn_lower_is_constant(L, r))) {
        hn_step_reads(s, e->bias, r);
        return true;
    }
    if (has(s, e->residual)) return false;
    for (int i = 0; i < e->rank; i++)
        if (e->dims[i] != 1 && ((rs[i] <= 0 && !e->r_any) || (rs[i] != 1 && i >= e->n_r)))
            return false;
    memcpy(e->r_strides, rs, (size_t)e->n_r * sizeof *rs);
    hn_step_reads(s, e->residual, r);
    return true;
}

/* An Add with a value that a convolution or product made. */
static hn_step *add_to_maker(hn_lower *L, const hn_node *n, const hn_view *y, hn_view *result) {
    hn_step *hosts[2] = {maker(L, n, 0), maker(L, n, 1)};
    hn_epilogue ends[2];
    for (int i = 0; i < 2; i++) {
        hn_view v = hn_lower_in(L, n, i);
        if (!hn_step_end(hosts[i], &ends[i]) || ends[i].act->kind != HN_ACT_NONE ||
            !same_dims(&v, y))
            hosts[i] = NULL;
    }
    if (hosts[0] == hosts[1]) return NULL; /* neither, or x + x */
    /* The later one first: it need not move. */
    bool second = hosts[0] == NULL || (hosts[1] != NULL && is_before(L->plan, hosts[0], hosts[1]));
    for (int k = 0; k < 2; k++, second = !second) {
        hn_step *s = hosts[second];
        if (s == NULL) continue;
        hn_view v = hn_lower_in(L, n, second), other = hn_lower_in(L, n, !second);
        hn_view r = spread(&other, y);
        if (!add_to(L, s, &ends[second], &v, &r)) continue;
        s->facts->bytes += 4.0 * (double)hn_view_count(&other);
        read_after(L, s, &r);
        *result = v;
        return s;
    }
    return NULL;
}

/* The parts of a factor: a number that running tells, and constants. */
static void split_factor(const hn_lower *L, const hn_node *n, int i, hn_view *computed,
                         hn_view *constant) {
    hn_view v = hn_lower_in(L, n, i);
    const hn_node *mul = hn_node_input(n, i)->producer;
    *computed = *constant = (hn_view){.buffer = -1};
    if (hn_lower_is_constant(L, &v)) {
        *constant = v;
    } else if (is(mul, "Mul") &&
               (hn_node_constant(mul, 0) != NULL) != (hn_node_constant(mul, 1) != NULL)) {
        int k = hn_node_constant(mul, 1) != NULL;
        *computed = hn_lower_in(L, mul, 1 - k);
        *constant = hn_lower_in(L, mul, k);
    } else {
        *computed = v;
    }
}

/* Lets the integer product s, whose float value is v, be multiplied by input i of n: what
 * quantization by scales that running tells leaves to do. */
static hone_status scale_integers(hn_lower *L, const hn_node *n, int i, hn_step *s,
                                  const hn_view *v, bool *done, hn_error *err) {
    const hn_conv_q8 *p = s->problem;
    hn_view computed, constant, m;
    hn_epilogue e;
    *done = false;
    if (!hn_step_end(s, &e) || p->act.kind != HN_ACT_NONE || has(s, HN_CONV_Q8_M) ||
        has(s, HN_CONV_Q8_XS) || has(s, HN_CONV_Q8_FBIAS) || has(s, HN_CONV_Q8_R))
        return HONE_OK;
    split_factor(L, n, i, &computed, &constant);
    if (computed.buffer >= 0 && (hn_view_count(&computed) != 1 || computed.dtype != HONE_DTYPE_F32))
        return HONE_OK;
    const hn_tensor *t = constant.buffer >= 0 ? L->plan->buffers[constant.buffer].tensor : NULL;
    if (constant.buffer >= 0 && t == NULL) return HONE_OK;
    if (t != NULL) {
        hn_view wide = spread(&constant, v);
        int64_t rs[HN_EPILOGUE_RANK];
        bool vector;
        hn_tensor *to;
        if (constant.rank > v->rank || t->dtype != HONE_DTYPE_F32) return HONE_OK;
        if (t->n != 1 && (!lies_over(&e, v, &wide, rs, &vector) || !vector)) return HONE_OK;
        HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, p->n, &to, &m, err));
        for (int64_t k = 0; k < p->n; k++)
            ((float *)to->data)[k] = (float)hn_tensor_f64(t, t->n == 1 ? 0 : k);
        hn_step_reads(s, HN_CONV_Q8_M, &m);
    }
    if (computed.buffer >= 0) {
        hn_step_reads(s, HN_CONV_Q8_XS, &computed);
        read_after(L, s, &computed);
    }
    *done = true;
    return HONE_OK;
}

/* A Cast to float or a Mul of an integer product that only n wants. */
static hone_status into_integers(hn_lower *L, const hn_node *n, const hn_view *y, bool *done,
                                 hn_error *err) {
    *done = false;
    if (!is(n, "Cast") && !is(n, "Mul")) return HONE_OK;
    for (int i = 0; i < (is(n, "Mul") ? 2 : 1) && !*done; i++) {
        hn_step *s = maker(L, n, i);
        hn_view v = hn_lower_in(L, n, i);
        hn_conv_q8 *p = hn_step_problem(s, &hn_conv_q8_family);
        if (p == NULL || !same_dims(&v, y)) continue;
        if (is(n, "Mul")) {
            HN_TRY(scale_integers(L, n, 1 - i, s, &v, done, err));
        } else if (p->y == HN_Q8_S32 && y->dtype == HONE_DTYPE_F32) {
            p->y = p->r_type = HN_Q8_F32;
            v.dtype = HONE_DTYPE_F32;
            *done = true;
        }
        if (!*done) continue;
        hn_lower_set(L, n, 0, &v, s);
        HN_TRY(hn_step_absorb(L, s, n, err));
    }
    return HONE_OK;
}

/* A product multiplied or divided by a number. */
static hn_step *scale_maker(hn_lower *L, const hn_node *n, const hn_view *y, hn_view *result) {
    for (int i = 0; i < 2; i++) {
        hn_step *s = maker(L, n, i);
        const hn_tensor *t = hn_node_constant(n, 1 - i);
        hn_view v = hn_lower_in(L, n, i);
        hn_epilogue e;
        if (!hn_step_end(s, &e) || e.scale == NULL || t == NULL || t->n != 1) continue;
        if (is(n, "Div") && i == 1) continue;
        if (e.act->kind != HN_ACT_NONE || has(s, e.bias) || has(s, e.residual) || !same_dims(&v, y))
            continue;
        float x = (float)hn_tensor_f64(t, 0);
        *e.scale = is(n, "Div") ? *e.scale / x : *e.scale * x;
        *result = v;
        return s;
    }
    return NULL;
}

/* Whether it takes long to compute. */
static bool is_long(const hn_act *act) {
    return act->kind != HN_ACT_CLIP && act->kind != HN_ACT_LEAKY &&
           act->kind != HN_ACT_HARD_SIGMOID && act->kind != HN_ACT_HARD_SWISH;
}

/* Lets the step that made an input compute the node too; NULL: there is none that can. result: the
 * place of what the node gives. */
static hn_step *into_maker(hn_lower *L, const hn_node *n, const row *r, const hn_view *y,
                           hn_view *result) {
    if (r->kind == ACT) {
        hn_step *s = maker(L, n, 0);
        hn_epilogue e;
        hn_act act;
        if (!hn_step_end(s, &e) || !activation(n, r, &act) || (e.narrow && is_long(&act)) ||
            !follow(e.act, &act))
            return NULL;
        *result = hn_lower_in(L, n, 0);
        return s;
    }
    if (n->n_inputs != 2 || y->dtype != HONE_DTYPE_F32) return NULL;
    if (r->map == HN_MAP_ADD && r->kind != MEAN) return add_to_maker(L, n, y, result);
    if (r->map == HN_MAP_MUL || r->map == HN_MAP_DIV) return scale_maker(L, n, y, result);
    return NULL;
}

/* ---- programs ---- */

/* An operand of an instruction: a value of the program or a number. */
typedef struct arg {
    int value; /* -1: the number */
    float number;
} arg;

/* -1: the program is full, or an instruction has no room for so many numbers. */
static int put(hn_map_f32 *p, hn_map_op op, const arg *a, int n) {
    int values[3] = {0}, used = 0;
    float numbers[2] = {0};
    for (int i = 0; i < n; i++) {
        values[i] = a[i].value;
        if (a[i].value >= 0) continue;
        if (used == 2) return -1;
        values[i] = used == 0 ? HN_MAP_X : HN_MAP_Y;
        numbers[used++] = a[i].number;
    }
    return hn_map_emit(p, op, values[0], values[1], values[2], numbers[0], numbers[1]);
}

static int put_act(hn_map_f32 *p, const hn_act *act, const arg *x) {
    if (x->value < 0) return -1;
    return hn_map_emit(p, (hn_map_op)(HN_MAP_ACT_NONE + act->kind), x->value, 0, 0, act->a, act->b);
}

/* x + bias below -lambd, x - bias above lambd, 0 between. */
static int shrink(hn_map_f32 *p, const hn_node *n, arg x) {
    float bias = hn_attr_f(n, "bias"), end = hn_attr_f(n, "lambd");
    arg below = {put(p, HN_MAP_LT, (arg[]){x, {-1, -end}}, 2), 0};
    arg above = {put(p, HN_MAP_GT, (arg[]){x, {-1, end}}, 2), 0};
    arg up = {put(p, HN_MAP_ADD, (arg[]){x, {-1, bias}}, 2), 0};
    arg down = {put(p, HN_MAP_SUB, (arg[]){x, {-1, bias}}, 2), 0};
    arg y = {put(p, HN_MAP_SELECT, (arg[]){above, down, {-1, 0}}, 3), 0};
    return put(p, HN_MAP_SELECT, (arg[]){below, up, y}, 3);
}

/* A constant power that a few products make; -1: there are none, or no room for them. */
static int small_power(hn_map_f32 *p, arg x, float exponent) {
    if (exponent == -1) return put(p, HN_MAP_RECIP, &x, 1);
    if (exponent != 2 && exponent != 3) return -1;
    arg square = {put(p, HN_MAP_MUL, (arg[]){x, x}, 2), 0};
    return exponent == 2 ? square.value : put(p, HN_MAP_MUL, (arg[]){square, x}, 2);
}

/* FakeQuantize and FakeQuantizeGrad (ops/train_fake_quantize.c); x, scale and zero point are from
 * `first` on. Numbers are where a zero point is one, so that most programs are short. */
static int fake_quantize(hn_map_f32 *p, const hn_node *n, const arg *a, int n_args, int first) {
    arg x = a[first], s = a[first + 1], zero = n_args > first + 2 ? a[first + 2] : (arg){-1, 0};
    arg lo = {-1, (float)hn_attr_i(n, "qmin")}, hi = {-1, (float)hn_attr_i(n, "qmax")};
    bool grad = first > 0, by_scale = grad && hn_attr_is(n, "by", "scale");
    if (x.value < 0 || (grad && a[0].value < 0)) return -1;
    if (hn_attr_i(n, "binary") != 0) {
        if (grad && !by_scale) return put(p, HN_MAP_ACT_NONE, &a[0], 1);
        arg up = by_scale ? a[0] : s, down = {-1, 0}, below;
        if (up.value < 0)
            down.number = -up.number;
        else
            down.value = put(p, HN_MAP_NEG, &up, 1);
        below.value = put(p, HN_MAP_LT, (arg[]){x, {-1, 0}}, 2);
        return put(p, HN_MAP_SELECT, (arg[]){below, down, up}, 3);
    }
    if (zero.value < 0) {
        lo.number -= zero.number;
        hi.number -= zero.number;
    } else {
        lo.value = put(p, HN_MAP_SUB, (arg[]){lo, zero}, 2);
        hi.value = put(p, HN_MAP_SUB, (arg[]){hi, zero}, 2);
    }
    arg v = {put(p, HN_MAP_DIV, (arg[]){x, s}, 2), 0}, code = v;
    code.value = put(p, HN_MAP_ROUND, &code, 1);
    code.value = put(p, HN_MAP_MAX, (arg[]){code, lo}, 2);
    code.value = put(p, HN_MAP_MIN, (arg[]){code, hi}, 2);
    if (!grad) return put(p, HN_MAP_MUL, (arg[]){code, s}, 2);
    arg above = {put(p, HN_MAP_GE, (arg[]){v, lo}, 2), 0};
    arg inside = {put(p, HN_MAP_LE, (arg[]){v, hi}, 2), 0};
    inside.value = put(p, HN_MAP_AND, (arg[]){above, inside}, 2);
    if (!by_scale) return put(p, HN_MAP_SELECT, (arg[]){inside, a[0], {-1, 0}}, 3);
    arg off = {put(p, HN_MAP_SUB, (arg[]){code, v}, 2), 0};
    off.value = put(p, HN_MAP_SELECT, (arg[]){inside, off, code}, 3);
    return put(p, HN_MAP_MUL, (arg[]){off, a[0]}, 2);
}

/* The operators of kind SPELT, a[] as they come; but BatchNormalization may be of three
 * operands, x, factor and shift. */
static int spell(hn_map_f32 *p, const hn_node *n, const arg *a, int n_args) {
    arg x = a[0];
    if (hn_same_name(n->op->name, "FakeQuantize")) return fake_quantize(p, n, a, n_args, 0);
    if (hn_same_name(n->op->name, "FakeQuantizeGrad")) return fake_quantize(p, n, a, n_args, 1);
    if (x.value < 0) return -1;
    if (is(n, "IsNaN")) return put(p, HN_MAP_NE, (arg[]){x, x}, 2);
    if (is(n, "IsInf")) {
        bool above = hn_attr_i(n, "detect_positive") != 0;
        if (above && hn_attr_i(n, "detect_negative") != 0)
            x.value = put(p, HN_MAP_ABS, &x, 1);
        else if (!above && hn_attr_i(n, "detect_negative") == 0)
            return -1;
        return put(p, HN_MAP_EQ, (arg[]){x, {-1, above ? INFINITY : -INFINITY}}, 2);
    }
    if (is(n, "ThresholdedRelu"))
        return put(p, HN_MAP_ABOVE, (arg[]){x, {-1, hn_attr_f(n, "alpha")}}, 2);
    if (is(n, "Shrink")) return shrink(p, n, x);
    if (is(n, "BatchNormalization")) {
        if (n_args == 3) return put(p, HN_MAP_MULADD, a, 3);
        const arg *scale = &a[1], *bias = &a[2], *mean = &a[3], *variance = &a[4];
        arg f = {put(p, HN_MAP_ADD, (arg[]){*variance, {-1, hn_attr_f(n, "epsilon")}}, 2), 0};
        f.value = put(p, HN_MAP_RSQRT, &f, 1);
        f.value = put(p, HN_MAP_MUL, (arg[]){f, *scale}, 2);
        x.value = put(p, HN_MAP_SUB, (arg[]){x, *mean}, 2);
        return put(p, HN_MAP_MULADD, (arg[]){x, f, *bias}, 3);
    }
    /* Celu is alpha * elu(x / alpha), Selu is gamma * elu(x), their elu with an alpha of its own.
     */
    float alpha = hn_attr_f(n, "alpha");
    bool celu = is(n, "Celu");
    hn_act elu = {.kind = HN_ACT_ELU, .a = celu ? 1 : alpha};
    if (celu) x.value = put(p, HN_MAP_DIV, (arg[]){x, {-1, alpha}}, 2);
    x.value = put_act(p, &elu, &x);
    return put(p, HN_MAP_MUL, (arg[]){x, {-1, celu ? alpha : hn_attr_f(n, "gamma")}}, 2);
}

/* The instructions of node n; -1: they do not fit. */
static int put_node(hn_map_f32 *p, const hn_node *n, const row *r, const arg *a, int n_args) {
    hn_act act;
    arg x = a[0];
    switch (r->kind) {
        case DIRECT:
            if (r->map == HN_MAP_POW && x.value >= 0 && a[1].value < 0) {
                int y = small_power(p, x, a[1].number);
                if (y >= 0) return y;
            }
            if (r->map == HN_MAP_MOD && hn_attr_i(n, "fmod") != 0)
                return put(p, HN_MAP_FMOD, a, n_args);
            return put(p, r->map, a, n_args);
        case FOLD:
        case MEAN:
            for (int i = 1; i < n_args; i++) {
                x.value = put(p, r->map, (arg[]){x, a[i]}, 2);
                if (x.value < 0) return -1;
            }
            if (r->kind == MEAN) return put(p, HN_MAP_DIV, (arg[]){x, {-1, (float)n_args}}, 2);
            return n_args > 1 ? x.value : put(p, HN_MAP_ACT_NONE, &x, 1);
        case SPELT: return spell(p, n, a, n_args);
        case BIASED:
            if (n_args == 2) x.value = put(p, HN_MAP_ADD, a, 2);
            if (n_args == 2 && x.value < 0) return -1; /* fall through */
        default:
            if (!activation(n, r, &act)) return -1;
            return put_act(p, &act, &x);
    }
}

/* A map step whose program a node may become a part of. `kept`: the caller wants its result, too. */
typedef struct source {
    hn_step *step; /* NULL: there is none */
    bool kept;
} source;

/* A program in the making: the problem, and where its operands are. */
typedef struct draft {
    hn_map_f32 p;
    hn_operand in[HN_MAP_MAX_IN];
    hn_view added[HN_MAP_MAX_IN]; /* inputs the step did not have before */
    int n_added;
    hn_operand kept[HN_MAP_MAX_OUT]; /* outputs from 1 on: those the caller wants besides */
    hn_step *joined[HN_MAP_MAX_IN];  /* steps whose programs it computes too, */
    uint8_t result[HN_MAP_MAX_IN];   /* and the values of their results */
    int n_joined;
} draft;

static hn_operand operand_of(const hn_view *v) {
    return (hn_operand){v->buffer, (size_t)(v->offset * hone_dtype_bits(v->dtype) / 8)};
}

/* Where an operand of a program begins, with elements of this hn_map_type. */
static hn_view view_at(hn_operand at, int type) {
    hn_view v = {.buffer = at.buffer,
                 .dtype = type == HN_MAP_BOOL ? HONE_DTYPE_BOOL : HONE_DTYPE_F32};
    v.offset = (int64_t)at.offset / (int64_t)(hone_dtype_bits(v.dtype) / 8);
    return v;
}

/* The value that stands for an input at v, which has the dims of the program; -1: too many. */
static int put_input(draft *d, const hn_view *v) {
    hn_map_f32 *p = &d->p;
    hn_operand at = operand_of(v);
    uint8_t type = v->dtype == HONE_DTYPE_BOOL ? HN_MAP_BOOL : HN_MAP_F32;
    for (int i = 0; i < p->n_in; i++)
        if (d->in[i].buffer == at.buffer && d->in[i].offset == at.offset && p->in_type[i] == type &&
            hn_axes_agree(p->rank, p->dims, p->in_stride[i], v->strides))
            return i;
    if (p->n_in == HN_MAP_MAX_IN) return -1;
    int i = p->n_in++;
    d->in[i] = at;
    p->in_type[i] = type;
    for (int k = 0; k < p->rank; k++) p->in_stride[i][k] = v->strides[k];
    d->added[d->n_added++] = *v;
    return i;
}

/* The map step that made input i over the very elements of y, where nobody else wants the value but
 * n and perhaps the caller. */
static source map_maker(const hn_lower *L, const hn_node *n, int i, const hn_view *y) {
    const hn_value *value = hn_node_input(n, i);
    source from = {.step = maker(L, n, i)};
    if (from.step == NULL && value != NULL && value->n_outputs > 0)
        from = (source){maker_but(L, n, i, value->n_outputs), true};
    hn_view v = hn_lower_in(L, n, i);
    const hn_map_f32 *p = hn_step_problem(from.step, &hn_map_f32_family);
    if (p == NULL || !same_dims(&v, y)) return (source){0};
    hn_operand at = operand_of(&v), out = from.step->operands[HN_MAP_OUT];
    bool whole = p->rank == v.rank && out.buffer == at.buffer && out.offset == at.offset &&
                 (v.rank == 0 || memcmp(p->dims, v.dims, (size_t)v.rank * sizeof v.dims[0]) == 0) &&
                 hn_axes_agree(v.rank, v.dims, p->out_stride[0], v.strides);
    return whole ? from : (source){0};
}

/* The input whose map step can take the node in: the last there is. -1: none. */
static int host_of(const hn_lower *L, const hn_node *n, int n_args, const hn_view *y,
                   source *host) {
    int found = -1;
    *host = (source){0};
    for (int i = 0; i < n_args; i++) {
        source from = map_maker(L, n, i, y);
        if (from.step == NULL) continue;
        if (found < 0 || is_before(L->plan, host->step, from.step)) found = i, *host = from;
    }
    return found;
}

/* Adds output k of a step, which is `value` in the draft, to the outputs. False: too many. */
static bool keep(draft *d, const hn_step *s, int k, int value) {
    const hn_map_f32 *from = s->problem;
    hn_map_f32 *p = &d->p;
    if (p->n_out == HN_MAP_MAX_OUT) return false;
    d->kept[p->n_out] = s->operands[HN_MAP_OUT + k];
    p->out[p->n_out] = (uint8_t)value;
    p->out_type[p->n_out] = from->out_type[k];
    memcpy(p->out_stride[p->n_out], from->out_stride[k], sizeof from->out_stride[k]);
    p->n_out++;
    return true;
}

/* Puts the program of a step into the draft, whose elements are the same; the value of its result,
 * or -1 and the draft as it was: it does not fit. */
static int put_program(draft *d, source of) {
    const hn_step *s = of.step;
    const hn_map_f32 *from = s->problem;
    hn_map_f32 *p = &d->p;
    for (int i = 0; i < d->n_joined; i++)
        if (d->joined[i] == s) return d->result[i];
    const draft before = *d;
    uint8_t now[HN_MAP_Y + 1];
    bool fits = p->n_code + from->n_code <= HN_MAP_MAX_CODE;
    for (int i = 0; i <= HN_MAP_Y; i++) now[i] = (uint8_t)i;
    for (int i = 0; i < from->n_in && fits; i++) {
        hn_view v = view_at(s->operands[HN_MAP_IN + i], from->in_type[i]);
        v.rank = p->rank;
        memcpy(v.dims, p->dims, sizeof p->dims);
        memcpy(v.strides, from->in_stride[i], sizeof from->in_stride[i]);
        int at = put_input(d, &v);
        fits = at >= 0;
        now[i] = (uint8_t)at;
    }
    for (int k = 0; k < from->n_code && fits; k++) {
        const hn_map_code *c = &from->code[k];
        now[HN_MAP_CODE + k] =
            (uint8_t)hn_map_emit(p, c->op, now[c->a], now[c->b], now[c->c], c->x, c->y);
    }
    for (int k = of.kept ? 0 : 1; k < from->n_out && fits; k++)
        fits = keep(d, s, k, now[from->out[k]]);
    if (!fits) {
        *d = before;
        return -1;
    }
    d->result[d->n_joined] = now[from->out[0]];
    d->joined[d->n_joined++] = of.step;
    return now[from->out[0]];
}

/* The program of the node alone, or behind that of the step that made input `host` and, with `join`,
 * those of others that made one. made, when not NULL: the operands after the first, instead of the
 * node's. False: it does not fit. */
static bool draft_node(const hn_lower *L, const hn_node *n, const row *r, int n_args,
                       const hn_view *made, int host, source from, bool join, const hn_view *y,
                       draft *d) {
    hn_map_f32 *p = &d->p;
    *d = (draft){.p = {.rank = y->rank, .n_out = 1}};
    for (int i = 0; i < y->rank; i++) p->dims[i] = y->dims[i];
    if (host >= 0) {
        *p = *(const hn_map_f32 *)from.step->problem;
        memcpy(d->in, from.step->operands + HN_MAP_IN, sizeof d->in);
        memcpy(d->kept, from.step->operands + HN_MAP_OUT, (size_t)p->n_out * sizeof *d->kept);
        if (from.kept && !keep(d, from.step, 0, p->out[0])) return false;
    }
    arg args[HN_MAP_MAX_IN] = {{0}};
    if (n_args > HN_MAP_MAX_IN) return false;
    for (int i = 0; i < n_args; i++) {
        bool own = i == 0 || made == NULL;
        const hn_tensor *t = own ? hn_node_constant(n, i) : NULL;
        args[i].value = -1;
        if (t != NULL && t->n == 1) {
            args[i].number = (float)hn_tensor_f64(t, 0);
        } else if (own && host >= 0 && hn_node_input(n, i) == hn_node_input(n, host)) {
            args[i].value = p->out[0];
        } else {
            hn_view v = own ? hn_lower_in(L, n, i) : made[i - 1];
            source other = own && join ? map_maker(L, n, i, y) : (source){0};
            if (other.step != NULL) args[i].value = put_program(d, other);
            if (args[i].value >= 0) continue;
            if (i > 0 && is(n, "BatchNormalization")) v = along_channels(&v, y);
            v = spread(&v, y);
            args[i].value = put_input(d, &v);
            if (args[i].value < 0) return false;
        }
    }
    int result = put_node(p, n, r, args, n_args);
    if (result < 0) return false;
    p->out[0] = (uint8_t)result;
    p->out_type[0] = y->dtype == HONE_DTYPE_BOOL ? HN_MAP_BOOL : HN_MAP_F32;
    return true;
}

/* y in a new buffer, its axes as in the first computed input that has all its elements. */
static hone_status place_like_inputs(hn_lower *L, const hn_node *n, int n_args, hn_view *y,
                                     hn_error *err) {
    int order[HONE_MAX_RANK];
    bool found = false;
    for (int i = 0; i < n_args && !found; i++) {
        hn_view v = hn_lower_in(L, n, i);
        found = same_dims(&v, y) && hn_node_constant(n, i) == NULL;
        if (found) hn_lower_order(&v, order);
    }
    return hn_lower_place(L, y, found ? order : NULL, err);
}

/* A step for a program over one axis; its outputs are new vectors. */
static hone_status add_vectors(hn_lower *L, const hn_node *n, draft *d, hn_view *out,
                               hn_error *err) {
    hn_map_f32 *p = &d->p;
    for (int k = 0; k < p->n_out; k++) {
        out[k] = (hn_view){.dtype = HONE_DTYPE_F32, .rank = 1, .dims = {p->dims[0]}};
        HN_TRY(hn_lower_place(L, &out[k], NULL, err));
        p->out_stride[k][0] = 1;
        p->out_type[k] = HN_MAP_F32;
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_f32_family, p, sizeof *p, &s, err));
    memcpy(s->operands + HN_MAP_IN, d->in, (size_t)p->n_in * sizeof *d->in);
    for (int k = 0; k < p->n_out; k++) hn_step_writes(s, HN_MAP_OUT + k, &out[k]);
    s->facts->flops = (double)(p->dims[0] * p->n_code);
    s->facts->bytes = 4.0 * (double)(p->dims[0] * (p->n_in + p->n_out));
    return HONE_OK;
}

hone_status hn_lower_times(hn_lower *L, const hn_node *n, float by, hn_view *v, hn_error *err) {
    const int64_t count = hn_view_count(v);
    hn_view line, made;
    hn_view_reshape(v, 1, &count, &line);
    draft d = {.p = {.rank = 1, .n_out = 1, .dims = {count}}};
    arg x = {put_input(&d, &line), 0};
    d.p.out[0] = (uint8_t)put(&d.p, HN_MAP_MUL, (arg[]){x, {-1, by}}, 2);
    HN_TRY(add_vectors(L, n, &d, &made, err));
    hn_view_reshape(&made, v->rank, v->dims, v);
    return HONE_OK;
}

/* BatchNormalization is x * factor + shift: these two, one element for each channel, made by a step
 * where they are computed. */
static hone_status computed_factors(hn_lower *L, const hn_node *n, hn_view factor_shift[2],
                                    hn_error *err) {
    draft d = {.p = {.rank = 1, .n_out = 2, .dims = {hn_lower_in(L, n, 1).dims[0]}}};
    arg in[5] = {{0}}; /* scale, bias, mean, variance, from 1 on */
    for (int i = 1; i < 5; i++) {
        hn_view v = hn_lower_in(L, n, i);
        in[i].value = put_input(&d, &v);
    }
    arg f = {put(&d.p, HN_MAP_ADD, (arg[]){in[4], {-1, hn_attr_f(n, "epsilon")}}, 2), 0};
    f.value = put(&d.p, HN_MAP_RSQRT, &f, 1);
    f.value = put(&d.p, HN_MAP_MUL, (arg[]){f, in[1]}, 2);
    arg less = {put(&d.p, HN_MAP_NEG, &in[3], 1), 0};
    d.p.out[0] = (uint8_t)f.value;
    d.p.out[1] = (uint8_t)put(&d.p, HN_MAP_MULADD, (arg[]){less, f, in[2]}, 3);
    return add_vectors(L, n, &d, factor_shift, err);
}

/* Absent where they would not be finite; of computed ones, where nothing is added to the variance.
 */
static hone_status channel_factors(hn_lower *L, const hn_node *n, hn_view factor_shift[2],
                                   bool *present, hn_error *err) {
    const hn_tensor *c[5];
    float *to[2];
    bool known = true;
    for (int i = 1; i < 5; i++) known &= (c[i] = hn_node_constant(n, i)) != NULL;
    *present = known || hn_attr_f(n, "epsilon") > 0;
    if (!known) return *present ? computed_factors(L, n, factor_shift, err) : HONE_OK;
    for (int k = 0; k < 2; k++) {
        hn_tensor *t;
        HN_TRY(hn_lower_constant(L, HONE_DTYPE_F32, c[1]->n, &t, &factor_shift[k], err));
        to[k] = t->data;
    }
    for (int64_t i = 0; i < c[1]->n; i++) {
        double scale = hn_tensor_f64(c[1], i), bias = hn_tensor_f64(c[2], i);
        double mean = hn_tensor_f64(c[3], i), variance = hn_tensor_f64(c[4], i);
        double factor = scale / sqrt(variance + (double)hn_attr_f(n, "epsilon"));
        to[0][i] = (float)factor;
        to[1][i] = (float)(bias - mean * factor);
        if (!isfinite(to[0][i]) || !isfinite(to[1][i])) *present = false;
    }
    return HONE_OK;
}

/* Step s computes what `other` does, which nobody needs any more. */
static hone_status join(hn_lower *L, hn_step *s, hn_step *other, hn_error *err) {
    other->writes = 0;
    return hn_step_join(L, s, other, err);
}

/* Bytes of a value of this hn_map_type with the elements of v. */
static double bytes_like(const hn_view *v, int type) {
    return (double)hn_view_count(v) * (type == HN_MAP_BOOL ? 1 : 4);
}

static hone_status lower_program(hn_lower *L, const hn_node *n, const row *r, int n_args, hn_view y,
                                 bool *done, hn_error *err) {
    hn_view factor_shift[2], *made = NULL;
    if (is(n, "BatchNormalization")) {
        bool present;
        HN_TRY(channel_factors(L, n, factor_shift, &present, err));
        if (present) made = factor_shift, n_args = 3;
    }
    draft d;
    source from;
    int host = host_of(L, n, n_args, &y, &from);
    if (host >= 0 && !draft_node(L, n, r, n_args, made, host, from, true, &y, &d) &&
        !draft_node(L, n, r, n_args, made, host, from, false, &y, &d))
        host = -1;
    if (host < 0 && !draft_node(L, n, r, n_args, made, host, from, false, &y, &d))
        HN_DECLINE(L, "too many operands, or parameters that are computed");
    hn_step *s;
    int counted = 1; /* outputs whose bytes the step counts already */
    hn_view before = hn_lower_in(L, n, host >= 0 ? host : 0);
    if (host >= 0 && !from.kept && before.dtype == y.dtype)
        y = before;
    else
        HN_TRY(place_like_inputs(L, n, n_args, &y, err));
    for (int i = 0; i < y.rank; i++) d.p.out_stride[0][i] = y.strides[i];
    if (host >= 0) {
        s = from.step;
        counted = ((const hn_map_f32 *)s->problem)->n_out;
        for (int i = 0; i < d.n_joined; i++) HN_TRY(join(L, s, d.joined[i], err));
        HN_TRY(hn_step_absorb(L, s, n, err));
        memcpy(s->problem, &d.p, sizeof d.p);
        s->n_operands = 0;
        s->writes = 0;
    } else {
        HN_TRY(hn_lower_step(L, n, &hn_map_f32_family, &d.p, sizeof d.p, &s, err));
        s->facts->bytes = (double)hn_view_count(&y) * hone_dtype_bits(y.dtype) / 8;
    }
    memcpy(s->operands + HN_MAP_IN, d.in, (size_t)d.p.n_in * sizeof *d.in);
    hn_step_writes(s, HN_MAP_OUT, &y);
    for (int k = 1; k < d.p.n_out; k++) {
        hn_view v = view_at(d.kept[k], d.p.out_type[k]);
        hn_step_writes(s, HN_MAP_OUT + k, &v);
        if (k >= counted) s->facts->bytes += bytes_like(&y, d.p.out_type[k]);
    }
    s->facts->flops = (double)hn_view_count(&y) * d.p.n_code;
    for (int i = 0; i < d.n_added; i++) {
        s->facts->bytes +=
            (double)hn_view_count(&d.added[i]) * hone_dtype_bits(d.added[i].dtype) / 8;
        read_after(L, s, &d.added[i]);
    }
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

/* ---- nodes ---- */

/* Output 0 is input i. */
static void give_on(hn_lower *L, const hn_node *n, int i) {
    hn_view v = hn_lower_in(L, n, i);
    hn_lower_set(L, n, 0, &v, maker(L, n, i));
}

static bool gives_on(const hn_node *n, const row *r) {
    hone_dtype from = hn_node_input(n, 0)->type.dtype, to = hn_node_output(n, 0)->type.dtype;
    if (hone_dtype_bits(from) % 8 != 0) return false; /* an output could not be copied from it */
    if (is(n, "Cast") || is(n, "CastLike")) return from == to;
    if (!is(n, "Dropout")) return r->kind == VIEW;
    const hn_tensor *training = hn_node_constant(n, 2);
    return hn_node_output(n, 1) == NULL &&
           (hn_node_input(n, 2) == NULL ||
            (training != NULL && training->n == 1 && hn_tensor_s64(training, 0) == 0));
}

static bool is_element(hone_dtype t) { return t == HONE_DTYPE_F32 || t == HONE_DTYPE_BOOL; }

hone_status hn_lower_map(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    const row *r = row_of(n);
    hn_view y = hn_lower_out(n, 0);
    if (hn_node_output(n, 0) == NULL) HN_DECLINE(L, "no output");
    *done = true;
    if (gives_on(n, r)) {
        give_on(L, n, 0);
        return HONE_OK;
    }
    if (r->kind == VIEW) HN_DECLINE(L, "elements smaller than a byte, training, or a mask");
    HN_TRY(into_integers(L, n, &y, done, err));
    if (*done) return HONE_OK;
    *done = true;
    int n_args = r->most == 0 || r->most > n->n_inputs ? n->n_inputs : r->most;
    while (n_args > 1 && hn_node_input(n, n_args - 1) == NULL) n_args--;
    if (!is_element(y.dtype)) HN_DECLINE(L, "neither f32 nor bool");
    for (int i = 0; i < n_args; i++) {
        const hn_tensor *t = hn_node_constant(n, i);
        bool exponent = r->map == HN_MAP_POW && i == 1 && t != NULL && t->n == 1;
        if (!is_element(hn_node_input(n, i)->type.dtype) && !exponent)
            HN_DECLINE(L, "neither f32 nor bool");
    }
    if (is(n, "BatchNormalization") && (y.rank < 2 || hn_attr_i(n, "training_mode") != 0))
        HN_DECLINE(L, "training, or no channels");
    if (y.rank > HN_MAP_MAX_RANK) HN_DECLINE(L, "more than six axes");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    int silu = silu_input(n);
    if (silu >= 0) {
        hn_step *s = L->makers[hn_node_input(n, silu)->id];
        give_on(L, n, silu);
        return hn_step_absorb(L, s, n, err);
    }
    bool logic = r->map >= HN_MAP_AND && r->map <= HN_MAP_NOT;
    bool to_truth = r->map == HN_MAP_ACT_NONE && y.dtype == HONE_DTYPE_BOOL;
    source host_program;
    if ((logic || to_truth) && host_of(L, n, n_args, &y, &host_program) < 0)
        HN_DECLINE(L, "map_int computes truth values as bytes");
    hn_view result;
    hn_step *host = into_maker(L, n, r, &y, &result);
    if (host == NULL) return lower_program(L, n, r, n_args, y, done, err);
    hn_lower_set(L, n, 0, &result, host);
    return hn_step_absorb(L, host, n, err);
}
