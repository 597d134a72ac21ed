/* The plain executor (ops/eval.h) as a backend: every operator by its definition. */
#include "engine/backend.h"
#include "ops/infer.h"

typedef struct plain {
    hn_engine_options o;
    const hn_model *model;
    hn_model *own; /* a copy with its types; NULL: the model had them */
} plain;

static void destroy(void *self) {
    plain *p = self;
    hn_model_destroy(p->own);
    hn_free(p->o.alloc, p);
}

static hone_status create(void **out, const hn_model *m, const hn_engine_options *o,
                          hn_error *err) {
    plain *p = hn_alloc_zero(o->alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    *p = (plain){.o = *o, .model = m};
    hone_status status = HONE_OK;
    if (!o->inferred) {
        status = hn_model_clone(&p->own, m, o->alloc, err);
        if (status == HONE_OK) status = hn_model_infer(p->own, NULL, err);
        p->model = p->own;
    }
    if (status != HONE_OK)
        destroy(p);
    else
        *out = p;
    return status;
}

static hone_status run_graph(const plain *p, const hn_tensor *const *in, hn_output_place *place,
                             void *place_ctx, hn_tensor **out, hn_error *err) {
    hn_exec_options o = {.alloc = p->o.alloc,
                         .pool = p->o.pool,
                         .seed = p->o.seed,
                         .keep_going = p->o.keep_going,
                         .keep_going_ctx = p->o.keep_going_ctx,
                         .stop = p->o.stop,
                         .place = place,
                         .place_ctx = place_ctx};
    return hn_graph_run(p->model->graph, &o, in, out, err);
}

static hone_status run_tensors(void *self, const hn_tensor *const *in, hn_tensor **out,
                               hn_error *err) {
    return run_graph(self, in, NULL, NULL, out, err);
}

static hone_status run(void *self, const hn_tensor *const *in, hn_output_place *place,
                       void *place_ctx, void (*times)(void *ctx, const hn_step_time *t),
                       void *times_ctx, hn_error *err) {
    const plain *p = self;
    size_t n = (size_t)p->model->graph->n_outputs;
    (void)times, (void)times_ctx;
    hn_tensor **out = hn_alloc_zero(p->o.alloc, (n + 1) * sizeof *out, HN_MEM_OTHER);
    if (out == NULL) return HN_NOMEM(err);
    hone_status status = run_graph(p, in, place, place_ctx, out, err);
    for (size_t i = 0; i < n; i++) hn_tensor_unref(out[i]);
    hn_free(p->o.alloc, out);
    return status;
}

const hn_executor hn_executor_plain = {
    .create = create, .destroy = destroy, .run = run, .run_tensors = run_tensors};

const hn_backend hn_backend_reference = {.name = "reference",
                                         .help = "every operator by its plain definition",
                                         .executor = &hn_executor_plain};
