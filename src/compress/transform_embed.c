/* What programs do before and after a model becomes part of it: the model takes bytes as a camera or
 * a decoder gives them, and gives classes.
 *
 *     u8 [N, H, W, 3] ─▶ Transpose ─▶ Slice ─▶ Gather ─▶ Cast ─▶ Resize ... ─▶ Sub ─▶ Mul ─▶ the model
 *                        layout       crop     order     type    resize        mean   scale
 *     the model ─▶ Softmax ─▶ TopK
 *
 * Only nodes that are needed are made. Parameters mean what the keys of datasets mean
 * (formats/dataset.h), value = (x * scale - mean) / std; here it is computed as
 * (x - mean / scale) * (scale / std), whose constants are rounded once, and the factor, the order and
 * where nothing is padded the mean go into the weights of the first layer (embed.h).
 *
 * A resize is that of formats/image.h as near as ONNX can say it: one Resize for columns, one for
 * rows, and for images of bytes Floor(x + 1/2) behind each, as every pass there rounds to bytes.
 *
 * The input keeps its name and its place. Elements are moved while they are bytes, as that is least
 * to move.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compress/compression.h"
#include "compress/embed.h"
#include "engine/layers.h"
#include "formats/dataset.h"
#include "formats/image.h"
#include "ops/nodes.h"

/* ---- parameters ---- */

static const char *order_word(int i) {
    static const char *const words[] = {"rgb", "bgr"};
    return i < 2 ? words[i] : NULL;
}

static const char *layout_word(int i) {
    static const char *const words[] = {"nchw", "nhwc"};
    return i < 2 ? words[i] : NULL;
}

static const char *type_word(int i) {
    static const char *const words[] = {"u8", "f32"};
    return i < 2 ? words[i] : NULL;
}

enum { MOST_CROP = 1 << 14, MOST_TOP = 1 << 20 };

/* clang-format off */
const hn_parameter hn_params_embed[] = {
    {"scale", HN_PARAM_TEXT, "1", "value = (x * scale - mean) / std; `/` divides, 1/255", 0, 0, NULL, false},
    {"mean", HN_PARAM_TEXT, NULL, "subtracted after scaling: one value, or one for each channel, M:M:M", 0, 0, NULL, false},
    {"std", HN_PARAM_TEXT, NULL, "divides then, likewise", 0, 0, NULL, false},
    {"order", HN_PARAM_WORD, "rgb", "bgr reverses three channels", 0, 0, order_word, false},
    {"layout", HN_PARAM_WORD, NULL, "where the new input has its channels", 0, 0, layout_word, false},
    {"input-type", HN_PARAM_WORD, NULL, "element type of the new input", 0, 0, type_word, false},
    {"image-size", HN_PARAM_TEXT, NULL, "size of the images that come in, HxW, for resize and crop", 0, 0, NULL, false},
    {"resize", HN_PARAM_TEXT, NULL, "scale the short side to N pixels, or both to H:W", 0, 0, NULL, false},
    {"crop", HN_PARAM_COUNT, NULL, "take the square in the middle", 1, MOST_CROP, NULL, false},
    {"input", HN_PARAM_TEXT, NULL, "name of the input, where several could be meant", 0, 0, NULL, false},
    {"no-fold", HN_PARAM_FLAG, NULL, "leave the weights of the first layer as they are", 0, 0, NULL, false},
    {"softmax", HN_PARAM_FLAG, NULL, "make the scores probabilities", 0, 0, NULL, false},
    {"top-k", HN_PARAM_COUNT, NULL, "give the N greatest scores and their places", 1, MOST_TOP, NULL, false},
    {"scores", HN_PARAM_TEXT, NULL, "name of the output for softmax and top-k", 0, 0, NULL, false},
    {0},
};
/* clang-format on */

typedef struct settings {
    double scale;
    int n_mean, n_std; /* 0: not given */
    double *mean, *std;
    bool bgr, has_layout, nhwc;
    hone_dtype type;       /* NONE: as the model's */
    int64_t height, width; /* of what comes in; 0: not given */
    hn_image_scaling scaling;
    const char *input, *scores;
    bool fold, softmax;
    int64_t top;
} settings;

static bool changes_numbers(const settings *s) {
    return s->scale != 1 || s->n_mean > 0 || s->n_std > 0;
}
static bool scales_images(const settings *s) {
    return s->scaling.resize > 0 || s->scaling.crop > 0;
}
static bool changes_input(const settings *s) {
    return changes_numbers(s) || s->bgr || s->has_layout || s->type != HONE_DTYPE_NONE ||
           scales_images(s);
}
/* Along which axis the channels are has to be known. */
static bool asks_for_channels(const settings *s) {
    return s->n_mean > 1 || s->n_std > 1 || s->bgr || s->has_layout || scales_images(s);
}

static hone_status read_numbers(settings *s, const hn_recipe_step *step, hn_arena *arena,
                                hn_error *err) {
    const char *mean = hn_step_word(step, "mean"), *std = hn_step_word(step, "std");
    double *scale;
    int n;
    HN_TRY(hn_dataset_numbers(arena, "scale", hn_step_word(step, "scale"), &n, &scale, err));
    HN_CHECK(err, n == 1, HONE_E_ARG, "scale has %d values, expected one", n);
    s->scale = scale[0];
    if (mean != NULL) HN_TRY(hn_dataset_numbers(arena, "mean", mean, &s->n_mean, &s->mean, err));
    if (std != NULL) HN_TRY(hn_dataset_numbers(arena, "std", std, &s->n_std, &s->std, err));
    HN_CHECK(err, s->n_mean <= 1 || s->n_std <= 1 || s->n_mean == s->n_std, HONE_E_ARG,
             "mean has %d values and std %d, expected as many, or one", s->n_mean, s->n_std);
    return HONE_OK;
}

static hone_status read_sizes(settings *s, const hn_recipe_step *step, hn_error *err) {
    const char *size = hn_step_word(step, "image-size"), *resize = hn_step_word(step, "resize");
    if (hn_step_setting(step, "crop") != NULL)
        s->scaling.crop = (int64_t)hn_step_number(step, "crop");
    if (resize != NULL)
        HN_TRY(hn_dataset_sides("resize", resize, ':', &s->scaling.resize, &s->scaling.resize_width,
                                err));
    HN_CHECK(err, (size != NULL) == scales_images(s), HONE_E_ARG, "%s",
             size != NULL
                 ? "image-size is for resize and crop, and neither is given"
                 : "resize and crop want image-size=HxW, the size of the images that come in");
    if (size == NULL) return HONE_OK;
    HN_TRY(hn_dataset_sides("image-size", size, 'x', &s->height, &s->width, err));
    HN_CHECK(err, s->width > 0, HONE_E_ARG, "image-size is '%s', expected HxW: 480x640", size);
    return HONE_OK;
}

static hone_status read_settings(settings *s, const hn_recipe_step *step, hn_arena *arena,
                                 hn_error *err) {
    const char *layout = hn_step_word(step, "layout"), *type = hn_step_word(step, "input-type");
    *s = (settings){.bgr = strcmp(hn_step_word(step, "order"), "bgr") == 0,
                    .has_layout = layout != NULL,
                    .nhwc = layout != NULL && strcmp(layout, "nhwc") == 0,
                    .input = hn_step_word(step, "input"),
                    .scores = hn_step_word(step, "scores"),
                    .fold = !hn_step_flag(step, "no-fold"),
                    .softmax = hn_step_flag(step, "softmax")};
    if (type != NULL) s->type = strcmp(type, "u8") == 0 ? HONE_DTYPE_U8 : HONE_DTYPE_F32;
    if (hn_step_setting(step, "top-k") != NULL) s->top = (int64_t)hn_step_number(step, "top-k");
    HN_TRY(read_numbers(s, step, arena, err));
    HN_TRY(read_sizes(s, step, err));
    bool output = s->softmax || s->top > 0;
    HN_CHECK(err, changes_input(s) || output, HONE_E_ARG,
             "nothing is asked for: expected scale, mean, std, order, layout, input-type, resize, "
             "crop, softmax or top-k");
    HN_CHECK(err, s->input == NULL || changes_input(s), HONE_E_ARG,
             "input names an input, and nothing is done to one");
    HN_CHECK(err, s->scores == NULL || output, HONE_E_ARG,
             "scores is for softmax and top-k, and neither is given");
    return HONE_OK;
}

hone_status hn_plan_embed(hn_compress_plan *plan, const hn_recipe_step *step, hn_error *err) {
    settings s;
    return read_settings(&s, step, plan->arena, err);
}

/* ---- what is told ---- */

/* A part of what was asked for is done by node n. `why` it has not gone into
 * the weights of a layer, where it could have. */
static hone_status tell(hn_transform_ctx *c, const char *part, const hn_node *n, const char *why,
                        hn_error *err) {
    char what[200];
    snprintf(what, sizeof what, "node %s", n->name);
    hn_shrunk_layer row = {.transform = "embed",
                           .layer = part,
                           .op = n->op_type,
                           .what = what,
                           .why_not = why,
                           .error = NAN};
    c->changed++;
    return hn_shrinking_tell(c, &row, err);
}

/* It has gone into a layer. */
static hone_status tell_folded(hn_transform_ctx *c, const char *part, const hn_node *layer,
                               const char *where, hn_error *err) {
    char what[200];
    snprintf(what, sizeof what, "%s of %.150s", where, hn_layer_name(layer));
    hn_shrunk_layer row = {.transform = "embed",
                           .layer = part,
                           .op = layer->op_type,
                           .what = what,
                           .weights = hn_node_constant(layer, 1)->n,
                           .error = NAN};
    c->changed++;
    return hn_shrinking_tell(c, &row, err);
}

/* ---- the input ---- */

/* The input of the model, before anything changes. */
typedef struct subject {
    hn_transform_ctx *c;
    const settings *s;
    hn_arena *arena;
    hn_value *in;        /* the input */
    hn_value *at;        /* what has been made of it so far */
    hn_node *before;     /* the node that new ones stand before; NULL: at the end */
    int rank;            /* -1: not known */
    bool nhwc;           /* the model's layout */
    int axis, columns;   /* of the model's input: channels (-1: none); image columns */
    int64_t channels;    /* 0: not known */
    hone_dtype type;     /* that the model wants */
    hone_dtype given;    /* that the new input has */
    hone_dtype computed; /* that numbers are computed in; NONE: none are */
    hn_image_part part;
    bool told_type, told_crop, told_resize; /* of the first of several nodes */
} subject;

static hone_status find_input(subject *x, hn_error *err) {
    const hn_graph *g = x->c->model->graph;
    char names[400] = "";
    hn_value *image = NULL, *any = NULL;
    int images = 0, all = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        hn_value *v = g->inputs[i];
        if (v->constant != NULL) continue;
        hn_list_add(names, sizeof names, v->name);
        if (x->s->input != NULL && strcmp(v->name, x->s->input) != 0) continue;
        any = v;
        all++;
        if (v->type.shape.rank != 4) continue;
        image = v;
        images++;
    }
    HN_CHECK(err, x->s->input == NULL || all == 1, HONE_E_ARG,
             "the model has no input '%s'; it has: %s", x->s->input, names);
    x->in = all == 1 ? any : images == 1 ? image : NULL;
    HN_CHECK(err, x->in != NULL, HONE_E_ARG,
             "%s input of the model has four axes; expected input=NAME, one of: %s",
             images > 1 ? "more than one" : "no", names);
    HN_CHECK(err, x->in->type.kind == HN_TYPE_TENSOR && x->in->type.dtype != HONE_DTYPE_NONE,
             HONE_E_MODEL, "input '%s' is not a tensor of a known type", x->in->name);
    x->rank = x->in->type.shape.rank;
    x->type = x->in->type.dtype;
    x->given = x->s->type != HONE_DTYPE_NONE ? x->s->type : x->type;
    return HONE_OK;
}

static int64_t size_of(const subject *x, int axis) {
    int64_t size;
    return hn_dim_is_const(x->in->type.shape.dim[axis], &size) ? size : 0;
}

static bool may_be_channels(const subject *x, int axis) {
    int64_t n = size_of(x, axis);
    int values = x->s->n_mean > x->s->n_std ? x->s->n_mean : x->s->n_std;
    return values > 1 ? n == values : n == 1 || n == 3 || n == 4;
}

/* Images whose last axis alone can be channels have them there, as the loader of samples takes it. */
static hone_status find_channels(subject *x, hn_error *err) {
    const settings *s = x->s;
    const char *name = x->in->name;
    int values = s->n_mean > s->n_std ? s->n_mean : s->n_std;
    x->axis = -1;
    HN_CHECK(err, !asks_for_channels(s) || x->rank >= 2, HONE_E_SHAPE,
             "input '%s' has %s axes, expected two or more, one of them of channels", name,
             x->rank < 0 ? "an unknown number of" : "fewer than two");
    HN_CHECK(err, !(s->has_layout || scales_images(s)) || x->rank == 4, HONE_E_SHAPE,
             "input '%s' has %d axes; layout, resize and crop are for images, which have four",
             name, x->rank);
    if (x->rank < 2) return HONE_OK;
    x->nhwc = x->rank > 2 && !may_be_channels(x, 1) && may_be_channels(x, x->rank - 1);
    x->axis = x->nhwc ? x->rank - 1 : 1;
    x->columns = x->nhwc ? 2 : 3;
    x->channels = size_of(x, x->axis);
    HN_CHECK(err, values <= 1 || x->channels == values, HONE_E_SHAPE,
             "mean and std have %d values, input '%s' has %lld channels (layout %s)", values, name,
             (long long)x->channels, x->nhwc ? "nhwc" : "nchw");
    HN_CHECK(err, !s->bgr || x->channels == 3, HONE_E_SHAPE,
             "order=bgr needs 3 channels, input '%s' has %lld (layout %s)", name,
             (long long)x->channels, x->nhwc ? "nhwc" : "nchw");
    return HONE_OK;
}

static hone_status check_types(const subject *x, hn_error *err) {
    const char *type = hone_dtype_name(x->type), *name = x->in->name;
    bool floats = hn_dtype_in(x->type, HN_DTYPES_FLOAT);
    HN_CHECK(err, floats || !changes_numbers(x->s), HONE_E_ARG,
             "input '%s' is %s: scale, mean and std are for a model that takes floats", name, type);
    HN_CHECK(err, floats || x->given == x->type, HONE_E_ARG,
             "input '%s' is %s: input-type=%s is for a model that takes floats", name, type,
             hone_dtype_name(x->given));
    return HONE_OK;
}

static hone_status find_part(subject *x, hn_error *err) {
    const settings *s = x->s;
    if (!scales_images(s)) return HONE_OK;
    HN_TRY(hn_image_part_of(&x->part, &s->scaling, s->width, s->height, x->in->name, err));
    int64_t rows = size_of(x, x->columns - 1), columns = size_of(x, x->columns);
    bool fits = (rows == 0 || rows == x->part.rows) && (columns == 0 || columns == x->part.columns);
    HN_CHECK(err, fits, HONE_E_SHAPE,
             "the images come out at %lld x %lld pixels (height x width), input '%s' of the model "
             "has %lld x %lld",
             (long long)x->part.rows, (long long)x->part.columns, x->in->name, (long long)rows,
             (long long)columns);
    return HONE_OK;
}

/* ---- nodes ---- */

/* A node that reads what there is so far, and whose first output takes its place. */
static hone_status add_node(subject *x, hn_node **out, const char *op, const char *name,
                            int n_inputs, int n_outputs, hn_error *err) {
    hn_graph *g = x->c->model->graph;
    hn_value *y;
    HN_TRY(hn_node_create(out, g, "", op, name, n_inputs, n_outputs, err));
    (*out)->op = hn_op_find("", op);
    hn_node_insert(*out, x->before);
    hn_node_set_input(*out, 0, x->at);
    HN_TRY(hn_value_create(&y, g, NULL, name, err));
    hn_node_set_output(*out, 0, y);
    x->at = y;
    return HONE_OK;
}

/* A constant of one axis as input i. */
static hone_status set_ints(hn_node *n, int i, const int64_t *v, int count, hn_error *err) {
    hn_value *value;
    HN_TRY(hn_make_ints(&value, n, n->name, v, count, err));
    hn_node_set_input(n, i, value);
    return HONE_OK;
}

static hone_status tell_once(subject *x, bool *told, const char *part, const hn_node *n,
                             hn_error *err) {
    if (*told) return HONE_OK;
    *told = true;
    return tell(x->c, part, n, NULL, err);
}

static hone_status add_cast(subject *x, hone_dtype to, hn_error *err) {
    hn_node *n;
    HN_TRY(add_node(x, &n, "Cast", "embed_type", 1, 1, err));
    if (x->given != x->type) HN_TRY(tell_once(x, &x->told_type, "input-type", n, err));
    return hn_node_set_i(n, "to", (int64_t)to, err);
}

static hone_status add_transpose(subject *x, hn_error *err) {
    static const int64_t to_nchw[] = {0, 3, 1, 2}, to_nhwc[] = {0, 2, 3, 1};
    hn_node *n;
    if (!x->s->has_layout || x->s->nhwc == x->nhwc) return HONE_OK;
    HN_TRY(add_node(x, &n, "Transpose", "embed_layout", 1, 1, err));
    HN_TRY(tell(x->c, "layout", n, NULL, err));
    return hn_node_set_ints(n, "perm", x->nhwc ? to_nhwc : to_nchw, 4, err);
}

static hone_status add_slice(subject *x, int axis, int64_t from, int64_t n, int64_t size,
                             hn_error *err) {
    hn_node *slice;
    if (n == size) return HONE_OK;
    HN_TRY(add_node(x, &slice, "Slice", "embed_crop", 4, 1, err));
    HN_TRY(tell_once(x, &x->told_crop, "crop", slice, err));
    HN_TRY(set_ints(slice, 1, &from, 1, err));
    HN_TRY(set_ints(slice, 2, (int64_t[]){from + n}, 1, err));
    return set_ints(slice, 3, (int64_t[]){axis}, 1, err);
}

static hone_status add_order(subject *x, const hn_embed_folded *f, hn_error *err) {
    static const int64_t reversed[] = {2, 1, 0};
    hn_node *n;
    hn_value *places;
    if (!x->s->bgr) return HONE_OK;
    if (f->order) return tell_folded(x->c, "order", f->layer, "weights", err);
    HN_TRY(add_node(x, &n, "Gather", "embed_order", 2, 1, err));
    HN_TRY(tell(x->c, "order", n, f->why_order, err));
    HN_TRY(hn_node_set_i(n, "axis", x->axis, err));
    HN_TRY(hn_make_ints(&places, n, "embed_order", reversed, 3, err));
    hn_node_set_input(n, 1, places);
    return HONE_OK;
}

/* A constant of the type computed in as input 1, of one number or, along the channels, of several. */
static hone_status set_numbers(subject *x, hn_node *n, hone_dtype type, int64_t count,
                               const double *v, hn_error *err) {
    hn_tensor *t;
    hn_value *value;
    int64_t dims[HONE_MAX_RANK] = {count};
    int rank = count == 1 ? 0 : x->rank - x->axis;
    for (int i = 1; i < rank; i++) dims[i] = 1;
    HN_TRY(hn_tensor_create(&t, x->c->model->alloc, HN_MEM_DATA, type, rank, dims, err));
    hn_store_f64_n(type, t->data, 0, count, v);
    HN_TRY(hn_make_constant(&value, n, n->name, t, err));
    hn_node_set_input(n, 1, value);
    return HONE_OK;
}

/* One axis of the image; bytes are rounded to bytes again, halves up. */
static hone_status add_resize(subject *x, int axis, int64_t from, int64_t to, hn_error *err) {
    const double half = 0.5;
    hn_node *n;
    if (from == to) return HONE_OK;
    HN_TRY(add_node(x, &n, "Resize", "embed_resize", 4, 1, err));
    HN_TRY(tell_once(x, &x->told_resize, "resize", n, err));
    HN_TRY(hn_node_set_s(n, "mode", "linear", err));
    HN_TRY(hn_node_set_i(n, "antialias", 1, err));
    HN_TRY(hn_node_set_i(n, "exclude_outside", 1, err));
    HN_TRY(hn_node_set_ints(n, "axes", (int64_t[]){axis}, 1, err));
    HN_TRY(set_ints(n, 3, &to, 1, err));
    if (x->given != HONE_DTYPE_U8) return HONE_OK;
    HN_TRY(add_node(x, &n, "Add", "embed_round", 2, 1, err));
    HN_TRY(set_numbers(x, n, x->computed, 1, &half, err));
    return add_node(x, &n, "Floor", "embed_round", 1, 1, err);
}

/* Columns before rows, as images are scaled; what is cropped away is not scaled any further. */
static hone_status add_scaling(subject *x, hn_error *err) {
    const hn_image_part *p = &x->part;
    int rows = x->columns - 1;
    HN_TRY(add_resize(x, x->columns, x->s->width, p->width, err));
    HN_TRY(add_slice(x, x->columns, p->x, p->columns, p->width, err));
    HN_TRY(add_resize(x, rows, x->s->height, p->height, err));
    return add_slice(x, rows, p->y, p->rows, p->height, err);
}

static bool resizes(const subject *x) {
    return scales_images(x->s) && (x->part.width != x->s->width || x->part.height != x->s->height);
}

/* ---- numbers ---- */

/* (v * scale - mean) / std as (v - shift) * factor. */
static hone_status find_normalization(const subject *x, hn_normalization *z, hn_error *err) {
    const settings *s = x->s;
    int64_t n = s->n_mean > 1 ? s->n_mean : s->n_std > 1 ? s->n_std : 1;
    double *scale = hn_arena_array(x->arena, (size_t)n, sizeof *scale);
    double *shift = hn_arena_array(x->arena, (size_t)n, sizeof *shift);
    if (scale == NULL || shift == NULL) return HN_NOMEM(err);
    *z = (hn_normalization){.n = n,
                            .scale = scale,
                            .shift = shift,
                            .reverses = s->bgr,
                            .axis = x->axis,
                            .channels = x->channels};
    for (int64_t c = 0; c < n; c++) {
        double mean = s->n_mean == 0 ? 0 : s->mean[s->n_mean == 1 ? 0 : c];
        double std = s->n_std == 0 ? 1 : s->std[s->n_std == 1 ? 0 : c];
        scale[c] = s->scale / std;
        shift[c] = mean / s->scale;
        bool fits = fabs(scale[c]) <= 1e30 && fabs(scale[c]) >= 1e-30 && fabs(shift[c]) <= 1e30;
        HN_CHECK(err, fits, HONE_E_ARG,
                 "scale %g, mean %g and std %g make a factor of %g and a shift of %g, expected "
                 "factors from 1e-30 to 1e30",
                 s->scale, mean, std, scale[c], shift[c]);
        z->scales = z->scales || scale[c] != 1;
        z->shifts = z->shifts || shift[c] != 0;
    }
    return HONE_OK;
}

/* In the order that the channels have there. */
static hone_status set_channels(subject *x, hn_node *n, const hn_normalization *z, const double *v,
                                bool reversed, hn_error *err) {
    double *own = hn_arena_array(x->arena, (size_t)z->n, sizeof *own);
    if (own == NULL) return HN_NOMEM(err);
    for (int64_t c = 0; c < z->n; c++) own[c] = v[reversed ? z->n - 1 - c : c];
    return set_numbers(x, n, x->computed, z->n, own, err);
}

static hone_status add_numbers(subject *x, const hn_normalization *z, const hn_embed_folded *f,
                               hn_error *err) {
    hn_node *n;
    if (z->shifts && f->shift) HN_TRY(tell_folded(x->c, "mean", f->layer, "bias", err));
    if (z->shifts && !f->shift) {
        HN_TRY(add_node(x, &n, "Sub", "embed_mean", 2, 1, err));
        HN_TRY(set_channels(x, n, z, z->shift, f->order, err));
        HN_TRY(tell(x->c, "mean", n, f->why_shift, err));
    }
    if (z->scales && f->scale) HN_TRY(tell_folded(x->c, "scale", f->layer, "weights", err));
    if (z->scales && !f->scale) {
        HN_TRY(add_node(x, &n, "Mul", "embed_scale", 2, 1, err));
        HN_TRY(set_channels(x, n, z, z->scale, f->order, err));
        HN_TRY(tell(x->c, "scale", n, f->why_scale, err));
    }
    return HONE_OK;
}

/* The type that numbers are computed in; NONE: none are. */
static hone_dtype computed_in(const subject *x, const hn_normalization *z,
                              const hn_embed_folded *f) {
    bool left = (z->shifts && !f->shift) || (z->scales && !f->scale);
    if (!left && !resizes(x)) return HONE_DTYPE_NONE;
    return x->type == HONE_DTYPE_F64 ? HONE_DTYPE_F64 : HONE_DTYPE_F32;
}

/* ---- the whole input ---- */

/* The input has the type and the size of what comes in. */
static void retype(subject *x) {
    hn_type *t = &x->in->type;
    hn_dims *dims = &x->c->model->dims;
    hn_shape was = t->shape;
    if (scales_images(x->s)) {
        was.dim[x->columns - 1] = hn_dim_const(dims, x->s->height);
        was.dim[x->columns] = hn_dim_const(dims, x->s->width);
    }
    t->shape = was;
    if (x->s->has_layout && x->s->nhwc != x->nhwc) {
        static const int nhwc[] = {0, 2, 3, 1}, nchw[] = {0, 3, 1, 2};
        for (int i = 0; i < 4; i++) t->shape.dim[i] = was.dim[x->s->nhwc ? nhwc[i] : nchw[i]];
    }
    t->dtype = x->given;
    t->denotation = NULL;
    t->n_denotations = 0;
    x->in->stated = NULL;
}

static hone_status add_all(subject *x, const hn_normalization *z, const hn_embed_folded *f,
                           hn_error *err) {
    hone_dtype now = x->given;
    x->computed = computed_in(x, z, f);
    HN_TRY(add_transpose(x, err));
    if (!resizes(x) && scales_images(x->s)) HN_TRY(add_scaling(x, err));
    HN_TRY(add_order(x, f, err));
    if (x->computed != HONE_DTYPE_NONE && now != x->computed) {
        now = x->computed;
        HN_TRY(add_cast(x, now, err));
    }
    if (resizes(x)) HN_TRY(add_scaling(x, err));
    HN_TRY(add_numbers(x, z, f, err));
    return now != x->type ? add_cast(x, x->type, err) : HONE_OK;
}

static hone_status change_input(subject *x, hn_error *err) {
    hn_graph *g = x->c->model->graph;
    hn_normalization z;
    hn_embed_folded f = {0};
    hn_value *model;
    HN_TRY(find_input(x, err));
    HN_TRY(find_channels(x, err));
    HN_TRY(check_types(x, err));
    HN_TRY(find_part(x, err));
    HN_TRY(find_normalization(x, &z, err));
    if (x->s->fold)
        HN_TRY(hn_embed_fold(&f, x->in, &z, err));
    else
        f.why_scale = f.why_shift = f.why_order = "no-fold is asked for";
    /* Those that read the input read what becomes of it instead. */
    HN_TRY(hn_value_create(&model, g, NULL, x->in->name, err));
    hn_value_replace(x->in, model);
    x->at = x->in;
    x->before = g->first;
    HN_TRY(add_all(x, &z, &f, err));
    retype(x);
    hn_value_replace(model, x->at);
    hn_value_remove(model);
    return HONE_OK;
}

/* ---- outputs ---- */

/* The output of scores, as its number. */
static hone_status find_scores(const settings *s, const hn_graph *g, int *out, hn_error *err) {
    char names[400] = "";
    int found = -1;
    for (int i = 0; i < g->n_outputs; i++) {
        const char *name = g->outputs[i].value->name;
        hn_list_add(names, sizeof names, name);
        if (s->scores != NULL ? strcmp(name, s->scores) == 0 : g->n_outputs == 1) found = i;
    }
    HN_CHECK(err, found >= 0 || s->scores == NULL, HONE_E_ARG,
             "the model has no output '%s'; it has: %s", s->scores, names);
    HN_CHECK(err, found >= 0, HONE_E_ARG,
             "the model has %d outputs; expected scores=NAME, one of: %s", g->n_outputs, names);
    *out = found;
    return HONE_OK;
}

/* v comes from a Softmax, perhaps through nodes that change no number. */
static bool ends_in_softmax(const hn_value *v) {
    for (;;) {
        const hn_node *n = v->producer;
        if (hn_is(n, "Softmax") || hn_is(n, "LogSoftmax")) return true;
        bool moves = n != NULL && hn_def_of(n)->role == HN_ROLE_MOVE;
        if (!(moves || hn_is(n, "Identity") || hn_is(n, "Cast")) || hn_node_input(n, 0) == NULL)
            return false;
        v = n->inputs[0].value;
    }
}

/* Names of new outputs are fixed: a value inside that has one gets another. */
static hone_status name_output(hn_graph *g, hn_value *v, const char *name, hn_error *err) {
    hn_value *other = hn_graph_value(g, name);
    if (other != NULL) {
        HN_CHECK(err, !other->is_input && other->n_outputs == 0, HONE_E_MODEL,
                 "the model has an input or output '%s', the name of a new output", name);
        hn_value *free_name;
        HN_TRY(hn_value_create(&free_name, g, NULL, name, err));
        const char *given = free_name->name;
        hn_value_remove(free_name);
        HN_TRY(hn_value_rename(other, given, err));
    }
    return hn_value_rename(v, name, err);
}

/* Classes lie along axis 1, but along the last of [samples, places, classes] and of one axis. */
static int class_axis(int rank) { return rank == 3 ? 2 : rank == 1 ? 0 : 1; }

static hone_status add_softmax(subject *x, int axis, int output, hn_error *err) {
    hn_graph *g = x->c->model->graph;
    hn_node *n;
    HN_TRY(add_node(x, &n, "Softmax", "embed_softmax", 1, 1, err));
    HN_TRY(hn_node_set_i(n, "axis", axis, err));
    HN_TRY(tell(x->c, "softmax", n, NULL, err));
    hn_graph_set_output(g, output, x->at);
    return x->s->top > 0 ? HONE_OK : name_output(g, x->at, "probabilities", err);
}

static hone_status add_top(subject *x, int axis, int output, hn_error *err) {
    hn_graph *g = x->c->model->graph;
    hn_node *n;
    hn_value *places;
    HN_TRY(add_node(x, &n, "TopK", "embed_top", 2, 2, err));
    HN_TRY(hn_node_set_i(n, "axis", axis, err));
    HN_TRY(set_ints(n, 1, &x->s->top, 1, err));
    HN_TRY(hn_value_create(&places, g, NULL, "embed_top", err));
    hn_node_set_output(n, 1, places);
    hn_graph_set_output(g, output, x->at);
    HN_TRY(hn_graph_add_output(g, places, err));
    HN_TRY(name_output(g, x->at, "values", err));
    HN_TRY(name_output(g, places, "indices", err));
    return tell(x->c, "top-k", n, NULL, err);
}

static hone_status change_output(subject *x, hn_error *err) {
    hn_graph *g = x->c->model->graph;
    const settings *s = x->s;
    int output = 0;
    int64_t classes;
    HN_TRY(find_scores(s, g, &output, err));
    const hn_value *v = x->at = g->outputs[output].value;
    const hn_type *t = &v->type;
    HN_CHECK(
        err,
        t->kind == HN_TYPE_TENSOR && hn_dtype_in(t->dtype, HN_DTYPES_FLOAT) && t->shape.rank >= 1,
        HONE_E_ARG, "output '%s' is no tensor of floats with a known number of axes", v->name);
    int axis = class_axis(t->shape.rank);
    HN_CHECK(err, !s->softmax || !ends_in_softmax(v), HONE_E_ARG,
             "output '%s' comes from a Softmax already", v->name);
    HN_CHECK(err, !hn_dim_is_const(t->shape.dim[axis], &classes) || classes >= s->top, HONE_E_ARG,
             "top-k=%lld, but output '%s' has %lld classes along axis %d", (long long)s->top,
             v->name, (long long)classes, axis);
    x->before = NULL;
    if (s->softmax) HN_TRY(add_softmax(x, axis, output, err));
    return s->top > 0 ? add_top(x, axis, output, err) : HONE_OK;
}

hone_status hn_transform_embed(hn_transform_ctx *c, hn_error *err) {
    settings s;
    hn_arena arena;
    const hn_recipe_step usual = {.transform = hn_transform_named("embed")};
    subject x = {.c = c, .s = &s, .arena = &arena};
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = read_settings(&s, c->step != NULL ? c->step : &usual, &arena, err);
    if (status == HONE_OK && changes_input(&s)) status = change_input(&x, err);
    if (status == HONE_OK && (s.softmax || s.top > 0)) status = change_output(&x, err);
    hn_arena_deinit(&arena);
    return status;
}
