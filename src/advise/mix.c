/* The candidate that gives each layer the fewest bits it bears: what int8 as a whole broke, it
 * keeps in floats where that helps most (compress/mixed.h). */
#include "advise/search.h"
#include "compress/mixed.h"

typedef struct mixing {
    hn_search_state *s;
    hn_compressed simple;
    hn_feed *feed;
    hn_calibration *calibration;
    hn_mixed mixed;
} mixing;

/* Models are judged as candidates are; an error counts downwards. */
static hone_status score(void *ctx, const hn_model *m, double *value, hn_error *err) {
    hn_search_state *s = ctx;
    hn_program *p;
    hn_quality q;
    hn_how how = hn_how_for(&s->o.how, m);
    HN_TRY(hn_program_create(&p, m, &how, err));
    hone_status status = hn_quality_measure(&s->judge, p, s->parts.choose, &q, err);
    hn_program_destroy(p);
    if (status == HONE_OK) *value = q.lower_better ? -q.value : q.value;
    return status;
}

static hone_status calibrate(mixing *x, hn_range_method ranges, hn_error *err) {
    hn_search_state *s = x->s;
    const char *const *names;
    int n;
    hn_calibrate_options o = {.method = ranges, .progress = hn_search_progress, .progress_ctx = s};
    HN_TRY(hn_mixed_watches(x->simple.model, s->arena, &names, &n, err));
    HN_TRY(hn_feed_create(&x->feed, x->simple.model->graph, s->parts.calibrate, 0, s->alloc, err));
    return hn_calibrate(&x->calibration, x->simple.model, names, n, x->feed, &s->o.how, &o,
                        s->alloc, err);
}

static hone_status choose(mixing *x, hn_error *err) {
    hn_search_state *s = x->s;
    const hn_layer_type *type = hn_layer_type_named("int8");
    hn_scheme scheme = {.target = hn_quant_target_named("hone")};
    double whole = s->trials[0].quality.value;
    hn_mixed_options o = {.n_types = 1,
                          .types = &type,
                          .scheme = &scheme,
                          .calibration = x->calibration,
                          .feed = x->feed,
                          .how = &s->o.how,
                          .score = score,
                          .score_ctx = s,
                          .least = (s->out->lower_better ? -whole : whole) - s->gate,
                          .progress = hn_search_progress,
                          .progress_ctx = s};
    return hn_mixed_choose(&x->mixed, x->simple.model, &o, s->alloc, err);
}

/* The rules, which then are the recipe's. */
static hone_status keep(mixing *x, hn_recipe *r, hn_error *err) {
    hn_arena *arena = x->s->arena;
    r->rules = hn_arena_array(arena, (size_t)x->mixed.n_rules, sizeof *r->rules);
    if (r->rules == NULL) return HN_NOMEM(err);
    for (int i = 0; i < x->mixed.n_rules; i++) {
        r->rules[i] = x->mixed.rules[i];
        r->rules[i].name = hn_arena_strdup(arena, x->mixed.rules[i].name);
        if (r->rules[i].name == NULL) return HN_NOMEM(err);
    }
    r->n_rules = x->mixed.n_rules;
    return HONE_OK;
}

hone_status hn_search_mix(hn_search_state *s, hn_recipe *r, hn_error *err) {
    mixing x = {.s = s};
    hn_recipe simple = {.seed = s->o.seed};
    hn_kitchen k = {.model = s->original, .how = s->o.how, .alloc = s->alloc};
    hn_search_doing(s, r->name, "which layers");
    hone_status status = hn_recipe_apply(&simple, &k, &x.simple, err);
    if (status == HONE_OK) status = calibrate(&x, r->ranges, err);
    if (status == HONE_OK) status = choose(&x, err);
    if (status == HONE_OK) status = keep(&x, r, err);
    hn_mixed_deinit(&x.mixed);
    hn_calibration_destroy(x.calibration);
    hn_feed_destroy(x.feed);
    hn_compressed_deinit(&x.simple);
    return status;
}
