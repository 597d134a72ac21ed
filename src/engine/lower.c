#include "engine/lower.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "engine/lower_quant.h"
#include "kernels/copy/copy.h"
#include "ops/nodes.h"

/* ---- the table ---- */

#define HN_LOWER(domain, op, function) hn_lowering function;
#define HN_LOWER_INT8 HN_LOWER
#include "engine/lowerings.def"
#undef HN_LOWER_INT8
#undef HN_LOWER

static const struct {
    const char *domain, *op;
    hn_lowering *function;
    bool int8;
} rows[] = {
#define HN_LOWER(domain, op, function) {domain, op, function, false},
#define HN_LOWER_INT8(domain, op, function) {domain, op, function, true},
#include "engine/lowerings.def"
#undef HN_LOWER_INT8
#undef HN_LOWER
};

/* The operator's row with the least number from `from` on, or -1. */
static int row_of(const hn_op_def *op, int from) {
    const char *domain = op->domain != NULL ? op->domain : "";
    for (int i = from; i < (int)(sizeof rows / sizeof *rows); i++)
        if (hn_same_name(rows[i].op, op->name) && hn_same_name(rows[i].domain, domain)) return i;
    return -1;
}

bool hn_lower_has(const hn_op_def *op) { return row_of(op, 0) >= 0; }

bool hn_lower_has_int8(const hn_op_def *op) {
    for (int i = row_of(op, 0); i >= 0; i = row_of(op, i + 1))
        if (rows[i].int8) return true;
    return hn_quant_lowers(op);
}

/* ---- views ---- */

int64_t hn_view_count(const hn_view *v) {
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++) n *= v->dims[i];
    return n;
}

bool hn_view_is_dense(const hn_view *v) {
    int64_t want = 1;
    for (int i = v->rank - 1; i >= 0; i--) {
        if (v->dims[i] == 0) return true;
        if (v->dims[i] != 1 && v->strides[i] != want) return false;
        want *= v->dims[i];
    }
    return true;
}

bool hn_view_same_place(const hn_view *a, const hn_view *b) {
    if (a->buffer != b->buffer || a->offset != b->offset || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] || (a->dims[i] > 1 && a->strides[i] != b->strides[i]))
            return false;
    return true;
}

/* A reshape cuts both shapes into the shortest runs of axes with equal products, and within a run
 * the old axes must be one contiguous stretch. Moves i and k, of the old axes and the new, past the
 * next run. */
static bool cut_run(const hn_view *v, int rank, const int64_t *dims, int *i, int *k) {
    int64_t have = 1, want = 1;
    if (*i < v->rank) have = v->dims[(*i)++];
    if (*k < rank) want = dims[(*k)++];
    while (have != want) {
        if (have < want) {
            if (*i == v->rank) return false;
            have *= v->dims[(*i)++];
        } else {
            if (*k == rank) return false;
            want *= dims[(*k)++];
        }
    }
    return true;
}

bool hn_view_reshape(const hn_view *v, int rank, const int64_t *dims, hn_view *out) {
    hn_view r = *v;
    r.rank = rank;
    for (int i = 0; i < rank; i++) {
        r.dims[i] = dims[i];
        r.strides[i] = 0;
    }
    if (hn_view_count(v) == 0) {
        *out = r;
        return true;
    }
    int i = 0, k = 0;
    while (i < v->rank || k < rank) {
        int i0 = i, k0 = k;
        if (!cut_run(v, rank, dims, &i, &k)) return false;
        bool joined = false;
        int64_t next = 0; /* the stride that makes the axis before one with it */
        for (int a = i - 1; a >= i0; a--) {
            if (v->dims[a] == 1) continue;
            if (joined && v->strides[a] != next) return false;
            next = v->strides[a] * v->dims[a];
            joined = true;
        }
        int64_t inner = 1;
        for (int a = i - 1; a >= i0; a--)
            if (v->dims[a] != 1) {
                inner = v->strides[a];
                break;
            }
        for (int a = k - 1; a >= k0; a--) {
            r.strides[a] = inner;
            inner *= dims[a];
        }
    }
    *out = r;
    return true;
}

/* ---- values ---- */

hn_view hn_lower_in(const hn_lower *L, const hn_node *n, int i) {
    const hn_value *v = hn_node_input(n, i);
    if (v == NULL || !L->known[v->id]) return (hn_view){.buffer = -1};
    return L->views[v->id];
}

hn_view hn_lower_out(const hn_node *n, int i) {
    hn_view v = {.buffer = -1};
    const hn_value *value = hn_node_output(n, i);
    if (value == NULL) return v;
    v.dtype = value->type.dtype;
    v.rank = value->type.shape.rank;
    hn_shape_is_const(&value->type.shape, v.dims);
    return v;
}

static hone_status add_buffer(hn_lower *L, const hn_buffer *b, int *out, hn_error *err) {
    hn_plan *p = L->plan;
    if (p->n_buffers == L->cap_buffers) {
        int cap = L->cap_buffers * 2 + 64;
        hn_buffer *more = hn_arena_array(&p->arena, (size_t)cap, sizeof *more);
        if (more == NULL) return HN_NOMEM(err);
        if (p->n_buffers > 0) memcpy(more, p->buffers, (size_t)p->n_buffers * sizeof *more);
        p->buffers = more;
        L->cap_buffers = cap;
    }
    p->buffers[p->n_buffers] = *b;
    p->buffers[p->n_buffers].inside = -1;
    *out = p->n_buffers++;
    return HONE_OK;
}

/* The buffer of a constant: one, however many nodes read it. */
static hone_status constant_buffer(hn_lower *L, const hn_tensor *t, int *out, hn_error *err) {
    for (int i = 0; i < L->plan->n_buffers; i++) {
        if (L->plan->buffers[i].tensor != t) continue;
        *out = i;
        return HONE_OK;
    }
    return add_buffer(L, &(hn_buffer){.kind = HN_BUFFER_CONSTANT, .tensor = t, .bytes = t->bytes},
                      out, err);
}

static void dense_strides(hn_view *v, const int *order) {
    int64_t stride = 1;
    for (int k = v->rank - 1; k >= 0; k--) {
        int axis = order != NULL ? order[k] : k;
        v->strides[axis] = stride;
        stride *= v->dims[axis] > 0 ? v->dims[axis] : 1;
    }
}

/* A constant as it lies, in no buffer yet. */
static hn_view view_of(const hn_tensor *t) {
    hn_view v = {.dtype = t->dtype, .rank = t->rank, .buffer = -1};
    memcpy(v.dims, t->dims, sizeof v.dims);
    dense_strides(&v, NULL);
    return v;
}

hone_status hn_lower_adopt(hn_lower *L, hn_tensor *t, hn_view *v, hn_error *err) {
    hn_plan *p = L->plan;
    hn_extra_constant *made = hn_arena_zero(&p->arena, sizeof *made);
    if (made == NULL) {
        hn_tensor_unref(t);
        return HN_NOMEM(err);
    }
    made->tensor = t;
    made->next = p->made;
    p->made = made;
    *v = view_of(t);
    return constant_buffer(L, t, &v->buffer, err);
}

hone_status hn_lower_constant(hn_lower *L, hone_dtype dtype, int64_t n, hn_tensor **t, hn_view *v,
                              hn_error *err) {
    HN_TRY(hn_tensor_create(t, L->plan->arena.alloc, HN_MEM_WEIGHTS, dtype, 1, &n, err));
    return hn_lower_adopt(L, *t, v, err);
}

bool hn_lower_is_constant(const hn_lower *L, const hn_view *v) {
    return v->buffer >= 0 && hn_buffer_constant(&L->plan->buffers[v->buffer], NULL);
}

hone_status hn_lower_stored(hn_lower *L, const hn_constant *c, hn_view *v, hn_error *err) {
    hn_constant *copy = hn_arena_alloc(&L->plan->arena, sizeof *copy);
    if (copy == NULL) return HN_NOMEM(err);
    *copy = *c;
    hn_buffer b = {.kind = HN_BUFFER_STORED, .constant = copy, .bytes = hn_stored_bytes(&c->as)};
    dense_strides(v, NULL);
    v->offset = 0;
    return add_buffer(L, &b, &v->buffer, err);
}

hone_status hn_lower_place(hn_lower *L, hn_view *v, const int *order, hn_error *err) {
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    HN_CHECK(err, bytes != SIZE_MAX, HONE_E_LIMIT, "a value is larger than memory can be");
    dense_strides(v, order);
    v->offset = 0;
    return add_buffer(L, &(hn_buffer){.kind = HN_BUFFER_SLAB, .bytes = bytes}, &v->buffer, err);
}

/* Axes of one element say nothing: they stay where they are, and the others are sorted around them.
 */
void hn_lower_order(const hn_view *like, int *order) {
    for (int i = 0; i < like->rank; i++) {
        int free = i;
        order[i] = i;
        for (int k = i - 1; k >= 0 && like->dims[i] != 1; k--) {
            int a = order[k];
            if (like->dims[a] == 1) continue;
            if (like->strides[a] >= like->strides[i]) break;
            order[free] = a;
            order[k] = i;
            free = k;
        }
    }
}

void hn_lower_order_channels_last(int rank, int *order) {
    order[0] = 0;
    for (int i = 1; i + 1 < rank; i++) order[i] = i + 1;
    if (rank > 1) order[rank - 1] = 1;
}

hone_status hn_lower_place_like(hn_lower *L, hn_view *v, const hn_view *like, hn_error *err) {
    int order[HONE_MAX_RANK];
    if (like->rank > 2 && like->dims[1] > 1 && like->strides[1] == 1)
        hn_lower_order_channels_last(v->rank, order);
    else
        hn_lower_order(like, order);
    return hn_lower_place(L, v, order, err);
}

void hn_lower_set(hn_lower *L, const hn_node *n, int i, const hn_view *v, hn_step *maker) {
    const hn_value *value = hn_node_output(n, i);
    if (value == NULL) return;
    L->views[value->id] = *v;
    L->known[value->id] = true;
    L->makers[value->id] = maker;
}

hn_step *hn_lower_maker(const hn_lower *L, const hn_node *n, int i) {
    const hn_value *v = hn_node_input(n, i);
    if (v == NULL || v->n_uses != 1 || !L->known[v->id] || L->no_fuse) return NULL;
    return L->makers[v->id];
}

/* ---- other layouts ---- */

/* No step reads the buffer yet. */
static bool is_only_written(const hn_lower *L, int buffer) {
    for (int i = 0; i < L->plan->n_steps; i++) {
        const hn_step *s = L->plan->steps[i];
        for (int k = 0; k < s->n_operands; k++)
            if (s->operands[k].buffer == buffer && (s->writes >> k & 1) == 0) return false;
        for (int k = 0; k < s->n_in; k++)
            if (s->in[k].buffer == buffer) return false;
    }
    return true;
}

/* Elements that are adjacent in a are adjacent in b: a kernel that writes rows still does. */
static bool keeps_rows(const hn_view *a, const hn_view *b) {
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] > 1 && a->strides[i] == 1 && b->strides[i] != 1) return false;
    return true;
}

static hone_status in_order(hn_lower *L, const hn_node *n, hn_view *v, const int *order,
                            hn_error *err) {
    hn_view wanted = *v;
    dense_strides(&wanted, order);
    for (const hn_variant *x = L->variants; x != NULL; x = x->next) {
        if (!hn_view_same_place(&x->of, v)) continue;
        hn_view is = x->is;
        is.buffer = wanted.buffer;
        is.offset = wanted.offset;
        if (!hn_view_same_place(&is, &wanted)) continue;
        *v = x->is;
        return HONE_OK;
    }
    hn_variant *x = hn_arena_zero(&L->plan->arena, sizeof *x);
    if (x == NULL) return HN_NOMEM(err);
    x->of = *v;
    x->is = *v;
    HN_TRY(hn_lower_place(L, &x->is, order, err));
    if (is_only_written(L, v->buffer) && keeps_rows(v, &x->is) && hn_lower_rehome(L, v, &x->is)) {
        *v = x->is;
        return HONE_OK;
    }
    HN_TRY(hn_lower_copy(L, n, v, &x->is, err));
    x->next = L->variants;
    L->variants = x;
    *v = x->is;
    return HONE_OK;
}

hone_status hn_lower_dense(hn_lower *L, const hn_node *n, hn_view *v, hn_error *err) {
    if (hn_view_is_dense(v)) return HONE_OK;
    return in_order(L, n, v, NULL, err);
}

/* Runs of axes that a reshape makes one must be in their order; the runs themselves stay in that of
 * their smallest strides, so that channels which were innermost still are. */
hone_status hn_lower_reshapable(hn_lower *L, const hn_node *n, hn_view *v, int rank,
                                const int64_t *dims, hn_error *err) {
    int order[HONE_MAX_RANK], first[HONE_MAX_RANK], n_runs = 0, done = 0;
    int64_t key[HONE_MAX_RANK];
    for (int i = 0, k = 0; i < v->rank;) {
        int at = n_runs, begin = i;
        int64_t least = INT64_MAX;
        if (!cut_run(v, rank, dims, &i, &k)) return hn_lower_dense(L, n, v, err);
        for (int a = begin; a < i; a++)
            if (v->dims[a] > 1 && v->strides[a] < least) least = v->strides[a];
        for (; at > 0 && key[at - 1] < least; at--) {
            key[at] = key[at - 1];
            first[at] = first[at - 1];
        }
        key[at] = least;
        first[at] = begin;
        n_runs++;
    }
    for (int r = 0; r < n_runs; r++) {
        int end = v->rank;
        for (int q = 0; q < n_runs; q++)
            if (first[q] > first[r] && first[q] < end) end = first[q];
        for (int a = first[r]; a < end; a++) order[done++] = a;
    }
    return in_order(L, n, v, order, err);
}

hone_status hn_lower_channels_last(hn_lower *L, const hn_node *n, hn_view *v, hn_error *err) {
    if (v->strides[1] == 1 || v->dims[1] == 1) {
        bool forward = true;
        for (int i = 0; i < v->rank; i++) forward &= v->strides[i] >= 0;
        if (forward) return HONE_OK;
    }
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(v->rank, order);
    return in_order(L, n, v, order, err);
}

hone_status hn_lower_copy(hn_lower *L, const hn_node *n, const hn_view *src, const hn_view *dst,
                          hn_error *err) {
    int bits = hone_dtype_bits(src->dtype);
    hn_copy p = {.size = (size_t)bits / 8, .rank = src->rank};
    HN_CHECK(err, bits % 8 == 0 && bits > 0, HONE_E_UNSUPPORTED, "%s cannot be copied in pieces",
             hone_dtype_name(src->dtype));
    for (int i = 0; i < p.rank; i++) {
        p.dims[i] = src->dims[i];
        p.src[i] = src->strides[i];
        p.dst[i] = dst->strides[i];
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_copy_family, &p, sizeof p, &s, err));
    s->facts->label = "copy";
    s->facts->bytes = 2.0 * (double)hn_view_count(src) * bits / 8;
    hn_step_reads(s, HN_COPY_SRC, src);
    hn_step_writes(s, HN_COPY_DST, dst);
    return HONE_OK;
}

/* ---- steps ---- */

static hone_status add_step(hn_lower *L, hn_step *s, hn_error *err) {
    hn_plan *p = L->plan;
    if (p->n_steps == L->cap_steps) {
        int cap = L->cap_steps * 2 + 64;
        hn_step **more = hn_arena_array(&p->arena, (size_t)cap, sizeof *more);
        if (more == NULL) return HN_NOMEM(err);
        if (p->n_steps > 0) memcpy(more, p->steps, (size_t)p->n_steps * sizeof *more);
        p->steps = more;
        L->cap_steps = cap;
    }
    p->steps[p->n_steps++] = s;
    return HONE_OK;
}

hn_step *hn_step_create(hn_arena *arena) {
    hn_step *s = hn_arena_zero(arena, sizeof *s);
    hn_step_facts *facts = hn_arena_zero(arena, sizeof *facts);
    if (s == NULL || facts == NULL) return NULL;
    s->facts = facts;
    for (int i = 0; i < HN_MAX_OPERANDS; i++) s->operands[i].buffer = -1;
    return s;
}

static hone_status new_step(hn_lower *L, const hn_node *n, hn_step **out, hn_error *err) {
    hn_step *s = hn_step_create(&L->plan->arena);
    if (s == NULL) return HN_NOMEM(err);
    s->node = s->facts->maker = n;
    s->facts->label = n != NULL ? n->op_type : "copy";
    s->precision = hn_layers_of(L->layers, n).precision;
    s->facts->why_float = L->why_float;
    HN_TRY(add_step(L, s, err));
    *out = s;
    return HONE_OK;
}

hone_status hn_lower_step(hn_lower *L, const hn_node *n, const hn_family *family,
                          const void *problem, size_t problem_bytes, hn_step **out, hn_error *err) {
    void *copy = hn_arena_alloc(&L->plan->arena, problem_bytes);
    if (copy == NULL) return HN_NOMEM(err);
    memcpy(copy, problem, problem_bytes);
    HN_TRY(new_step(L, n, out, err));
    (*out)->family = family;
    if (family->integers) (*out)->facts->why_float = NULL;
    (*out)->problem = copy;
    (*out)->problem_bytes = problem_bytes;
    return HONE_OK;
}

static void set_operand(hn_step *s, int i, const hn_view *v) {
    s->operands[i] = (hn_operand){v->buffer, (size_t)(v->offset * hone_dtype_bits(v->dtype) / 8)};
    if (i >= s->n_operands) s->n_operands = i + 1;
}

void hn_step_reads(hn_step *s, int i, const hn_view *v) { set_operand(s, i, v); }

void hn_step_writes(hn_step *s, int i, const hn_view *v) {
    set_operand(s, i, v);
    s->writes |= 1u << i;
}

void hn_lower_move_last(hn_lower *L, hn_step *s) {
    hn_plan *p = L->plan;
    int i = p->n_steps - 1;
    while (p->steps[i] != s) i--;
    for (; i + 1 < p->n_steps; i++) p->steps[i] = p->steps[i + 1];
    p->steps[i] = s;
}

static hone_status add_to_label(hn_lower *L, hn_step *s, const char *text, hn_error *err) {
    size_t bytes = strlen(s->facts->label) + strlen(text) + 2;
    char *label = hn_arena_alloc(&L->plan->arena, bytes);
    if (label == NULL) return HN_NOMEM(err);
    strcat(strcat(strcpy(label, s->facts->label), "+"), text);
    s->facts->label = label;
    return HONE_OK;
}

hone_status hn_step_absorb(hn_lower *L, hn_step *s, const hn_node *n, hn_error *err) {
    HN_TRY(add_to_label(L, s, n->op_type, err));
    s->node = n;
    return HONE_OK;
}

hone_status hn_step_join(hn_lower *L, hn_step *s, const hn_step *other, hn_error *err) {
    return add_to_label(L, s, other->facts->label, err);
}

/* ---- the walk ---- */

static hone_status lower_reference(hn_lower *L, const hn_node *n, hn_error *err) {
    hn_step *s;
    hn_view *in = hn_arena_array(&L->plan->arena, (size_t)n->n_inputs, sizeof *in);
    hn_view *out = hn_arena_array(&L->plan->arena, (size_t)n->n_outputs, sizeof *out);
    if (in == NULL || out == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n->n_inputs; i++) {
        in[i] = hn_lower_in(L, n, i);
        if (in[i].buffer >= 0) HN_TRY(hn_lower_dense(L, n, &in[i], err));
    }
    for (int i = 0; i < n->n_outputs; i++) {
        out[i] = hn_lower_out(n, i);
        if (n->outputs[i] != NULL) HN_TRY(hn_lower_place(L, &out[i], NULL, err));
    }
    HN_TRY(new_step(L, n, &s, err));
    s->n_in = n->n_inputs;
    s->n_out = n->n_outputs;
    s->in = in;
    s->out = out;
    for (int i = 0; i < n->n_outputs; i++) hn_lower_set(L, n, i, &out[i], NULL);
    return HONE_OK;
}

/* As row_of from 0 on, looked up once for nodes of one operator. */
static int first_row(hn_lower *L, const hn_op_def *op) {
    size_t at = (uintptr_t)op / 32 % (sizeof L->found / sizeof *L->found);
    if (L->found[at].op != op) {
        L->found[at].op = op;
        L->found[at].first = row_of(op, 0);
    }
    return L->found[at].first;
}

static hone_status lower_plainly(hn_lower *L, const hn_node *n, hn_error *err) {
    L->why = "no kernel of its own";
    for (int i = first_row(L, n->op); i >= 0; i = row_of(n->op, i + 1)) {
        bool done = true;
        HN_TRY(rows[i].function(L, n, &done, err));
        if (done) return HONE_OK;
    }
    char label[320];
    hn_log(HONE_LOG_DEBUG, "%s: runs as the reference (%s)", hn_node_label(n, label, sizeof label),
           L->why);
    if (L->quantized && L->why_float == NULL) L->why_float = L->why;
    return lower_reference(L, n, err);
}

/* Depth: what waits is a DequantizeLinear or one of the few nodes of a chain (lower_quant.h). */
static hone_status lower_now(hn_lower *L, const hn_node *n, hn_error *err) {
    bool done = false;
    const char *why = NULL, *outer = L->why_float;
    L->why_float = NULL;
    if (L->quantized) HN_TRY(hn_lower_quantized(L, n, &done, &why, err));
    if (!done) {
        for (int i = 0; i < n->n_inputs; i++) HN_TRY(hn_lower_need(L, hn_node_input(n, i), err));
        L->why_float = why;
        HN_TRY(lower_plainly(L, n, err));
    }
    L->why_float = outer;
    return HONE_OK;
}

hone_status hn_lower_need(hn_lower *L, const hn_value *v, hn_error *err) {
    if (v == NULL || L->known[v->id] || v->producer == NULL) return HONE_OK;
    return lower_now(L, v->producer, err);
}

/* Weights of a codebook stay so until they are packed, or a step wants them as numbers. */
static hone_status lower_codebook(hn_lower *L, const hn_node *n, const hn_codebook *k,
                                  hn_error *err) {
    hn_view v = hn_lower_out(n, 0);
    hn_constant c = {.data = k->codes,
                     .other = k->table,
                     .as = {.kind = HN_STORED_CODEBOOK, .type = k->codes->dtype, .n = k->codes->n}};
    HN_TRY(hn_lower_stored(L, &c, &v, err));
    hn_lower_set(L, n, 0, &v, NULL);
    return HONE_OK;
}

static hone_status lower_node(hn_lower *L, const hn_node *n, hn_error *err) {
    hn_codebook k;
    if (hn_casts_codes(n)) return HONE_OK;
    if (hn_codebook_of(n, &k)) return lower_codebook(L, n, &k, err);
    return L->quantized && hn_lower_waits(L, n) ? HONE_OK : lower_now(L, n, err);
}

static hone_status sparse_buffer(hn_lower *L, const hn_tensor *t, hn_view *v, hn_error *err) {
    bool linear = t->indices->rank == 1;
    hn_constant c = {.data = t->values,
                     .other = t->indices,
                     .as = {.kind = HN_STORED_SPARSE,
                            .type = t->dtype,
                            .n = t->n,
                            .n_stored = t->values->n,
                            .rank = linear ? 1 : t->rank,
                            .dims = linear ? &t->n : t->dims}};
    return hn_lower_stored(L, &c, v, err);
}

/* Views of the inputs and constants. */
static hone_status lower_sources(hn_lower *L, hn_error *err) {
    const hn_graph *g = L->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const hn_value *v = g->inputs[i];
        hn_view view = {.dtype = v->type.dtype, .rank = v->type.shape.rank, .buffer = -1};
        if (v->constant == NULL) {
            hn_shape_is_const(&v->type.shape, view.dims);
            dense_strides(&view, NULL);
            hn_buffer b = {.kind = HN_BUFFER_INPUT, .index = i};
            b.bytes = hone_value_bytes(view.dtype, view.rank, view.dims);
            HN_TRY(add_buffer(L, &b, &view.buffer, err));
            L->views[v->id] = view;
            L->known[v->id] = true;
        }
        L->plan->inputs[i] = view;
    }
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        if (v->dead || v->constant == NULL) continue;
        hn_view view = view_of(v->constant);
        if (v->constant->data == NULL && v->constant->values != NULL)
            HN_TRY(sparse_buffer(L, v->constant, &view, err));
        else
            HN_TRY(constant_buffer(L, v->constant, &view.buffer, err));
        L->views[v->id] = view;
        L->known[v->id] = true;
    }
    return HONE_OK;
}

/* Every output ends in a buffer of its own, dense. */
static hone_status lower_outputs(hn_lower *L, hn_error *err) {
    const hn_graph *g = L->graph;
    for (int i = 0; i < g->n_outputs; i++) {
        const hn_value *v = g->outputs[i].value;
        HN_TRY(hn_lower_need(L, v, err));
        hn_view view = L->views[v->id];
        hn_buffer *b = &L->plan->buffers[view.buffer];
        size_t bytes = hone_value_bytes(view.dtype, view.rank, view.dims);
        if (b->kind != HN_BUFFER_SLAB || view.offset != 0 || b->bytes != bytes ||
            !hn_view_is_dense(&view)) {
            hn_view copy = view;
            HN_TRY(hn_lower_place(L, &copy, NULL, err));
            HN_TRY(hn_lower_copy(L, v->producer, &view, &copy, err));
            view = copy;
            b = &L->plan->buffers[view.buffer];
        }
        b->kind = HN_BUFFER_OUTPUT;
        b->index = i;
        L->plan->outputs[i] = view;
    }
    return HONE_OK;
}

/* Puts those steps that stand for several in their places. */
static hone_status expand_steps(hn_lower *L, hn_error *err) {
    hn_plan *p = L->plan;
    hn_step **steps = p->steps;
    int n = p->n_steps;
    p->steps = NULL;
    p->n_steps = L->cap_steps = 0;
    for (int i = 0; i < n; i++) {
        bool done;
        HN_TRY(hn_lower_conv_transpose_finish(L, steps[i], &done, err));
        if (!done) HN_TRY(hn_lower_conv_depth_finish(L, steps[i], &done, err));
        if (!done) HN_TRY(add_step(L, steps[i], err));
    }
    return HONE_OK;
}

/* While lowering goes on operands may get other places (hn_lower_rehome) and steps may take nodes
 * in, so problems get their final form last. */
static void finish_steps(const hn_plan *p) {
    for (int i = 0; i < p->n_steps; i++) {
        const hn_step *s = p->steps[i];
        if (s->family != NULL && s->family->finish != NULL) s->family->finish(s->problem);
    }
}

/* Whether a later step or the caller reads what s makes. */
static bool is_read(const hn_plan *p, const hn_step *s, const bool *read) {
    for (int i = 0; i < s->n_operands; i++)
        if ((s->writes >> i & 1) != 0 && read[hn_buffer_root(p, s->operands[i].buffer)])
            return true;
    for (int i = 0; i < s->n_out; i++)
        if (s->out[i].buffer >= 0 && read[hn_buffer_root(p, s->out[i].buffer)]) return true;
    return false;
}

/* Drops the steps whose results nothing reads. */
static hone_status drop_unread(hn_lower *L, hn_error *err) {
    hn_plan *p = L->plan;
    bool *read = hn_arena_array(&p->arena, (size_t)p->n_buffers + 1, sizeof *read);
    if (read == NULL) return HN_NOMEM(err);
    for (int i = 0; i < p->n_buffers; i++) read[i] = p->buffers[i].kind == HN_BUFFER_OUTPUT;
    int kept = p->n_steps;
    for (int i = p->n_steps - 1; i >= 0; i--) {
        hn_step *s = p->steps[i];
        if (!is_read(p, s, read)) continue;
        for (int k = 0; k < s->n_operands; k++)
            if ((s->writes >> k & 1) == 0 && s->operands[k].buffer >= 0)
                read[hn_buffer_root(p, s->operands[k].buffer)] = true;
        for (int k = 0; k < s->n_in; k++)
            if (s->in[k].buffer >= 0) read[hn_buffer_root(p, s->in[k].buffer)] = true;
        p->steps[--kept] = s;
    }
    p->n_steps -= kept;
    if (kept > 0 && p->n_steps > 0)
        memmove(p->steps, p->steps + kept, (size_t)p->n_steps * sizeof *p->steps);
    return HONE_OK;
}

hone_status hn_lower_graph(hn_lower *L, hn_error *err) {
    HN_TRY(lower_sources(L, err));
    for (const hn_node *n = L->graph->first; n != NULL; n = n->next) HN_TRY(lower_node(L, n, err));
    HN_TRY(lower_outputs(L, err));
    HN_TRY(hn_lower_conv_planes(L, err));
    if (L->transposed != NULL || L->deep != NULL) HN_TRY(expand_steps(L, err));
    finish_steps(L->plan);
    return drop_unread(L, err);
}
