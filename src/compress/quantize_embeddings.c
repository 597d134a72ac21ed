/* Tables of embeddings in bytes:
 *
 *     y = Gather (table, ids)      becomes      r = Gather (codes, ids)
 *                                               y = DequantizeLinear <axis = -1> (r, scale)
 *
 * Only the rows that are asked for become floats. There is a scale for each column: it belongs to
 * the last axis whatever the ids are.
 *
 * Or in 4 bits, where layers have no more, in groups along the rows. Gather knows no type of 4 bits
 * (ONNX, up to opset 26), so a byte holds two codes:
 *
 *     r = Gather (pairs, ids)            [.., n / 2]   ABCDabcd, of columns n / 2 + i and i
 *     l = BitShift <LEFT> (r, 4)                       abcd0000
 *     h = BitwiseAnd (r, 0xf0)                         ABCD0000
 *     c = Cast <s8> (Concat <-1> (l, h)) [.., n]       codes times 16, in the order of columns
 *     s = Gather (scale, ids)            [.., groups]
 *     y = DequantizeLinear <axis = -1, block_size> (c, s)
 *
 * Rows of an odd number of elements stay bytes.
 *
 * Fires for constant f32 matrices of which Gather takes rows and that nothing else uses; not for
 * small ones, which are shapes and flags as often as tables.
 */
#include <string.h>

#include "compress/quantizer.h"
#include "engine/layers.h"
#include "ops/nodes.h"

#define LEAST_ELEMENTS 1024

static const hn_qtype bytes = {
    .dtype = HONE_DTYPE_S8, .bits = 8, .symmetric = true, .per_channel = true};
static const hn_qtype nibbles = {.dtype = HONE_DTYPE_S4, .bits = 4, .symmetric = true};

hn_value *hn_quantizer_table(const hn_node *n) {
    if (!hn_is(n, "Gather") || hn_attr_i(n, "axis") != 0) return NULL;
    const hn_tensor *t = hn_const_in(n, 0);
    if (t == NULL || t->dtype != HONE_DTYPE_F32 || t->rank != 2 || t->n < LEAST_ELEMENTS)
        return NULL;
    return hn_used_once(hn_node_input(n, 0)) ? hn_node_input(n, 0) : NULL;
}

/* What a table becomes; false: a rule has it left alone. */
static bool type_of(const hn_quantizer *q, const hn_node *n, const hn_tensor *table, hn_qtype *t) {
    bool named;
    hn_layer_scheme s = hn_scheme_of(q->s, n, &named);
    bool integers = s.kind >= HN_LAYER_WEIGHTS;
    int64_t group = s.weights.group > 0 ? s.weights.group : table->dims[1];
    *t = bytes;
    if (integers && q->s->simulate) *t = hn_qtype_whole(s.weights);
    if (integers && s.weights.bits <= 4) {
        if (!q->s->simulate && table->dims[1] % 2 == 0) *t = nibbles;
        if (t->bits <= 4) t->group = group < table->dims[1] ? group : table->dims[1];
    } else {
        t->group = 0;
    }
    return integers || !named;
}

static hone_status add_row(hn_quantizer *q, const hn_node *n, const hn_tensor *table,
                           const hn_qtype *t, hn_error *err) {
    q->row = NULL;
    if (q->report == NULL) return HONE_OK;
    hn_quantized_layer *row = &q->report->v[q->report->n];
    *row = (hn_quantized_layer){.node = hn_arena_strdup(&q->report->arena, hn_layer_name(n)),
                                .op = "Gather",
                                .kind = HN_LAYER_WEIGHTS,
                                .weights = hn_quantizer_type_text(q, t, "column"),
                                .params = table->n,
                                .bytes_before = (int64_t)table->bytes};
    if (n->written != HONE_DTYPE_NONE) row->bytes_before /= 2; /* it came in 16 bits */
    if (row->node == NULL || row->weights == NULL) return HN_NOMEM(err);
    q->report->n++;
    q->row = row;
    return HONE_OK;
}

/* A node behind n, before `next`, that gives y. */
static hone_status write_back(hn_quantizer *q, hn_node *n, hn_value *codes, hn_value *scale,
                              hn_node *next, hn_node **back, hn_error *err) {
    const char *name = n->outputs[0]->name;
    hn_value *in[2] = {codes, scale};
    HN_TRY(hn_quantizer_node(back, q, "DequantizeLinear",
                             hn_quantizer_hint(q, name, "_dequantized"), 2, in, next, err));
    return hn_node_set_i(*back, "axis", -1, err);
}

static hone_status write_bytes(hn_quantizer *q, hn_node *n, hn_value *table, const hn_grid *g,
                               hn_error *err) {
    hn_value *y = n->outputs[0], *codes, *rows, *scale;
    hn_tensor *t;
    hn_node *back;
    HN_TRY(hn_grid_codes(g, table->constant, q->pool, q->m->alloc, &t, err));
    HN_TRY(hn_quantizer_constant(&codes, q, table->name, "_codes", t, err));
    HN_TRY(hn_quantizer_constant(&scale, q, table->name, "_scale", hn_tensor_ref(g->scale), err));
    HN_TRY(hn_value_create(&rows, q->g, NULL, hn_quantizer_hint(q, y->name, "_codes"), err));
    HN_TRY(write_back(q, n, rows, scale, n->next, &back, err));
    hn_quantizer_hand_over(y, back, rows);
    hn_node_set_input(n, 0, codes);
    return HONE_OK;
}

/* ---- 4 bits ---- */

/* Codes of columns i and n / 2 + i in a byte, and scales of codes times 16. */
static hone_status pair_up(hn_quantizer *q, const hn_value *table, const hn_grid *g,
                           hn_value **pairs, hn_value **scale, hn_error *err) {
    hn_tensor *codes, *t, *s;
    int64_t rows = table->constant->dims[0], half = table->constant->dims[1] / 2;
    HN_TRY(hn_tensor_create(&s, q->m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, g->scale->rank,
                            g->scale->dims, err));
    for (int64_t i = 0; i < s->n; i++)
        ((float *)s->data)[i] = ((const float *)g->scale->data)[i] / 16;
    HN_TRY(hn_quantizer_constant(scale, q, table->name, "_scale", s, err));
    HN_TRY(hn_grid_codes(g, table->constant, q->pool, q->m->alloc, &codes, err));
    hone_status status = hn_tensor_create(&t, q->m->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_U8, 2,
                                          (int64_t[]){rows, half}, err);
    for (int64_t i = 0; status == HONE_OK && i < t->n; i++) {
        int64_t at = i / half * 2 * half + i % half;
        unsigned low = (unsigned)hn_tensor_s64(codes, at) & 15u;
        unsigned high = (unsigned)hn_tensor_s64(codes, at + half) & 15u;
        ((uint8_t *)t->data)[i] = (uint8_t)(high << 4u | low);
    }
    hn_tensor_unref(codes);
    HN_TRY(status);
    return hn_quantizer_constant(pairs, q, table->name, "_codes", t, err);
}

/* The codes of rows that two each are in a byte, times 16, as s8. */
static hone_status part(hn_quantizer *q, hn_value *rows, const char *name, hn_node *next,
                        hn_value **out, hn_error *err) {
    hn_node *low, *high, *all, *cast;
    hn_value *in[2] = {rows}, *halves[2];
    HN_TRY(hn_quantizer_scalar(&in[1], q, hn_quantizer_hint(q, name, "_shift"), HONE_DTYPE_U8, 4,
                               err));
    HN_TRY(hn_quantizer_node(&low, q, "BitShift", hn_quantizer_hint(q, name, "_low"), 2, in, next,
                             err));
    HN_TRY(hn_node_set_s(low, "direction", "LEFT", err));
    HN_TRY(hn_quantizer_scalar(&in[1], q, hn_quantizer_hint(q, name, "_mask"), HONE_DTYPE_U8, 0xf0,
                               err));
    HN_TRY(hn_quantizer_node(&high, q, "BitwiseAnd", hn_quantizer_hint(q, name, "_high"), 2, in,
                             next, err));
    halves[0] = low->outputs[0];
    halves[1] = high->outputs[0];
    HN_TRY(hn_quantizer_node(&all, q, "Concat", hn_quantizer_hint(q, name, "_bytes"), 2, halves,
                             next, err));
    HN_TRY(hn_node_set_i(all, "axis", -1, err));
    HN_TRY(hn_quantizer_node(&cast, q, "Cast", hn_quantizer_hint(q, name, "_codes"), 1,
                             all->outputs, next, err));
    HN_TRY(hn_node_set_i(cast, "to", HONE_DTYPE_S8, err));
    *out = cast->outputs[0];
    return HONE_OK;
}

static hone_status write_nibbles(hn_quantizer *q, hn_node *n, hn_value *table, const hn_grid *g,
                                 hn_error *err) {
    hn_value *y = n->outputs[0], *pairs, *scale, *rows, *codes, *in[2] = {NULL, n->inputs[1].value};
    hn_node *next = n->next, *scales, *back;
    HN_TRY(pair_up(q, table, g, &pairs, &scale, err));
    HN_TRY(hn_value_create(&rows, q->g, NULL, hn_quantizer_hint(q, y->name, "_pairs"), err));
    HN_TRY(part(q, rows, y->name, next, &codes, err));
    in[0] = scale;
    HN_TRY(hn_quantizer_node(&scales, q, "Gather", hn_quantizer_hint(q, y->name, "_scale"), 2, in,
                             next, err));
    HN_TRY(write_back(q, n, codes, scales->outputs[0], next, &back, err));
    HN_TRY(hn_node_set_i(back, "block_size", g->type.group, err));
    hn_quantizer_hand_over(y, back, rows);
    hn_node_set_input(n, 0, pairs);
    return HONE_OK;
}

/* ---- all of them ---- */

static hone_status write_table(hn_quantizer *q, hn_node *n, hn_value *table, const hn_grid *g,
                               hn_error *err) {
    hn_value *same;
    hn_quantizer_count(q, table->constant, g, false);
    if (q->s->simulate) return hn_quantizer_simulate(q, table, g, &same, err);
    HN_TRY(g->type.bits <= 4 ? write_nibbles(q, n, table, g, err)
                             : write_bytes(q, n, table, g, err));
    hn_quantizer_drop(table);
    return HONE_OK;
}

hone_status hn_quantizer_embeddings(hn_quantizer *q, hn_error *err) {
    for (hn_node *n = q->g->first, *next; n != NULL; n = next) {
        hn_value *table = hn_quantizer_table(n);
        hn_qtype type;
        hn_grid g;
        next = n->next;
        if (table == NULL || !type_of(q, n, table->constant, &type)) continue;
        HN_TRY(add_row(q, n, table->constant, &type, err));
        hone_status status = type.bits < 8 ? hn_grid_create_mse(&g, table->constant, &type, 1, 1,
                                                                NULL, q->pool, q->m->alloc, err)
                                           : hn_grid_create(&g, table->constant, &type, 1, 1,
                                                            q->pool, q->m->alloc, err);
        if (status != HONE_OK && status != HONE_E_NOMEM)
            hn_error_context(err, "table '%s'", table->name);
        HN_TRY(status);
        status = write_table(q, n, table, &g, err);
        hn_grid_deinit(&g);
        HN_TRY(status);
    }
    return HONE_OK;
}
