#include "advise/candidates.h"

#include <stdio.h>

#define HEAD "hone recipe 2; samples 0; simplify; "
#define INT8 "quantize type=int8 embeddings ranges="
/* What is trained looks at some of the samples it is trained on. How long it is trained, and by what
 * goal, is settled when its turn comes. */
#define TRAINED "hone recipe 2; samples 512; simplify; "

/* clang-format off */
static const hn_candidate candidates[] = {
    {"simplified", "fewer nodes, the same arithmetic", "fusion", HN_WHEN_ALWAYS,
     HEAD, true},
    {"bf16", "weights and activations in bf16", "16 bits", HN_WHEN_ALWAYS,
     HEAD "convert type=bf16", false},
    {"f16", "weights and activations in f16", "16 bits", HN_WHEN_ALWAYS,
     HEAD "convert type=f16", false},
    {"int8", "weights and activations in 8 bits, ranges that hold 99.99 % of the values", "int8 static", HN_WHEN_ALWAYS,
     HEAD INT8 "percentile", false},
    {"int8-7bit", "int8 with weights of 7 bits, which this CPU multiplies faster", "int8 static", HN_WHEN_7_BITS_GAIN,
     HEAD INT8 "percentile reduce-range", false},
    {"int8-mse", "int8, ranges of least squared error", "int8 static", HN_WHEN_BROKEN,
     HEAD INT8 "mse", false},
    {"int8-minmax", "int8, ranges that hold all values", "int8 static", HN_WHEN_BROKEN,
     HEAD INT8 "minmax", false},
    {"int8-dynamic", "weights in 8 bits, activations by their range in each run", "int8 dynamic", HN_WHEN_ALWAYS,
     HEAD "quantize type=int8-dynamic embeddings", false},
    {"dynamic-7bit", "int8-dynamic with weights of 7 bits, which this CPU multiplies faster", "int8 dynamic", HN_WHEN_7_BITS_GAIN,
     HEAD "quantize type=int8-dynamic embeddings reduce-range", false},
    {"int8-helped", "int8 with channels equalized and biases corrected", "int8 helpers", HN_WHEN_BROKEN,
     HEAD "equalize; " INT8 "percentile; bias", false},
    {"int8-rounded", "int8 with channels equalized and weights rounded so that outputs suffer least", "int8 helpers", HN_WHEN_BROKEN,
     HEAD "equalize; adaround; " INT8 "percentile", false},
    {"mixed", "int8 in as many layers as the gate allows", "mixed", HN_WHEN_BROKEN,
     HEAD "quantize type=f32 mix=int8 ranges=percentile", false},
    {"mixed-bf16", "the same, with bf16 in the others", "mixed", HN_WHEN_BROKEN,
     HEAD "quantize type=bf16 mix=int8 ranges=percentile", false},
    {"int8-int4", "int8, with weights in 4 bits in as many layers as bear it", "mixed", HN_WHEN_BEST,
     HEAD INT8 "percentile mix=w4a8", false},
    {"int8-weights", "weights in 8 bits, computed in floats", "weights only", HN_WHEN_ALWAYS,
     HEAD "quantize type=int8-weights embeddings", false},
    {"int4-weights", "weights in 4 bits, a scale for 64 of them, computed in floats", "weights only", HN_WHEN_ALWAYS,
     HEAD "gptq; quantize type=int4 embeddings", false},
    {"int4-dynamic", "weights in 4 bits, a scale for 64 of them, activations by their range in each run", "int4 dynamic", HN_WHEN_ALWAYS,
     HEAD "gptq; quantize type=int4-dynamic embeddings", false},
    {"int8-qat", "int8, trained with its numbers rounded", "int8 helpers", HN_WHEN_TRAINED_BROKEN,
     TRAINED "qat; " INT8 "percentile", false},
    {"channels-30", "30 % of the channels gone, trained, then int8", "prune channels", HN_WHEN_TRAINED,
     TRAINED "prune kind=channels sparsity=0.3 compensate; train; " INT8 "percentile", false},
    {"blocks-60", "blocks gone until 60 % of the multiply-accumulates are left, trained, then int8", "prune channels", HN_WHEN_TRAINED,
     TRAINED "prune kind=residuals max-macs=60%; train; " INT8 "percentile", false},
    {"heads-25", "25 % of the attention heads gone, trained, then int8", "prune channels", HN_WHEN_TRAINED,
     TRAINED "prune kind=heads sparsity=0.25 compensate; train; " INT8 "percentile", false},
    {"channels-50", "half of the channels gone, trained, then int8", "prune channels", HN_WHEN_TRAINED,
     TRAINED "prune kind=channels sparsity=0.5 compensate; train; " INT8 "percentile", false},
    {"sparse-80", "80 % of the weights 0, trained, then int8", "prune weights", HN_WHEN_TRAINED,
     TRAINED "prune sparsity=0.8 scope=global; train; " INT8 "percentile", false},
    {"low-rank", "layers of lower rank, trained, then int8", "low rank", HN_WHEN_TRAINED,
     TRAINED "factorize energy=0.9; train; " INT8 "percentile", false},
    {"w4a8-qat", "weights in 4 bits and activations in 8, trained with their numbers rounded", "int4 dynamic", HN_WHEN_TRAINED,
     TRAINED "qat; quantize type=w4a8 embeddings ranges=percentile", false},
};
/* clang-format on */

const hn_candidate *hn_candidate_at(int i) {
    return i < (int)(sizeof candidates / sizeof *candidates) ? &candidates[i] : NULL;
}

hone_status hn_candidate_recipe(const hn_candidate *c, uint64_t seed, hn_arena *arena, hn_recipe *r,
                                hn_compress_plan *plan, hn_error *err) {
    HN_TRY(hn_recipe_read(r, c->recipe, arena, err));
    r->seed = seed;
    snprintf(r->name, sizeof r->name, "%s", c->name);
    return hn_compress_plan_make(plan, r, err);
}
