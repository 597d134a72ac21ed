/* Operators of com.microsoft, as ONNX Runtime's optimizer writes them: SkipLayerNormalization and
 * its simplified form, EmbedLayerNormalization, Attention and MultiHeadAttention. (Gelu and its kin
 * are elementwise; FusedMatMul is beside MatMul.)
 */
#include <math.h>
#include <string.h>

#include "engine/lower.h"
#include "kernels/gather_rows/gather_rows.h"
#include "kernels/map_f32/map_f32.h"
#include "kernels/map_int/map_int.h"
#include "kernels/norm_f32/norm_f32.h"

/* ---- SkipLayerNormalization ---- */

/* v as if it had the dims of `to`, to which it broadcasts. */
static hn_view spread(const hn_view *v, const hn_view *to) {
    hn_view s = *to;
    int missing = to->rank - v->rank;
    s.buffer = v->buffer;
    s.offset = v->offset;
    for (int i = 0; i < to->rank; i++)
        s.strides[i] = i < missing || v->dims[i - missing] == 1 ? 0 : v->strides[i - missing];
    return s;
}

hone_status hn_lower_skip_norm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    enum { OUTPUT, MEAN, INV_STD, SUM };
    bool rms = strcmp(n->op->name, "SkipSimplifiedLayerNormalization") == 0;
    hn_view x = hn_lower_in(L, n, 0), skip = hn_lower_in(L, n, 1), gamma = hn_lower_in(L, n, 2);
    hn_view beta = {.buffer = -1}, bias = hn_lower_in(L, n, rms ? 3 : 4);
    hn_view y = hn_lower_out(n, OUTPUT), sum = hn_lower_out(n, SUM);
    if (!rms) beta = hn_lower_in(L, n, 3);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    if (hn_node_output(n, MEAN) != NULL || hn_node_output(n, INV_STD) != NULL)
        HN_DECLINE(L, "the statistics are wanted too");
    int64_t width = x.dims[x.rank - 1];
    skip = spread(&skip, &x);
    HN_TRY(hn_lower_dense(L, n, &x, err));
    HN_TRY(hn_lower_dense(L, n, &skip, err));
    HN_TRY(hn_lower_dense(L, n, &gamma, err));
    if (beta.buffer >= 0) HN_TRY(hn_lower_dense(L, n, &beta, err));
    if (bias.buffer >= 0) HN_TRY(hn_lower_dense(L, n, &bias, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    if (hn_node_output(n, SUM) != NULL) HN_TRY(hn_lower_place(L, &sum, NULL, err));
    hn_norm_f32 p = {.rows = hn_view_count(&x) / width,
                     .n = width,
                     .x_row = width,
                     .r_row = width,
                     .y_row = width,
                     .sum_row = width,
                     .epsilon = hn_attr_f(n, "epsilon"),
                     .rms = rms};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_norm_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_NORM_X, &x);
    hn_step_reads(s, HN_NORM_R, &skip);
    if (bias.buffer >= 0) hn_step_reads(s, HN_NORM_OFFSET, &bias);
    hn_step_reads(s, HN_NORM_SCALE, &gamma);
    if (beta.buffer >= 0) hn_step_reads(s, HN_NORM_BIAS, &beta);
    hn_step_writes(s, HN_NORM_Y, &y);
    s->facts->bytes = 12.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, OUTPUT, &y, NULL);
    if (sum.buffer >= 0) {
        hn_step_writes(s, HN_NORM_SUM, &sum);
        hn_lower_set(L, n, SUM, &sum, NULL);
    }
    *done = true;
    return HONE_OK;
}

/* ---- EmbedLayerNormalization ---- */

static hone_status check_ids(const void *problem, void *const *operands, const char *what,
                             hn_error *err) {
    const hn_gather_rows *p = problem;
    const int32_t *ids = operands[HN_GATHER_INDEX];
    for (int64_t i = 0; i < p->count; i++)
        HN_CHECK(err, ids[i] >= 0 && ids[i] < p->axis, HONE_E_ARG, "%s id %d is outside [0, %lld)",
                 what, (int)ids[i], (long long)p->axis);
    return HONE_OK;
}

static hone_status check_words(const void *problem, void *const *operands, hn_error *err) {
    return check_ids(problem, operands, "word", err);
}
static hone_status check_positions(const void *problem, void *const *operands, hn_error *err) {
    return check_ids(problem, operands, "position", err);
}
static hone_status check_segments(const void *problem, void *const *operands, hn_error *err) {
    return check_ids(problem, operands, "segment", err);
}

/* A step that makes y of the rows of a table that ids of s32 name; it refuses the others by
 * `check`. */
static hone_status add_lookup(hn_lower *L, const hn_node *n, hn_view table, hn_view ids,
                              hone_status (*check)(const void *, void *const *, hn_error *),
                              hn_view *y, hn_error *err) {
    HN_TRY(hn_lower_dense(L, n, &ids, err));
    HN_TRY(hn_lower_dense(L, n, &table, err));
    int64_t bytes = table.dims[1] * (int64_t)sizeof(float);
    hn_gather_rows p = {.outer = 1,
                        .axis = table.dims[0],
                        .count = hn_view_count(&ids),
                        .bytes = bytes,
                        .x_axis = bytes,
                        .y_count = bytes,
                        .from_start = true};
    *y = table;
    y->dims[0] = p.count;
    HN_TRY(hn_lower_place(L, y, NULL, err));
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_gather_rows_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_GATHER_X, &table);
    hn_step_reads(s, HN_GATHER_INDEX, &ids);
    hn_step_writes(s, HN_GATHER_Y, y);
    s->check = check;
    s->flag = HN_GATHER_OUTSIDE;
    s->facts->bytes = 2.0 * (double)(p.count * bytes);
    return HONE_OK;
}

/* *a += b, both dense. */
static hone_status add_floats(hn_lower *L, const hn_node *n, hn_view *a, const hn_view *b,
                              hn_error *err) {
    hn_view sum = *a;
    hn_map_f32 p = {.rank = 1,
                    .dims = {hn_view_count(a)},
                    .n_in = 2,
                    .n_out = 1,
                    .in_stride = {{1}, {1}},
                    .out_stride = {{1}}};
    p.out[0] = (uint8_t)hn_map_emit(&p, HN_MAP_ADD, 0, 1, 0, 0, 0);
    HN_TRY(hn_lower_place(L, &sum, NULL, err));
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_MAP_IN, a);
    hn_step_reads(s, HN_MAP_IN + 1, b);
    hn_step_writes(s, HN_MAP_OUT, &sum);
    s->facts->bytes = 12.0 * (double)hn_view_count(a);
    *a = sum;
    return HONE_OK;
}

/* An operation of map_int on m, dense, and the number b for all, to y. */
static hone_status add_map_int(hn_lower *L, const hn_node *n, hn_map_int_op op, const hn_view *m,
                               int32_t b, const hn_view *y, hn_error *err) {
    hn_map_int p = {.op = op,
                    .from = m->dtype,
                    .to = y->dtype,
                    .rank = 1,
                    .dims = {hn_view_count(m)},
                    .stride = {[HN_MAP_INT_A] = {1}, [HN_MAP_INT_Y] = {1}}};
    hn_tensor *t;
    hn_view number;
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_S32, 1, &t, &number, err));
    *(int32_t *)t->data = b;
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_int_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_MAP_INT_A, m);
    if (op != HN_MAP_INT_CAST) hn_step_reads(s, HN_MAP_INT_B, &number);
    hn_step_writes(s, HN_MAP_INT_Y, y);
    return HONE_OK;
}

/* The numbers of 1s in the rows of a mask of s32; 0 without one. */
static hone_status count_ones(hn_lower *L, const hn_node *n, hn_view mask, hn_view *count,
                              hn_error *err) {
    if (mask.buffer < 0) {
        hn_tensor *zeros;
        HN_TRY(hn_lower_constant(L, HONE_DTYPE_S32, count->dims[0], &zeros, count, err));
        memset(zeros->data, 0, zeros->bytes);
        return HONE_OK;
    }
    HN_TRY(hn_lower_dense(L, n, &mask, err));
    hn_view is_one = mask, ones = mask;
    is_one.dtype = HONE_DTYPE_BOOL;
    HN_TRY(hn_lower_place(L, &is_one, NULL, err));
    HN_TRY(hn_lower_place(L, &ones, NULL, err));
    HN_TRY(hn_lower_place(L, count, NULL, err));
    HN_TRY(add_map_int(L, n, HN_MAP_INT_EQ, &mask, 1, &is_one, err));
    HN_TRY(add_map_int(L, n, HN_MAP_INT_CAST, &is_one, 0, &ones, err));
    hn_step *s;
    return hn_lower_reduce_step(L, n, HN_REDUCE_SUM,
                                (const int64_t[]){mask.dims[0], mask.dims[1], 1}, &ones, count, &s,
                                err);
}

/* Rows of the tables are looked up and, but for the positions, added; the step that normalizes adds
 * those. Where they just count, they are the first rows of their table, again for each sample. */
hone_status hn_lower_embed_norm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    enum { IDS, SEGMENT_IDS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POSITION_IDS };
    enum { OUTPUT, MASK_INDEX, SUM };
    hn_view x, segments, ids = hn_lower_in(L, n, IDS), positions = hn_lower_in(L, n, POSITION);
    hn_view gamma = hn_lower_in(L, n, GAMMA), beta = hn_lower_in(L, n, BETA);
    hn_view y = hn_lower_out(n, OUTPUT), count = hn_lower_out(n, MASK_INDEX);
    hn_view sum = hn_lower_out(n, SUM);
    if (y.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    int64_t width = y.dims[2], per_sample = ids.dims[1];
    hn_view given = hn_lower_in(L, n, POSITION_IDS);
    bool counted = given.buffer < 0;
    if (counted && per_sample > positions.dims[0]) HN_DECLINE(L, "more positions than there are");
    HN_TRY(add_lookup(L, n, hn_lower_in(L, n, WORD), ids, check_words, &x, err));
    if (hn_node_input(n, SEGMENT_IDS) != NULL) {
        HN_TRY(add_lookup(L, n, hn_lower_in(L, n, SEGMENT), hn_lower_in(L, n, SEGMENT_IDS),
                          check_segments, &segments, err));
        HN_TRY(add_floats(L, n, &x, &segments, err));
    }
    if (counted)
        HN_TRY(hn_lower_dense(L, n, &positions, err));
    else
        HN_TRY(add_lookup(L, n, positions, given, check_positions, &positions, err));
    HN_TRY(hn_lower_dense(L, n, &gamma, err));
    HN_TRY(hn_lower_dense(L, n, &beta, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_norm_f32 p = {.rows = x.dims[0],
                     .n = width,
                     .x_row = width,
                     .r_row = width,
                     .y_row = width,
                     .sum_row = width,
                     .r_rows = counted || positions.dims[0] != x.dims[0] ? per_sample : 0,
                     .epsilon = hn_attr_f(n, "epsilon")};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_norm_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_NORM_X, &x);
    hn_step_reads(s, HN_NORM_R, &positions);
    hn_step_reads(s, HN_NORM_SCALE, &gamma);
    hn_step_reads(s, HN_NORM_BIAS, &beta);
    hn_step_writes(s, HN_NORM_Y, &y);
    s->facts->bytes = 12.0 * (double)hn_view_count(&y);
    hn_lower_set(L, n, OUTPUT, &y, NULL);
    if (hn_node_output(n, SUM) != NULL) {
        HN_TRY(hn_lower_place(L, &sum, NULL, err));
        hn_step_writes(s, HN_NORM_SUM, &sum);
        hn_lower_set(L, n, SUM, &sum, NULL);
    }
    if (hn_node_output(n, MASK_INDEX) != NULL) {
        HN_TRY(count_ones(L, n, hn_lower_in(L, n, MASK), &count, err));
        hn_lower_set(L, n, MASK_INDEX, &count, NULL);
    }
    *done = true;
    return HONE_OK;
}

/* ---- masks of attention ---- */

/* `hidden`, dense, as numbers that are added to scores: `filter` or 0. */
static hone_status add_filter(hn_lower *L, const hn_node *n, const hn_view *hidden, float filter,
                              hn_view *mask, hn_error *err) {
    hn_map_f32 p = {.rank = 1,
                    .dims = {hn_view_count(hidden)},
                    .n_in = 1,
                    .n_out = 1,
                    .in_type = {HN_MAP_BOOL},
                    .in_stride = {{1}},
                    .out_stride = {{1}}};
    p.out[0] = (uint8_t)hn_map_emit(&p, HN_MAP_SELECT, 0, HN_MAP_X, HN_MAP_Y, filter, 0);
    *mask = *hidden;
    mask->dtype = HONE_DTYPE_F32;
    HN_TRY(hn_lower_place(L, mask, NULL, err));
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_MAP_IN, hidden);
    hn_step_writes(s, HN_MAP_OUT, mask);
    return HONE_OK;
}

/* The keys that the s32 mask m hides, as what is added to the scores: [samples, 1, queries or 1,
 * keys]. A mask of [samples] numbers says how many keys there are, one with more axes says for each
 * key, by 1 or 0, whether there is. Where a query sees none, the filter is added to all its scores,
 * which keep what an f32 of its size leaves of them. */
static hone_status mask_of(hn_lower *L, const hn_node *n, hn_view m, int64_t keys, hn_view *mask,
                           hn_error *err) {
    bool lengths = m.rank == 1;
    hn_tensor *t;
    hn_view other;
    HN_TRY(hn_lower_dense(L, n, &m, err));
    HN_TRY(hn_lower_constant(L, HONE_DTYPE_S32, lengths ? keys : 1, &t, &other, err));
    for (int64_t i = 0; i < t->n; i++) ((int32_t *)t->data)[i] = (int32_t)i;
    hn_view hidden = {.dtype = HONE_DTYPE_BOOL, .rank = 4, .dims = {m.dims[0], 1, 1, keys}};
    if (m.rank == 3) hidden.dims[2] = m.dims[1];
    HN_TRY(hn_lower_place(L, &hidden, NULL, err));
    int64_t rows = hn_view_count(&hidden) / keys;
    hn_map_int p = {.op = HN_MAP_INT_LE, /* length <= place, or mask <= 0 */
                    .from = HONE_DTYPE_S32,
                    .to = HONE_DTYPE_BOOL,
                    .rank = 2,
                    .dims = {rows, keys}};
    p.stride[HN_MAP_INT_A][0] = lengths ? 1 : keys;
    p.stride[HN_MAP_INT_A][1] = lengths ? 0 : 1;
    p.stride[HN_MAP_INT_B][1] = lengths ? 1 : 0;
    p.stride[HN_MAP_INT_Y][0] = keys;
    p.stride[HN_MAP_INT_Y][1] = 1;
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_map_int_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_MAP_INT_A, &m);
    hn_step_reads(s, HN_MAP_INT_B, &other);
    hn_step_writes(s, HN_MAP_INT_Y, &hidden);
    return add_filter(L, n, &hidden, hn_attr_f(n, "mask_filter_value"), mask, err);
}

/* Why the kernel cannot have this mask and this bias; NULL: it can. */
static const char *refusal(const hn_view *m, const hn_view *bias, int64_t samples) {
    if (m->buffer < 0) return NULL;
    if (bias->buffer >= 0) return "a mask and a bias";
    if (m->rank == 4) return "a mask of all positions there may be";
    if (m->rank == 1 && m->dims[0] != samples) return "a mask of ends and starts";
    return NULL;
}

/* ---- Attention and MultiHeadAttention ---- */

/* Columns `at` to `at + width` of x [samples, positions, columns] as [samples, heads, positions,
 * width / heads]. */
static hn_view heads_of(const hn_view *x, int64_t at, int64_t width, int64_t heads) {
    hn_view v = *x;
    v.rank = 4;
    v.offset += at * x->strides[2];
    v.dims[1] = heads;
    v.dims[2] = x->dims[1];
    v.dims[3] = width / heads;
    v.strides[1] = v.dims[3] * x->strides[2];
    v.strides[2] = x->strides[1];
    v.strides[3] = x->strides[2];
    return v;
}

/* From q, k and v [samples, heads, positions, size] to output 0. */
static hone_status attend(hn_lower *L, const hn_node *n, const hn_view *q, const hn_view *k,
                          const hn_view *v, const hn_view *m, hn_view bias, hn_error *err) {
    hn_view y = hn_lower_out(n, 0);
    const hn_attr *scale = hn_node_attr(n, "scale");
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    if (m->buffer >= 0) HN_TRY(mask_of(L, n, *m, k->dims[2], &bias, err));
    if (bias.buffer >= 0) HN_TRY(hn_lower_dense(L, n, &bias, err));
    hn_heads_views h = {
        .q = *q,
        .k = *k,
        .v = *v,
        .y = heads_of(&y, 0, y.dims[2], q->dims[1]),
        .mask = bias,
        .scale = scale != NULL && scale->u.f != 0 ? scale->u.f : 1 / sqrtf((float)q->dims[3]),
        .causal = hn_attr_i(n, "unidirectional") != 0};
    hn_lower_set(L, n, 0, &y, NULL);
    return hn_lower_attention_heads(L, n, &h, err);
}

static bool has(const hn_node *n, int first, int last) {
    for (int i = first; i <= last; i++)
        if (hn_node_input(n, i) != NULL) return true;
    return false;
}

static bool more_outputs(const hn_node *n) {
    for (int i = 1; i < n->n_outputs; i++)
        if (hn_node_output(n, i) != NULL) return true;
    return false;
}

hone_status hn_lower_ms_attention(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    enum { INPUT, WEIGHTS, BIAS, MASK, PAST, ATTENTION_BIAS, PAST_LENGTH };
    hn_view x = hn_lower_in(L, n, INPUT), w = hn_lower_in(L, n, WEIGHTS);
    hn_view b = hn_lower_in(L, n, BIAS), m = hn_lower_in(L, n, MASK);
    hn_view bias = hn_lower_in(L, n, ATTENTION_BIAS), out = hn_lower_out(n, 0);
    int64_t heads = hn_attr_i(n, "num_heads"), widths[3], columns = w.dims[1];
    int count;
    const int64_t *given = hn_attr_ints(n, "qkv_hidden_sizes", &count);
    const char *why = refusal(&m, &bias, x.dims[0]);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&out) == 0 || hn_view_count(&w) == 0) HN_DECLINE(L, "nothing to compute");
    if (has(n, PAST, PAST) || has(n, PAST_LENGTH, PAST_LENGTH) || more_outputs(n))
        HN_DECLINE(L, "past keys");
    if (hn_attr_i(n, "do_rotary") != 0) HN_DECLINE(L, "rotary positions");
    if (why != NULL) HN_DECLINE(L, why);
    for (int i = 0; i < 3; i++) widths[i] = count == 3 ? given[i] : columns / 3;
    /* Query, key and value in one product. */
    hn_view all = {.dtype = HONE_DTYPE_F32, .rank = 3, .dims = {x.dims[0], x.dims[1], columns}};
    hn_view rows, results;
    const int64_t from[] = {x.dims[0] * x.dims[1], x.dims[2]}, to[] = {from[0], columns};
    HN_TRY(hn_lower_dense(L, n, &x, err));
    HN_TRY(hn_lower_place(L, &all, NULL, err));
    hn_view_reshape(&x, 2, from, &rows);
    hn_view_reshape(&all, 2, to, &results);
    if (b.buffer >= 0)
        HN_TRY(hn_lower_dense(L, n, &b, err)); /* a copy comes before what reads it */
    hn_step *s;
    HN_TRY(hn_lower_product(L, n, &rows, &w, &results, &s, err));
    if (b.buffer >= 0) {
        hn_epilogue end;
        hn_step_end(s, &end);
        hn_step_reads(s, end.bias, &b);
    }
    hn_view q = heads_of(&all, 0, widths[0], heads);
    hn_view k = heads_of(&all, widths[0], widths[1], heads);
    hn_view v = heads_of(&all, widths[0] + widths[1], widths[2], heads);
    *done = true;
    return attend(L, n, &q, &k, &v, &m, bias, err);
}

hone_status hn_lower_multi_head_attention(hn_lower *L, const hn_node *n, bool *done,
                                          hn_error *err) {
    enum { QUERY, KEY, VALUE, BIAS, MASK, QK_BIAS, PAST_K, BEAMS = 9 };
    hn_view q = hn_lower_in(L, n, QUERY), k = hn_lower_in(L, n, KEY), v = hn_lower_in(L, n, VALUE);
    hn_view m = hn_lower_in(L, n, MASK), bias = hn_lower_in(L, n, QK_BIAS);
    int64_t heads = hn_attr_i(n, "num_heads");
    const char *why = refusal(&m, &bias, q.dims[0]);
    if (q.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (q.rank != 3 || k.buffer < 0 || v.buffer < 0) HN_DECLINE(L, "packed together");
    if (has(n, BIAS, BIAS)) HN_DECLINE(L, "a bias of query, key and value");
    if (has(n, PAST_K, BEAMS) || more_outputs(n)) HN_DECLINE(L, "past keys");
    if (why != NULL) HN_DECLINE(L, why);
    if (hn_view_count(&q) == 0 || hn_view_count(&k) == 0 || hn_view_count(&v) == 0)
        HN_DECLINE(L, "nothing to compute");
    q = heads_of(&q, 0, q.dims[2], heads);
    if (k.rank == 3) {
        k = heads_of(&k, 0, k.dims[2], heads);
        v = heads_of(&v, 0, v.dims[2], heads);
    }
    *done = true;
    return attend(L, n, &q, &k, &v, &m, bias, err);
}
