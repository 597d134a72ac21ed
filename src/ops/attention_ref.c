#include "ops/attention_ref.h"

#define MOST_SCORES ((int64_t)1 << 20) /* at once, unless one row has more: 8 MB */

/* A tensor without elements has sizes of which products may overflow; its strides do not matter. */
static hn_heads heads_of(const hn_tensor *t, int64_t size, int64_t sample, int64_t head,
                         int64_t position) {
    return (hn_heads){t->dtype, t->data, 0, sample, head, position, NULL, size};
}

hn_heads hn_heads_first(const hn_tensor *t, int64_t n_heads, int64_t n_positions, int64_t size) {
    if (t->n == 0) return heads_of(t, size, 0, 0, 0);
    return heads_of(t, size, n_heads * n_positions * size, n_positions * size, size);
}

hn_heads hn_heads_inside(const hn_tensor *t, int64_t n_heads, int64_t n_positions, int64_t size) {
    if (t->n == 0) return heads_of(t, size, 0, 0, 0);
    return heads_of(t, size, n_positions * n_heads * size, size, n_heads * size);
}

static int64_t place(const hn_heads *h, int64_t sample, int64_t head, int64_t position) {
    return h->at + sample * h->sample + head * h->head + position * h->position;
}

/* Elements [from, from + n) of one head at one position. */
static void load(const hn_heads *h, int64_t sample, int64_t head, int64_t position, int64_t from,
                 int64_t n, double *dst) {
    hn_load_f64_n(h->dtype, h->data, place(h, sample, head, position) + from, n, dst);
    if (h->bias != NULL)
        for (int64_t i = 0; i < n; i++) dst[i] += h->bias[head * h->size + from + i];
}

/* ---- a piece: some rows of some heads ---- */

typedef struct piece {
    const hn_attention *a;
    int64_t first_head; /* counted over all samples */
    int64_t first_row, n_rows;
    int64_t n_keys;
    double *scores; /* [heads, n_rows, n_keys] */
} piece;

static int64_t sample_of(const piece *p, int64_t batch) {
    return (p->first_head + batch) / p->a->heads;
}

static int64_t head_of(const piece *p, int64_t batch) {
    return (p->first_head + batch) % p->a->heads;
}

static void load_q(const void *ctx, const hn_block *at, void *dst) {
    const piece *p = ctx;
    for (int64_t i = 0; i < at->n_rows; i++)
        load(&p->a->q, sample_of(p, at->batch), head_of(p, at->batch), p->first_row + at->row + i,
             at->col, at->n_cols, (double *)dst + i * at->n_cols);
}

/* Elements [from, from + n) of key or value number j. */
static void load_kv(const piece *p, const hn_heads *past, const hn_heads *now, int64_t batch,
                    int64_t j, int64_t from, int64_t n, double *dst) {
    const hn_attention *a = p->a;
    int64_t head = head_of(p, batch) / (a->heads / a->kv_heads);
    if (j < a->past)
        load(past, sample_of(p, batch), head, j, from, n, dst);
    else
        load(now, sample_of(p, batch), head, j - a->past, from, n, dst);
}

/* Keys are columns. */
static void load_k(const void *ctx, const hn_block *at, void *dst) {
    const piece *p = ctx;
    double part[64], *to = dst;
    for (int64_t j = 0; j < at->n_cols; j++)
        for (int64_t i = 0, n; i < at->n_rows; i += n) {
            n = at->n_rows - i < 64 ? at->n_rows - i : 64;
            load_kv(p, &p->a->past_k, &p->a->k, at->batch, at->col + j, at->row + i, n, part);
            for (int64_t r = 0; r < n; r++) to[(i + r) * at->n_cols + j] = part[r];
        }
}

static void load_v(const void *ctx, const hn_block *at, void *dst) {
    const piece *p = ctx;
    for (int64_t i = 0; i < at->n_rows; i++)
        load_kv(p, &p->a->past_v, &p->a->v, at->batch, at->row + i, at->col, at->n_cols,
                (double *)dst + i * at->n_cols);
}

static void load_weights(const void *ctx, const hn_block *at, void *dst) {
    const piece *p = ctx;
    for (int64_t i = 0; i < at->n_rows; i++)
        memcpy((double *)dst + i * at->n_cols,
               p->scores + (at->batch * p->n_rows + at->row + i) * p->n_keys + at->col,
               (size_t)at->n_cols * sizeof(double));
}

static void store_scores(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const piece *p = ctx;
    for (int64_t i = 0; i < at->n_rows; i++) {
        double *to = p->scores + (at->batch * p->n_rows + at->row + i) * p->n_keys + at->col;
        for (int64_t j = 0; j < at->n_cols; j++)
            to[j] = p->a->scale * ((const double *)sums)[i * pitch + j];
    }
}

static void store_y(const void *ctx, const hn_block *at, const void *sums, int64_t pitch) {
    const piece *p = ctx;
    const hn_heads *y = &p->a->y;
    for (int64_t i = 0; i < at->n_rows; i++)
        hn_store_f64_n(
            y->dtype, y->data,
            place(y, sample_of(p, at->batch), head_of(p, at->batch), p->first_row + at->row + i) +
                at->col,
            at->n_cols, (const double *)sums + i * pitch);
}

static void run_row(void *ctx, int64_t i) {
    const piece *p = ctx;
    int64_t batch = i / p->n_rows;
    p->a->row(p->a->ctx, sample_of(p, batch), head_of(p, batch), p->first_row + i % p->n_rows,
              p->scores + i * p->n_keys);
}

static hone_status run_piece(hn_eval *e, const piece *p, int64_t n_heads, hn_error *err) {
    const hn_attention *a = p->a;
    hn_gemm qk = {.n_batch = n_heads,
                  .m = p->n_rows,
                  .n = p->n_keys,
                  .k = a->q.size,
                  .a = {load_q, p},
                  .b = {load_k, p},
                  .store = store_scores,
                  .out = p};
    hn_gemm pv = {.n_batch = n_heads,
                  .m = p->n_rows,
                  .n = a->y.size,
                  .k = p->n_keys,
                  .a = {load_weights, p},
                  .b = {load_v, p},
                  .store = store_y,
                  .out = p};
    HN_TRY(hn_gemm_ref(e, &qk, err));
    hn_pool_run(e->pool, n_heads * p->n_rows, run_row, (void *)(uintptr_t)p);
    return hn_gemm_ref(e, &pv, err);
}

static int64_t clamp(int64_t v, int64_t most) { return v < 1 ? 1 : v < most ? v : most; }

hone_status hn_attention_ref(hn_eval *e, const hn_attention *a, hn_error *err) {
    int64_t n_heads = a->samples * a->heads;
    piece p = {.a = a, .n_keys = a->past + a->keys};
    if (n_heads == 0 || a->queries == 0) return HONE_OK;
    int64_t rows = p.n_keys == 0 ? a->queries : clamp(MOST_SCORES / p.n_keys, a->queries),
            at_once = 1;
    if (rows == a->queries) at_once = clamp(MOST_SCORES / rows / (p.n_keys + 1), n_heads);
    p.scores = hn_scratch(e, at_once * rows * p.n_keys, sizeof *p.scores);
    if (p.scores == NULL) return HN_NOMEM(err);
    hone_status status = HONE_OK;
    for (int64_t h = 0; h < n_heads && status == HONE_OK; h += at_once) {
        p.first_head = h;
        for (int64_t r = 0; r < a->queries && status == HONE_OK; r += rows) {
            p.first_row = r;
            p.n_rows = a->queries - r < rows ? a->queries - r : rows;
            /* What the products use goes with the piece. */
            hn_arena_mark here = hn_arena_here(e->scratch);
            status = run_piece(e, &p, n_heads - h < at_once ? n_heads - h : at_once, err);
            hn_arena_back(e->scratch, here);
        }
    }
    return status;
}

void hn_attention_present(const hn_attention *a, const hn_heads *past, const hn_heads *now,
                          hn_tensor *present, int64_t at) {
    if (present == NULL || present->n == 0) return;
    for (int64_t b = 0; b < a->samples; b++)
        for (int64_t h = 0; h < a->kv_heads; h++)
            for (int64_t j = 0; j < a->past + a->keys; j++) {
                double part[64];
                for (int64_t i = 0, n; i < now->size; i += n, at += n) {
                    n = now->size - i < 64 ? now->size - i : 64;
                    if (j < a->past)
                        load(past, b, h, j, i, n, part);
                    else
                        load(now, b, h, j - a->past, i, n, part);
                    hn_store_f64_n(present->dtype, present->data, at, n, part);
                }
            }
}

void hn_attention_cost(hn_dims *t, hn_dim samples, hn_dim heads, hn_dim queries, hn_dim keys,
                       hn_dim size, hn_dim v_size, hn_cost *cost) {
    hn_dim scores = hn_dim_mul(t, hn_dim_mul(t, samples, heads), hn_dim_mul(t, queries, keys));
    cost->macs = hn_dim_mul(t, scores, hn_dim_add(t, size, v_size));
}
