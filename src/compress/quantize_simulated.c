/* Simulation: what a model with numbers of N bits would answer, in floats, whatever N is and
 * whether or not anything runs it.
 *
 *     w                 the points of its grid that are nearest, as f32
 *     x                 Clip (x, ends of its grid) ─▶ QuantizeLinear ─▶ DequantizeLinear
 *
 * The pair is of the next larger type, which has more codes than the grid; Clip leaves those of the
 * grid. Its ends are points of the grid themselves, so that rounding has no say in it: the numbers
 * are those that a type of N bits would have.
 */
#include "compress/quantizer.h"

hone_status hn_quantizer_simulate(hn_quantizer *q, hn_value *weight, const hn_grid *g,
                                  hn_value **floats, hn_error *err) {
    hn_tensor *codes, *t;
    HN_TRY(hn_grid_codes(g, weight->constant, q->pool, q->m->alloc, &codes, err));
    hone_status status = hn_grid_floats(g, codes, q->pool, q->m->alloc, &t, err);
    hn_tensor_unref(codes);
    HN_TRY(status);
    if (weight->n_uses > 1)
        return hn_quantizer_constant(floats, q, weight->name, "_rounded", t, err);
    hn_value_set_constant(weight, t);
    *floats = weight;
    return HONE_OK;
}

hone_status hn_quantizer_limit(hn_quantizer *q, const hn_value *v, hn_node *before, hn_node **out,
                               hn_error *err) {
    hn_qtype type;
    hn_grid_point p = hn_quantizer_point(q, v, &type);
    hn_value *in[3] = {0};
    int32_t ends[2];
    *out = NULL;
    if (type.bits == hone_dtype_bits(type.dtype)) return HONE_OK;
    hn_qtype_limits(&type, &ends[0], &ends[1]);
    for (int i = 0; i < 2; i++)
        HN_TRY(hn_quantizer_scalar(&in[1 + i], q,
                                   hn_quantizer_hint(q, v->name, i == 0 ? "_least" : "_most"),
                                   HONE_DTYPE_F32, (double)hn_grid_value(p, ends[i]), err));
    return hn_quantizer_node(out, q, "Clip", hn_quantizer_hint(q, v->name, "_limited"), 3, in,
                             before, err);
}
