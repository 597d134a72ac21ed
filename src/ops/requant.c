#include "ops/requant.h"

void hn_requant_table(hone_dtype from, float sx, int64_t zx, hone_dtype to, float sy, int64_t zy,
                      uint8_t table[256]) {
    for (int q = 0; q < 256; q++) {
        float v = (float)((from == HONE_DTYPE_S8 ? (int8_t)q : q) - zx) * sx;
        table[q] = (uint8_t)hn_quantize(to, (double)(v / sy), (double)zy);
    }
}

hone_status hn_want_per_channel(const hn_infer *c, int i, hn_dim n, hn_error *err) {
    if (hn_in_rank(c, i) <= 0) return HONE_OK;
    const hn_shape *s = hn_in_shape(c, i);
    int64_t size, channels;
    if (!hn_dim_is_const(hn_shape_product(c->dims, s, 0, s->rank), &size) || size == 1)
        return HONE_OK;
    char text[128];
    bool fits = n != NULL && s->rank == 1 && (!hn_dim_is_const(n, &channels) || size == channels);
    HN_CHECK(err, fits, HONE_E_SHAPE, "input %d has shape %s, expected one value%s", i,
             hn_shape_text(s, text, sizeof text), n != NULL ? " or one for each channel" : "");
    return HONE_OK;
}
