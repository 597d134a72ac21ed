/* Products with R in 8 bits, for recurrent_f32_body.h.
 *
 * Four k of one output are the bytes of a lane, as `dot` takes them: sum + x . w, exactly, x in u8
 * where X_IS_U8 and in s8 otherwise. A group of R is followed by the sums of its columns, as
 * floats, which what h has for zero is multiplied by:
 *
 *   [dirs][groups][parts] of  s8 [k/4][vectors of the part][HN_VL][4],  f32 [vectors][HN_VL]
 *
 * h in 8 bits lies after the states, [dirs][batch] rows of whole vectors, and after them the scale
 * and the zero point of each. A task is always a tile of sequences: that of a group of units would
 * bring the same h to 8 bits as all others do. */
#ifdef UNROLL
enum { TOGETHER = 0 };

/* ---- R ---- */

static int64_t quads_of(const hn_recurrent_f32 *p) { return (p->hidden + 3) / 4; }

/* Of one part of a group. */
static int64_t part_bytes(const hn_recurrent_f32 *p, int part) {
    return units_of(p) * gates_of(p, part) * HN_VL * 4 * (quads_of(p) + 1);
}

static int64_t group_bytes(const hn_recurrent_f32 *p) {
    return part_bytes(p, 0) + (two_parts(p) ? part_bytes(p, 1) : 0);
}

static size_t packed_bytes(const void *problem) {
    const hn_recurrent_f32 *p = problem;
    return (size_t)(p->dirs * groups_of(p) * group_bytes(p));
}

/* One output, `column` lanes from the first of its part. */
static void pack_column(const int8_t *from, int64_t n, int64_t lanes, int64_t column, char *to) {
    int32_t sum = 0;
    int64_t quads = (n + 3) / 4;
    for (int64_t k = 0; k < quads * 4; k += 4) {
        int8_t w[4] = {0};
        for (int i = 0; from != NULL && i < 4 && k + i < n; i++) w[i] = from[k + i];
        memcpy(to + (k / 4 * lanes + column) * 4, w, 4);
        sum += w[0] + w[1] + w[2] + w[3];
    }
    float number = (float)sum;
    memcpy(to + (quads * lanes + column) * 4, &number, sizeof number);
}

static void pack(const void *problem, const void *plain, int64_t begin, int64_t end, void *dst) {
    const hn_recurrent_f32 *p = problem;
    int64_t n = p->hidden, all = hn_recurrent_gates(p->kind) * n, groups = groups_of(p);
    int units = units_of(p);
    char *to = (char *)dst + begin * group_bytes(p);
    for (int64_t i = begin; i < end; i++)
        for (int part = 0; part <= two_parts(p); part++) {
            int gates = gates_of(p, part);
            int64_t lanes = units * gates * HN_VL;
            for (int64_t c = 0; c < lanes; c++) {
                int64_t unit = (i % groups * units + c / (gates * HN_VL)) * HN_VL + c % HN_VL;
                int64_t row = i / groups * all + (part * 2 + c / HN_VL % gates) * n + unit;
                pack_column(unit < n ? (const int8_t *)plain + row * n : NULL, n, lanes, c, to);
            }
            to += part_bytes(p, part);
        }
}

/* ---- h ---- */

static int64_t row_bytes(const hn_recurrent_f32 *p) {
    return (p->hidden + HN_VB - 1) / HN_VB * HN_VB;
}

static size_t more_scratch(const hn_recurrent_f32 *p) {
    return (size_t)(p->dirs * p->batch) * ((size_t)row_bytes(p) + 2 * sizeof(float));
}

/* h of a sequence in 8 bits, and its scale and zero point. */
typedef struct bytes {
    int8_t *q;
    float *scale, *zero;
} bytes;

static bytes bytes_of(const hn_call *call, int64_t d, int64_t row) {
    const hn_recurrent_f32 *p = call->problem;
    int64_t at = d * p->batch + row, rows = p->dirs * p->batch;
    char *first = (char *)call->scratch + state_bytes(p);
    float *numbers = (float *)(first + rows * row_bytes(p));
    return (bytes){(int8_t *)first + at * row_bytes(p), numbers + at, numbers + rows + at};
}

static void quantize(const float *h, int64_t n, const bytes *to) {
    hn_vf lo = hn_v_set1(0.0f), hi = lo;
    for (int64_t k = 0; k < n; k += HN_VL) {
        hn_vf x = hn_v_load_part(h + k, n - k < HN_VL ? n - k : HN_VL);
        lo = hn_v_min(lo, x);
        hi = hn_v_max(hi, x);
    }
    float least = hn_v_hmin(lo), most = hn_v_hmax(hi);
    float scale = least == most ? 1 : (most - least) / 255;
    /* As s8, 128 less; what does not fit saturates on the way there. */
    hn_vf by = hn_v_set1(scale);
    hn_vf zero = hn_v_sub(hn_v_round(hn_v_set1(-least / scale)), hn_v_set1(128.0f));
    for (int64_t k = 0; k < n; k += HN_VB) {
        hn_vi q[4];
        for (int i = 0; i < 4; i++) {
            int64_t at = k + i * HN_VL, left = n - at < 0 ? 0 : n - at < HN_VL ? n - at : HN_VL;
            hn_vf x = left > 0 ? hn_v_load_part(h + at, left) : hn_v_set1(0.0f);
            q[i] = hn_v_to_int(hn_v_add(hn_v_round(hn_v_div(x, by)), zero));
        }
        hn_vb b = hn_vb_narrow(q);
        hn_vb_store(to->q + k, X_IS_U8 ? hn_vb_xor(b, hn_vb_set1(0x80)) : b);
    }
    *to->scale = scale;
    hn_v_store_n(to->zero, X_IS_U8 ? hn_v_add(zero, hn_v_set1(128.0f)) : zero, 1);
}

static void prepare(const hn_call *call, int64_t s, int part, int64_t d, int64_t row, int64_t end) {
    const hn_recurrent_f32 *p = call->problem;
    states st = states_of(call, d, s);
    for (int64_t b = row; b < end; b++) {
        bytes to = bytes_of(call, d, b);
        quantize((part == 0 ? st.was : st.rh) + b * st.pitch, p->hidden, &to);
    }
}

/* ---- products ---- */

/* Rows of h by one part of a group of R. */
typedef struct product {
    const char *r;
    bytes h;
    int64_t pitch, quads;
} product;

HN_INLINE hn_vi quad(const product *p, int row, int64_t k) {
    int32_t x;
    memcpy(&x, p->h.q + row * p->pitch + 4 * k, sizeof x);
    return hn_vi_set1(x);
}

/* count and rows are constants. A tile of one sequence runs in two chains, even k and odd, since
 * one would wait for itself; the sums are exact in any order. */
HN_INLINE void tile(const product *p, int count, int rows, hn_vf (*sum)[WIDE]) {
    const int chains = rows == 1 ? 2 : 1;
    const char *r = p->r;
    hn_vi s[ROWS + 1][WIDE];
    UNROLL for (int i = 0; i < rows * chains; i++) {
        UNROLL for (int v = 0; v < count; v++) s[i][v] = hn_vi_set1(0);
    }
    int64_t k = 0;
    for (; k + chains <= p->quads; k += chains) {
        UNROLL for (int c = 0; c < chains; c++, r += count * HN_VB) {
            UNROLL for (int i = 0; i < rows; i++) {
                hn_vi x = quad(p, i, k + c);
                UNROLL for (int v = 0; v < count; v++) s[c * rows + i][v] =
                    dot(s[c * rows + i][v], hn_vi_load((const int32_t *)(r + v * HN_VB)), x);
            }
        }
    }
    for (; k < p->quads; k++, r += count * HN_VB) {
        UNROLL for (int v = 0; v < count; v++) s[0][v] =
            dot(s[0][v], hn_vi_load((const int32_t *)(r + v * HN_VB)), quad(p, 0, k));
    }
    UNROLL for (int i = 0; i < rows; i++) {
        hn_vf zero = hn_v_set1(p->h.zero[i]), scale = hn_v_set1(p->h.scale[i]);
        UNROLL for (int v = 0; v < count; v++) {
            hn_vi all = chains == 2 ? hn_vi_add(s[i][v], s[i + 1][v]) : s[i][v];
            hn_vf columns = hn_v_load((const float *)(r + v * HN_VB));
            sum[i][v] = hn_v_mul(scale, hn_v_fnma(zero, columns, hn_v_from_int(all)));
        }
    }
}

HN_INLINE void some_rows(const product *p, int count, int64_t rows, hn_vf (*sum)[WIDE]) {
    switch (rows) {
        case 1: tile(p, count, 1, sum); break;
        case 2: tile(p, count, 2, sum); break;
#if ROWS == 4
        case 3: tile(p, count, 3, sum); break;
        case 4: tile(p, count, 4, sum); break;
#endif
    }
}

static void multiply(const hn_call *call, const states *st, int part, int64_t d, int64_t group,
                     int64_t row, int64_t end, hn_vf (*sum)[WIDE]) {
    (void)st;
    const hn_recurrent_f32 *p = call->problem;
    const char *r = call->ptr[HN_RECURRENT_R];
    const float *scales = call->ptr[HN_RECURRENT_SCALES];
    int gates = gates_of(p, part), units = units_of(p), count = units * gates;
    product q = {
        .r = r + (d * groups_of(p) + group) * group_bytes(p) + (part > 0 ? part_bytes(p, 0) : 0),
        .h = bytes_of(call, d, row),
        .pitch = row_bytes(p),
        .quads = quads_of(p)};
    if (count == 4)
        some_rows(&q, 4, end - row, sum);
    else if (count == 3)
        some_rows(&q, 3, end - row, sum);
    else
        some_rows(&q, 2, end - row, sum);
    scales += d * hn_recurrent_gates(p->kind) * p->hidden;
    for (int v = 0; v < count; v++) {
        int64_t unit = (group * units + v / gates) * HN_VL, left = p->hidden - unit;
        if (left <= 0) continue;
        hn_vf m = hn_v_load_part(scales + (part * 2 + v % gates) * p->hidden + unit,
                                 left < HN_VL ? left : HN_VL);
        for (int64_t i = 0; i < end - row; i++) sum[i][v] = hn_v_mul(sum[i][v], m);
    }
}

#endif
