#include "ops/groups.h"

#include "base/least.h"
#include "base/size.h"

static bool is_together(uint32_t together, int axis) { return ((together >> axis) & 1u) != 0; }

void hn_groups_init(hn_groups *g, int rank, const int64_t *dims, uint32_t together) {
    *g = (hn_groups){.n = 1, .inner = 1, .run = 1};
    int64_t apart[HONE_MAX_RANK] = {0};
    int n_apart = 0;
    bool empty = false;
    for (int k = 0; k < rank; k++) {
        if (!is_together(together, k)) apart[n_apart++] = dims[k];
        empty = empty || dims[k] == 0;
    }
    bool countable = hn_dims_count(apart, n_apart, &g->count);
    assert(countable);
    (void)countable;
    if (empty) { /* the dims that are not 0 may be so large that their products overflow */
        g->n = 0;
        g->inner = g->count;
        return;
    }
    int64_t step = 1;
    for (int k = rank - 1; k >= 0; step *= dims[k--]) {
        int64_t d = dims[k];
        bool is = is_together(together, k), last = g->n_apart + g->n_together == 0;
        if (d == 1) continue;
        if (is) g->n *= d;
        if (!is && g->run == 1 && last) {
            g->inner *= d;
        } else if (is && g->inner == 1 && last) {
            g->run *= d;
        } else if (is) {
            g->together[g->n_together] = d;
            g->together_step[g->n_together++] = step;
        } else {
            g->apart[g->n_apart] = d;
            g->apart_step[g->n_apart++] = step;
        }
    }
}

/* ---- blocks of groups ---- */

typedef struct blocks {
    int64_t inner, per_row;
    void (*fn)(void *ctx, int64_t first, int64_t width);
    void *ctx;
} blocks;

static void run_block(void *ctx, int64_t i) {
    const blocks *b = ctx;
    int64_t from = i % b->per_row * HN_BLOCK;
    b->fn(b->ctx, i / b->per_row * b->inner + from, hn_least(HN_BLOCK, b->inner - from));
}

void hn_for_groups(hn_pool *pool, const hn_groups *g,
                   void (*fn)(void *ctx, int64_t first, int64_t width), void *ctx) {
    if (g->count == 0) return;
    blocks b = {g->inner, g->inner / HN_BLOCK + (g->inner % HN_BLOCK != 0), fn, ctx};
    hn_pool_run(pool, g->count / g->inner * b.per_row, run_block, &b);
}

/* ---- the elements of a group ---- */

static int64_t first_element(const hn_groups *g, int64_t group) {
    int64_t at = group % g->inner;
    group /= g->inner;
    for (int k = 0; k < g->n_apart; k++) {
        at += group % g->apart[k] * g->apart_step[k];
        group /= g->apart[k];
    }
    return at;
}

/* On to the next run of the same group. False: that was the last one. */
static bool next_run(const hn_groups *g, int64_t *coord, int64_t *at) {
    for (int k = 0; k < g->n_together; k++) {
        *at += g->together_step[k];
        if (++coord[k] < g->together[k]) return true;
        *at -= g->together[k] * g->together_step[k];
        coord[k] = 0;
    }
    return false;
}

void hn_group_walk(const hn_groups *g, int64_t first, int64_t width,
                   void (*take)(void *state, int64_t at, int64_t n, int64_t step), void *state) {
    int64_t coord[HONE_MAX_RANK] = {0}, at = first_element(g, first);
    int64_t len = width * g->run, step = width > 1;
    if (g->n == 0) return;
    do {
        for (int64_t from = 0; from < len; from += HN_BLOCK)
            take(state, at + from, hn_least(HN_BLOCK, len - from), step);
    } while (next_run(g, coord, &at));
}
