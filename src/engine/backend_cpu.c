/* The engine as a backend. */
#include "engine/backend.h"

static hone_status create(void **out, const hn_model *m, const hn_engine_options *o,
                          hn_error *err) {
    hn_engine *e;
    HN_TRY(hn_engine_create(&e, m, o, err));
    *out = e;
    return HONE_OK;
}

static void destroy(void *self) { hn_engine_destroy(self); }

static hone_status run(void *self, const hn_tensor *const *in, hn_output_place *place,
                       void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                       void *times_ctx, hn_error *err) {
    return hn_engine_run(self, in, place, place_ctx, times, times_ctx, err);
}

static hone_status run_shown(void *self, const hn_tensor *const *in, hn_engine_show *show,
                             void *show_ctx, hn_error *err) {
    return hn_engine_run_shown(self, in, show, show_ctx, err);
}

static hone_status prepare(void *self, const hn_tensor *const *in, hn_error *err) {
    return hn_engine_prepare(self, in, err);
}

static hn_engine_memory memory(void *self) { return hn_engine_memory_use(self); }

static hn_engine_precision precision(void *self) { return hn_engine_precision_used(self); }

static const hn_choice *choice(void *self, size_t i) { return hn_engine_choice(self, i); }

static hn_tuning tuning(void *self) { return hn_engine_tuning(self); }

const hn_executor hn_executor_engine = {.create = create,
                                        .destroy = destroy,
                                        .run = run,
                                        .has_steps = true,
                                        .run_shown = run_shown,
                                        .prepare = prepare,
                                        .memory = memory,
                                        .precision = precision,
                                        .choice = choice,
                                        .tuning = tuning};

const hn_backend hn_backend_cpu = {.name = "cpu",
                                   .help = "plans and kernels for this machine's CPU",
                                   .executor = &hn_executor_engine};
