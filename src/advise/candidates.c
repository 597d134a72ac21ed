#include "advise/candidates.h"

#include <stdio.h>
#include <string.h>

#include "compress/layer_type.h"

static const hn_candidate candidates[] = {
    {"simplified", "fewer nodes, the same arithmetic", "fusion", HN_WHEN_ALWAYS, "f32",
     HN_RANGE_MINMAX, "", true, NULL},
    {"bf16", "weights and activations in bf16", "16 bits", HN_WHEN_ALWAYS, "bf16", HN_RANGE_MINMAX,
     "", false, NULL},
    {"f16", "weights and activations in f16", "16 bits", HN_WHEN_ALWAYS, "f16", HN_RANGE_MINMAX, "",
     false, NULL},
    {"int8", "weights and activations in 8 bits, ranges that hold 99.99 % of the values",
     "int8 static", HN_WHEN_ALWAYS, "int8", HN_RANGE_PERCENTILE, "", false, NULL},
    {"int8-mse", "the same, ranges of least squared error", "int8 static", HN_WHEN_BROKEN, "int8",
     HN_RANGE_MSE, "", false, NULL},
    {"int8-minmax", "the same, ranges that hold all values", "int8 static", HN_WHEN_BROKEN, "int8",
     HN_RANGE_MINMAX, "", false, NULL},
    {"int8-dynamic", "weights in 8 bits, activations by their range in each run", "int8 dynamic",
     HN_WHEN_ALWAYS, "int8-dynamic", HN_RANGE_MINMAX, "", false, NULL},
    {"int8-helped", "int8 with channels equalized and biases corrected", "int8 helpers",
     HN_WHEN_BROKEN, "int8", HN_RANGE_PERCENTILE, "equalize,bias", false, NULL},
    {"int8-rounded",
     "int8 with channels equalized and weights rounded so that outputs suffer least",
     "int8 helpers", HN_WHEN_BROKEN, "int8", HN_RANGE_PERCENTILE, "equalize,adaround", false, NULL},
    {"mixed", "int8 in as many layers as the gate allows", "mixed", HN_WHEN_BROKEN, "f32",
     HN_RANGE_PERCENTILE, "", false, "int8"},
    {"mixed-bf16", "the same, with bf16 in the others", "mixed", HN_WHEN_BROKEN, "bf16",
     HN_RANGE_PERCENTILE, "", false, "int8"},
    {"int8-int4", "int8, with weights in 4 bits in as many layers as bear it", "mixed",
     HN_WHEN_BEST, "int8", HN_RANGE_PERCENTILE, "", false, "w4a8"},
    {"int8-weights", "weights in 8 bits, computed in floats", "weights only", HN_WHEN_ALWAYS,
     "int8-weights", HN_RANGE_MINMAX, "", false, NULL},
    {"int4-weights", "weights in 4 bits, a scale for 64 of them, computed in floats",
     "weights only", HN_WHEN_ALWAYS, "int4", HN_RANGE_MINMAX, "gptq", false, NULL},
    {"int4-dynamic",
     "weights in 4 bits, a scale for 64 of them, activations by their range in each run",
     "int4 dynamic", HN_WHEN_ALWAYS, "int4-dynamic", HN_RANGE_MINMAX, "gptq", false, NULL},
};

const hn_candidate *hn_candidate_at(int i) {
    return i < (int)(sizeof candidates / sizeof *candidates) ? &candidates[i] : NULL;
}

hone_status hn_candidate_recipe(const hn_candidate *c, uint64_t seed, hn_recipe *r, hn_error *err) {
    const hn_layer_type *type;
    HN_TRY(hn_layer_type_find(&type, c->type, err));
    *r = (hn_recipe){.layer = type->layer,
                     .embeddings = type->layer.kind >= HN_LAYER_WEIGHTS,
                     .ranges = c->ranges,
                     .seed = seed};
    snprintf(r->name, sizeof r->name, "%s", c->name);
    for (const char *at = c->methods; *at != '\0'; at += *at == ',') {
        char name[32];
        size_t n = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        const hn_method *m = hn_method_named(name);
        HN_CHECK(err, m != NULL, HONE_E_UNSUPPORTED, "there is no method '%s'", name);
        r->methods[r->n_methods++] = m;
        at += n;
    }
    return HONE_OK;
}
