/* Contexts: the memory one run of a plan writes to, with every address worked out beforehand. */
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "engine/weights.h"
#include "ops/op.h"

/* An address that changes with every run: that of an operand, or the data of a tensor, which lies
 * in an input or output. */
typedef struct patch {
    void **at;
    int buffer;
    size_t offset;
} patch;

typedef struct bound {
    void **ptr; /* operands of a kernel */
    const hn_tensor **in;
    hn_tensor **out;
    bool *wanted;
} bound;

struct hn_context {
    const hn_plan *plan;
    hn_allocator *alloc;
    hn_arena arena;
    char *slab, *scratch;
    bound *steps;
    patch *patches;
    int n_patches, cap_patches;
    hn_arena ref_scratch;
    int32_t flag; /* of the step that is running (hn_step.check) */
};

void hn_context_destroy(hn_context *c) {
    if (c == NULL) return;
    hn_free(c->alloc, c->slab);
    hn_free(c->alloc, c->scratch);
    hn_arena_deinit(&c->ref_scratch);
    hn_arena_deinit(&c->arena);
    hn_free(c->alloc, c);
}

/* Writes the address to *at, now or, where it is the caller's, before every run. */
static hone_status bind(hn_context *c, void **at, int buffer, size_t offset, hn_error *err) {
    if (buffer < 0) return HONE_OK;
    buffer = hn_buffer_root(c->plan, buffer);
    const hn_buffer *b = &c->plan->buffers[buffer];
    char *base = NULL;
    switch (b->kind) {
        case HN_BUFFER_SLAB: base = c->slab + b->offset; break;
        case HN_BUFFER_CONSTANT: base = b->tensor->data; break;
        case HN_BUFFER_PACKED: base = c->plan->packed[b->index]->data; break;
        case HN_BUFFER_INPUT:
        case HN_BUFFER_OUTPUT:
            if (c->n_patches == c->cap_patches) {
                int cap = c->cap_patches * 2 + 16;
                patch *more = hn_arena_array(&c->arena, (size_t)cap, sizeof *more);
                if (more == NULL) return HN_NOMEM(err);
                if (c->n_patches > 0) memcpy(more, c->patches, (size_t)c->n_patches * sizeof *more);
                c->patches = more;
                c->cap_patches = cap;
            }
            c->patches[c->n_patches++] = (patch){at, buffer, offset};
            return HONE_OK;
    }
    *at = base + offset;
    return HONE_OK;
}

static hone_status bind_tensor(hn_context *c, const hn_view *v, hn_tensor **out, hn_error *err) {
    if (v->buffer < 0) return HONE_OK;
    hn_tensor *t = hn_arena_zero(&c->arena, sizeof *t);
    if (t == NULL) return HN_NOMEM(err);
    atomic_init(&t->refs, 1);
    t->alloc = c->alloc;
    t->dtype = v->dtype;
    t->rank = v->rank;
    memcpy(t->dims, v->dims, sizeof t->dims);
    t->n = 1;
    for (int i = 0; i < v->rank; i++) t->n *= v->dims[i];
    t->bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    *out = t;
    return bind(c, &t->data, v->buffer, (size_t)(v->offset * hone_dtype_bits(v->dtype) / 8), err);
}

static hone_status bind_step(hn_context *c, const hn_step *s, bound *b, hn_error *err) {
    hn_arena *arena = &c->arena;
    if (s->family != NULL) {
        b->ptr = hn_arena_array(arena, HN_MAX_OPERANDS, sizeof *b->ptr);
        if (b->ptr == NULL) return HN_NOMEM(err);
        for (int i = 0; i < s->n_operands; i++)
            HN_TRY(bind(c, &b->ptr[i], s->operands[i].buffer, s->operands[i].offset, err));
        if (s->check != NULL) b->ptr[s->flag] = &c->flag;
        return HONE_OK;
    }
    b->in = hn_arena_array(arena, (size_t)s->n_in, sizeof *b->in);
    b->out = hn_arena_array(arena, (size_t)s->n_out, sizeof *b->out);
    b->wanted = hn_arena_array(arena, (size_t)s->n_out, sizeof *b->wanted);
    if (b->in == NULL || b->out == NULL || b->wanted == NULL) return HN_NOMEM(err);
    for (int i = 0; i < s->n_in; i++) {
        hn_tensor *t = NULL;
        HN_TRY(bind_tensor(c, &s->in[i], &t, err));
        b->in[i] = t;
    }
    for (int i = 0; i < s->n_out; i++) {
        HN_TRY(bind_tensor(c, &s->out[i], &b->out[i], err));
        b->wanted[i] = b->out[i] != NULL;
    }
    return HONE_OK;
}

hone_status hn_context_create(hn_context **out, const hn_plan *p, hn_allocator *alloc,
                              hn_error *err) {
    hone_status status = HONE_OK;
    hn_context *c = hn_alloc_zero(alloc, sizeof *c, HN_MEM_OTHER);
    if (c == NULL) return HN_NOMEM(err);
    c->plan = p;
    c->alloc = alloc;
    hn_arena_init(&c->arena, alloc, HN_MEM_OTHER);
    hn_arena_init(&c->ref_scratch, alloc, HN_MEM_SCRATCH);
    c->slab = hn_alloc(alloc, p->slab_bytes, HN_MEM_TENSOR);
    c->scratch = hn_alloc(alloc, p->scratch_bytes, HN_MEM_SCRATCH);
    c->steps = hn_arena_array(&c->arena, (size_t)p->n_steps, sizeof *c->steps);
    HN_CHECK_GOTO(err, c->slab != NULL && c->scratch != NULL && c->steps != NULL, HONE_E_NOMEM,
                  "out of memory (%zu bytes of activations, %zu of workspace)", p->slab_bytes,
                  p->scratch_bytes);
    for (int i = 0; i < p->n_steps; i++) HN_TRY_GOTO(bind_step(c, p->steps[i], &c->steps[i], err));
    *out = c;
    return HONE_OK;
fail:
    hn_context_destroy(c);
    return status;
}

/* ---- running ---- */

typedef struct launch {
    const hn_step *step;
    hn_call call;
    char *lane_scratch;
    size_t lane_bytes;
    int phase, lanes;
} launch;

static void run_lane(void *ctx, int64_t lane) {
    const launch *l = ctx;
    int64_t tasks = hn_work_tasks(&l->step->work, l->phase);
    int64_t begin = tasks * lane / l->lanes, end = tasks * (lane + 1) / l->lanes;
    if (begin < end)
        l->step->kernel->run(&l->call, l->phase, begin, end,
                             l->lane_scratch + (size_t)lane * l->lane_bytes);
}

static void run_kernel(const hn_context *c, const hn_step *s, const bound *b, hn_pool *pool) {
    launch l = {.step = s,
                .call = {s->problem, &s->work, b->ptr, c->scratch},
                .lane_scratch = c->scratch + c->plan->lane_offset,
                .lane_bytes = c->plan->lane_bytes};
    for (l.phase = 0; l.phase < s->work.n_phases; l.phase++) {
        int64_t tasks = hn_work_tasks(&s->work, l.phase);
        l.lanes = s->alone || tasks < 2 ? 1 : tasks < c->plan->lanes ? (int)tasks : c->plan->lanes;
        if (l.lanes == 1)
            run_lane(&l, 0);
        else
            hn_pool_run(pool, l.lanes, run_lane, &l);
    }
}

static hone_status run_reference(hn_context *c, const hn_step *s, const bound *b, const hn_run *r,
                                 hn_rng *rng, hn_error *err) {
    hn_eval e = {.node = s->node,
                 .n_in = s->n_in,
                 .n_out = s->n_out,
                 .in = b->in,
                 .out = b->out,
                 .wanted = b->wanted,
                 .alloc = c->alloc,
                 .pool = r->pool,
                 .rng = rng,
                 .scratch = &c->ref_scratch};
    hone_status status = s->node->op->ref(&e, err);
    hn_arena_deinit(&c->ref_scratch);
    return status;
}

static hone_status run_step(hn_context *c, int i, const hn_run *r, hn_rng *rng, hn_error *err) {
    const hn_step *s = c->plan->steps[i];
    hone_status status = HONE_OK;
    if (s->family == NULL) {
        HN_CHECK(err, r->keep_going == NULL || r->keep_going(r->keep_going_ctx), HONE_E_LIMIT,
                 "stopped");
        status = run_reference(c, s, &c->steps[i], r, rng, err);
    } else {
        c->flag = 0;
        run_kernel(c, s, &c->steps[i], r->pool);
        if (c->flag != 0) status = s->check(s->problem, c->steps[i].ptr, err);
        if (c->flag != 0 && status == HONE_OK)
            status = HN_FAIL(err, HONE_E_ARG, "an input was changed while it was read");
    }
    if (status == HONE_OK) return HONE_OK;
    char label[320];
    hn_error_context(err, "%s", hn_node_label(s->node, label, sizeof label));
    return status;
}

static hone_status run_timed(hn_context *c, const hn_run *r, hn_rng *rng, hn_error *err) {
    for (int i = 0; i < c->plan->n_steps; i++) {
        hn_step_time t = {.step = c->plan->steps[i], .begin_ns = hn_clock_ns()};
        HN_TRY(run_step(c, i, r, rng, err));
        t.end_ns = hn_clock_ns();
        r->times(r->times_ctx, &t);
    }
    return HONE_OK;
}

hone_status hn_context_run(hn_context *c, const hn_run *r, hn_error *err) {
    const hn_plan *p = c->plan;
    hn_rng rng;
    hn_rng_init(&rng, r->seed);
    for (int i = 0; i < c->n_patches; i++) {
        const hn_buffer *b = &p->buffers[c->patches[i].buffer];
        char *base = b->kind == HN_BUFFER_INPUT ? r->in[b->index]->data : r->out[b->index];
        *c->patches[i].at = base + c->patches[i].offset;
    }
    HN_CHECK(err, r->keep_going == NULL || r->keep_going(r->keep_going_ctx), HONE_E_LIMIT,
             "stopped");
    if (r->times != NULL) return run_timed(c, r, &rng, err);
    for (int i = 0; i < p->n_steps; i++) HN_TRY(run_step(c, i, r, &rng, err));
    return HONE_OK;
}
