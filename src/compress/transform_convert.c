/* Layers in f16 or bf16 (convert.h), by the types of a scheme. What came in 16 bits, was f32 meanwhile
 * and stays in floats goes back to its 16 bits. */
#include <string.h>

#include "compress/compression.h"
#include "compress/convert.h"

/* ---- parameters ---- */

const hn_parameter hn_params_convert[] = {
    {.name = "type", .kind = HN_PARAM_TYPE, .help = "of all layers that no rule names: f16, bf16"},
    {.name = "io", .kind = HN_PARAM_FLAG, .help = "inputs and outputs have the type as well"},
    {.name = "layer", .kind = HN_PARAM_LAYER, .help = "the type of some layers: f16, bf16, f32"},
    {0},
};

static hone_status read_type(const hn_recipe_step *s, const char *type, hn_layer_scheme *out,
                             hn_error *err) {
    (void)s;
    *out = hn_layer_type_named(type)->layer;
    HN_CHECK(err, out->kind <= HN_LAYER_BF16, HONE_E_ARG,
             "type '%s' is for 'quantize', expected f16, bf16 or f32", type);
    return HONE_OK;
}

hone_status hn_plan_convert(hn_compress_plan *p, const hn_recipe_step *s, hn_error *err) {
    const char *type = hn_step_word(s, "type");
    HN_CHECK(err, type != NULL, HONE_E_ARG, "type is not set, expected type=f16 or type=bf16");
    HN_TRY(read_type(s, type, &p->scheme.layer, err));
    p->scheme.integer_io = hn_step_flag(s, "io");
    return hn_plan_rules(p, s, "layer", read_type, &p->scheme.n_rules, err);
}

/* ---- the report ---- */

/* The row of what stays in floats, which may be there with the reason; or a new one. */
static hn_quantized_layer *row_of(hn_quantize_report *r, const char *node) {
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->v[i].node, node) == 0) return &r->v[i];
    return &r->v[r->n++];
}

/* Rows of what was converted behind those of what was quantized. What came in 16 bits and could not
 * be quantized keeps the reason. */
static hone_status join(hn_quantize_report *r, const hn_conversion *c, bool widened,
                        hn_error *err) {
    size_t n = (size_t)r->n + (size_t)c->n;
    hn_quantized_layer *v = hn_arena_array(&r->arena, n + 1, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    if (r->n > 0) memcpy(v, r->v, (size_t)r->n * sizeof *v);
    r->v = v;
    for (int i = 0; i < c->n; i++) {
        const hn_converted *from = &c->v[i];
        if (from->type == HONE_DTYPE_F32 && from->why_not == NULL) continue;
        bool left = from->type == HONE_DTYPE_F32, half = from->type == HONE_DTYPE_F16;
        hn_quantized_layer *to = row_of(r, from->node);
        const char *kept = widened ? to->why_not : NULL;
        *to = (hn_quantized_layer){.kind = left   ? HN_LAYER_F32
                                           : half ? HN_LAYER_F16
                                                  : HN_LAYER_BF16,
                                   .params = from->params,
                                   .bytes_before = from->bytes_before,
                                   .bytes_after = from->bytes_after};
        to->node = hn_arena_strdup(&r->arena, from->node);
        to->op = hn_arena_strdup(&r->arena, from->op);
        if (left) to->why_not = hn_arena_strdup(&r->arena, from->why_not);
        if (to->node == NULL || to->op == NULL || (left && to->why_not == NULL))
            return HN_NOMEM(err);
        if (kept != NULL) to->why_not = kept;
        if (!left) {
            to->activations = hone_dtype_name(from->type);
            if (to->params > 0) to->weights = to->activations;
        }
        if (!left && kept == NULL) {
            r->weights += to->params;
            r->weight_bits += 8 * to->bytes_after;
        }
    }
    return HONE_OK;
}

/* What came in 16 bits and stays in floats. */
typedef struct left_over {
    const hn_scheme *scheme;
    bool all; /* nothing is quantized: everything goes back to them, not weights alone */
} left_over;

static hone_dtype float_type(void *ctx, const hn_node *n) {
    const left_over *l = ctx;
    bool named;
    hone_dtype type = hn_scheme_float((void *)(uintptr_t)l->scheme, n);
    if (type != HONE_DTYPE_F32 || !l->all || n->written == HONE_DTYPE_NONE) return type;
    bool kept = hn_scheme_of(l->scheme, n, &named).kind == HN_LAYER_F32 && named;
    return kept ? type : n->written;
}

static bool is_untouched(const hn_quantize_report *r) {
    for (int i = 0; i < r->n; i++)
        if (r->v[i].kind != HN_LAYER_F32) return false;
    return true;
}

hone_status hn_transform_convert(hn_transform_ctx *c, hn_error *err) {
    hn_conversion done;
    hn_layer_kind kind = c->scheme->layer.kind;
    left_over left = {c->scheme, is_untouched(c->report)};
    hn_convert_options o = {.type = float_type, .ctx = &left};
    if (!c->widened && !hn_scheme_wants(c->scheme, HN_LAYER_F16, HN_LAYER_BF16)) return HONE_OK;
    if (c->scheme->integer_io && kind == HN_LAYER_F16) o.io = HONE_DTYPE_F16;
    if (c->scheme->integer_io && kind == HN_LAYER_BF16) o.io = HONE_DTYPE_BF16;
    hone_status status = hn_convert(c->model, &o, &done, err);
    if (status == HONE_OK) status = join(c->report, &done, c->widened, err);
    for (int i = 0; i < done.n && status == HONE_OK; i++)
        c->changed += done.v[i].type != HONE_DTYPE_F32;
    hn_conversion_deinit(&done);
    for (hn_node *n = c->model->graph->first; n != NULL; n = n->next) n->written = HONE_DTYPE_NONE;
    return status;
}
