#include "compress/weighted.h"

#include <string.h>

#include "base/pattern.h"
#include "compress/place.h"
#include "engine/layers.h"
#include "ops/nodes.h"

#define MANY_CONSTANTS 1024 /* of a node: worth a Cast on either side to keep them in 16 bits */

hn_layer_scheme hn_scheme_of(const hn_scheme *s, const hn_node *n, bool *named) {
    if (named != NULL) *named = true;
    for (int i = s->n_rules; i-- > 0;)
        if (hn_pattern_matches(s->rules[i].name, hn_layer_name(n))) return s->rules[i].layer;
    if (named != NULL) *named = false;
    return s->layer;
}

bool hn_scheme_wants(const hn_scheme *s, hn_layer_kind least, hn_layer_kind most) {
    bool yes = s->layer.kind >= least && s->layer.kind <= most;
    for (int i = 0; i < s->n_rules; i++)
        yes = yes || (s->rules[i].layer.kind >= least && s->rules[i].layer.kind <= most);
    return yes;
}

/* The constant behind input i, and to which of its axes each axis of the input goes; NULL: there is
 * none. */
static hn_value *constant_behind(const hn_node *n, int i, int *axes) {
    hn_value *v = hn_node_input(n, i);
    for (int k = 0; k < HONE_MAX_RANK; k++) axes[k] = k;
    for (int depth = 0; v != NULL && depth < HN_MAX_DEPTH; depth++) {
        if (v->constant != NULL) return !v->is_input && v->constant->data != NULL ? v : NULL;
        const hn_node *p = v->producer;
        if (hn_is(p, "Transpose")) {
            int count, rank = v->type.shape.rank, before[HONE_MAX_RANK];
            const int64_t *perm = hn_attr_ints(p, "perm", &count);
            if (rank < 0) return NULL;
            for (int k = 0; k < rank; k++)
                before[k] = count == rank ? (int)perm[axes[k]] : rank - 1 - axes[k];
            memcpy(axes, before, sizeof *axes * (size_t)rank);
        } else if (!hn_is(p, "Identity")) {
            return NULL;
        }
        v = hn_node_input(p, 0);
    }
    return NULL;
}

bool hn_has_weights(const hn_node *n) {
    hn_weight_kind kind = hn_weight_kind_of(n);
    return kind == HN_WEIGHT_MATRIX || kind == HN_WEIGHT_WINDOWS;
}

/* Its products are MatMulNBits, which takes a matrix in blocks of one size. */
static bool is_blocks(const hn_layer_scheme *s) {
    return s->kind == HN_LAYER_DYNAMIC && s->weights.group > 0;
}

/* Why the scheme does not hold for n, which has weights; NULL: it does. */
static const char *refuse(const hn_node *n, const hn_layer_scheme *s, bool named) {
    if (s->kind < HN_LAYER_WEIGHTS || s->weights.dtype == HONE_DTYPE_NONE)
        return "left in floats by the scheme";
    bool integers = s->kind > HN_LAYER_WEIGHTS;
    if (integers && n->op->role != HN_ROLE_PRODUCT) return "no integer form of it";
    const char *why = integers ? hn_refuse_role(n) : NULL;
    if (why != NULL || s->kind != HN_LAYER_DYNAMIC) return why;
    const hn_weights_def *of = n->op->weights;
    bool windows = of->kind == HN_WEIGHT_WINDOWS, blocks = is_blocks(s);
    if (windows && blocks) return "no dynamic form of it with groups";
    if (!blocks && of->dynamic == NULL) return "no dynamic form of it";
    if (windows && !named) return "convolutions are dynamic only where a rule names them";
    if (windows && hn_bias_of(n) != NULL && hn_const_in(n, of->bias) == NULL)
        return "no dynamic form of it with a bias that is computed";
    return NULL;
}

static bool has_many_constants(const hn_node *n) {
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t = hn_node_constant(n, i);
        if (t != NULL && t->dtype == HONE_DTYPE_F32 && t->n >= MANY_CONSTANTS) return true;
    }
    return false;
}

hone_dtype hn_scheme_float(void *ctx, const hn_node *n) {
    bool named;
    hn_layer_kind kind = hn_scheme_of(ctx, n, &named).kind;
    if (kind == HN_LAYER_F16) return HONE_DTYPE_F16;
    if (kind == HN_LAYER_BF16) return HONE_DTYPE_BF16;
    bool kept = named && kind == HN_LAYER_F32;
    bool back = n->written != HONE_DTYPE_NONE && !kept && has_many_constants(n);
    return back ? n->written : HONE_DTYPE_F32;
}

/* Groups of one size, of at most the one asked for and as many as there would be with it: not all
 * runtimes take a last one that is smaller, and kernels want multiples of 8. */
static int64_t even_group(int64_t group, int64_t n) {
    int64_t groups = (n + group - 1) / group;
    bool even = groups > 0 && n % groups == 0 && (groups == 1 || n / groups % 8 == 0);
    return even ? n / groups : group;
}

/* How the node uses its weight, of which it sees axis i as axes[i]; false: it does not. */
static bool find_use(hn_weighted *w, const int *axes) {
    const hn_tensor *t = w->weight->constant;
    int64_t dims[HONE_MAX_RANK];
    hn_weight_use use;
    for (int i = 0; i < t->rank; i++) dims[i] = t->dims[axes[i]];
    if (!w->node->op->weights->use(w->node, t->rank, dims, &use)) return false;
    w->channel_axis = axes[use.channel_axis];
    w->sum_axis = use.sum_axis >= 0 ? axes[use.sum_axis] : -1;
    w->transposed = use.transposed;
    w->alpha = use.alpha;
    w->beta = use.beta;
    return true;
}

bool hn_weighted_of(hn_node *n, const hn_scheme *s, hn_weighted *w, const char **why) {
    const char *unused;
    if (why == NULL) why = &unused;
    *why = NULL;
    if (!hn_has_weights(n)) return false;
    const hn_weights_def *of = n->op->weights;
    bool named;
    *w = (hn_weighted){.node = n,
                       .input = hn_node_input(n, 0),
                       .index = of->input,
                       .kind = of->kind,
                       .scheme = hn_scheme_of(s, n, &named)};
    if (w->scheme.kind == HN_LAYER_F16 || w->scheme.kind == HN_LAYER_BF16) return false;
    *why = refuse(n, &w->scheme, named);
    if (*why != NULL) return false;
    int axes[HONE_MAX_RANK];
    bool blocks = is_blocks(&w->scheme);
    w->weight = constant_behind(n, of->input, axes);
    const hn_value *second = hn_node_input(n, of->input);
    bool product = of->kind == HN_WEIGHT_MATRIX && w->weight == NULL && w->input != NULL &&
                   second != NULL && w->input->constant == NULL && second->constant == NULL;
    bool sparse = second != NULL && second->constant != NULL && second->constant->values != NULL;
    *why = product                                          ? "a product of two activations"
           : w->weight == NULL && sparse                    ? "the weight is a sparse initializer"
           : w->weight == NULL                              ? "the weight is computed"
           : w->weight->constant->dtype != HONE_DTYPE_F32   ? "the weight is not f32"
           : w->weight->constant->n == 0                    ? "the weight is empty"
           : !find_use(w, axes)                             ? "the weight is a vector"
           : blocks && w->transposed                        ? "the input is transposed"
           : w->input == NULL || w->input->constant != NULL ? "the input is a constant"
           : blocks && w->weight->constant->rank != 2       ? "the weight is several matrices"
                                                            : NULL;
    if (*why != NULL) return false;
    int64_t *group = &w->scheme.weights.group;
    if (*group > 0 && w->sum_axis >= 0 && !blocks)
        *group = even_group(*group, w->weight->constant->dims[w->sum_axis]);
    hn_value *b = hn_bias_of(n);
    if (b != NULL && hn_const_in(n, of->bias) != NULL && b->constant->rank == 1) w->bias = b;
    return true;
}

/* ---- recurrent layers ---- */

/* Why a recurrent node has no form in which its activations are integers, too; NULL: it has. */
static const char *refuse_activations(const hn_node *n, const hn_layer_scheme *s,
                                      const hn_quant_target *target) {
    const hn_value *x = hn_node_input(n, 0);
    if (s->kind == HN_LAYER_STATIC) {
        if (target == NULL || !target->states)
            return "the runtime has no form of it with ranges found beforehand (int8-weights has "
                   "one)";
        return x == NULL || x->constant != NULL ? "the input is a constant" : NULL;
    }
    if (n->op->weights->dynamic == NULL) return "no dynamic form of it (int8-weights has one)";
    if (is_blocks(s)) return "no dynamic form of it with groups";
    if (hn_attr_i(n, "layout") != 0) return "no dynamic form of it with the batch first";
    return NULL;
}

/* Why a recurrent node has no form that the scheme asks for; NULL: it has. Its activations may
 * stay in floats, where no rule asks for other ones. */
static const char *refuse_recurrent(const hn_node *n, hn_layer_scheme *s,
                                    const hn_quant_target *target, bool named) {
    if (s->kind < HN_LAYER_WEIGHTS || s->weights.dtype == HONE_DTYPE_NONE)
        return "left in floats by the scheme";
    /* Errors come back through the state, step after step: the LSTMs of a noise filter (DTLN) keep
     * 34 dB with weights of 8 bits and 13 dB with 4. */
    if (hn_qtype_is_narrow(&s->weights) && !named)
        return "recurrent layers get fewer than 8 bits only where a rule names them";
    s->weights = hn_qtype_whole(s->weights);
    if (s->kind == HN_LAYER_WEIGHTS) return NULL;
    const char *why = refuse_activations(n, s, target);
    if (why == NULL || named) return why;
    s->kind = HN_LAYER_WEIGHTS;
    return NULL;
}

/* A recurrent node as two layers: the weights of its input and those of its state. Its bias counts
 * as that of the first. */
static bool recurrent_of(hn_node *n, const hn_scheme *s, hn_weighted w[2], const char **why) {
    *why = NULL;
    if (hn_weight_kind_of(n) != HN_WEIGHT_STATE) return false;
    const hn_weights_def *of = n->op->weights;
    bool named;
    hn_layer_scheme scheme = hn_scheme_of(s, n, &named);
    if (scheme.kind == HN_LAYER_F16 || scheme.kind == HN_LAYER_BF16) return false;
    *why = refuse_recurrent(n, &scheme, s->target, named);
    for (int i = 0; i < 2 && *why == NULL; i++) {
        const hn_tensor *t = hn_const_in(n, of->input + i);
        static const int axes[] = {0, 1, 2};
        *why = t == NULL || t->data == NULL ? "a weight is computed"
               : t->dtype != HONE_DTYPE_F32 ? "a weight is not f32"
               : t->rank != 3 || t->n == 0  ? "a weight is empty"
                                            : NULL;
        if (*why != NULL) break;
        w[i] = (hn_weighted){.node = n,
                             .input = hn_node_input(n, 0),
                             .weight = hn_node_input(n, of->input + i),
                             .index = of->input + i,
                             .kind = of->kind,
                             .scheme = scheme};
        find_use(&w[i], axes);
        int64_t *group = &w[i].scheme.weights.group;
        if (*group > 0) *group = even_group(*group, t->dims[w[i].sum_axis]);
    }
    if (*why != NULL) return false;
    if (hn_const_in(n, of->bias) != NULL) w[0].bias = hn_bias_of(n);
    return true;
}

int hn_weights_of(hn_node *n, const hn_scheme *s, hn_weighted w[2], const char **why) {
    const char *unused;
    if (why == NULL) why = &unused;
    if (hn_weighted_of(n, s, &w[0], why)) return 1;
    return *why == NULL && recurrent_of(n, s, w, why) ? 2 : 0;
}

bool hn_reads_matrix(const hn_node *n) {
    for (int i = 0; i < n->n_inputs; i++) {
        const hn_tensor *t = hn_node_constant(n, i);
        int long_axes = 0;
        for (int k = 0; t != NULL && t->dtype == HONE_DTYPE_F32 && k < t->rank; k++)
            long_axes += t->dims[k] > 1;
        if (long_axes >= 2) return true;
    }
    return false;
}

/* ---- the layers of a model ---- */

hone_status hn_weighted_layers(hn_model *m, const hn_scheme *s, hn_arena *arena, hn_weighted **out,
                               int *n, hn_error *err) {
    hn_weighted *all = hn_arena_array(arena, (size_t)m->graph->n_nodes + 1, sizeof *all);
    if (all == NULL) return HN_NOMEM(err);
    int count = 0;
    for (hn_node *at = m->graph->first; at != NULL; at = at->next)
        if (hn_weighted_of(at, s, &all[count], NULL)) count++;
    *out = all;
    *n = count;
    return HONE_OK;
}

hn_qtype hn_weighted_type(const hn_weighted *w) {
    hn_qtype type = w->scheme.weights;
    if (type.group > 0 && w->sum_axis < 0) type.group = 0, type.per_channel = true;
    return type;
}

int hn_weighted_to_round(hn_weighted *layers, int n) {
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (hn_qtype_is_narrow(&layers[i].scheme.weights)) layers[kept++] = layers[i];
    return kept > 0 ? kept : n;
}

hone_status hn_weighted_grid(hn_grid *g, const hn_weighted *w, hn_pool *pool, hn_allocator *alloc,
                             hn_error *err) {
    const hn_tensor *t = w->weight->constant;
    hn_qtype type = hn_weighted_type(w);
    return hn_qtype_is_narrow(&type)
               ? hn_grid_create_mse(g, t, &type, w->channel_axis, w->sum_axis, NULL, pool, alloc,
                                    err)
               : hn_grid_create(g, t, &type, w->channel_axis, w->sum_axis, pool, alloc, err);
}
