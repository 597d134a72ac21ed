/* HannWindow, HammingWindow, BlackmanWindow: sums of cosines over `size` points,
 *     w[i] = a0 - a1 cos(2 pi i / period) + a2 cos(4 pi i / period)
 * with period = size (periodic) or size - 1 (symmetric). */
#include "ops/axes.h"
#include "ops/cosine.h"

enum { BLOCK = 32 }; /* points computed at a time, so that compilers make vectors of them */

typedef struct terms {
    double a0, a1, a2;
} terms;

static hone_status infer(hn_infer *c, hn_error *err) {
    const hn_dim *size;
    int n;
    HN_TRY(hn_set_dtype_named(c, 0, "output_datatype", err));
    HN_TRY(hn_list_dims(c, 0, 1, &size, &n, err));
    HN_CHECK(err, n != 0, HONE_E_SHAPE, "size is empty, expected one number");
    hn_shape y = {.rank = 1, .dim = {size != NULL ? size[0] : hn_dim_fresh(c->dims, -1)}};
    hn_set_shape(c, 0, &y);
    return HONE_OK;
}

/* w[0], w[1] ... of the points `first`, first + 1 ..., n of them, at most BLOCK. */
static void draw(terms t, double period, double first, int64_t n, double *w) {
    for (int i = 0; i < BLOCK; i++) {
        /* With c = cos(pi (x - 1/2)) = sin(pi x), cos(2 pi x) is 1 - 2 c^2. Points past the last
         * are computed too, and not used. */
        double c = hn_cos_pi((first + i) / period - 0.5);
        double cosine = 1 - 2 * c * c;
        w[i] = t.a0 - t.a1 * cosine + t.a2 * (2 * cosine * cosine - 1);
    }
    /* A symmetric window of one point has no period: it is its own middle. */
    for (int64_t i = 0; period <= 0 && i < n; i++) w[i] = 1;
}

static hone_status ref(hn_eval *e, hn_error *err) {
    (void)err;
    hn_tensor *y = e->out[0];
    const terms *t = e->node->op->data;
    double period = (double)(hn_attr_i(e->node, "periodic") != 0 ? y->n : y->n - 1), w[BLOCK];
    for (int64_t at = 0; at < y->n; at += BLOCK) {
        int64_t n = y->n - at < BLOCK ? y->n - at : BLOCK;
        draw(*t, period, (double)at, n, w);
        hn_store_f64_n(y->dtype, y->data, at, n, w);
    }
    return HONE_OK;
}

static const hn_attr_def attrs[] = {
    HN_ATTR_I("output_datatype", HONE_DTYPE_F32),
    HN_ATTR_I("periodic", 1),
    {0},
};

#define WINDOW(id, onnx_name, ...)                               \
    const hn_op_def hn_op_##id = {                               \
        .name = onnx_name,                                       \
        .versions = "17",                                        \
        .sig = "(size:T1) -> (output:T2); T1: s32 s64; T2: num", \
        .attrs = attrs,                                          \
        .infer = infer,                                          \
        .ref = ref,                                              \
        .data = &(const terms){__VA_ARGS__},                     \
    }

WINDOW(blackman_window, "BlackmanWindow", 0.42, 0.5, 0.08);
WINDOW(hamming_window, "HammingWindow", 25.0 / 46, 21.0 / 46, 0);
WINDOW(hann_window, "HannWindow", 0.5, 0.5, 0);
