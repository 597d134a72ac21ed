#include "engine/layers.h"

#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/pattern.h"
#include "engine/engine.h"
#include "engine/lower_quant.h"

const char *hn_layer_name(const hn_node *n) {
    if (n->name[0] != '\0') return n->name;
    const hn_value *y = hn_node_output(n, 0);
    return y != NULL ? y->name : "";
}

static bool matches(const hn_layer *r, const hn_node *n) {
    const char *name = hn_layer_name(n);
    return r->exact ? strcmp(r->name, name) == 0 : hn_pattern_matches(r->name, name);
}

/* The last rule that matches, or NULL. */
static const hn_layer *rule_of(const hn_layers *l, const hn_node *n) {
    for (int i = l->n; n != NULL && i-- > 0;)
        if (matches(&l->rules[i], n)) return &l->rules[i];
    return NULL;
}

hn_layer_precision hn_layers_of(const hn_layers *l, const hn_node *n) {
    const hn_layer *r = rule_of(l, n);
    hn_layer_precision way = r != NULL ? r->way : l->way;
    if (way.as_written && n != NULL && n->written == HONE_DTYPE_BF16)
        way.precision = HN_PRECISION_BF16;
    return way;
}

static const char *const names[] = {
#define HN_X(of, text, error) text,
    HN_PRECISION_LIST(HN_X)
#undef HN_X
        "int8"};

/* Families are named after what they compute with. */
const char *hn_step_precision(const hn_step *s) {
    bool integers = s->family != NULL && strstr(s->family->name, "_q8") != NULL;
    return names[integers ? HN_PRECISION_COUNT_ : (int)s->facts->exactness];
}

bool hn_layer_precision_named(const char *name, size_t n, hn_layer_precision *way) {
    for (int i = 0; i <= HN_PRECISION_COUNT_; i++) {
        if (strlen(names[i]) != n || memcmp(names[i], name, n) != 0) continue;
        bool integers = i == HN_PRECISION_COUNT_;
        *way = (hn_layer_precision){.precision = integers ? HN_PRECISION_F32 : (hn_precision)i,
                                    .no_integers = !integers};
        return true;
    }
    return false;
}

/* Whether some family has a row of that precision, so that allowing it changes anything. */
bool hn_has_kernels(hn_isa isa, hn_precision precision) {
    for (int f = 0; f < hn_n_families; f++)
        for (int i = 0; i < hn_families[f]->n_rows; i++) {
            const hn_kernel *k = hn_families[f]->rows[i];
            if (k->precision == precision && (k->isa & isa) == k->isa) return true;
        }
    return false;
}

hn_layer_precision hn_graph_stored_precision(const hn_graph *g) {
    return (hn_layer_precision){.no_integers = !hn_graph_is_quantized(g), .as_written = true};
}

const char *hn_graph_precision(const hn_graph *g, hn_isa isa) {
    int narrow = 0, wide = 0;
    if (hn_graph_is_quantized(g)) return names[HN_PRECISION_COUNT_];
    for (int i = 0; i < g->n_values && hn_has_kernels(isa, HN_PRECISION_BF16); i++) {
        const hn_value *v = g->values[i];
        const hn_tensor *t = v->constant;
        if (v->dead || t == NULL || t->rank < 2 || !hn_dtype_is_float(t->dtype)) continue;
        if (t->dtype == HONE_DTYPE_BF16)
            narrow++;
        else
            wide++;
    }
    if (narrow > 0 && wide > 0) return "mixed";
    return names[narrow > 0 ? HN_PRECISION_BF16 : HN_PRECISION_F32];
}

const char *hn_precisions_name(uint32_t used, bool told_apart) {
    int least = HN_PRECISION_COUNT_ - 1;
    while (least > HN_PRECISION_F32 && (used >> least & 1) == 0) least--;
    return told_apart && (used & (used - 1)) != 0 ? "mixed" : names[least];
}

/* ---- why ---- */

/* Why no row as inexact as the step allows computes it: the reason of the last that could have. */
static const char *why_more_exact(const hn_step *s, hn_isa isa) {
    const char *why = s->precision == HN_PRECISION_BF16 ? "no kernel here multiplies bf16"
                                                        : "no kernel here is less exact than f32",
               *refusal;
    for (int i = 0; i < s->family->n_rows; i++) {
        const hn_kernel *k = s->family->rows[i];
        if (k->precision == s->precision && (k->isa & isa) == k->isa &&
            !hn_kernel_serves(k, (hn_allowed){.isa = isa, .precision = s->precision}, s->problem,
                              &refusal))
            why = refusal;
    }
    return why;
}

const char *hn_layers_explain(const hn_layers *l, const hn_step *s, hn_isa isa, hn_arena *arena) {
    const hn_layer *r = rule_of(l, s->facts->maker);
    bool own = r == NULL && l->way.as_written;
    const char *allowed = names[s->precision];
    char text[300];
    if (strcmp(hn_step_precision(s), names[HN_PRECISION_COUNT_]) == 0)
        return "integers in the model";
    if (own && s->facts->maker != NULL && s->facts->maker->written == HONE_DTYPE_F16)
        return "f16 in the model; no kernel here multiplies f16, and bf16 would lose bits";
    int n = r != NULL
                ? snprintf(text, sizeof text, "%s by the rule for '%.100s'", allowed, r->name)
                : snprintf(text, sizeof text, "%s %s", allowed, own ? "in the model" : "asked for");
    if (s->facts->exactness < s->precision)
        snprintf(text + n, sizeof text - (size_t)n, "; %.150s", why_more_exact(s, isa));
    return hn_arena_strdup(arena, text);
}

/* ---- rules ---- */

hone_status hn_layers_read(const char *text, hn_allocator *alloc, hn_layer **rules, int *n,
                           hn_error *err) {
    size_t most = 1, bytes = strlen(text) + 1;
    for (const char *c = text; *c != '\0'; c++) most += *c == ',';
    hn_layer *all = hn_alloc_zero(alloc, most * sizeof *all + bytes, HN_MEM_OTHER);
    if (all == NULL) return HN_NOMEM(err);
    char *at = memcpy(all + most, text, bytes);
    *n = 0;
    for (bool last = false; !last;) {
        char *end = at + strcspn(at, ",");
        last = *end == '\0';
        *end = '\0';
        char *colon = strrchr(at, ':');
        hn_layer *r = &all[(*n)++];
        r->name = at;
        if (colon == NULL || colon == at ||
            !hn_layer_precision_named(colon + 1, strlen(colon + 1), &r->way)) {
            hone_status status =
                HN_FAIL(err, HONE_E_ARG,
                        "'%.200s' is no precision for layers, expected PATTERN:PRECISION with f32, "
                        "f32-relaxed, bf16 or int8",
                        at);
            hn_free(alloc, all);
            return status;
        }
        *colon = '\0';
        at = end + 1;
    }
    *rules = all;
    return HONE_OK;
}

hone_status hn_layers_check(const hn_layers *l, const hn_model *m, hn_error *err) {
    for (int i = 0; i < l->n; i++) {
        const hn_layer *r = &l->rules[i];
        bool any = false, quantized = false;
        for (int k = 0; k < m->n_graphs; k++)
            for (const hn_node *n = m->graphs[k]->first; n != NULL; n = n->next) {
                if (!matches(r, n)) continue;
                any = true;
                quantized = quantized || hn_node_is_quantized(n);
            }
        HN_CHECK(err, any, HONE_E_ARG,
                 "no node is called '%.200s'; hone profile --without fuse lists their names",
                 r->name);
        HN_CHECK(err, quantized || r->way.no_integers, HONE_E_ARG,
                 "'%.200s' is to run in int8, but no node of that name reads quantized values",
                 r->name);
    }
    return HONE_OK;
}
