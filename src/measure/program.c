#include "measure/program.h"

#include <stdio.h>

struct hn_program {
    hn_run_options how;
    hn_runner runner;
};

hn_run_options hn_run_options_for(const hn_run_options *how, const hn_model *m) {
    hn_run_options own = *how;
    hn_layer_precision way = hn_graph_stored_precision(m->graph), *mine = &own.engine.layers.way;
    if (way.no_integers)
        mine->as_written = true;
    else
        *mine = way;
    return own;
}

hone_status hn_program_create(hn_program **out, const hn_model *m, const hn_run_options *how,
                              hn_error *err) {
    hn_allocator *alloc = how->engine.alloc;
    hn_program *p = hn_alloc_zero(alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    p->how = *how;
    p->how.engine.layers.n = 0;
    p->how.engine.inferred = false;
    hone_status status = hn_runner_create(&p->runner, how->backend, m, &p->how.engine, err);
    if (status != HONE_OK)
        hn_program_destroy(p);
    else
        *out = p;
    return status;
}

void hn_program_destroy(hn_program *p) {
    if (p == NULL) return;
    hn_runner_destroy(&p->runner);
    hn_free(p->how.engine.alloc, p);
}

hone_status hn_program_prepare(hn_program *p, const hn_tensor *const *in, hn_error *err) {
    return hn_runner_prepare(&p->runner, in, err);
}

const hn_choice *hn_program_choice(const hn_program *p, size_t i) {
    return hn_runner_choice(&p->runner, i);
}

bool hn_program_memory(const hn_program *p, hn_engine_memory *out) {
    return hn_runner_memory(&p->runner, out);
}

hone_status hn_program_run(hn_program *p, const hn_tensor *const *in, hn_tensor **out,
                           hn_error *err) {
    return hn_runner_run_tensors(&p->runner, in, out, err);
}

static void add_step(void *hash, const hn_step_time *t) {
    const hn_step *s = t->step;
    char line[512];
    bool named = s->family != NULL && s->kernel != NULL;
    int n = snprintf(line, sizeof line, "%.200s %.60s %.60s %d %.17g %.17g %.17g %d %d %d\n",
                     s->facts->label != NULL ? s->facts->label : "",
                     named ? s->family->name : "reference", named ? s->kernel->name : "",
                     (int)s->facts->exactness, s->facts->flops, s->facts->bytes,
                     s->facts->constant_bytes, s->alone, s->together, s->lane);
    hn_sha256_add(hash, line, (size_t)n < sizeof line ? (size_t)n : sizeof line);
}

static hone_status no_output(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                             void **to, hn_error *err) {
    (void)ctx, (void)i, (void)dtype, (void)rank, (void)dims, (void)err;
    *to = NULL;
    return HONE_OK;
}

hone_status hn_program_profile(hn_program *p, const hn_tensor *const *in,
                               void (*times)(void *ctx, const hn_step_time *t), void *times_ctx,
                               hn_error *err) {
    if (!p->runner.backend->executor->has_steps) return HONE_OK;
    return hn_runner_run(&p->runner, in, no_output, NULL, times, times_ctx, err);
}

hone_status hn_program_steps(hn_program *p, const hn_tensor *const *in, char hex[HN_SHA256_HEX],
                             hn_error *err) {
    hn_sha256_parts hash;
    hex[0] = '\0';
    if (!p->runner.backend->executor->has_steps) return HONE_OK;
    hn_sha256_begin(&hash);
    HN_TRY(hn_program_profile(p, in, add_step, &hash, err));
    hn_sha256_end(&hash, hex);
    return HONE_OK;
}

hone_status hn_program_run_shown(hn_program *p, const hn_tensor *const *in, hn_engine_show *show,
                                 void *show_ctx, hn_error *err) {
    return hn_runner_run_shown(&p->runner, in, show, show_ctx, err);
}
