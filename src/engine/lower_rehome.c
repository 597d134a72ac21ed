/* Giving a value another place after it was lowered.
 *
 * What needs a value at a certain place, a concatenation or a reshape of a transpose, comes after
 * the steps that compute it. Instead of copying, those steps can be made to write there: a problem
 * says how its operands lie (hn_family.axes), and strides in the old place become strides in the
 * new one.
 *
 *   two convolutions, then Concat        a [56][56][64]  b [56][56][64]  ─▶  y [56][56][128]
 *   after rehoming both                  a, b: views of y, 128 floats from pixel to pixel
 *
 * The old place is dense, so an offset in it is an index, and a stride is a step along one axis:
 *
 *   old strides   (3584, 64, 1)          new strides   (7168, 128, 1)
 *   a row of 64 pixels' channels: one axis of stride 64 becomes one of stride 128
 *   two rows joined into one axis of 128 pixels: still one axis, since 7168 = 56 * 128
 */
#include "engine/lower.h"

/* The axes of the old place that have elements to tell apart, outermost first, joined where both
 * places walk them as one. */
typedef struct mapping {
    const hn_view *to;
    int rank;
    int64_t dims[HONE_MAX_RANK], old[HONE_MAX_RANK], now[HONE_MAX_RANK];
} mapping;

/* False: `from` is not dense in any order of its axes. */
static bool map_axes(mapping *m, const hn_view *from, const hn_view *to) {
    int order[HONE_MAX_RANK];
    hn_lower_order(from, order);
    *m = (mapping){.to = to};
    for (int i = 0; i < from->rank; i++) {
        int a = order[i], last = m->rank - 1;
        if (from->dims[a] == 1) continue;
        int64_t span = from->strides[a] * from->dims[a];
        if (last >= 0 && m->old[last] != span) return false;
        if (last >= 0 && m->now[last] == to->strides[a] * from->dims[a])
            m->dims[last] *= from->dims[a];
        else
            m->dims[last = m->rank++] = from->dims[a];
        m->old[last] = from->strides[a];
        m->now[last] = to->strides[a];
    }
    return m->rank == 0 || m->old[m->rank - 1] == 1;
}

/* Where something lies: an offset, and axes gathered from wherever their lengths and strides are.
 */
typedef struct place {
    int64_t offset;
    int n;
    int64_t dims[2 * HONE_MAX_RANK], strides[2 * HONE_MAX_RANK];
} place;

/* The same elements in the new place. False: an axis is none there. */
static bool map_place(const mapping *m, place *p) {
    int64_t low[HONE_MAX_RANK], high[HONE_MAX_RANK], rest = p->offset;
    p->offset = m->to->offset;
    for (int k = 0; k < m->rank; k++) {
        low[k] = high[k] = rest / m->old[k];
        rest %= m->old[k];
        p->offset += low[k] * m->now[k];
    }
    for (int i = 0; i < p->n; i++) {
        int64_t s = p->strides[i], size = s < 0 ? -s : s;
        /* One element: any stride is right, and 1 stays what kernels look for. */
        if (s == 0 || (p->dims[i] <= 1 && s == 1)) continue;
        int k = 0;
        while (k < m->rank && m->old[k] > size) k++;
        if (k == m->rank || s % m->old[k] != 0) {
            if (p->dims[i] <= 1) continue;
            return false;
        }
        int64_t step = s / m->old[k];
        p->strides[i] = step * m->now[k];
        if (p->dims[i] > 1) *(step > 0 ? &high[k] : &low[k]) += step * (p->dims[i] - 1);
    }
    for (int k = 0; k < m->rank; k++)
        if (low[k] < 0 || high[k] >= m->dims[k]) return false;
    return true;
}

/* Every function below moves something that lies in the old buffer, or with `write` false only says
 * whether it can. */

static bool move_view(const mapping *m, hn_view *v, bool write) {
    place p = {.offset = v->offset, .n = v->rank};
    for (int i = 0; i < v->rank; i++) {
        p.dims[i] = v->dims[i];
        p.strides[i] = v->strides[i];
    }
    if (hn_view_count(v) == 0) return true;
    if (!map_place(m, &p)) return false;
    if (!write) return true;
    v->buffer = m->to->buffer;
    v->offset = p.offset;
    for (int i = 0; i < v->rank; i++) v->strides[i] = p.strides[i];
    return true;
}

/* Operands of references are dense. */
static bool move_dense(const mapping *m, hn_view *v, bool write) {
    hn_view moved = *v;
    if (!move_view(m, &moved, true) || !hn_view_is_dense(&moved)) return false;
    if (write) *v = moved;
    return true;
}

static int64_t *field(const hn_step *s, size_t offset, int i) {
    return (int64_t *)(void *)((char *)s->problem + offset) + i;
}

static bool move_operand(const mapping *m, hn_step *s, int operand, bool write) {
    hn_operand *o = &s->operands[operand];
    size_t size = (size_t)hone_dtype_bits(m->to->dtype) / 8;
    place p = {.offset = (int64_t)(o->offset / size)};
    const hn_axes *rows = s->family->axes, *end = rows + s->family->n_axes;
    for (const hn_axes *a = rows; a < end; a++)
        for (int i = 0; a->operand == operand && i < a->n; i++) {
            p.dims[p.n] = *field(s, a->dims, i);
            p.strides[p.n++] = a->strides == HN_ADJACENT ? 1 : *field(s, a->strides, i);
        }
    if (p.n == 0 || !map_place(m, &p)) return false;
    int k = 0;
    for (const hn_axes *a = rows; a < end; a++)
        for (int i = 0; a->operand == operand && i < a->n; i++, k++) {
            if (a->strides == HN_ADJACENT && p.dims[k] > 1 && p.strides[k] != 1) return false;
            if (write && a->strides != HN_ADJACENT) *field(s, a->strides, i) = p.strides[k];
        }
    if (write) *o = (hn_operand){m->to->buffer, (size_t)p.offset * size};
    return true;
}

static bool move_all(hn_lower *L, const mapping *m, int buffer, bool write) {
    for (int i = 0; i < L->plan->n_steps; i++) {
        hn_step *s = L->plan->steps[i];
        for (int k = 0; k < s->n_operands; k++)
            if (s->operands[k].buffer == buffer && !move_operand(m, s, k, write)) return false;
        for (int k = 0; k < s->n_in; k++)
            if (s->in[k].buffer == buffer && !move_dense(m, &s->in[k], write)) return false;
        for (int k = 0; k < s->n_out; k++)
            if (s->out[k].buffer == buffer && !move_dense(m, &s->out[k], write)) return false;
    }
    for (int i = 0; i < L->graph->n_values; i++)
        if (L->known[i] && L->views[i].buffer == buffer && !move_view(m, &L->views[i], write))
            return false;
    for (hn_variant *v = L->variants; v != NULL; v = v->next) {
        if (v->of.buffer == buffer && !move_view(m, &v->of, write)) return false;
        if (v->is.buffer == buffer && !move_view(m, &v->is, write)) return false;
    }
    return true;
}

bool hn_lower_rehome(hn_lower *L, const hn_view *from, const hn_view *to) {
    const hn_buffer *b = &L->plan->buffers[from->buffer];
    mapping m;
    if (b->kind != HN_BUFFER_SLAB || from->offset != 0 || hn_view_count(from) == 0 ||
        b->bytes != hone_value_bytes(from->dtype, from->rank, from->dims) ||
        !map_axes(&m, from, to))
        return false;
    int old = from->buffer; /* `from` may be one of the views that change */
    return move_all(L, &m, old, false) && move_all(L, &m, old, true);
}
