#include "compress/layer_type.h"

#include <string.h>

#include "base/dtype.h"
#include "compress/transform.h"

#define WEIGHTS_IN                                                                \
    (HN_DTYPE_BIT(U8) | HN_DTYPE_BIT(S8) | HN_DTYPE_BIT(S16) | HN_DTYPE_BIT(U4) | \
     HN_DTYPE_BIT(S4) | HN_DTYPE_BIT(U2) | HN_DTYPE_BIT(S2))
#define ACTIVATIONS_IN (HN_DTYPE_BIT(U8) | HN_DTYPE_BIT(S8) | HN_DTYPE_BIT(U16) | HN_DTYPE_BIT(S16))

enum {
    BITS_NONE = 0,
#define HONE_X(name, number, short_name, onnx_name, bits) BITS_##name = bits,
    HONE_DTYPE_LIST(HONE_X)
#undef HONE_X
};

/* Activations of 4 bits are u8 that use 16 codes: runtimes compute with bytes, and a tensor of 4 bits
 * saves nothing where it only passes from one layer to the next. */
enum {
    STORED_NONE = HONE_DTYPE_NONE,
    STORED_U4 = HONE_DTYPE_U8,
    STORED_U8 = HONE_DTYPE_U8,
    STORED_S8 = HONE_DTYPE_S8,
};

static const hn_layer_type rows[] = {
#define HN_LAYER_TYPE(name_, kind_, weights_, group_, activations_, help_)                     \
    {.name = name_,                                                                            \
     .help = help_,                                                                            \
     .layer = {.kind = HN_LAYER_##kind_,                                                       \
               .weights = {HONE_DTYPE_##weights_, BITS_##weights_, true, true, group_, false}, \
               .activations = {(hone_dtype)STORED_##activations_, BITS_##activations_, false,  \
                               false, 0, false}}},
#include "compress/layer_types.def"
#undef HN_LAYER_TYPE
};

int hn_layer_type_count(void) { return (int)(sizeof rows / sizeof rows[0]); }

const hn_layer_type *hn_layer_type_at(int i) { return &rows[i]; }

const hn_layer_type *hn_layer_type_named(const char *name) {
    for (int i = 0; i < hn_layer_type_count(); i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

hone_status hn_layer_type_find(const hn_layer_type **out, const char *name, hn_error *err) {
    char names[200] = "";
    *out = hn_layer_type_named(name);
    if (*out != NULL) return HONE_OK;
    for (int i = 0; i < hn_layer_type_count(); i++) hn_list_add(names, sizeof names, rows[i].name);
    return HN_FAIL(err, HONE_E_ARG, "type '%s', expected one of: %s", name, names);
}

/* ---- changes ---- */

hn_layer_changes hn_layer_changes_none(void) { return (hn_layer_changes){.group = -1}; }

static hone_dtype narrowest(int bits) {
    return bits <= 2   ? HONE_DTYPE_S2
           : bits <= 4 ? HONE_DTYPE_S4
           : bits <= 8 ? HONE_DTYPE_S8
                       : HONE_DTYPE_S16;
}

static hone_status change_weights(hn_qtype *w, const hn_layer_changes *c, hn_error *err) {
    HN_CHECK(err, c->weights == HONE_DTYPE_NONE || hn_dtype_in(c->weights, WEIGHTS_IN), HONE_E_ARG,
             "weights in %s, expected u8, s8, s16, u4, s4, u2 or s2", hone_dtype_name(c->weights));
    HN_CHECK(err, c->bits >= 0 && c->bits <= 16, HONE_E_ARG, "weights of %d bits, expected 1 to 16",
             c->bits);
    if (c->weights != HONE_DTYPE_NONE) {
        w->dtype = c->weights;
        w->symmetric = hn_dtype_is_signed(w->dtype) || c->symmetric;
    } else if (c->bits > 0) {
        w->dtype = narrowest(c->bits);
    }
    int most = hone_dtype_bits(w->dtype);
    HN_CHECK(err, c->bits <= most, HONE_E_ARG, "weights of %d bits do not fit into %s", c->bits,
             hone_dtype_name(w->dtype));
    w->bits = c->bits > 0 ? c->bits : most;
    if (c->per_tensor) w->per_channel = false;
    if (c->per_tensor) w->group = 0;
    if (c->group >= 0) w->group = c->group;
    HN_CHECK(err, !c->per_tensor || c->group <= 0, HONE_E_ARG,
             "one scale for all of a weight and one for each group of %lld exclude each other",
             (long long)c->group);
    return HONE_OK;
}

/* Of weights that are multiplied in integers. Those of fewer than 8 bits fit anyway. */
static hone_status reduce_range(hn_qtype *w, hn_error *err) {
    HN_CHECK(err, w->dtype != HONE_DTYPE_U8, HONE_E_ARG,
             "weights of reduced range in u8, expected s8");
    if (w->dtype != HONE_DTYPE_S8 || w->bits != 8) return HONE_OK;
    w->bits = 7;
    w->reduced = true;
    return HONE_OK;
}

static hone_status change_activations(hn_qtype *a, const hn_layer_changes *c, hn_error *err) {
    int bits = c->activation_bits;
    hone_dtype t = c->activations;
    HN_CHECK(err, bits == 0 || (bits >= 2 && bits <= 16), HONE_E_ARG,
             "activations of %d bits, expected 2 to 16", bits);
    if (t == HONE_DTYPE_NONE && bits > 0) t = bits <= 8 ? HONE_DTYPE_U8 : HONE_DTYPE_U16;
    if (t != HONE_DTYPE_NONE) *a = (hn_qtype){.dtype = t, .bits = hone_dtype_bits(t)};
    HN_CHECK(err, bits <= a->bits, HONE_E_ARG, "activations of %d bits do not fit into %s", bits,
             hone_dtype_name(t));
    if (bits > 0) a->bits = bits;
    a->symmetric = c->symmetric;
    return HONE_OK;
}

/* Products with ranges found at run time: MatMulInteger takes 8 bits, MatMulNBits groups. */
static hone_status check_dynamic(const hn_qtype *w, hn_error *err) {
    int64_t g = w->group;
    int bits = hone_dtype_bits(w->dtype);
    HN_CHECK(
        err, bits == 8 || (bits == 4 && g > 0), HONE_E_ARG,
        "weights of %d bits%s with activations by their range at run time, expected 8 bits, or "
        "4 in groups",
        w->bits, g > 0 ? " in groups" : "");
    HN_CHECK(err, g == 0 || (g >= 16 && g <= 1 << 20 && (g & (g - 1)) == 0), HONE_E_ARG,
             "groups of %lld with activations by their range at run time, expected a power of 2 "
             "from 16 on",
             (long long)g);
    return HONE_OK;
}

hone_status hn_layer_change(hn_layer_scheme *layer, const hn_layer_changes *c, hn_error *err) {
    hone_dtype t = c->activations;
    HN_CHECK(err, t == HONE_DTYPE_NONE || hn_dtype_in(t, ACTIVATIONS_IN), HONE_E_ARG,
             "activations in %s, expected u8, s8, u16 or s16", hone_dtype_name(t));
    if (layer->weights.dtype != HONE_DTYPE_NONE) HN_TRY(change_weights(&layer->weights, c, err));
    if (c->reduce_range && layer->kind >= HN_LAYER_DYNAMIC)
        HN_TRY(reduce_range(&layer->weights, err));
    if (layer->kind == HN_LAYER_DYNAMIC) return check_dynamic(&layer->weights, err);
    if (layer->kind != HN_LAYER_STATIC) return HONE_OK;
    return change_activations(&layer->activations, c, err);
}
