/* Candidates whose layers have types of their own: what int8 as a whole broke stays in floats, f32
 * or bf16, where that helps most, and what int8 bears easily gets fewer bits still
 * (compress/mixed.h).
 *
 * Models on the way are judged as candidates are, on the samples that choose. Of many that are
 * tried the luckiest is taken, so a mix that makes a model smaller than int8, which loses next to
 * nothing, may lose but half of what the gate allows: the other half is for what luck hides. */
#include "advise/search.h"

#define SHARE_OF_GATE 0.5

/* An error counts downwards. */
static hone_status score(void *ctx, const hn_model *m, double *value, hn_error *err) {
    hn_search_state *s = ctx;
    hn_program *p;
    hn_quality q;
    hn_run_options how = hn_run_options_for(&s->o.how, m);
    HN_TRY(hn_program_create(&p, m, &how, err));
    hone_status status = hn_quality_measure(&s->judge, p, s->parts.choose, &q, err);
    hn_program_destroy(p);
    if (status == HONE_OK) *value = q.lower_better ? -q.value : q.value;
    return status;
}

hn_type_search hn_search_types(hn_search_state *s, const hn_layer_type *base) {
    double whole = s->out->lower_better ? -s->trials[0].quality.value : s->trials[0].quality.value;
    hn_layer_kind kind = base->layer.kind;
    bool floats = kind == HN_LAYER_F32 || kind == HN_LAYER_BF16;
    double allowed = floats ? s->gate : SHARE_OF_GATE * s->gate;
    return (hn_type_search){.base = kind == HN_LAYER_F32 ? NULL : base,
                            .score = score,
                            .score_ctx = s,
                            .least = hn_gate_bound(whole, allowed, false, false)};
}
