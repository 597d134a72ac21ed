/* Softmax, losses of labels, and the normalisations. */
#include "engine/lower.h"
#include "kernels/group_norm_f32/group_norm_f32.h"
#include "kernels/label_loss_f32/label_loss_f32.h"
#include "kernels/map_f32/map_f32.h"
#include "kernels/norm_f32/norm_f32.h"
#include "kernels/reduce_f32/reduce_f32.h"
#include "kernels/rows_f64/rows_f64.h"
#include "kernels/softmax_f32/softmax_f32.h"
#include "ops/norm_ref.h"

#define NOT_REAL "neither f32 nor f64"

/* x as rows: seen so that the axes of a row, the bits of `together`, come last. Gives the length of a
 * row, and the order of the axes. */
static int64_t as_rows(const hn_view *x, uint32_t together, hn_view *rows, int *order) {
    int placed = 0;
    int64_t width = 1;
    *rows = *x;
    for (unsigned last = 0; last < 2; last++)
        for (int i = 0; i < x->rank; i++)
            if ((together >> i & 1) == last) order[placed++] = i;
    for (int i = 0; i < x->rank; i++) {
        rows->dims[i] = x->dims[order[i]];
        rows->strides[i] = x->strides[order[i]];
        if (together >> i & 1) width *= x->dims[i];
    }
    return width;
}

/* ---- doubles ---- */

/* A step of rows_f64, of rows along the axes in `together`. */
static hone_status rows_f64(hn_lower *L, const hn_node *n, hn_rows_f64_op op, uint32_t together,
                            const hn_view *scale, const hn_view *bias, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), rows;
    int order[HONE_MAX_RANK];
    int64_t width = as_rows(&x, together, &rows, order);
    HN_TRY(hn_lower_dense(L, n, &rows, err));
    HN_TRY(hn_lower_place(L, &y, order, err));
    hn_rows_f64 p = {.op = op, .rows = hn_view_count(&x) / width, .n = width};
    bool layer = op == HN_ROWS_F64_LAYER || op == HN_ROWS_F64_RMS;
    if (layer) p.epsilon = (double)hn_attr_f(n, "epsilon");
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_rows_f64_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_ROWS_F64_X, &rows);
    if (scale != NULL) hn_step_reads(s, HN_ROWS_F64_SCALE, scale);
    if (bias != NULL) hn_step_reads(s, HN_ROWS_F64_BIAS, bias);
    hn_step_writes(s, HN_ROWS_F64_Y, &y);
    s->facts->bytes = 16.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* ---- softmax ---- */

/* A step of softmax_f32 along an axis of x, which is not empty; places y. */
static hone_status softmax_step(hn_lower *L, const hn_node *n, hn_view x, int axis, bool log,
                                hn_view *y, hn_step **out, bool *done, hn_error *err) {
    if (axis == 1 && x.rank > 2 && x.rank - 1 <= HN_SOFTMAX_AXES)
        HN_TRY(hn_lower_channels_last(L, n, &x, err));
    if (axis != x.rank - 1 && x.strides[axis] != 1) HN_DECLINE(L, "not along adjacent elements");
    bool many = x.rank - 1 > HN_SOFTMAX_AXES;
    if (many && axis != x.rank - 1) HN_DECLINE(L, "more than four axes of rows");
    if (x.strides[axis] != 1 || many) HN_TRY(hn_lower_dense(L, n, &x, err));
    int order[HONE_MAX_RANK];
    hn_lower_order(&x, order);
    HN_TRY(hn_lower_place(L, y, order, err));
    hn_softmax_f32 p = {.n = x.dims[axis], .rows = {1, 1, 1, 1}, .scale = 1, .log = log};
    if (many) {
        p.rows[0] = hn_view_count(&x) / p.n;
        p.x_stride[0] = p.y_stride[0] = p.n;
    }
    for (int i = 0, k = 0; i < x.rank && !many; i++) {
        if (i == axis) continue;
        p.rows[k] = x.dims[i];
        p.x_stride[k] = x.strides[i];
        p.y_stride[k++] = y->strides[i];
    }
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_softmax_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_SOFTMAX_X, &x);
    hn_step_writes(s, HN_SOFTMAX_Y, y);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x);
    *out = s;
    *done = true;
    return HONE_OK;
}

static hone_status softmax(hn_lower *L, const hn_node *n, bool log, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    int64_t axis = hn_attr_i(n, "axis");
    hn_step *s;
    if (x.dtype != HONE_DTYPE_F32 && x.dtype != HONE_DTYPE_F64) HN_DECLINE(L, NOT_REAL);
    if (x.rank == 0 || hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    if (axis < 0) axis += x.rank;
    if (x.dtype == HONE_DTYPE_F64) {
        *done = true;
        return rows_f64(L, n, log ? HN_ROWS_F64_LOG_SOFTMAX : HN_ROWS_F64_SOFTMAX, 1u << axis, NULL,
                        NULL, err);
    }
    HN_TRY(softmax_step(L, n, x, (int)axis, log, &y, &s, done, err));
    if (*done) hn_lower_set(L, n, 0, &y, s);
    return HONE_OK;
}

hone_status hn_lower_softmax(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return softmax(L, n, false, done, err);
}

hone_status hn_lower_log_softmax(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return softmax(L, n, true, done, err);
}

/* ---- losses ---- */

static hone_status check_labels(const void *problem, void *const *operands, hn_error *err) {
    const hn_label_loss_f32 *p = problem;
    const void *labels = operands[HN_LABEL_LOSS_LABEL];
    for (int64_t i = 0; i < p->batch * p->inner; i++) {
        int64_t c = p->wide ? ((const int64_t *)labels)[i] : ((const int32_t *)labels)[i];
        if (p->ignores && c == p->ignore) continue;
        HN_CHECK(err, c >= 0 && c < p->classes, HONE_E_ARG,
                 "label %lld at position %lld is outside [0, %lld)", (long long)c, (long long)i,
                 (long long)p->classes);
    }
    return HONE_OK;
}

/* The loss of log probabilities x [batch, classes, inner] as output 0. */
static hone_status label_loss(hn_lower *L, const hn_node *n, const hn_view *x, hn_error *err) {
    hn_view labels = hn_lower_in(L, n, 1), weight = hn_lower_in(L, n, 2), y = hn_lower_out(n, 0);
    const hn_attr *ignore = hn_node_attr(n, "ignore_index");
    HN_TRY(hn_lower_dense(L, n, &labels, err));
    if (weight.buffer >= 0) HN_TRY(hn_lower_dense(L, n, &weight, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_label_loss_f32 p = {.batch = x->dims[0],
                           .classes = x->dims[1],
                           .inner = x->dims[2],
                           .x_batch = x->strides[0],
                           .x_class = x->strides[1],
                           .x_inner = x->strides[2],
                           .reduction = hn_attr_is(n, "reduction", "none")  ? HN_LOSS_NONE
                                        : hn_attr_is(n, "reduction", "sum") ? HN_LOSS_SUM
                                                                            : HN_LOSS_MEAN,
                           .wide = labels.dtype == HONE_DTYPE_S64,
                           .ignores = ignore != NULL,
                           .ignore = ignore != NULL ? ignore->u.i : 0};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_label_loss_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_LABEL_LOSS_X, x);
    hn_step_reads(s, HN_LABEL_LOSS_LABEL, &labels);
    if (weight.buffer >= 0) hn_step_reads(s, HN_LABEL_LOSS_WEIGHT, &weight);
    hn_step_writes(s, HN_LABEL_LOSS_Y, &y);
    s->check = check_labels;
    s->flag = HN_LABEL_LOSS_OUTSIDE;
    s->facts->bytes = 12.0 * (double)hn_view_count(&labels);
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* Scores as [batch, classes, inner]. */
static hone_status scores(hn_lower *L, const hn_node *n, hn_view *x, hn_error *err) {
    hn_view v = *x;
    int64_t dims[3] = {v.dims[0], v.dims[1], hn_view_count(&v) / (v.dims[0] * v.dims[1])};
    if (hn_view_reshape(&v, 3, dims, x)) return HONE_OK;
    HN_TRY(hn_lower_dense(L, n, &v, err));
    hn_view_reshape(&v, 3, dims, x);
    return HONE_OK;
}

hone_status hn_lower_likelihood_loss(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0);
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    HN_TRY(scores(L, n, &x, err));
    *done = true;
    return label_loss(L, n, &x, err);
}

/* A LogSoftmax along the classes, then the loss. */
hone_status hn_lower_cross_entropy(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), log_prob = hn_lower_out(n, 1), whole = x, y;
    hn_step *s;
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    HN_TRY(scores(L, n, &x, err));
    y = x;
    if (y.dims[2] == 1) { /* rows of classes lie as they should */
        x.rank = y.rank = 2;
    }
    HN_TRY(softmax_step(L, n, x, 1, true, &y, &s, done, err));
    y.rank = 3;
    y.dims[2] = x.dims[2];
    if (x.rank == 2) y.strides[2] = 1;
    if (hn_node_output(n, 1) != NULL) {
        hn_view_reshape(&y, whole.rank, whole.dims, &log_prob);
        hn_lower_set(L, n, 1, &log_prob, NULL);
    }
    return label_loss(L, n, &y, err);
}

/* ---- normalisations ---- */

static hone_status layer(hn_lower *L, const hn_node *n, bool rms, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    hn_view scale = hn_lower_in(L, n, 1), bias = hn_lower_in(L, n, 2);
    int64_t axis = hn_attr_i(n, "axis");
    if (x.dtype != HONE_DTYPE_F32 && x.dtype != HONE_DTYPE_F64) HN_DECLINE(L, NOT_REAL);
    if (scale.dtype != x.dtype) HN_DECLINE(L, "scale of another type");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    for (int i = 1; i < n->n_outputs; i++)
        if (n->outputs[i] != NULL) HN_DECLINE(L, "the statistics are wanted too");
    if (axis < 0) axis += x.rank;
    int64_t rows = 1, width = 1;
    for (int i = 0; i < x.rank; i++) *(i < axis ? &rows : &width) *= x.dims[i];
    if (hn_view_count(&scale) != width || (bias.buffer >= 0 && hn_view_count(&bias) != width))
        HN_DECLINE(L, "scale or bias broadcast");
    HN_TRY(hn_lower_dense(L, n, &scale, err));
    if (bias.buffer >= 0) HN_TRY(hn_lower_dense(L, n, &bias, err));
    if (x.dtype == HONE_DTYPE_F64) {
        *done = true;
        return rows_f64(L, n, rms ? HN_ROWS_F64_RMS : HN_ROWS_F64_LAYER,
                        hn_axes_from((int)axis, x.rank), &scale, bias.buffer >= 0 ? &bias : NULL,
                        err);
    }
    HN_TRY(hn_lower_dense(L, n, &x, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_norm_f32 p = {.rows = rows,
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
    hn_step_reads(s, HN_NORM_SCALE, &scale);
    if (bias.buffer >= 0) hn_step_reads(s, HN_NORM_BIAS, &bias);
    hn_step_writes(s, HN_NORM_Y, &y);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_layer_norm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return layer(L, n, false, done, err);
}

hone_status hn_lower_rms_norm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return layer(L, n, true, done, err);
}

/* InstanceNormalization of images that lie channels first: their channels are rows. */
static hone_status instance_rows(hn_lower *L, const hn_node *n, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    hn_view scale = hn_lower_in(L, n, 1), bias = hn_lower_in(L, n, 2);
    HN_TRY(hn_lower_dense(L, n, &scale, err));
    HN_TRY(hn_lower_dense(L, n, &bias, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    int64_t rows = x.dims[0] * x.dims[1], width = hn_view_count(&x) / rows;
    hn_norm_f32 p = {.rows = rows,
                     .n = width,
                     .x_row = width,
                     .y_row = width,
                     .epsilon = hn_attr_f(n, "epsilon"),
                     .row_scales = x.dims[1]};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_norm_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_NORM_X, &x);
    hn_step_reads(s, HN_NORM_SCALE, &scale);
    hn_step_reads(s, HN_NORM_BIAS, &bias);
    hn_step_writes(s, HN_NORM_Y, &y);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

/* InstanceNormalization, whose groups are single channels, and GroupNormalization. */
static hone_status groups(hn_lower *L, const hn_node *n, int64_t count, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    hn_view scale = hn_lower_in(L, n, 1), bias = hn_lower_in(L, n, 2);
    if (x.dtype != HONE_DTYPE_F32 || scale.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0 || x.rank < 3) HN_DECLINE(L, "no image");
    if (count == 0 && hn_view_is_dense(&x)) {
        *done = true;
        return instance_rows(L, n, err);
    }
    int order[HONE_MAX_RANK];
    hn_lower_order_channels_last(x.rank, order);
    hn_view want, pixels;
    HN_TRY(hn_lower_channels_last(L, n, &x, err));
    /* The spatial axes must be one run of pixels. */
    int64_t dims[3] = {x.dims[0], x.dims[1], hn_view_count(&x) / (x.dims[0] * x.dims[1])};
    if (!hn_view_reshape(&x, 3, dims, &pixels)) HN_DECLINE(L, "rows of pixels lie apart");
    HN_TRY(hn_lower_place(L, &y, order, err));
    hn_view_reshape(&y, 3, dims, &want);
    HN_TRY(hn_lower_dense(L, n, &scale, err));
    HN_TRY(hn_lower_dense(L, n, &bias, err));
    hn_group_norm_f32 p = {.batch = dims[0],
                           .pixels = dims[2],
                           .channels = dims[1],
                           .groups = count > 0 ? count : dims[1],
                           .x_image = pixels.strides[0],
                           .x_pixel = pixels.strides[2],
                           .y_image = want.strides[0],
                           .y_pixel = want.strides[2],
                           .epsilon = hn_attr_f(n, "epsilon")};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_group_norm_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_GROUP_NORM_X, &pixels);
    hn_step_reads(s, HN_GROUP_NORM_SCALE, &scale);
    hn_step_reads(s, HN_GROUP_NORM_BIAS, &bias);
    hn_step_writes(s, HN_GROUP_NORM_Y, &y);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, 0, &y, s);
    *done = true;
    return HONE_OK;
}

hone_status hn_lower_instance_norm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return groups(L, n, 0, done, err);
}

hone_status hn_lower_group_norm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    return groups(L, n, hn_attr_i(n, "num_groups"), done, err);
}

/* MeanVarianceNormalization: rows of a copy in which the axes of a group come last; none is needed
 * where they do. */
hone_status hn_lower_mean_variance(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), rows;
    uint32_t together;
    int order[HONE_MAX_RANK];
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    HN_TRY(hn_mean_variance_axes(n, x.rank, &together, err));
    int64_t width = as_rows(&x, together, &rows, order);
    HN_TRY(hn_lower_dense(L, n, &rows, err));
    HN_TRY(hn_lower_place(L, &y, order, err));
    hn_norm_f32 p = {.rows = hn_view_count(&x) / width,
                     .n = width,
                     .x_row = width,
                     .y_row = width,
                     .outside = HN_MEAN_VARIANCE_OUTSIDE};
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_norm_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_NORM_X, &rows);
    hn_step_writes(s, HN_NORM_Y, &y);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}

/* LpNormalization: norms, then x over them, or over 1 where they are 0. */
hone_status hn_lower_lp_norm(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0), norms = y;
    int64_t axis = hn_attr_i(n, "axis"), dims[3] = {1, 1, 1};
    if (x.dtype != HONE_DTYPE_F32 && x.dtype != HONE_DTYPE_F64) HN_DECLINE(L, NOT_REAL);
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    if (axis < 0) axis += x.rank;
    if (x.dtype == HONE_DTYPE_F64) {
        *done = true;
        return rows_f64(L, n, hn_attr_i(n, "p") == 1 ? HN_ROWS_F64_LP1 : HN_ROWS_F64_LP2,
                        1u << axis, NULL, NULL, err);
    }
    for (int i = 0; i < x.rank; i++) dims[i < axis ? 0 : i == axis ? 1 : 2] *= x.dims[i];
    HN_TRY(hn_lower_dense(L, n, &x, err));
    norms.rank = 3;
    norms.dims[0] = dims[0], norms.dims[1] = 1, norms.dims[2] = dims[2];
    HN_TRY(hn_lower_place(L, &norms, NULL, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    hn_step *s;
    HN_TRY(hn_lower_reduce_step(L, n, hn_attr_i(n, "p") == 1 ? HN_REDUCE_L1 : HN_REDUCE_L2, dims,
                                &x, &norms, &s, err));
    hn_map_f32 p = {.rank = 3,
                    .dims = {dims[0], dims[1], dims[2]},
                    .n_in = 2,
                    .n_out = 1,
                    .in_stride = {{dims[1] * dims[2], dims[2], 1}, {dims[2], 0, 1}},
                    .out_stride = {{dims[1] * dims[2], dims[2], 1}}};
    int zero = hn_map_emit(&p, HN_MAP_EQ, 1, HN_MAP_X, 0, 0, 0);
    int divisor = hn_map_emit(&p, HN_MAP_SELECT, zero, HN_MAP_X, 1, 1, 0);
    p.out[0] = (uint8_t)hn_map_emit(&p, HN_MAP_DIV, 0, divisor, 0, 0, 0);
    HN_TRY(hn_lower_step(L, n, &hn_map_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_MAP_IN, &x);
    hn_step_reads(s, HN_MAP_IN + 1, &norms);
    hn_step_writes(s, HN_MAP_OUT, &y);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}
