/* Pad: the input copied into its place, then one axis after the other the borders.
 *
 *   . . . . .        axis by axis, from the innermost in memory, what is there already is extended
 *   b x x x a        before and after by the value or by copies of its own elements: first b and a,
 *   . . . . .        then whole rows
 *
 * Where elements repeat (edge, reflect, wrap), a border is a few runs, along which the source runs
 * forwards, backwards or not at all. */
#include <string.h>

#include "engine/lower.h"
#include "ops/pad.h"

/* The most copies of what is there that a border may consist of. */
enum { MOST_RUNS = 8 };

typedef struct padding {
    int64_t begin[HONE_MAX_RANK], end[HONE_MAX_RANK]; /* negative: cut off */
    char mode;                                        /* the first letter of its name */
} padding;

static int64_t above0(int64_t x) { return x > 0 ? x : 0; }

static const char *refusal(const hn_view *x, const padding *p) {
    for (int i = 0; i < x->rank; i++) {
        int64_t m = x->dims[i] - above0(-p->begin[i]) - above0(-p->end[i]);
        int64_t most = p->begin[i] > p->end[i] ? p->begin[i] : p->end[i];
        if (m <= 0) return "nothing is left of an axis";
        if (p->mode != 'c' && p->mode != 'e' && m > 1 && most / MOST_RUNS >= m - 1)
            return "many times the size of an axis";
    }
    return NULL;
}

/* Elements [from, from + n) of an axis, as they follow one another with this step. */
static hn_view along(const hn_view *v, int axis, int64_t from, int64_t n, int64_t step) {
    hn_view r = *v;
    r.offset += from * v->strides[axis];
    r.strides[axis] *= step;
    r.dims[axis] = n;
    return r;
}

/* Fills elements [from, to) of an axis of y, relative to the m that are there already, which begin
 * at `at`. y: all that is there on the other axes. */
static hone_status fill(hn_lower *L, const hn_node *n, const hn_view *y, int axis, int64_t at,
                        int64_t m, int64_t from, int64_t to, const hn_view *value, char mode,
                        hn_error *err) {
    for (int64_t o = from, end; o < to; o = end) {
        hn_view src = *y;
        end = to;
        if (mode == 'c') {
            src.buffer = value->buffer;
            src.offset = value->offset;
            src.dims[axis] = to - from;
            memset(src.strides, 0, sizeof src.strides);
        } else {
            int64_t first = hn_pad_source(o, m, mode), step = 0;
            if (o + 1 < to) step = hn_pad_source(o + 1, m, mode) - first;
            if (step < -1 || step > 1) step = 0, end = o + 1;
            for (int64_t k = o + 1; k < end; k++)
                if (hn_pad_source(k, m, mode) != first + step * (k - o)) end = k;
            src = along(y, axis, at + first, end - o, step);
        }
        hn_view dst = along(y, axis, at + o, end - o, 1);
        HN_TRY(hn_lower_copy(L, n, &src, &dst, err));
    }
    return HONE_OK;
}

static hone_status lower(hn_lower *L, const hn_node *n, hn_view x, const padding *p,
                         hn_error *err) {
    hn_view y = hn_lower_out(n, 0), value = hn_lower_in(L, n, 2);
    int order[HONE_MAX_RANK];
    HN_TRY(hn_lower_place_like(L, &y, &x, err));
    hn_lower_order(&y, order);
    if (p->mode == 'c' && value.buffer < 0) {
        hn_tensor *zero;
        HN_TRY(hn_lower_constant(L, x.dtype, 1, &zero, &value, err));
        memset(zero->data, 0, zero->bytes);
    }
    hn_view there = y;
    for (int i = 0; i < x.rank; i++) {
        int64_t cut = above0(-p->begin[i]), m = x.dims[i] - cut - above0(-p->end[i]);
        x = along(&x, i, cut, m, 1);
        there = along(&there, i, above0(p->begin[i]), m, 1);
    }
    HN_TRY(hn_lower_copy(L, n, &x, &there, err));
    for (int k = x.rank - 1; k >= 0; k--) {
        int i = order[k];
        int64_t m = x.dims[i], before = above0(p->begin[i]), after = above0(p->end[i]);
        there = along(&there, i, -before, y.dims[i], 1);
        HN_TRY(fill(L, n, &there, i, before, m, -before, 0, &value, p->mode, err));
        HN_TRY(fill(L, n, &there, i, before, m, m, m + after, &value, p->mode, err));
    }
    hn_lower_set(L, n, 0, &y, NULL);
    return HONE_OK;
}

hone_status hn_lower_pad(hn_lower *L, const hn_node *n, bool *done, hn_error *err) {
    hn_view x = hn_lower_in(L, n, 0), y = hn_lower_out(n, 0);
    const hn_tensor *pads = hn_node_constant(n, 1), *axes = hn_node_constant(n, 3);
    if (hone_dtype_bits(x.dtype) % 8 != 0) HN_DECLINE(L, "elements are not whole bytes");
    if (pads == NULL || (hn_node_input(n, 3) != NULL && axes == NULL))
        HN_DECLINE(L, "pads or axes are computed");
    if (hn_view_count(&y) == 0) HN_DECLINE(L, "nothing to compute");
    padding p = {.mode = hn_attr_s(n, "mode")[0]};
    HN_TRY(hn_pad_read(pads, axes, x.rank, p.begin, p.end, err));
    const char *why = refusal(&x, &p);
    if (why != NULL) HN_DECLINE(L, why);
    *done = true;
    return lower(L, n, x, &p, err);
}
