#include "measure/program.h"

#include <stdio.h>

#include "ops/eval.h"
#include "ops/infer.h"

struct hn_program {
    hn_how how;
    hn_engine *engine; /* NULL: by the plain executor */
    hn_model *plain;   /* then: a copy of the model with its types */
    int n_out;
};

hn_how hn_how_for(const hn_how *how, const hn_model *m) {
    hn_how own = *how;
    hn_way way = hn_graph_way(m->graph), *mine = &own.engine.layers.way;
    if (way.no_integers)
        mine->as_written = true;
    else
        *mine = way;
    return own;
}

hone_status hn_program_create(hn_program **out, const hn_model *m, const hn_how *how,
                              hn_error *err) {
    hn_allocator *alloc = how->engine.alloc;
    hn_program *p = hn_alloc_zero(alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    p->how = *how;
    p->how.engine.layers.n = 0;
    p->n_out = m->graph->n_outputs;
    hone_status status;
    if (how->plain) {
        status = hn_model_clone(&p->plain, m, alloc, err);
        if (status == HONE_OK) status = hn_model_infer(p->plain, NULL, err);
    } else {
        status = hn_engine_create(&p->engine, m, &p->how.engine, err);
    }
    if (status != HONE_OK)
        hn_program_destroy(p);
    else
        *out = p;
    return status;
}

void hn_program_destroy(hn_program *p) {
    if (p == NULL) return;
    hn_engine_destroy(p->engine);
    hn_model_destroy(p->plain);
    hn_free(p->how.engine.alloc, p);
}

hn_engine *hn_program_engine(const hn_program *p) { return p->engine; }

typedef struct made {
    hn_allocator *alloc;
    hn_tensor **out;
} made;

static hone_status make_output(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                               void **to, hn_error *err) {
    const made *m = ctx;
    HN_TRY(hn_tensor_create(&m->out[i], m->alloc, HN_MEM_TENSOR, dtype, rank, dims, err));
    *to = m->out[i]->data;
    return HONE_OK;
}

static hone_status run_plain(const hn_program *p, const hn_tensor *const *in, hn_tensor **out,
                             hn_error *err) {
    const hn_engine_options *o = &p->how.engine;
    hn_exec_options plain = {.alloc = o->alloc,
                             .pool = o->pool,
                             .seed = o->seed,
                             .keep_going = o->keep_going,
                             .keep_going_ctx = o->keep_going_ctx,
                             .stop = o->stop};
    return hn_graph_run(p->plain->graph, &plain, in, out, err);
}

hone_status hn_program_run(hn_program *p, const hn_tensor *const *in, hn_tensor **out,
                           hn_error *err) {
    if (p->engine == NULL) return run_plain(p, in, out, err);
    made m = {p->how.engine.alloc, out};
    for (int i = 0; i < p->n_out; i++) out[i] = NULL;
    hone_status status = hn_engine_run(p->engine, in, make_output, &m, NULL, NULL, err);
    for (int i = 0; i < p->n_out && status != HONE_OK; i++) {
        hn_tensor_unref(out[i]);
        out[i] = NULL;
    }
    return status;
}

static void add_step(void *hash, const hn_step_time *t) {
    const hn_step *s = t->step;
    char line[512];
    bool named = s->family != NULL && s->kernel != NULL;
    int n = snprintf(line, sizeof line, "%.200s %.60s %.60s %d %.17g %.17g %.17g %d %d %d\n",
                     s->label != NULL ? s->label : "", named ? s->family->name : "reference",
                     named ? s->kernel->name : "", (int)s->exactness, s->flops, s->bytes,
                     s->constant_bytes, s->alone, s->together, s->lane);
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
    if (p->engine == NULL) return HONE_OK;
    return hn_engine_run(p->engine, in, no_output, NULL, times, times_ctx, err);
}

hone_status hn_program_steps(hn_program *p, const hn_tensor *const *in, char hex[HN_SHA256_HEX],
                             hn_error *err) {
    hn_sha256_parts hash;
    hex[0] = '\0';
    if (p->engine == NULL) return HONE_OK;
    hn_sha256_begin(&hash);
    HN_TRY(hn_program_profile(p, in, add_step, &hash, err));
    hn_sha256_end(&hash, hex);
    return HONE_OK;
}

hone_status hn_program_run_shown(hn_program *p, const hn_tensor *const *in, hn_engine_show *show,
                                 void *show_ctx, hn_error *err) {
    hn_allocator *alloc = p->how.engine.alloc;
    if (p->engine != NULL) return hn_engine_run_shown(p->engine, in, show, show_ctx, err);
    hn_tensor **out = hn_alloc_array(alloc, (size_t)p->n_out + 1, sizeof *out, HN_MEM_OTHER);
    if (out == NULL) return HN_NOMEM(err);
    hone_status status = run_plain(p, in, out, err);
    int n = status == HONE_OK ? p->n_out : 0;
    for (int i = 0; i < n; i++) {
        if (status == HONE_OK) status = show(show_ctx, i, out[i], err);
        hn_tensor_unref(out[i]);
    }
    hn_free(alloc, out);
    return status;
}
