#include "engine/backend.h"

#include <stdio.h>
#include <string.h>

#include "engine/entry.h"

#define HN_BACKEND(name) extern const hn_backend hn_backend_##name;
#include "engine/backends.def"
#undef HN_BACKEND

const hn_backend *const hn_backends[] = {
#define HN_BACKEND(name) &hn_backend_##name,
#include "engine/backends.def"
#undef HN_BACKEND
};
const int hn_n_backends = sizeof hn_backends / sizeof hn_backends[0];

const hn_backend *hn_backend_or_default(const hn_backend *backend) {
    return backend != NULL ? backend : hn_backends[0];
}

hone_status hn_backend_find(const char *name, const hn_backend **out, hn_error *err) {
    char names[200];
    size_t used = 0;
    for (int i = 0; i < hn_n_backends; i++) {
        if (strcmp(hn_backends[i]->name, name) == 0) {
            *out = hn_backends[i];
            return HONE_OK;
        }
        int n = snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                         hn_backends[i]->name);
        if ((size_t)n < sizeof names - used) used += (size_t)n;
    }
    return HN_FAIL(err, HONE_E_UNSUPPORTED, "there is no backend '%s'; there are: %s", name, names);
}

hone_status hn_runner_create(hn_runner *out, const hn_backend *backend, const hn_model *m,
                             const hn_engine_options *o, hn_error *err) {
    hn_runner r = {
        .backend = hn_backend_or_default(backend), .alloc = o->alloc, .n_out = m->graph->n_outputs};
    hn_engine_options own = *o;
    if (r.backend->device != NULL) HN_TRY(r.backend->device(&own.device, err));
    HN_TRY(r.backend->executor->create(&r.self, m, &own, err));
    *out = r;
    return HONE_OK;
}

void hn_runner_destroy(hn_runner *r) {
    if (r->self != NULL) r->backend->executor->destroy(r->self);
    *r = (hn_runner){0};
}

hone_status hn_runner_run(const hn_runner *r, const hn_tensor *const *in, hn_output_place *place,
                          void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                          void *times_ctx, hn_error *err) {
    HN_CHECK(err, times == NULL || r->backend->executor->has_steps, HONE_E_UNSUPPORTED,
             "the %s backend has no steps", r->backend->name);
    return r->backend->executor->run(r->self, in, place, place_ctx, times, times_ctx, err);
}

hone_status hn_runner_run_tensors(const hn_runner *r, const hn_tensor *const *in, hn_tensor **out,
                                  hn_error *err) {
    hn_new_outputs m = {r->alloc, out};
    for (int i = 0; i < r->n_out; i++) out[i] = NULL;
    hone_status status =
        r->backend->executor->run_tensors != NULL
            ? r->backend->executor->run_tensors(r->self, in, out, err)
            : r->backend->executor->run(r->self, in, hn_place_new, &m, NULL, NULL, err);
    for (int i = 0; i < r->n_out && status != HONE_OK; i++) {
        hn_tensor_unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

hone_status hn_runner_run_shown(const hn_runner *r, const hn_tensor *const *in,
                                hn_engine_show *show, void *show_ctx, hn_error *err) {
    if (r->backend->executor->run_shown != NULL)
        return r->backend->executor->run_shown(r->self, in, show, show_ctx, err);
    hn_tensor **out = hn_alloc_array(r->alloc, (size_t)r->n_out + 1, sizeof *out, HN_MEM_OTHER);
    if (out == NULL) return HN_NOMEM(err);
    hone_status status = hn_runner_run_tensors(r, in, out, err);
    for (int i = 0; i < r->n_out; i++) {
        if (status == HONE_OK) status = show(show_ctx, i, out[i], err);
        hn_tensor_unref(out[i]);
    }
    hn_free(r->alloc, out);
    return status;
}

hone_status hn_runner_prepare(const hn_runner *r, const hn_tensor *const *in, hn_error *err) {
    return r->backend->executor->prepare != NULL ? r->backend->executor->prepare(r->self, in, err)
                                                 : HONE_OK;
}

bool hn_runner_memory(const hn_runner *r, hn_engine_memory *out) {
    bool plans = r->backend->executor->memory != NULL;
    *out = plans ? r->backend->executor->memory(r->self) : (hn_engine_memory){0};
    return plans;
}

bool hn_runner_precision(const hn_runner *r, hn_engine_precision *out) {
    bool has = r->backend->executor->precision != NULL;
    *out = has ? r->backend->executor->precision(r->self) : (hn_engine_precision){0};
    return has;
}

const hn_choice *hn_runner_choice(const hn_runner *r, size_t i) {
    return r->backend->executor->choice != NULL ? r->backend->executor->choice(r->self, i) : NULL;
}

hn_tuning hn_runner_tuning(const hn_runner *r) {
    return r->backend->executor->tuning != NULL ? r->backend->executor->tuning(r->self)
                                                : (hn_tuning){0};
}
