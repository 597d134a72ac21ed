/* Col2Im: adds the blocks of [N, C * block, L] up into images [N, C, image]: the inverse of laying
 * out the windows of a convolution. */
#include "base/size.h"
#include "ops/grad.h"
#include "ops/spatial.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    HN_TRY(hn_want_rank(c, 0, 3, 3, err));
    HN_TRY(hn_want_rank(c, 1, 1, 1, err));
    HN_TRY(hn_want_rank(c, 2, 1, 1, err));
    const hn_shape *x = hn_in_shape(c, 0);
    int n_image, n_block;
    const hn_dim *image = hn_in_values(c, 1, &n_image);
    int64_t block[HN_MAX_SPATIAL], size;
    n_block = hn_in_ints(c, 2, block, HN_MAX_SPATIAL);
    if (x->rank < 0 || image == NULL || n_block < 0) return HONE_OK;
    HN_CHECK(err, n_image == n_block, HONE_E_SHAPE,
             "image_shape has %d values but block_shape has %d", n_image, n_block);
    hn_spatial s;
    HN_TRY(hn_spatial_read(c->node, n_block, &s, err));
    int64_t taps = 1;
    hn_dim windows = hn_dim_const(c->dims, 1);
    hn_shape y = {.rank = 2 + s.rank, .dim = {x->dim[0]}};
    for (int i = 0; i < s.rank; i++) {
        HN_CHECK(err, block[i] >= 1 && block[i] <= INT32_MAX && hn_i64_mul(taps, block[i], &taps),
                 HONE_E_ARG, "block_shape holds %lld", (long long)block[i]);
        HN_CHECK(err, !hn_dim_is_const(image[i], &size) || size >= 0, HONE_E_ARG,
                 "image_shape holds %lld", (long long)size);
        s.kernel[i] = block[i];
        hn_dim along;
        HN_TRY(hn_spatial_out(&s, c->dims, i, image[i], &along, err));
        windows = hn_dim_mul(c->dims, windows, along);
        y.dim[2 + i] = image[i];
    }
    HN_CHECK(err, !hn_dim_is_const(x->dim[1], &size) || size % taps == 0, HONE_E_SHAPE,
             "axis 1 has size %lld, expected a multiple of the block's %lld elements",
             (long long)size, (long long)taps);
    HN_TRY(hn_want_equal(x->dim[2], windows, "axis 2 and the number of blocks", err));
    y.dim[1] = hn_dim_div(c->dims, x->dim[1], hn_dim_const(c->dims, taps));
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* Every kind of element is 8 bytes wide. */
typedef union cell {
    double f;
    uint64_t i;
} cell;

typedef struct job {
    hn_spatial s;
    const hn_tensor *x;
    hn_tensor *y;
    bool integer;
    int64_t taps, windows, size; /* of a block, in an image, of an image */
    int64_t image[HN_MAX_SPATIAL], along[HN_MAX_SPATIAL];
    int64_t planes, n_workers;
    cell *sums; /* [n_workers][size + windows] */
} job;

/* Adds row [windows] of tap k to the plane. */
static void add_row(const job *j, int64_t k, const cell *row, cell *plane) {
    int64_t offset[HN_MAX_SPATIAL], o[HN_MAX_SPATIAL] = {0};
    for (int a = j->s.rank - 1; a >= 0; a--) {
        offset[a] = k % j->s.kernel[a] * j->s.dilation[a] - j->s.pad[a];
        k /= j->s.kernel[a];
    }
    for (int64_t w = 0; w < j->windows; w++) {
        int64_t to = 0;
        bool inside = true;
        for (int a = 0; a < j->s.rank; a++) {
            int64_t at = o[a] * j->s.stride[a] + offset[a];
            inside = inside && at >= 0 && at < j->image[a];
            to = inside ? to * j->image[a] + at : 0;
        }
        if (inside && j->integer) plane[to].i += row[w].i;
        if (inside && !j->integer) plane[to].f += row[w].f;
        for (int a = j->s.rank - 1; a >= 0 && ++o[a] == j->along[a]; a--) o[a] = 0;
    }
}

static void run_worker(void *ctx, int64_t w) {
    const job *j = ctx;
    cell *plane = j->sums + w * (j->size + j->windows), *row = plane + j->size;
    for (int64_t p = w; p < j->planes; p += j->n_workers) {
        memset(plane, 0, (size_t)j->size * sizeof *plane);
        for (int64_t k = 0; k < j->taps; k++) {
            int64_t from = (p * j->taps + k) * j->windows;
            if (j->integer)
                hn_load_s64_n(j->x->dtype, j->x->data, from, j->windows, (int64_t *)row);
            else
                hn_load_f64_n(j->x->dtype, j->x->data, from, j->windows, &row->f);
            add_row(j, k, row, plane);
        }
        if (j->integer)
            hn_store_s64_n(j->y->dtype, j->y->data, p * j->size, j->size, (const int64_t *)plane);
        else
            hn_store_f64_n(j->y->dtype, j->y->data, p * j->size, j->size, &plane->f);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.x = e->in[0], .y = e->out[0], .taps = 1, .windows = e->in[0]->dims[2], .size = 1};
    if (j.y->n == 0) return HONE_OK;
    j.integer = hn_dtype_is_int(j.x->dtype);
    int rank = j.y->rank - 2;
    HN_TRY(hn_spatial_read(e->node, rank, &j.s, err));
    for (int a = 0; a < rank; a++) {
        j.image[a] = j.y->dims[2 + a];
        j.s.kernel[a] = hn_tensor_s64(e->in[2], a);
        int64_t room = j.image[a] + j.s.pad[a] + j.s.pad_end[a] - hn_spatial_extent(&j.s, a);
        j.along[a] = room / j.s.stride[a] + 1;
        j.size *= j.image[a];
        j.taps *= j.s.kernel[a];
    }
    j.planes = j.y->n / j.size;
    j.n_workers = hn_pool_threads(e->pool);
    if (j.n_workers > j.planes) j.n_workers = j.planes;
    j.sums = hn_scratch(e, j.n_workers * (j.size + j.windows), sizeof *j.sums);
    if (j.sums == NULL) return HN_NOMEM(err);
    hn_pool_run(e->pool, j.n_workers, run_worker, &j);
    return HONE_OK;
}

/* The filters have the square of it. */
enum { MOST_TAPS = 4096 };

/* The windows of each image, laid out by a convolution whose filters hold a single 1. */
static hone_status grad(hn_grad *g, hn_error *err) {
    int64_t y[HONE_MAX_RANK], image[HONE_MAX_RANK], filters[HONE_MAX_RANK], taps = 1;
    int rank = hn_grad_dims(g, hn_grad_out(g, 0), y) - 2;
    if (g->status != HONE_OK) return HONE_OK;
    hn_spatial s;
    HN_TRY(hn_spatial_read(g->node, rank, &s, err));
    if (hn_grad_ints(g, 2, s.kernel, rank) != rank)
        return hn_grad_refuse(g, "its block_shape is computed", err);
    image[0] = y[0] * y[1];
    image[1] = filters[1] = 1;
    for (int i = 0; i < rank; i++) {
        image[2 + i] = y[2 + i];
        filters[2 + i] = s.kernel[i];
        if (taps <= MOST_TAPS) taps *= s.kernel[i];
    }
    if (taps > MOST_TAPS) return hn_grad_refuse(g, "its blocks have more than 4096 elements", err);
    filters[0] = taps;
    hn_tensor *t;
    hn_value *in[] = {hn_emit_reshape(g, g->dy[0], 2 + rank, image),
                      hn_emit_table(g, 2 + rank, filters, &t)};
    if (in[0] == NULL || in[1] == NULL) return HONE_OK;
    for (int64_t i = 0; i < taps; i++) hn_store_f64(t->dtype, t->data, i * taps + i, 1);
    hn_node *n = hn_emit_node(g, "", "Conv", 1, 2, in);
    hn_emit_windows(g, n, &s);
    hn_grad_give(g, 0, hn_emit_shaped(g, hn_emitted(n, 0), hn_grad_in(g, 0)));
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_OPT("dilations", INTS),
    HN_ATTR_OPT("pads", INTS),
    HN_ATTR_OPT("strides", INTS),
    {0},
};

const hn_op_def hn_op_col2im = {
    .name = "Col2Im",
    .versions = "18",
    .sig = "(input:T, image_shape:s64, block_shape:s64) -> (output:T); T: num",
    .attrs = attrs,
    .infer = infer,
    .ref = ref,
    .grad = grad,
};
