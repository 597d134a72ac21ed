/* Contexts: every address one run of a plan uses, worked out beforehand; and rooms, the memory that
 * contexts lend for a run. A context remembers the room it was bound to, and as long as it gets the
 * same one no address changes. */
#include <assert.h>
#include <string.h>

#include "base/divide.h"
#include "engine/engine.h"
#include "engine/memory.h"
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

/* Addresses lie behind the struct, in the same block. */
struct hn_context {
    const hn_plan *plan;
    hn_allocator *alloc;
    /* Of the room it is bound to, by space; NULL: none yet. */
    char *slab[HN_SPACE_COUNT_], *scratch[HN_SPACE_COUNT_];
    void *device; /* the ctx of the plan's */
    bound *steps;
    patch *patches;
    int n_patches;
    void **out;         /* places of the outputs */
    void **spares;      /* memory of its own for outputs that nobody wants */
    char *first, *rest; /* of the block: where the addresses begin, and what is not taken yet */
    hn_arena ref_scratch;
    int32_t flag; /* of the step that is running (hn_step.check) */
};

void hn_context_destroy(hn_context *c) {
    if (c == NULL) return;
    for (int i = 0; i < c->plan->model->graph->n_outputs; i++) hn_free(c->alloc, c->spares[i]);
    hn_arena_deinit(&c->ref_scratch);
    hn_free(c->alloc, c);
}

/* ---- addresses ---- */

static size_t room(size_t n, size_t size) { return (n * size + 15) / 16 * 16; }

static void *take(hn_context *c, size_t n, size_t size) {
    void *at = c->rest;
    c->rest += room(n, size);
    return at;
}

static bool is_callers(const hn_plan *p, int root) {
    if (root < 0) return false;
    hn_buffer_kind kind = p->buffers[root].kind;
    return kind == HN_BUFFER_INPUT || kind == HN_BUFFER_OUTPUT;
}

static size_t count_patches(const hn_plan *p) {
    size_t n = 0;
    int root;
    bool written;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; hn_step_buffer(p, p->steps[i], k, &root, &written); k++)
            n += is_callers(p, root);
    return n;
}

static size_t tensor_room(const hn_view *v, int n) {
    size_t bytes = room((size_t)n, sizeof(hn_tensor *));
    for (int i = 0; i < n; i++)
        if (v[i].buffer >= 0) bytes += room(1, sizeof(hn_tensor));
    return bytes;
}

size_t hn_context_bytes(const hn_plan *p) {
    size_t bytes = room(1, sizeof(hn_context)) + room((size_t)p->n_steps, sizeof(bound)) +
                   room(count_patches(p), sizeof(patch)) +
                   2 * room((size_t)p->model->graph->n_outputs, sizeof(void *));
    for (int i = 0; i < p->n_steps; i++) {
        const hn_step *s = p->steps[i];
        if (s->family != NULL)
            bytes += room(HN_MAX_OPERANDS, sizeof(void *));
        else
            bytes += tensor_room(s->in, s->n_in) + tensor_room(s->out, s->n_out) +
                     room((size_t)s->n_out, sizeof(bool));
    }
    return bytes;
}

/* Writes the address to *at, now or, where it is the caller's, before every run. */
static void bind(hn_context *c, void **at, int buffer, size_t offset) {
    if (buffer < 0) return;
    buffer = hn_buffer_root(c->plan, buffer);
    const hn_buffer *b = &c->plan->buffers[buffer];
    char *base = NULL;
    switch (b->kind) {
        case HN_BUFFER_SLAB: base = c->slab[b->space] + b->offset; break;
        case HN_BUFFER_CONSTANT: base = b->tensor->data; break;
        case HN_BUFFER_STORED: return; /* no step of a complete plan reads it */
        case HN_BUFFER_PACKED: base = c->plan->packed[b->index]->data; break;
        case HN_BUFFER_INPUT:
        case HN_BUFFER_OUTPUT: c->patches[c->n_patches++] = (patch){at, buffer, offset}; return;
    }
    *at = base + offset;
}

static hn_tensor *bind_tensor(hn_context *c, const hn_view *v) {
    if (v->buffer < 0) return NULL;
    hn_tensor *t = take(c, 1, sizeof *t);
    atomic_init(&t->refs, 1);
    t->alloc = c->alloc;
    t->dtype = v->dtype;
    t->rank = v->rank;
    memcpy(t->dims, v->dims, sizeof t->dims);
    t->n = 1;
    for (int i = 0; i < v->rank; i++) t->n *= v->dims[i];
    t->bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    bind(c, &t->data, v->buffer, (size_t)(v->offset * hone_dtype_bits(v->dtype) / 8));
    return t;
}

static void bind_step(hn_context *c, const hn_step *s, bound *b) {
    if (s->family != NULL) {
        b->ptr = take(c, HN_MAX_OPERANDS, sizeof *b->ptr);
        for (int i = 0; i < s->n_operands; i++)
            bind(c, &b->ptr[i], s->operands[i].buffer, s->operands[i].offset);
        if (s->check != NULL) b->ptr[s->flag] = &c->flag;
        return;
    }
    b->in = take(c, (size_t)s->n_in, sizeof *b->in);
    b->out = take(c, (size_t)s->n_out, sizeof *b->out);
    b->wanted = take(c, (size_t)s->n_out, sizeof *b->wanted);
    for (int i = 0; i < s->n_in; i++) b->in[i] = bind_tensor(c, &s->in[i]);
    for (int i = 0; i < s->n_out; i++) {
        b->out[i] = bind_tensor(c, &s->out[i]);
        b->wanted[i] = b->out[i] != NULL;
    }
}

hone_status hn_context_create(hn_context **out, const hn_plan *p, hn_allocator *alloc,
                              hn_error *err) {
    size_t n_out = (size_t)p->model->graph->n_outputs;
    hn_context *c = hn_alloc_zero(alloc, hn_context_bytes(p), HN_MEM_OTHER);
    if (c == NULL) return HN_NOMEM(err);
    c->plan = p;
    c->alloc = alloc;
    c->device = p->device != NULL ? p->device->ctx : NULL;
    c->rest = (char *)c + room(1, sizeof *c);
    c->out = take(c, n_out, sizeof *c->out);
    c->spares = take(c, n_out, sizeof *c->spares);
    hn_arena_init(&c->ref_scratch, alloc, HN_MEM_SCRATCH);
    c->first = c->rest;
    *out = c;
    return HONE_OK;
}

bool hn_context_is_bound(const hn_context *c, const hn_room *r) {
    return c->slab[HN_SPACE_HOST] != NULL && c->slab[HN_SPACE_HOST] == r->slab &&
           c->scratch[HN_SPACE_HOST] == r->scratch && c->slab[HN_SPACE_DEVICE] == r->on_device;
}

void hn_context_bind(hn_context *c, const hn_room *r) {
    const hn_plan *p = c->plan;
    if (hn_context_is_bound(c, r)) return;
    c->slab[HN_SPACE_HOST] = r->slab;
    c->scratch[HN_SPACE_HOST] = r->scratch;
    c->slab[HN_SPACE_DEVICE] = r->on_device;
    if (r->on_device != NULL) c->scratch[HN_SPACE_DEVICE] = r->on_device + p->device_scratch;
    c->rest = c->first;
    c->n_patches = 0;
    c->steps = take(c, (size_t)p->n_steps, sizeof *c->steps);
    c->patches = take(c, count_patches(p), sizeof *c->patches);
    for (int i = 0; i < p->n_steps; i++) bind_step(c, p->steps[i], &c->steps[i]);
    assert(c->rest == (char *)c + hn_context_bytes(p));
}

/* ---- rooms ---- */

void hn_room_deinit(hn_room *r, hn_allocator *alloc) {
    hn_free(alloc, r->slab);
    hn_free(alloc, r->scratch);
    if (r->on_device != NULL) r->device->release(r->device->ctx, r->on_device);
}

void hn_room_destroy(hn_room *r, hn_allocator *alloc) {
    if (r == NULL) return;
    hn_room_deinit(r, alloc);
    hn_free(alloc, r);
}

bool hn_room_fits(const hn_room *r, const hn_plan *p) {
    return r->slab != NULL && r->scratch != NULL && r->slab_bytes >= p->slab_bytes &&
           r->scratch_bytes >= p->scratch_bytes && r->device_bytes >= p->device_bytes;
}

static void grow(char **block, size_t *bytes, size_t want, hn_mem_tag tag, hn_allocator *alloc) {
    if (*block != NULL && *bytes >= want) return;
    hn_free(alloc, *block);
    *block = hn_alloc(alloc, want, tag);
    *bytes = *block != NULL ? want : 0;
}

static hone_status grow_on_device(hn_room *r, const hn_plan *p, hn_error *err) {
    if (r->device_bytes >= p->device_bytes) return HONE_OK;
    r->device = p->device;
    if (r->on_device != NULL) r->device->release(r->device->ctx, r->on_device);
    r->on_device = r->device->allocate(r->device->ctx, p->device_bytes);
    r->device_bytes = r->on_device != NULL ? p->device_bytes : 0;
    HN_CHECK(err, r->on_device != NULL, HONE_E_NOMEM, "out of memory (%zu bytes on %s)",
             p->device_bytes, r->device->name);
    return HONE_OK;
}

hone_status hn_room_fit(hn_room *r, const hn_plan *p, hn_allocator *alloc, hn_error *err) {
    grow(&r->slab, &r->slab_bytes, p->slab_bytes, HN_MEM_TENSOR, alloc);
    grow(&r->scratch, &r->scratch_bytes, p->scratch_bytes, HN_MEM_SCRATCH, alloc);
    HN_CHECK(err, r->slab != NULL && r->scratch != NULL, HONE_E_NOMEM,
             "out of memory (%zu bytes of activations, %zu of workspace)", p->slab_bytes,
             p->scratch_bytes);
    return grow_on_device(r, p, err);
}

static size_t growth(const char *block, size_t bytes, size_t want) {
    if (block == NULL) return hn_alloc_bytes(want);
    return want > bytes ? want - hn_alloc_bytes(bytes) : 0;
}

size_t hn_room_growth(const hn_room *r, const hn_plan *p) {
    hn_room none = {0};
    size_t own = r == NULL ? sizeof *r : 0;
    if (r == NULL) r = &none;
    return own + growth(r->slab, r->slab_bytes, p->slab_bytes) +
           growth(r->scratch, r->scratch_bytes, p->scratch_bytes);
}

/* ---- running ---- */

/* Tasks of a phase are shared out in grains. Every lane begins with neighbours of its own, and
 * takes half of what it has left at a time; with none left it takes half of what another lane has.
 * So each lane has what a fixed division would give it while all are equally fast, and where one is
 * not (the core's other hardware thread is busy, or the core is taken away for a while) the others
 * do its work. */
enum { GRAINS = 8 }; /* for each lane */

typedef struct launch {
    const hn_kernel *kernel;
    const hn_call *call;
    char *lane_scratch;
    size_t lane_bytes;
    int phase, lanes;
    int64_t tasks;
    uint32_t grains;
    const hn_stop *stop;
    _Atomic uint64_t
        left[HN_THREADS_MAX]; /* of each lane: the first grain, the one behind the last */
} launch;

static uint64_t range(uint32_t begin, uint32_t end) { return (uint64_t)begin << 32 | end; }

static int64_t grain_at(const launch *l, uint32_t i) { return hn_over(l->tasks * i, l->grains); }

/* Takes half of the grains that are left: the first ones, or for another lane the last ones. */
static bool take_half(_Atomic uint64_t *left, bool first, uint32_t *begin, uint32_t *end) {
    uint64_t now = atomic_load(left), rest;
    do {
        *begin = (uint32_t)(now >> 32), *end = (uint32_t)now;
        if (*begin == *end) return false;
        uint32_t middle = *begin + (*end - *begin + first) / 2;
        rest = first ? range(middle, *end) : range(*begin, middle);
        *(first ? end : begin) = middle;
    } while (!atomic_compare_exchange_weak(left, &now, rest));
    return true;
}

/* One by one where the run may be stopped. Grains are left out only once it is, and then none of
 * this phase or a later one follows: nothing reads what was not written. */
static void run_grains(const launch *l, uint32_t begin, uint32_t end, char *scratch) {
    uint32_t step = l->stop != NULL ? 1 : end - begin;
    for (uint32_t i = begin; i < end && !hn_stopped(l->stop); i += step)
        l->kernel->run(l->call, l->phase, grain_at(l, i), grain_at(l, i + step), scratch);
}

static void run_lane(void *ctx, int64_t lane) {
    launch *l = ctx;
    char *scratch = l->lane_scratch + (size_t)lane * l->lane_bytes;
    for (int i = 0; i < l->lanes; i++) {
        uint32_t begin, end;
        while (take_half(&l->left[(lane + i) % l->lanes], i == 0, &begin, &end))
            run_grains(l, begin, end, scratch);
    }
}

void hn_kernel_launch(const hn_kernel *k, const hn_call *call, int lanes, hn_pool *pool,
                      char *lane_scratch, size_t lane_bytes, const hn_stop *stop, uint32_t pieces) {
    launch l;
    l.kernel = k, l.call = call, l.stop = stop;
    l.lane_scratch = lane_scratch, l.lane_bytes = lane_bytes;
    for (l.phase = 0; l.phase < call->work->n_phases; l.phase++) {
        l.tasks = hn_work_tasks(call->work, l.phase);
        l.lanes = l.tasks < lanes ? (int)l.tasks : lanes;
        int64_t grains = l.lanes > 1 ? (int64_t)l.lanes * GRAINS : 1;
        if (stop != NULL && grains < pieces) grains = pieces;
        l.grains = (uint32_t)(l.tasks < grains ? l.tasks : grains);
        if (l.lanes <= 1) {
            run_grains(&l, 0, l.grains, lane_scratch);
            continue;
        }
        for (uint32_t i = 0, n = (uint32_t)l.lanes; i < n; i++)
            atomic_init(&l.left[i], range(l.grains * i / n, l.grains * (i + 1) / n));
        hn_pool_run(pool, l.lanes, run_lane, &l);
    }
}

static_assert(offsetof(hn_step, work) + sizeof(hn_work) <= 128,
              "a run reads two cache lines of a step");

static void run_kernel(const hn_context *c, const hn_step *s, const bound *b, const hn_run *r) {
    hn_call call = {s->problem, &s->work, b->ptr, c->scratch[s->space], c->device};
    hn_kernel_launch(s->kernel, &call, s->alone ? 1 : c->plan->lanes, r->pool,
                     c->scratch[HN_SPACE_HOST] + c->plan->lane_offset, c->plan->lane_bytes,
                     s->pieces > 0 ? r->stop : NULL, s->pieces);
}

/* Before each step; only what takes long asks the caller, too. */
static hone_status go_on(const hn_step *s, const hn_run *r, hn_error *err) {
    bool ask = r->keep_going != NULL && s->asks;
    HN_CHECK(err, !hn_stopped(r->stop) && (!ask || r->keep_going(r->keep_going_ctx)), HONE_E_LIMIT,
             "stopped");
    return HONE_OK;
}

static hone_status run_reference(hn_context *c, const hn_step *s, const bound *b, const hn_run *r,
                                 hn_error *err) {
    hn_eval e = {.node = s->node,
                 .n_in = s->n_in,
                 .n_out = s->n_out,
                 .in = b->in,
                 .out = b->out,
                 .wanted = b->wanted,
                 .alloc = c->alloc,
                 .pool = r->pool,
                 .rng = r->rng,
                 .scratch = &c->ref_scratch,
                 .stop = r->stop};
    hone_status status = s->node->op->ref(&e, err);
    hn_arena_rewind(&c->ref_scratch);
    return status;
}

hone_status hn_context_step(hn_context *c, int i, const hn_run *r, hn_error *err) {
    const hn_step *s = c->plan->steps[i];
    hone_status status = s->sure ? HONE_OK : go_on(s, r, err);
    if (status == HONE_OK && s->family == NULL) {
        status = run_reference(c, s, &c->steps[i], r, err);
    } else if (status == HONE_OK) {
        c->flag = 0;
        run_kernel(c, s, &c->steps[i], r);
        if (c->flag != 0) status = s->check(s->problem, c->steps[i].ptr, err);
        if (c->flag != 0 && status == HONE_OK)
            status = HN_FAIL(err, HONE_E_ARG, "an input was changed while it was read");
    }
    if (status == HONE_OK && !s->sure && hn_stopped(r->stop))
        status = hn_fail(err, HONE_E_LIMIT, "stopped");
    if (status == HONE_OK) return HONE_OK;
    char label[320];
    hn_error_context(err, "%s", hn_node_label(s->node, label, sizeof label));
    return status;
}

/* ---- steps that run at the same time ---- */

typedef struct set {
    const hn_context *c;
    int first;
} set;

/* Steps of a set run on one thread each, so all their scratch is that of the lane. */
void hn_context_lane_step(const hn_context *c, int i, int64_t lane) {
    const hn_plan *p = c->plan;
    const hn_step *s = p->steps[i];
    char *scratch = c->scratch[HN_SPACE_HOST] + p->lane_offset + (size_t)lane * p->lane_bytes;
    hn_call call = {s->problem, &s->work, c->steps[i].ptr, scratch, NULL};
    hn_kernel_run(s->kernel, &call, scratch + hn_aligned(s->work.scratch));
}

static void run_lane_of_set(void *ctx, int64_t lane) {
    const set *t = ctx;
    hn_step *const *steps = t->c->plan->steps;
    for (int i = t->first; i < t->first + steps[t->first]->together; i++)
        if (steps[i]->lane == lane + 1) hn_context_lane_step(t->c, i, lane);
}

static void run_set(const hn_context *c, int first, hn_pool *pool) {
    int n = c->plan->steps[first]->together, lanes = n < c->plan->lanes ? n : c->plan->lanes;
    hn_pool_run(pool, lanes, run_lane_of_set, &(set){c, first});
}

/* The plain loop. Nothing of profiling is in it or in this file, nor may be: run_timed.c has a loop
 * of its own, and tests/structure/loop looks at what this one was compiled to. */
__attribute__((noinline)) hone_status hn_context_loop(hn_context *c, const hn_run *r,
                                                      hn_error *err) {
    const hn_plan *p = c->plan;
    for (int i = 0; i < p->n_steps; i++) {
        int together = p->steps[i]->together;
        if (together > 0)
            run_set(c, i, r->pool), i += together - 1;
        else
            HN_TRY(hn_context_step(c, i, r, err));
    }
    return HONE_OK;
}

/* Outputs nobody wants still have to be written somewhere. */
static hone_status place_outputs(hn_context *c, const hn_run *r, hn_error *err) {
    const hn_plan *p = c->plan;
    for (int i = 0; i < p->model->graph->n_outputs; i++) {
        const hn_view *v = &p->outputs[i];
        int replaced = p->replaces != NULL ? p->replaces[i] : -1;
        c->out[i] = replaced >= 0 ? r->in[replaced]->data : NULL;
        HN_TRY(r->place(r->place_ctx, i, v->dtype, v->rank, v->dims, &c->out[i], err));
        if (c->out[i] != NULL) continue;
        size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
        if (c->spares[i] == NULL) c->spares[i] = hn_alloc(c->alloc, bytes, HN_MEM_TENSOR);
        if (c->spares[i] == NULL) return HN_NOMEM(err);
        c->out[i] = c->spares[i];
    }
    return HONE_OK;
}

hone_status hn_context_wait(const hn_context *c, hn_error *err) {
    const hn_device *d = c->plan->device;
    return d != NULL && d->wait != NULL ? d->wait(d->ctx, err) : HONE_OK;
}

hone_status hn_context_output(const hn_context *c, int i, hn_tensor *t, hn_error *err) {
    const hn_view *v = &c->plan->outputs[i];
    return hn_tensor_borrow(t, v->dtype, v->rank, v->dims,
                            c->slab[HN_SPACE_HOST] + c->plan->buffers[v->buffer].offset, err);
}

hone_status hn_context_run(hn_context *c, const hn_run *r, hn_error *err) {
    const hn_plan *p = c->plan;
    if (p->shown == NULL) HN_TRY(place_outputs(c, r, err));
    for (int i = 0; i < c->n_patches; i++) {
        const hn_buffer *b = &p->buffers[c->patches[i].buffer];
        char *base = b->kind == HN_BUFFER_INPUT ? r->in[b->index]->data : c->out[b->index];
        *c->patches[i].at = base + c->patches[i].offset;
    }
    HN_CHECK(err, r->keep_going == NULL || r->keep_going(r->keep_going_ctx), HONE_E_LIMIT,
             "stopped");
    hone_status status = p->shown != NULL   ? hn_context_loop_shown(c, p, r, err)
                         : r->times != NULL ? hn_context_loop_timed(c, p, r, err)
                                            : hn_context_loop(c, r, err);
    if (p->device == NULL) return status;
    /* Also after a failure: the room is about to be lent to another run. */
    hn_error unread;
    return status == HONE_OK ? hn_context_wait(c, err) : (hn_context_wait(c, &unread), status);
}
