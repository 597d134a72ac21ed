/* Products with R in f32, for recurrent_f32_body.h.
 *
 * Few rows take all vectors of a group together, many two of them at a time: what there are
 * registers for. A sum runs through k in order; that of a tile of one sequence in two chains, even
 * k and odd, since one would wait for itself. */
#ifdef UNROLL
static size_t h_bytes(const hn_recurrent_f32 *p) {
    (void)p;
    return 0;
}

static void prepare(const hn_call *call, void *prepared, int64_t s, int part, int64_t d,
                    int64_t row, int64_t end) {
    (void)call, (void)prepared, (void)s, (void)part, (void)d, (void)row, (void)end;
}

static void begin_products(int64_t rows) { (void)rows; }
static void end_products(void) {}

static int64_t group_floats(const hn_recurrent_f32 *p) {
    return p->hidden * units_of(p) * hn_recurrent_gates(p->kind) * HN_VL;
}

static size_t packed_bytes(const void *problem) {
    const hn_recurrent_f32 *p = problem;
    return (size_t)(p->dirs * groups_of(p) * group_floats(p)) * sizeof(float);
}

static void pack(const void *problem, const hn_stored *plain, int64_t begin, int64_t end,
                 void *dst) {
    const hn_recurrent_f32 *p = problem;
    int64_t n = p->hidden, all = hn_recurrent_gates(p->kind) * n;
    int units = units_of(p);
    float *to = (float *)dst + begin * group_floats(p);
    for (int64_t i = begin; i < end; i++)
        for (int part = 0; part <= two_parts(p); part++) {
            int gates = gates_of(p, part), first = part * 2;
            for (int u = 0; u < units * gates; u++, to += HN_VL) {
                int64_t unit = (i % groups_of(p) * units + u / gates) * HN_VL;
                int64_t from = i / groups_of(p) * all + (first + u % gates) * n + unit;
                hn_columns_turn((const hn_any_f32 *)plain->data + from * n, n, n - unit, n,
                                units * gates * HN_VL, to);
            }
            to += (n - 1) * units * gates * HN_VL;
        }
}

/* ---- products ---- */

/* h, rows `pitch` floats apart, by one part of a group of R, `vectors` from k to k. */
typedef struct product {
    const float *r, *h;
    int64_t pitch, n;
    int vectors;
    int64_t rows;
    hn_vf (*sum)[WIDE];
} product;

/* `count` of the vectors from `first` on; count and rows are constants. */
HN_INLINE void tile(const product *p, int first, int count, int rows) {
    const float *r = p->r + first * HN_VL, *h = p->h;
    int64_t step = p->vectors * HN_VL, pitch = p->pitch;
    hn_vf s[ROWS][WIDE];
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < count; v++) s[i][v] = hn_v_set1(0.0f);
    }
    for (int64_t k = 0; k < p->n; k++, r += step) {
        hn_vf w[WIDE];
        UNROLL for (int v = 0; v < count; v++) w[v] = hn_v_load(r + v * HN_VL);
        UNROLL for (int i = 0; i < rows; i++) {
            hn_vf x = hn_v_set1(h[i * pitch + k]);
            UNROLL for (int v = 0; v < count; v++) s[i][v] = hn_v_fma(w[v], x, s[i][v]);
        }
    }
    UNROLL for (int i = 0; i < rows; i++) {
        UNROLL for (int v = 0; v < count; v++) p->sum[i][first + v] = s[i][v];
    }
}

HN_INLINE void tile_of_one(const product *p, int count) {
    const float *r = p->r, *h = p->h;
    hn_vf even[WIDE], odd[WIDE];
    UNROLL for (int v = 0; v < count; v++) even[v] = odd[v] = hn_v_set1(0.0f);
    int64_t k = 0;
    for (; k + 2 <= p->n; k += 2, r += 2 * count * HN_VL) {
        hn_vf x0 = hn_v_set1(h[k]), x1 = hn_v_set1(h[k + 1]);
        UNROLL for (int v = 0; v < count; v++) {
            even[v] = hn_v_fma(hn_v_load(r + v * HN_VL), x0, even[v]);
            odd[v] = hn_v_fma(hn_v_load(r + (count + v) * HN_VL), x1, odd[v]);
        }
    }
    if (k < p->n) {
        hn_vf x = hn_v_set1(h[k]);
        UNROLL for (int v = 0; v < count; v++) even[v] =
            hn_v_fma(hn_v_load(r + v * HN_VL), x, even[v]);
    }
    UNROLL for (int v = 0; v < count; v++) p->sum[0][v] = hn_v_add(even[v], odd[v]);
}

/* Up to half of ROWS: all vectors at once. */
HN_INLINE void few_rows(const product *p, int count) {
    switch (p->rows) {
        case 1: tile_of_one(p, count); break;
        case 2: tile(p, 0, count, 2); break;
        case 3: tile(p, 0, count, 3); break;
#if ROWS == 12
        case 4: tile(p, 0, count, 4); break;
        case 5: tile(p, 0, count, 5); break;
        case 6: tile(p, 0, count, 6); break;
#endif
    }
}

/* More rows: one or two vectors at once, so that R is still read only once. */
HN_INLINE void many_rows(const product *p, int first, int count) {
    switch (p->rows) {
#if ROWS == 6
        case 4: tile(p, first, count, 4); break;
        case 5: tile(p, first, count, 5); break;
        case 6: tile(p, first, count, 6); break;
#elif ROWS == 12
        case 7: tile(p, first, count, 7); break;
        case 8: tile(p, first, count, 8); break;
        case 9: tile(p, first, count, 9); break;
        case 10: tile(p, first, count, 10); break;
        case 11: tile(p, first, count, 11); break;
        case 12: tile(p, first, count, 12); break;
#endif
    }
}

static void multiply_by(const product *p) {
    if (p->rows > ROWS / 2) {
        for (int v = 0; v + 2 <= p->vectors; v += 2) many_rows(p, v, 2);
        if (p->vectors % 2 != 0) many_rows(p, p->vectors - 1, 1);
    } else if (p->vectors == 4) {
        few_rows(p, 4);
    } else if (p->vectors == 3) {
        few_rows(p, 3);
    } else {
        few_rows(p, 2);
    }
}

static void multiply(const hn_call *call, void *prepared, const states *st, int part, int64_t d,
                     int64_t group, int64_t row, int64_t end, hn_vf (*sum)[WIDE]) {
    (void)prepared;
    const hn_recurrent_f32 *p = call->problem;
    const float *r = call->ptr[HN_RECURRENT_R];
    multiply_by(&(product){.r = r + (d * groups_of(p) + group) * group_floats(p) +
                                part * p->hidden * units_of(p) * gates_of(p, 0) * HN_VL,
                           .h = (part == 0 ? st->was : st->rh) + row * st->pitch,
                           .pitch = st->pitch,
                           .n = p->hidden,
                           .vectors = units_of(p) * gates_of(p, part),
                           .rows = end - row,
                           .sum = sum});
}

#endif
