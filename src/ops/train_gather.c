/* GatherGrad: the gradient of Gather by its data, of which dims are the sizes: each slice of dY is
 * added to the slice that its index chose. */
#include "ops/grad.h"
#include "ops/indices.h"
#include "ops/train_shapes.h"

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_shape *dy = hn_in_shape(c, 0), *index = hn_in_shape(c, 1);
    int64_t axis = hn_attr_i(c->node, "axis");
    hn_shape x;
    HN_TRY(hn_want_dims(c, 1, &x, err));
    HN_TRY(hn_want_axis(&axis, x.rank, err));
    hn_set_shape(c, 0, &x);
    if (hn_in_rank(c, 0) < 0 || hn_in_rank(c, 1) < 0) return HONE_OK;
    HN_CHECK(err, dy->rank == x.rank - 1 + index->rank, HONE_E_SHAPE, "dY has rank %d, expected %d",
             dy->rank, x.rank - 1 + index->rank);
    for (int i = 0; i < dy->rank; i++) {
        int in = i - (int)axis, after = i - index->rank + 1;
        hn_dim wanted = in < 0 ? x.dim[i] : in < index->rank ? index->dim[in] : x.dim[after];
        HN_TRY(hn_want_equal(dy->dim[i], wanted, "sizes of dY and of what was gathered", err));
    }
    return HONE_OK;
}

typedef struct job {
    const hn_tensor *dy;
    hn_tensor *dx;
    const int64_t *index;
    int64_t n, size, inner;
} job;

/* One place of the slices, in all of them: [size] sums. */
static void run(void *ctx, int64_t at) {
    const job *j = ctx;
    int64_t o = at / j->inner, i = at % j->inner;
    for (int64_t s = 0; s < j->size; s++) {
        double sum = 0;
        for (int64_t k = 0; k < j->n; k++)
            if (j->index[k] == s) sum += hn_tensor_f64(j->dy, (o * j->n + k) * j->inner + i);
        hn_store_f64(j->dx->dtype, j->dx->data, (o * j->size + s) * j->inner + i, sum);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    job j = {.dy = e->in[0], .dx = e->out[0], .n = e->in[1]->n, .inner = 1};
    int64_t axis = hn_attr_i(e->node, "axis"), outer = 1, *index;
    HN_TRY(hn_want_axis(&axis, j.dx->rank, err));
    j.size = j.dx->dims[axis];
    for (int i = 0; i < axis; i++) outer *= j.dx->dims[i];
    for (int i = (int)axis + 1; i < j.dx->rank; i++) j.inner *= j.dx->dims[i];
    HN_TRY(hn_read_indices(e, 1, j.size, &index, err));
    j.index = index;
    hn_pool_run(e->pool, outer * j.inner, run, &j);
    return HONE_OK;
}

const hn_op_def hn_op_train_gather_grad = {
    .domain = HN_TRAIN_DOMAIN,
    .name = "GatherGrad",
    .versions = "1",
    .sig = "(dY:T, indices:Tind) -> (dX:T); T: float; Tind: s32 s64",
    .attrs = (const hn_attr_def[]){HN_ATTR_I("axis", 0), HN_ATTR_REQ("dims", INTS), {0}},
    .infer = infer,
    .ref = ref,
};
