/* hone_optimize: the search behind it, and models that come out of it. */
#include <math.h>
#include <string.h>

#include "advise/search.h"
#include "advise/strategy.h"
#include "api/api.h"
#include "base/cpu.h"
#include "compress/lineage.h"
#include "train/augment.h"

typedef struct held {
    hone_optimization result;
    hn_allocator alloc;
    hn_arena arena;
} held;

HN_DEFINE_OPTIONS(optimize, .max_drop = 0.01, .target = "cpu", .seed = 1)

void hone_optimization_destroy(hone_optimization *o) {
    if (o == NULL) return;
    held *h = o->owner;
    hone_model_destroy(o->model);
    hn_shown_free(o, &h->result);
    hn_arena_deinit(&h->arena);
    hn_free(hn_allocator_default(), h);
}

/* What is usual for the use is a limit where none was given. */
static hone_status take_use(hone_optimize_options *o, hn_error *err) {
    char list[256];
    if (o->use == NULL) return HONE_OK;
    const hn_purpose *use = hn_purpose_named(o->use);
    HN_CHECK(err, use != NULL, HONE_E_ARG, "there is no use '%s'; there are: %s", o->use,
             hn_purposes_text(list, sizeof list));
    if (o->max_latency_ms == 0) o->max_latency_ms = use->max_ms;
    if (o->max_run_memory_bytes == 0) o->max_run_memory_bytes = (int64_t)use->memory_bytes;
    return HONE_OK;
}

static hone_status check(const hone_optimize_options *o, hn_error *err) {
    char order[512];
    HN_CHECK(err, o->max_drop >= 0 && isfinite(o->max_drop), HONE_E_ARG,
             "max_drop is %g, expected a share of at least 0", o->max_drop);
    HN_CHECK(err, o->max_latency_ms >= 0 && o->max_file_bytes >= 0 && o->max_run_memory_bytes >= 0,
             HONE_E_ARG, "a limit is negative: %g ms, %lld bytes of file, %lld of memory",
             o->max_latency_ms, (long long)o->max_file_bytes, (long long)o->max_run_memory_bytes);
    HN_CHECK(err, o->time_budget >= 0 && isfinite(o->time_budget), HONE_E_ARG,
             "time_budget is %g s, expected 0 or more", o->time_budget);
    hn_augment augment;
    HN_CHECK(err, o->train_budget >= 0 && isfinite(o->train_budget), HONE_E_ARG,
             "train_budget is %g s, expected 0 or more", o->train_budget);
    HN_TRY(hn_augment_read(&augment, o->augment, err));
    const hn_target *device = hn_target_named(o->target);
    HN_CHECK(err, device != NULL, HONE_E_ARG,
             "there is no target '%s'; cpu can be measured here, and there is advice on: %s",
             o->target, hn_devices_text(order, sizeof order));
    HN_CHECK(
        err, strcmp(o->target, "cpu") == 0, HONE_E_UNSUPPORTED,
        "target %s cannot be measured here, cpu alone can (hone advise makes a plan for it); what "
        "guides try there, in order: %s (%s, %s pruning, %s)",
        o->target, hn_remedies_text(o->target, order, sizeof order), device->precision,
        device->pruning, device->layout);
    bool elsewhere = hn_search_runtime(o->runtime) != NULL;
    HN_CHECK(err, o->runtime == NULL || hn_quant_target_named(o->runtime) != NULL, HONE_E_ARG,
             "there is no runtime '%s'", o->runtime);
    HN_CHECK(err, !elsewhere || o->timer != NULL || o->max_latency_ms == 0, HONE_E_ARG,
             "a limit on latency wants times, and %s cannot be measured here", o->runtime);
    HN_CHECK(err, !elsewhere || o->max_run_memory_bytes == 0, HONE_E_ARG,
             "a limit on memory is for hone: what %s takes is not measured", o->runtime);
    HN_CHECK(err, o->metric == NULL || o->data != NULL || o->eval != NULL, HONE_E_ARG,
             "the metric '%s' wants data", o->metric);
    return HONE_OK;
}

static hn_dataset *data_of(const hone_dataset *d) { return d != NULL ? d->data : NULL; }

static hone_status run(held *h, hone_model *m, const hone_optimize_options *o,
                       const hone_session *session, hn_model **chosen, hn_error *err) {
    hn_search_options how = {.data = data_of(o->data),
                             .calibrate = data_of(o->calibrate),
                             .eval = data_of(o->eval),
                             .metric = o->metric,
                             .max_drop = o->max_drop,
                             .relative = o->max_drop_relative,
                             .allow_unchecked = o->allow_unchecked,
                             .time_budget = o->time_budget,
                             .train_budget = o->train_budget,
                             .augment = o->augment,
                             .keep = o->keep,
                             .candidate = o->candidate,
                             .max_ms = o->max_latency_ms,
                             .max_file = o->max_file_bytes,
                             .max_memory = o->max_run_memory_bytes,
                             .device = o->target,
                             .runtime = hn_search_runtime(o->runtime),
                             .timer = hn_search_runtime(o->runtime) != NULL ? o->timer : NULL,
                             .seed = o->seed,
                             .how = hn_api_session_run_options(session),
                             .threads = hone_session_threads(session),
                             .cores = hn_cpu_available(),
                             .progress = o->progress,
                             .progress_ctx = o->progress_ctx};
    HN_TRY(hn_lineage_source(m->ir, how.source, err));
    return o->recipe != NULL
               ? hn_search_replay(&h->result, chosen, o->recipe, m->ir, &how, &h->arena, &h->alloc,
                                  err)
               : hn_search(&h->result, chosen, m->ir, &how, &h->arena, &h->alloc, err);
}

hone_status hone_optimize_sized(hone_model *model, const hone_optimize_options *options,
                                hone_optimization **out, const hone_layout *caller,
                                hone_error *err) {
    static const hn_list lists[] = {HN_LIST(optimization, rows, n_rows, optimize_row),
                                    HN_LIST(optimization, criteria, n_criteria, verdict),
                                    HN_LIST(optimization, guards, n_guards, verdict),
                                    HN_LIST(optimization, stages, n_stages, stage)};
    hone_optimize_options o;
    hn_api_timer timer = {0};
    HN_TRY(HN_TAKE_OPTIONS(optimize, &o, options, err));
    HN_TRY(hn_api_take_timer(&timer, o.timer, caller, err));
    if (o.timer != NULL) o.timer = &timer.own;
    HN_TRY(take_use(&o, err));
    HN_TRY(check(&o, err));
    hone_session *session;
    HN_TRY(hone_session_create(&session, model, o.session, err));
    held *h = hn_alloc_zero(hn_allocator_default(), sizeof *h, HN_MEM_OTHER);
    hn_model *chosen = NULL;
    hone_status status = h != NULL ? HONE_OK : HN_NOMEM(err);
    if (h != NULL) {
        hn_allocator_init(&h->alloc);
        h->alloc.limit = hn_cpu_memory();
        hn_arena_init(&h->arena, &h->alloc, HN_MEM_OTHER);
        h->result.size = sizeof h->result;
        h->result.owner = h;
        status = run(h, model, &o, session, &chosen, err);
    }
    if (status == HONE_OK && chosen != NULL) {
        status = hn_api_model_adopt(chosen, &h->result.model, err);
        if (status == HONE_OK) {
            atomic_fetch_add(&model->refs, 1);
            h->result.model->made_of = model;
        }
    }
    hone_session_destroy(session);
    if (status == HONE_OK) HN_HAND_OUT(out, &h->result, lists, caller, optimization, err);
    if (h != NULL) hone_optimization_destroy(&h->result);
    return status;
}
