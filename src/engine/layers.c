#include "engine/layers.h"

#include <fnmatch.h>
#include <string.h>

#include "base/dtype.h"
#include "engine/engine.h"
#include "engine/lower_quant.h"

const char *hn_layer_name(const hn_node *n) {
    if (n->name[0] != '\0') return n->name;
    const hn_value *y = hn_node_output(n, 0);
    return y != NULL ? y->name : "";
}

static bool matches(const hn_layer *r, const hn_node *n) {
    const char *name = hn_layer_name(n);
    return r->exact ? strcmp(r->name, name) == 0 : fnmatch(r->name, name, 0) == 0;
}

hn_way hn_layers_of(const hn_layers *l, const hn_node *n) {
    for (int i = l->n; n != NULL && i-- > 0;)
        if (matches(&l->rules[i], n)) return l->rules[i].way;
    return l->way;
}

static const char *const names[] = {
#define HN_X(of, text, error) text,
    HN_PRECISION_LIST(HN_X)
#undef HN_X
        "int8"};

/* Families are named after what they compute with. */
const char *hn_step_precision(const hn_step *s) {
    bool integers = s->family != NULL && strstr(s->family->name, "_q8") != NULL;
    return names[integers ? HN_PRECISION_COUNT_ : (int)s->exactness];
}

bool hn_way_named(const char *name, size_t n, hn_way *way) {
    for (int i = 0; i <= HN_PRECISION_COUNT_; i++) {
        if (strlen(names[i]) != n || memcmp(names[i], name, n) != 0) continue;
        bool integers = i == HN_PRECISION_COUNT_;
        *way = (hn_way){integers ? HN_PRECISION_F32 : (hn_precision)i, !integers};
        return true;
    }
    return false;
}

const char *hn_way_name(hn_way way) {
    return names[way.no_integers ? (int)way.precision : HN_PRECISION_COUNT_];
}

/* Whether some family has a row of that precision, so that allowing it changes anything. */
static bool has_rows(hn_isa isa, hn_precision precision) {
    for (int f = 0; f < hn_n_families; f++)
        for (int i = 0; i < hn_families[f]->n_rows; i++) {
            const hn_kernel *k = hn_families[f]->rows[i];
            if (k->precision == precision && (k->isa & isa) == k->isa) return true;
        }
    return false;
}

static bool holds_bf16(const hn_graph *g) {
    bool any = false;
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        const hn_tensor *t = v->constant;
        if (v->dead || t == NULL || t->rank < 2 || !hn_dtype_is_float(t->dtype)) continue;
        if (t->dtype != HONE_DTYPE_BF16) return false;
        any = true;
    }
    return any;
}

hn_way hn_graph_way(const hn_graph *g, hn_isa isa) {
    bool narrow = holds_bf16(g) && has_rows(isa, HN_PRECISION_BF16);
    return (hn_way){narrow ? HN_PRECISION_BF16 : HN_PRECISION_F32, !hn_graph_is_quantized(g)};
}

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
        if (colon == NULL || colon == at || !hn_way_named(colon + 1, strlen(colon + 1), &r->way)) {
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
