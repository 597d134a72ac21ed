/* Wanda (Sun et al. 2023): a weight counts by what it does to the output on samples, its size times
 * the length of the inputs that it is multiplied by. Outputs are compared with themselves: the same
 * share of each goes. */
#include <math.h>

#include "compress/layer_input.h"
#include "compress/prune.h"

#define MOST_SAMPLES 512

typedef struct inputs {
    const hn_weighted *layers;
    hn_layer_input *in;
} inputs;

static hone_status score(void *ctx, int i, float *s, hn_error *err) {
    const inputs *of = ctx;
    const hn_layer_input *in = &of->in[i];
    const hn_tensor *t = of->layers[i].weight->constant;
    hn_layer_matrix m;
    (void)err;
    hn_layer_as_matrix(&of->layers[i], &m);
    for (int64_t o = 0; o < m.n; o++) {
        const double *squares = in->squares + o / (m.n / m.groups) * m.k;
        for (int64_t k = 0; k < m.k; k++) {
            int64_t at = o * m.o_stride + k * m.k_stride;
            s[at] = (float)(fabs(hn_tensor_f64(t, at)) * sqrt(squares[k]));
        }
    }
    return HONE_OK;
}

static hone_status prune(hn_transform_ctx *c, const hn_pruning *p, hn_arena *arena, hn_error *err) {
    hn_layer_look look = {.samples = MOST_SAMPLES};
    hn_weighted *layers;
    int n;
    HN_TRY(hn_prune_layers(c, p, true, arena, &layers, &n, err));
    inputs of = {.layers = layers};
    of.in = hn_arena_array(arena, (size_t)n + 1, sizeof *of.in);
    if (of.in == NULL) return HN_NOMEM(err);
    if (n == 0) return HONE_OK;
    HN_TRY(hn_layer_inputs(of.in, layers, n, &look, c->model, c, err));
    hone_status status = hn_prune_least(c, p, layers, n, true, score, &of, err);
    for (int i = 0; i < n; i++) hn_layer_input_deinit(&of.in[i], c->alloc);
    return status;
}

hone_status hn_prune_wanda(hn_transform_ctx *c, const hn_pruning *p, hn_error *err) {
    hn_arena arena;
    hn_arena_init(&arena, c->alloc, HN_MEM_SCRATCH);
    hone_status status = prune(c, p, &arena, err);
    hn_arena_deinit(&arena);
    return status;
}
