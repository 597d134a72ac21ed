/* EmbedLayerNormalization of ONNX Runtime, the first layer of BERT: the embeddings of a word, of
 * its position and of its segment are added and normalized. Without position_ids positions count
 * from 0. mask_index counts the 1s in each row of the mask, 0 without a mask.
 */
#include "ops/grad.h"
#include "ops/norm_ref.h"

enum { IDS, SEGMENT_IDS, WORD, POSITION, SEGMENT, GAMMA, BETA, MASK, POSITION_IDS }; /* inputs */
enum { OUTPUT, MASK_INDEX, SUM };                                                    /* outputs */

/* Input i has one number for each word, or, where `shared`, for each position. */
static hone_status check_grid(const hn_infer *c, int i, bool shared, hn_error *err) {
    const hn_shape *ids = hn_in_shape(c, IDS), *s = hn_in_shape(c, i);
    HN_TRY(hn_want_rank(c, i, 2, 2, err));
    if (hn_in_rank(c, i) < 0 || ids->rank < 0) return HONE_OK;
    HN_TRY(hn_want_equal(ids->dim[1], s->dim[1], "positions of input_ids and of what goes with it",
                         err));
    if (shared && hn_dim_is(s->dim[0], 1)) return HONE_OK;
    return hn_want_equal(ids->dim[0], s->dim[0], "samples of input_ids and of what goes with it",
                         err);
}

static hone_status infer(hn_infer *c, hn_error *err) {
    static const int tables[] = {WORD, POSITION, SEGMENT};
    const hn_shape *ids = hn_in_shape(c, IDS);
    hn_dim size = NULL;
    HN_CHECK(err, hn_has_in(c, SEGMENT_IDS) == hn_has_in(c, SEGMENT), HONE_E_MODEL,
             "segment_ids and segment_embedding go together");
    HN_TRY(hn_want_rank(c, IDS, 2, 2, err));
    HN_TRY(check_grid(c, SEGMENT_IDS, false, err));
    HN_TRY(check_grid(c, MASK, false, err));
    HN_TRY(check_grid(c, POSITION_IDS, true, err));
    for (int i = 0; i < 3; i++) {
        HN_TRY(hn_want_rank(c, tables[i], 2, 2, err));
        if (hn_in_rank(c, tables[i]) < 0) continue;
        hn_dim width = hn_in_shape(c, tables[i])->dim[1];
        if (size == NULL) size = width;
        HN_TRY(hn_want_equal(size, width, "sizes of the embeddings", err));
    }
    if (size == NULL || ids->rank < 0) return HONE_OK;
    HN_TRY(hn_want_channels(c, GAMMA, size, err));
    HN_TRY(hn_want_channels(c, BETA, size, err));
    hn_shape y = {.rank = 3, .dim = {ids->dim[0], ids->dim[1], size}};
    hn_shape index = {.rank = 1, .dim = {ids->dim[0]}};
    hn_set_shape(c, OUTPUT, &y);
    hn_set_shape(c, MASK_INDEX, &index);
    hn_set_shape(c, SUM, &y);
    return HONE_OK;
}

/* One of the embeddings that are added: rows of a table, chosen by ids [samples, positions]; NULL
 * ids count the positions. */
typedef struct lookup {
    const hn_tensor *table, *ids;
    int64_t step; /* ids per sample, 0 where all samples share them */
} lookup;

typedef struct sum {
    hn_tensor *out;
    int n;
    lookup by[3];
    int64_t positions, size;
} sum;

static int64_t row_of(const lookup *l, int64_t sample, int64_t position) {
    return l->ids != NULL ? hn_tensor_s64(l->ids, sample * l->step + position) : position;
}

static void load_sum(const void *src, int64_t from, int64_t n, double *dst) {
    const sum *s = src;
    for (int64_t done = 0, run; done < n; done += run) {
        int64_t word = (from + done) / s->size, at = (from + done) % s->size;
        run = s->size - at < n - done ? s->size - at : n - done;
        for (int k = 0; k < s->n; k++) {
            const lookup *l = &s->by[k];
            int64_t row = row_of(l, word / s->positions, word % s->positions);
            double x[HN_BLOCK];
            hn_load_f64_n(l->table->dtype, l->table->data, row * s->size + at, run, x);
            for (int64_t i = 0; i < run; i++) dst[done + i] = k == 0 ? x[i] : dst[done + i] + x[i];
        }
    }
}

static void put_sum(void *ctx, int64_t from, int64_t n) {
    const sum *s = ctx;
    double x[HN_BLOCK];
    load_sum(s, from, n, x);
    hn_store_f64_n(s->out->dtype, s->out->data, from, n, x);
}

static hone_status check_ids(const lookup *l, const char *what, int64_t positions, hn_error *err) {
    int64_t rows = l->table->dims[0], n = l->ids != NULL ? l->ids->n : positions;
    for (int64_t i = 0; i < n; i++) {
        int64_t id = row_of(l, 0, i);
        HN_CHECK(err, id >= 0 && id < rows, HONE_E_ARG, "%s id %lld is outside [0, %lld)", what,
                 (long long)id, (long long)rows);
    }
    return HONE_OK;
}

static void count_mask(const hn_tensor *mask, int64_t positions, hn_tensor *out) {
    for (int64_t i = 0; i < out->n; i++) {
        int64_t count = 0;
        for (int64_t k = 0; mask != NULL && k < positions; k++)
            count += hn_tensor_s64(mask, i * positions + k) == 1;
        hn_store_s64(out->dtype, out->data, i, count);
    }
}

static hone_status ref(hn_eval *e, hn_error *err) {
    static const char *const what[] = {"word", "position", "segment"};
    const hn_tensor *ids = e->in[IDS], *position_ids = hn_eval_in(e, POSITION_IDS);
    const hn_tensor *mask = hn_eval_in(e, MASK), *segments = hn_eval_in(e, SEGMENT_IDS);
    hn_tensor *y = e->out[OUTPUT];
    sum s = {.out = hn_eval_out(e, SUM),
             .n = segments != NULL ? 3 : 2,
             .by = {{e->in[WORD], ids, ids->dims[1]},
                    {e->in[POSITION], position_ids, ids->dims[1]},
                    {e->in[SEGMENT], segments, ids->dims[1]}},
             .positions = ids->dims[1],
             .size = y->dims[2]};
    if (position_ids != NULL && position_ids->dims[0] == 1) s.by[1].step = 0;
    if (hn_eval_out(e, MASK_INDEX) != NULL)
        count_mask(mask, s.positions, hn_eval_out(e, MASK_INDEX));
    if (y->n == 0) return HONE_OK;
    for (int k = 0; k < s.n; k++) HN_TRY(check_ids(&s.by[k], what[k], s.positions, err));
    hn_norm n = {.load = load_sum, .src = &s, .y = y, .epsilon = hn_attr_f(e->node, "epsilon")};
    hn_groups_init(&n.groups, y->rank, y->dims, hn_axes_from(2, 3));
    hn_broadcast_init(&n.scale, e->in[GAMMA], y->rank, y->dims);
    hn_broadcast_init(&n.bias, e->in[BETA], y->rank, y->dims);
    hn_norm_ref(e->pool, &n);
    if (s.out != NULL) hn_for_blocks(e->pool, y->n, put_sum, &s);
    return HONE_OK;
}

static hone_status spell(hn_grad *g, hn_value **y, hn_error *err) {
    (void)err;
    int64_t dims[HONE_MAX_RANK];
    hn_grad_dims(g, hn_grad_in(g, IDS), dims);
    if (g->status != HONE_OK) return HONE_OK;
    hn_value *places = hn_grad_in(g, POSITION_IDS), *segments = hn_grad_in(g, SEGMENT_IDS);
    hn_value *x = HN_EMIT2(g, "Gather", hn_grad_in(g, WORD), hn_grad_in(g, IDS));
    hn_value *place = places != NULL ? HN_EMIT2(g, "Gather", hn_grad_in(g, POSITION), places)
                                     : hn_emit_slice(g, hn_grad_in(g, POSITION), 0, 0, dims[1]);
    x = HN_EMIT2(g, "Add", x, place);
    if (segments != NULL)
        x = HN_EMIT2(g, "Add", x, HN_EMIT2(g, "Gather", hn_grad_in(g, SEGMENT), segments));
    hn_value *in[] = {x, hn_grad_in(g, GAMMA), hn_grad_in(g, BETA)};
    if (x == NULL) return HONE_OK;
    hn_node *n = hn_emit_node(g, "", "LayerNormalization", 1, 3, in);
    hn_emit_f(g, n, "epsilon", hn_attr_f(g->node, "epsilon"));
    y[OUTPUT] = hn_emitted(n, 0);
    y[SUM] = x;
    return HONE_OK;
}

const hn_op_def hn_op_ms_embed_layer_normalization = {
    .domain = "com.microsoft",
    .name = "EmbedLayerNormalization",
    .versions = "1",
    .sig =
        "(input_ids:s32, segment_ids:s32?, word_embedding:T, position_embedding:T, "
        "segment_embedding:T?, gamma:T, beta:T, mask:s32?, position_ids:s32?) -> (output:T, "
        "mask_index:s32?, embedding_sum:T?); T: f32 f16",
    .attrs =
        (const hn_attr_def[]){
            HN_ATTR_F("epsilon", 1e-12f), HN_ATTR_OPT("mask_index_type", INT), {0}},
    .infer = infer,
    .ref = ref,
    .spell = spell};
