/* RotaryEmbedding: a problem of rotary_f32, whichever of heads and positions vary faster. */
#include "engine/lower.h"
#include "kernels/rotary_f32/rotary_f32.h"

static hone_status check_positions(const void *problem, void *const *operands, hn_error *err) {
    const hn_rotary_f32 *p = problem;
    const int64_t *ids = operands[HN_ROTARY_IDS];
    for (int64_t i = 0; i < p->samples * p->positions; i++)
        HN_CHECK(err, ids[i] >= 0 && ids[i] < p->angles, HONE_E_ARG,
                 "position id %lld is outside the cache of %lld", (long long)ids[i],
                 (long long)p->angles);
    return HONE_OK;
}

/* v as [samples, heads, positions, size]; false: it cannot be seen so with adjacent elements. */
static bool heads_of(const hn_view *v, int64_t heads, hn_view *out) {
    *out = *v;
    if (v->rank == 3) {
        int64_t dims[4] = {v->dims[0], v->dims[1], heads, v->dims[2] / heads};
        hn_view apart;
        if (!hn_view_reshape(v, 4, dims, &apart)) return false;
        *out = apart;
        out->dims[1] = apart.dims[2], out->strides[1] = apart.strides[2];
        out->dims[2] = apart.dims[1], out->strides[2] = apart.strides[1];
    }
    return out->strides[3] == 1 || out->dims[3] == 1;
}

hone_status hn_lower_rotary(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    enum { X, COS, SIN, POSITIONS };
    hn_view x = hn_lower_in(L, n, X), y = hn_lower_out(n, 0), from, to;
    hn_view cos = hn_lower_in(L, n, COS), sin = hn_lower_in(L, n, SIN);
    hn_view ids = hn_lower_in(L, n, POSITIONS);
    int64_t heads = x.rank == 3 ? hn_node_attr(n, "num_heads")->u.i : 0;
    int64_t turned = hn_attr_i(n, "rotary_embedding_dim");
    if (x.dtype != HONE_DTYPE_F32) HN_DECLINE(L, "not f32");
    if (hn_view_count(&x) == 0) HN_DECLINE(L, "nothing to compute");
    if (!heads_of(&x, heads, &from)) {
        HN_TRY(hn_lower_dense(L, n, &x, err));
        heads_of(&x, heads, &from);
    }
    HN_TRY(hn_lower_dense(L, n, &cos, err));
    HN_TRY(hn_lower_dense(L, n, &sin, err));
    HN_TRY(hn_lower_place(L, &y, NULL, err));
    heads_of(&y, heads, &to);
    hn_rotary_f32 p = {.samples = from.dims[0],
                       .heads = from.dims[1],
                       .positions = from.dims[2],
                       .size = from.dims[3],
                       .pairs = (turned == 0 ? from.dims[3] : turned) / 2,
                       .x_sample = from.strides[0],
                       .x_head = from.strides[1],
                       .x_position = from.strides[2],
                       .y_sample = to.strides[0],
                       .y_head = to.strides[1],
                       .y_position = to.strides[2],
                       .interleaved = hn_attr_i(n, "interleaved") != 0};
    p.angles = hn_view_count(&cos) / p.pairs;
    hn_step *s;
    HN_TRY(hn_lower_step(L, n, &hn_rotary_f32_family, &p, sizeof p, &s, err));
    hn_step_reads(s, HN_ROTARY_X, &from);
    hn_step_reads(s, HN_ROTARY_COS, &cos);
    hn_step_reads(s, HN_ROTARY_SIN, &sin);
    if (ids.buffer >= 0) {
        HN_TRY(hn_lower_dense(L, n, &ids, err));
        hn_step_reads(s, HN_ROTARY_IDS, &ids);
        s->check = check_positions;
        s->flag = HN_ROTARY_OUTSIDE;
    }
    hn_step_writes(s, HN_ROTARY_Y, &to);
    s->facts->flops = 6.0 * (double)p.pairs * (double)(p.samples * p.heads * p.positions);
    s->facts->bytes = 8.0 * (double)hn_view_count(&x);
    hn_lower_set(L, n, 0, &y, NULL);
    *done = true;
    return HONE_OK;
}
