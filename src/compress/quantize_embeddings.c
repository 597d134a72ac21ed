/* Tables of embeddings in bytes:
 *
 *     y = Gather (table, ids)      becomes      r = Gather (codes, ids)
 *                                               y = DequantizeLinear <axis = -1> (r, scale)
 *
 * Only the rows that are asked for become floats. There is a scale for each column: it belongs to
 * the last axis whatever the ids are. Bytes whatever the layers become, since 4-bit rows cannot be
 * taken out of a table by standard operators that are fast anywhere.
 *
 * Fires for constant f32 matrices of which Gather takes rows and that nothing else uses; not for
 * small ones, which are shapes and flags as often as tables.
 */
#include "compress/quantizer.h"
#include "engine/layers.h"
#include "passes/pass.h"

#define LEAST_ELEMENTS 1024

static const hn_qtype bytes = {
    .dtype = HONE_DTYPE_S8, .bits = 8, .symmetric = true, .per_channel = true};

static hn_value *table_of(const hn_node *n) {
    if (!hn_is(n, "Gather") || hn_attr_i(n, "axis") != 0) return NULL;
    const hn_tensor *t = hn_const_in(n, 0);
    if (t == NULL || t->dtype != HONE_DTYPE_F32 || t->rank != 2 || t->n < LEAST_ELEMENTS)
        return NULL;
    return hn_used_once(hn_node_input(n, 0)) ? hn_node_input(n, 0) : NULL;
}

static hone_status add_row(hn_quantizer *q, const hn_node *n, const hn_tensor *table,
                           hn_error *err) {
    q->row = NULL;
    if (q->report == NULL) return HONE_OK;
    hn_quantized_layer *row = &q->report->v[q->report->n];
    *row = (hn_quantized_layer){.node = hn_arena_strdup(&q->report->arena, hn_layer_name(n)),
                                .op = "Gather",
                                .kind = HN_LAYER_WEIGHTS,
                                .weights = "s8 per column",
                                .params = table->n,
                                .bytes_before = (int64_t)table->bytes};
    if (row->node == NULL) return HN_NOMEM(err);
    q->report->n++;
    q->row = row;
    return HONE_OK;
}

static hone_status write_table(hn_quantizer *q, hn_node *n, hn_value *table, const hn_grid *g,
                               hn_error *err) {
    hn_value *y = n->outputs[0], *codes, *in[2] = {0};
    const char *name = table->name;
    hn_tensor *t;
    hn_node *back;
    HN_TRY(hn_grid_codes(g, table->constant, q->m->alloc, &t, err));
    HN_TRY(hn_quantizer_constant(&codes, q, name, "_codes", t, err));
    HN_TRY(hn_value_create(&in[0], q->g, NULL, hn_quantizer_hint(q, y->name, "_codes"), err));
    HN_TRY(hn_quantizer_constant(&in[1], q, name, "_scale", hn_tensor_ref(g->scale), err));
    HN_TRY(hn_quantizer_node(&back, q, "DequantizeLinear",
                             hn_quantizer_hint(q, name, "_dequantized"), 2, in, n->next, err));
    HN_TRY(hn_node_set_i(back, "axis", -1, err));
    hn_quantizer_hand_over(y, back, in[0]);
    hn_node_set_input(n, 0, codes);
    hn_quantizer_count(q, table->constant, g);
    hn_quantizer_drop(table);
    return HONE_OK;
}

hone_status hn_quantizer_embeddings(hn_quantizer *q, hn_error *err) {
    for (hn_node *n = q->g->first; n != NULL; n = n->next) {
        hn_value *table = table_of(n);
        hn_grid g;
        if (table == NULL) continue;
        HN_TRY(add_row(q, n, table->constant, err));
        hone_status status = hn_grid_create(&g, table->constant, &bytes, 1, 0, q->m->alloc, err);
        if (status != HONE_OK && status != HONE_E_NOMEM)
            hn_error_context(err, "table '%s'", table->name);
        HN_TRY(status);
        status = write_table(q, n, table, &g, err);
        hn_grid_deinit(&g);
        HN_TRY(status);
    }
    return HONE_OK;
}
