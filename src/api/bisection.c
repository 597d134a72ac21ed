#include <math.h>

#include "api/api.h"
#include "compress/bisect.h"

/* Runs that steps are ranked and outputs judged on. */
#define MOST_RUNS 16

HN_DEFINE_OPTIONS(bisect, .min_sqnr_db = 30, .max_error = INFINITY)

typedef struct own {
    hn_bisection search;
    hn_allocator alloc;
    hn_arena arena;
    hone_model *models[2]; /* whose names are pointed to */
    hn_api_source source;
} own;

void hone_bisection_destroy(hone_bisection *b) {
    if (b == NULL) return;
    own *w = b->owner;
    hn_bisection_deinit(&w->search);
    hn_arena_deinit(&w->arena);
    for (int i = 0; i < 2; i++) hn_api_model_unref(w->models[i]);
    hn_shown_free(b, &w->search.result);
    hn_free(hn_allocator_default(), w);
}

hone_status hone_session_bisect_sized(hone_session *a, hone_session *b, const hone_samples *given,
                                      const hone_bisect_options *options, hone_bisection **out,
                                      const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(bisection, steps, n_steps, bisect_step)};
    hone_session *const sessions[2] = {a, b};
    hn_api_samples taken;
    hone_bisect_options o;
    HN_TRY(HN_TAKE_OPTIONS(bisect, &o, options, err));
    HN_TRY(hn_api_take_samples(&taken, given, hn_api_session_model(a), caller, err));
    own *w = hn_alloc_zero(hn_allocator_default(), sizeof *w, HN_MEM_OTHER);
    if (w == NULL) return HN_NOMEM(err);
    hn_allocator_init(&w->alloc);
    hn_arena_init(&w->arena, &w->alloc, HN_MEM_OTHER);
    w->search = (hn_bisection){.result = {.size = sizeof w->search.result, .owner = w},
                               .limits = o,
                               .data = o.data != NULL ? o.data->data : NULL,
                               .alloc = &w->alloc,
                               .arena = &w->arena};
    hone_eval_options_init(&w->search.eval);
    for (int i = 0; i < 2; i++) {
        w->models[i] = hn_api_session_model(sessions[i]);
        atomic_fetch_add(&w->models[i]->refs, 1);
        w->search.models[i] = w->models[i]->ir;
        w->search.how[i] = hn_api_session_run_options(sessions[i]);
    }
    w->source = (hn_api_source){&taken.own, w->models[0], &w->alloc};
    int64_t runs = (taken.own.count + taken.own.batch - 1) / taken.own.batch;
    w->search.samples =
        (hn_sample_source){runs < MOST_RUNS ? runs : MOST_RUNS, hn_api_load_sample, &w->source};
    hone_status status = hn_bisect(&w->search, err);
    if (status == HONE_OK) HN_HAND_OUT(out, &w->search.result, lists, caller, bisection, err);
    hone_bisection_destroy(&w->search.result);
    return status;
}
