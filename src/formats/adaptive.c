#include "formats/adaptive.h"

#include <string.h>

/* ---- probabilities ----
 * 12 bits: p / 4096 that a decision is 1. stretch(p) = ln(p / (1 - p)) * 256, squash undoes it. */

enum { ONE = 4096, MOST_STRETCH = 2047, MOST_INPUTS = 5, SETS = 9 };

static int squash(int x) {
    /* 4096 / (1 + exp(-(i - 16) / 2)) */
    static const short curve[33] = {1,    2,    4,    6,    10,   17,   27,   45,   74,
                                    120,  194,  311,  488,  747,  1102, 1546, 2048, 2550,
                                    2994, 3349, 3608, 3785, 3902, 3976, 4022, 4051, 4069,
                                    4079, 4086, 4090, 4092, 4094, 4095};
    if (x > MOST_STRETCH) return ONE - 1;
    if (x < -MOST_STRETCH) return 1;
    int part = x & 127, at = (x >> 7) + 16;
    return (curve[at] * (128 - part) + curve[at + 1] * part + 64) >> 7;
}

/* One context's experience. */
typedef struct memory {
    uint16_t p; /* out of 65536 */
    uint16_t n; /* how often it was asked, up to a limit */
} memory;

typedef struct coder {
    hn_adaptive *io;
    size_t at;
    uint32_t low, high, x;
    short stretch[ONE];
    uint32_t pace[1024]; /* 65536 / (n + 1.5) */
    int n_inputs;
    memory *input[MOST_INPUTS];
    int weights[SETS][MOST_INPUTS + 1]; /* by set; 65536 is 1. The last weighs a constant. */
} coder;

static unsigned next_byte(coder *c) {
    return c->at < c->io->room ? c->io->coded[c->at++] : (c->at++, 0);
}

static void coder_init(coder *c, hn_adaptive *io) {
    *c = (coder){.io = io, .high = UINT32_MAX};
    io->bytes = 0;
    io->full = false;
    int p = 0;
    for (int x = -MOST_STRETCH; x <= MOST_STRETCH; x++)
        while (p <= squash(x)) c->stretch[p++] = (short)x;
    while (p < ONE) c->stretch[p++] = MOST_STRETCH;
    for (uint32_t i = 0; i < 1024; i++) c->pace[i] = 131072 / (2 * i + 3);
    if (io->decode)
        for (int i = 0; i < 4; i++) c->x = c->x << 8 | next_byte(c);
}

/* Before it has learned, each of n predictions counts for a little more than the n-th part. */
static void weigh(coder *c, int first_set, int n_inputs) {
    c->n_inputs = n_inputs;
    for (int s = first_set; s < SETS; s++)
        for (int i = 0; i <= n_inputs; i++)
            c->weights[s][i] = i < n_inputs ? 65536 * 3 / (2 * n_inputs + 2) : 0;
}

static void put_byte(coder *c, unsigned char b) {
    hn_adaptive *io = c->io;
    if (io->bytes < io->room)
        io->coded[io->bytes++] = b;
    else
        io->full = true;
}

/* The interval [low, high] shrinks to the part of the decision; bytes both ends agree on go out. */
static int code_at(coder *c, int p, int bit) {
    uint32_t middle = c->low + (uint32_t)(((uint64_t)(c->high - c->low) * (uint32_t)p) >> 12);
    if (c->io->decode) bit = c->x <= middle;
    if (bit)
        c->high = middle;
    else
        c->low = middle + 1;
    while (((c->low ^ c->high) & 0xff000000u) == 0) {
        if (!c->io->decode)
            put_byte(c, (unsigned char)(c->high >> 24));
        else
            c->x = c->x << 8 | next_byte(c);
        c->low <<= 8;
        c->high = c->high << 8 | 255;
    }
    return bit;
}

static void learn(const coder *c, memory *m, int bit, int limit) {
    int target = bit ? 65535 : 0;
    m->p = (uint16_t)(m->p + ((target - (int)m->p) * (int64_t)c->pace[m->n] >> 16));
    if (m->n < limit) m->n++;
}

/* Codes a decision by the memories in c->input and the weights of the set. */
static int code(coder *c, int set, int limit, int bit) {
    int st[MOST_INPUTS + 1], *w = c->weights[set], n = c->n_inputs;
    int64_t sum = 0;
    for (int i = 0; i < n; i++) st[i] = c->stretch[c->input[i]->p >> 4];
    st[n] = 256;
    for (int i = 0; i <= n; i++) sum += (int64_t)w[i] * st[i];
    sum >>= 16;
    sum = sum > MOST_STRETCH ? MOST_STRETCH : sum < -MOST_STRETCH ? -MOST_STRETCH : sum;
    int p = squash((int)sum);
    bit = code_at(c, p, bit);
    int wrong = (bit << 12) - p;
    for (int i = 0; i <= n; i++) w[i] += (st[i] * wrong + 4096) >> 13;
    for (int i = 0; i < n; i++) learn(c, c->input[i], bit, limit);
    return bit;
}

/* Enough of `low` that whatever a decoder reads behind it lies in the interval. */
static void finish(coder *c) {
    if (c->io->decode) return;
    /* The shortest byte string s with low <= s000.. and s fff.. <= high. */
    for (int n = 1; n <= 4; n++) {
        uint32_t rest = n == 4 ? 0 : UINT32_MAX >> (8 * n);
        uint32_t s = (c->low + rest) & ~rest;
        if (s < c->low || s > c->high) continue; /* zeros are read behind the end */
        for (int i = 0; i < n; i++) put_byte(c, (unsigned char)(s >> (24 - 8 * i)));
        return;
    }
}

static memory *memories(hn_allocator *alloc, size_t n) {
    memory *m = hn_alloc_array(alloc, n, sizeof *m, HN_MEM_OTHER);
    for (size_t i = 0; m != NULL && i < n; i++) m[i] = (memory){32768, 0};
    return m;
}

/* ---- bytes ---- */

enum { ORDERS = 5, LEAST_SLOT_BITS = 8, MOST_SLOT_BITS = 16 };

hone_status hn_adaptive_bytes(hn_adaptive *a, unsigned char *bytes, size_t n, hn_error *err) {
    HN_CHECK(err, n <= HN_ADAPTIVE_MOST_BYTES, HONE_E_FORMAT, "%zu bytes coded adaptively", n);
    coder c;
    int bits = LEAST_SLOT_BITS; /* of the number of a memory: two for each decision */
    while (bits < MOST_SLOT_BITS && (size_t)1 << bits < 16 * n) bits++;
    memory *all = memories(a->alloc, (size_t)ORDERS << bits);
    if (all == NULL) return HN_NOMEM(err);
    coder_init(&c, a);
    weigh(&c, 0, ORDERS);
    uint64_t before = 0; /* the last bytes, the latest lowest */
    for (size_t i = 0; i < n && !a->full; i++) {
        uint32_t base[ORDERS];
        for (int k = 0; k < ORDERS; k++) {
            uint64_t seen = before & (((uint64_t)1 << (8 * k)) - 1);
            base[k] = (uint32_t)((seen + 1) * (uint64_t)(2 * k + 1) * 0x9e3779b97f4a7c15u >> 32);
        }
        unsigned byte = a->decode ? 0 : bytes[i], node = 1;
        for (int b = 7; b >= 0; b--) {
            for (int k = 0; k < ORDERS; k++) {
                uint32_t slot = (base[k] + node * 0x9e3779b1u) * 0x85ebca6bu >> (32 - bits);
                c.input[k] = &all[((size_t)k << bits) + slot];
            }
            int bit = code(&c, 0, 60, byte >> b & 1);
            node = node * 2 + (unsigned)bit;
        }
        if (a->decode) bytes[i] = (unsigned char)node;
        before = before << 8 | (node & 255);
    }
    finish(&c);
    hn_free(a->alloc, all);
    return HONE_OK;
}

/* ---- indices ---- */

enum {
    NEAR = 64,      /* the 6 neighbours that were coded before */
    DENSITIES = 16, /* steps of a density */
    VALUE_SETS = 1  /* from here on sets of weights are for values, one per bit */
};

/* part / all on a logarithmic scale: 0 for none, DENSITIES - 1 for all. */
static int density(uint32_t part, uint32_t all) {
    if (part == 0) return all < 8 ? 1 : 0;
    uint32_t q = (uint32_t)(((uint64_t)part << 12) / (all + 1)), d = 2;
    for (; q > 8 && d < DENSITIES - 1; d++) q = q * 5 / 8;
    return (int)d;
}

typedef struct matrix {
    unsigned char *v;
    size_t columns;
    int kinds, zero, bits; /* bits: of a value that is not zero */
    uint32_t row, row_filled;
    uint32_t *filled; /* by column */
    memory *by_column, *by_row, *by_columns, *by_near, *by_above, *values, *by_density, *by_last;
} matrix;

static bool filled(const matrix *m, size_t i, size_t back, bool there) {
    return there && m->v[i - back] != m->zero;
}

/* Whether number i is not zero. */
static int code_filled(coder *c, matrix *m, size_t i, size_t column, int bit) {
    size_t w = m->columns;
    bool up = m->row > 0;
    int near = filled(m, i, 1, column > 0) | filled(m, i, 2, column > 1) << 1 |
               filled(m, i, w, up) << 2 | filled(m, i, w + 1, up && column > 0) << 3 |
               filled(m, i, w - 1, up && column + 1 < w && w > 1) << 4 |
               filled(m, i, 2 * w, m->row > 1) << 5;
    uint32_t here = m->filled[column], beside = here;
    if (column > 0) beside += m->filled[column - 1];
    if (column + 1 < w) beside += m->filled[column + 1];
    int in_row = density(m->row_filled, (uint32_t)column), in_column = density(here, m->row);
    int around = density(beside, 3 * m->row);
    c->n_inputs = 5;
    c->input[0] = &m->by_column[column];
    c->input[1] = &m->by_row[in_row * DENSITIES + in_column];
    c->input[2] = &m->by_columns[around * DENSITIES + in_column];
    c->input[3] = &m->by_near[near];
    c->input[4] = &m->by_above[around * DENSITIES + in_row];
    return code(c, 0, 1023, bit);
}

/* Which of the values that are not zero, 0 to kinds - 2, the highest bit first. */
static int code_value(coder *c, matrix *m, size_t column, int last, int value) {
    int node = 1, d = density(m->filled[column], m->row + 1);
    c->n_inputs = 3;
    for (int b = m->bits - 1; b >= 0; b--) {
        c->input[0] = &m->values[node];
        c->input[1] = &m->by_density[d * 256 + node];
        c->input[2] = &m->by_last[(last >> (m->bits > 3 ? m->bits - 3 : 0)) * 256 + node];
        node = node * 2 + code(c, VALUE_SETS + (m->bits - 1 - b), 1023, value >> b & 1);
    }
    return node - (1 << m->bits);
}

static hone_status code_all(coder *c, matrix *m, size_t n, hn_error *err) {
    bool decode = c->io->decode;
    int others = m->zero < m->kinds ? m->kinds - 1 : m->kinds, last = 0;
    while (m->bits < 8 && 1 << m->bits < others) m->bits++;
    for (size_t i = 0, column = 0; i < n && !c->io->full; i++) {
        int v = decode ? 0 : m->v[i], is = 1;
        if (m->zero < m->kinds) is = code_filled(c, m, i, column, v != m->zero);
        if (is) {
            int value = code_value(c, m, column, last, v > m->zero ? v - 1 : v);
            HN_CHECK(err, value < others, HONE_E_FORMAT, "index %zu is %d, there are %d", i, value,
                     others);
            last = value;
            v = value >= m->zero ? value + 1 : value;
            m->filled[column]++;
            m->row_filled++;
        } else {
            v = m->zero;
        }
        m->v[i] = (unsigned char)v;
        if (++column < m->columns) continue;
        column = 0;
        m->row++;
        m->row_filled = 0;
    }
    return HONE_OK;
}

hone_status hn_adaptive_indices(hn_adaptive *a, unsigned char *indices, size_t n, size_t columns,
                                int kinds, int zero, hn_error *err) {
    HN_CHECK(err, n <= HN_ADAPTIVE_MOST_INDICES && columns > 0 && columns <= n && kinds > 0,
             HONE_E_FORMAT, "%zu indices coded adaptively in rows of %zu", n, columns);
    enum { GRID = DENSITIES * DENSITIES, REST = 3 * GRID + NEAR + 256 + DENSITIES * 256 + 8 * 256 };
    matrix m = {.v = indices, .columns = columns, .kinds = kinds, .zero = zero};
    memory *all = memories(a->alloc, columns + REST), *at = all;
    m.filled = hn_alloc_zero(a->alloc, columns * sizeof *m.filled, HN_MEM_OTHER);
    hone_status status = HONE_OK;
    if (all == NULL || m.filled == NULL) {
        status = HN_NOMEM(err);
    } else {
        coder c;
        coder_init(&c, a);
        weigh(&c, 0, 5);
        weigh(&c, VALUE_SETS, 3);
        m.by_column = at, at += columns;
        m.by_row = at, at += GRID;
        m.by_columns = at, at += GRID;
        m.by_above = at, at += GRID;
        m.by_near = at, at += NEAR;
        m.values = at, at += 256;
        m.by_density = at, at += DENSITIES * 256;
        m.by_last = at;
        status = code_all(&c, &m, n, err);
        finish(&c);
    }
    hn_free(a->alloc, all);
    hn_free(a->alloc, m.filled);
    return status;
}
