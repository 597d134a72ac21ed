#include "advise/runtimes.h"

#include <string.h>

#include "ops/nodes.h"

static const hn_rule rules[] = {
#define HN_RULE(runtime, type, gain, products, why) {runtime, type, HN_RULE_##gain, products, why},
#include "advise/runtimes.def"
#undef HN_RULE
};

static const hn_rule unknown = {"", "", HN_RULE_NO, false, "nothing is known of it there"};

static const hn_rule *rule_of(const char *runtime, const char *type) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].runtime, runtime) == 0 && strcmp(rules[i].type, type) == 0)
            return &rules[i];
    return &unknown;
}

const hn_rule *hn_rule_of(const char *runtime, const hn_recipe *r) {
    const char *type = hn_recipe_word(r, "type"), *mix = hn_recipe_word(r, "mix");
    const hn_rule *whole = rule_of(runtime, type != NULL ? type : "f32");
    if (mix == NULL || whole->gain == HN_RULE_NO) return whole;
    const hn_rule *some = rule_of(runtime, mix);
    return some->gain == HN_RULE_NO || some->gain > whole->gain ? some : whole;
}

/* Elements of the constant that a node multiplies by; 0: none. */
static double weights_of(const hn_node *n) {
    const hn_value *w = hn_node_input(n, 1);
    return w != NULL && w->constant != NULL ? (double)w->constant->n : 0;
}

bool hn_rule_is_of_products(const hn_graph *g) {
    double products = 0, others = 0;
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        bool product = hn_weight_kind_of(n) == HN_WEIGHT_MATRIX;
        *(product ? &products : &others) += weights_of(n);
    }
    return products > others;
}
