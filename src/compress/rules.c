#include "compress/rules.h"

#include <stdio.h>
#include <string.h>

#include "base/pattern.h"
#include "compress/place.h"
#include "compress/quantizer.h"
#include "compress/transform.h"
#include "engine/layers.h"
#include "ops/nodes.h"

#define SHOWN 3 /* names in a message */

/* ---- nearest names ---- */

/* Letters to insert, delete or replace so that a becomes b. */
static int edits(const char *a, const char *b) {
    enum { MOST = 64 };
    int row[MOST + 1];
    int n = (int)strnlen(b, MOST);
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int corner = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            int least = corner < row[j - 1] ? corner + 1 : row[j - 1] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[n];
}

/* The layers whose names are nearest to a pattern, nearest first. */
static void nearest(const hn_graph *g, const char *pattern, char *text, size_t size) {
    const char *best[SHOWN] = {NULL};
    int distance[SHOWN] = {0}, n = 0;
    for (const hn_node *node = g->first; node != NULL; node = node->next) {
        if (!hn_has_weights(node) && !hn_reads_matrix(node)) continue;
        const char *name = hn_layer_name(node);
        int d = edits(pattern, name), at = n;
        while (at > 0 && d < distance[at - 1]) at--;
        if (at == SHOWN) continue;
        n = n < SHOWN ? n + 1 : n;
        for (int k = n - 1; k > at; k--) best[k] = best[k - 1], distance[k] = distance[k - 1];
        best[at] = name;
        distance[at] = d;
    }
    for (int k = 0; k < n; k++) hn_list_add(text, size, best[k]);
}

/* ---- rules ---- */

/* The type of the rule changes n; else *why it does not. */
static bool holds_for(hn_node *n, const hn_scheme *rule, bool embeddings, const char **why) {
    hn_weighted w[2];
    hn_layer_kind kind = rule->rules[0].layer.kind;
    *why = "no type quantizes its operator";
    if (kind < HN_LAYER_WEIGHTS) return true;
    if (embeddings && hn_quantizer_table(n) != NULL) return true;
    hn_role role = hn_def_of(n)->role;
    if (kind == HN_LAYER_STATIC && role != HN_ROLE_NONE && role != HN_ROLE_PRODUCT) return true;
    const char *found = NULL;
    if (hn_weights_of(n, rule, w, &found) > 0) return true;
    if (found != NULL) *why = found;
    return false;
}

static hone_status check_rule(const hn_graph *g, const hn_scheme *rule, bool embeddings,
                              hn_error *err) {
    const char *pattern = rule->rules[0].name;
    char text[400] = "";
    int matched = 0;
    for (hn_node *n = g->first; n != NULL; n = n->next) {
        const char *why, *name = hn_layer_name(n);
        if (!hn_pattern_matches(pattern, name)) continue;
        if (holds_for(n, rule, embeddings, &why)) return HONE_OK;
        char one[160];
        snprintf(one, sizeof one, "%.60s (%s: %s)", name, n->op_type, why);
        if (matched++ < SHOWN) hn_list_add(text, sizeof text, one);
    }
    HN_CHECK(err, matched == 0, HONE_E_ARG,
             "the type given to '%s' quantizes none of the %d node%s of that name: %s%s", pattern,
             matched, matched == 1 ? "" : "s", text, matched > SHOWN ? " ..." : "");
    nearest(g, pattern, text, sizeof text);
    return HN_FAIL(err, HONE_E_ARG, "no node of the simplified model is called '%s'%s%s", pattern,
                   text[0] != '\0' ? "; the nearest layers are " : "", text);
}

hone_status hn_rules_check(const hn_graph *g, const hn_scheme *s, hn_error *err) {
    for (int i = 0; i < s->n_rules; i++) {
        hn_scheme one = {.n_rules = 1, .rules = &s->rules[i], .target = s->target};
        HN_TRY(check_rule(g, &one, s->embeddings, err));
    }
    return HONE_OK;
}
