#include "engine/spaces.h"

#include <stdio.h>
#include <string.h>

/* ---- steps that copy ---- */

typedef struct transfer {
    const hn_device *device;
    hn_memory_space to;
    size_t bytes;
} transfer;

enum { FROM, TO };

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    const transfer *t = call->problem;
    const hn_device *d = t->device;
    (void)phase, (void)begin, (void)end, (void)lane;
    (t->to == HN_SPACE_DEVICE ? d->copy_to : d->copy_from)(d->ctx, call->ptr[TO], call->ptr[FROM],
                                                           t->bytes);
}

static const hn_kernel kernel = {.name = "copy", .order = "none", .run = run};
static const hn_kernel *const kernels[] = {&kernel};
static const hn_family family = {.name = "transfer",
                                 .help = "a buffer from one memory to another",
                                 .rows = kernels,
                                 .n_rows = 1,
                                 .any_address = 1 << FROM | 1 << TO};

/* ---- where contents are ---- */

typedef struct place {
    int buffer[HN_SPACE_COUNT_]; /* that stands for it; -1: none */
    bool holds[HN_SPACE_COUNT_]; /* what was written last */
    bool used[HN_SPACE_COUNT_];
    int last_write; /* the step; -1: none */
} place;

typedef struct walk {
    hn_plan *plan;
    const hn_device *device;
    hn_weights *weights;
    place *places; /* by buffer; those of roots are filled in */
    hn_step **steps;
    int n_steps;
} walk;

static hn_memory_space other(hn_memory_space space) {
    return space == HN_SPACE_HOST ? HN_SPACE_DEVICE : HN_SPACE_HOST;
}

static void find_uses(walk *w) {
    const hn_plan *p = w->plan;
    int root;
    bool written;
    for (int i = 0; i < p->n_buffers; i++) w->places[i] = (place){.last_write = -1};
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; hn_step_buffer(p, p->steps[i], k, &root, &written); k++) {
            if (root < 0) continue;
            w->places[root].used[p->steps[i]->space] = true;
            if (written) w->places[root].last_write = i;
        }
}

/* A buffer in the device's memory beside b, which is in the host's. */
static hone_status add_twin(walk *w, const hn_buffer *b, place *at, hn_error *err) {
    hn_plan *p = w->plan;
    hn_buffer twin = {.bytes = b->bytes, .inside = -1, .space = HN_SPACE_DEVICE};
    hn_constant c;
    bool constant = hn_buffer_constant(b, &c);
    if (b->kind == HN_BUFFER_PACKED && p->packed[b->index]->kernel == NULL) {
        c = p->packed[b->index]->source;
        constant = true;
    }
    if (constant) {
        HN_TRY(hn_weights_want(w->weights, HN_SPACE_DEVICE, NULL, NULL, &c, NULL,
                               &p->packed[p->n_packed], err));
        twin.kind = HN_BUFFER_PACKED;
        twin.index = p->n_packed++;
        at->holds[HN_SPACE_DEVICE] = true;
    }
    at->buffer[HN_SPACE_DEVICE] = p->n_buffers;
    p->buffers[p->n_buffers++] = twin;
    return HONE_OK;
}

/* Decides where each buffer lies; those that both use, and those of the caller that the device
 * uses, get a twin. */
static hone_status settle(walk *w, hn_error *err) {
    hn_plan *p = w->plan;
    for (int i = 0, n = p->n_buffers; i < n; i++) {
        hn_buffer *b = &p->buffers[i];
        place *at = &w->places[i];
        at->buffer[HN_SPACE_HOST] = at->buffer[HN_SPACE_DEVICE] = -1;
        if (b->inside >= 0) continue;
        if (b->kind == HN_BUFFER_SLAB && at->used[HN_SPACE_DEVICE] && !at->used[HN_SPACE_HOST])
            b->space = HN_SPACE_DEVICE;
        at->buffer[b->space] = i;
        at->holds[b->space] = b->kind != HN_BUFFER_SLAB && b->kind != HN_BUFFER_OUTPUT;
        if (b->space == HN_SPACE_HOST && at->used[HN_SPACE_DEVICE]) HN_TRY(add_twin(w, b, at, err));
    }
    return HONE_OK;
}

/* ---- the walk ---- */

static hone_status add_copy(walk *w, place *at, hn_memory_space to, const hn_node *n,
                            hn_error *err) {
    hn_plan *p = w->plan;
    const char *names[] = {"host", w->device->name};
    size_t bytes = p->buffers[at->buffer[to]].bytes;
    char why[200];
    at->holds[to] = true;
    if (bytes == 0) return HONE_OK;
    hn_step *s = hn_step_create(&p->arena);
    transfer *t = hn_arena_alloc(&p->arena, sizeof *t);
    if (s == NULL || t == NULL) return HN_NOMEM(err);
    snprintf(why, sizeof why, "from %s to %s", names[other(to)], names[to]);
    *t = (transfer){w->device, to, bytes};
    s->family = &family;
    s->kernel = &kernel;
    s->problem = t;
    s->problem_bytes = sizeof *t;
    s->node = s->facts->maker = n;
    s->space = HN_SPACE_DEVICE;
    s->alone = true;
    s->work = (hn_work){.n_phases = 1, .tasks = {1}};
    s->n_operands = 2;
    s->operands[FROM] = (hn_operand){at->buffer[other(to)], 0};
    s->operands[TO] = (hn_operand){at->buffer[to], 0};
    s->writes = 1 << TO;
    s->facts->label = "Copy";
    s->facts->why = hn_arena_strdup(&p->arena, why);
    s->facts->bytes = 2.0 * (double)bytes;
    if (s->facts->why == NULL) return HN_NOMEM(err);
    w->steps[w->n_steps++] = s;
    return HONE_OK;
}

/* Whether somebody reads it when the run is over. */
static bool outlives(const hn_buffer *b) { return b->kind != HN_BUFFER_SLAB; }

/* Step i, with the copies it needs before it and its operands in its own space. */
static hone_status pass(walk *w, int i, hn_error *err) {
    hn_plan *p = w->plan;
    hn_step *s = p->steps[i];
    hn_memory_space own = s->space;
    int root;
    bool written;
    for (int k = 0; hn_step_buffer(p, s, k, &root, &written); k++) {
        place *at = root >= 0 ? &w->places[root] : NULL;
        if (at != NULL && !at->holds[own] && at->holds[other(own)])
            HN_TRY(add_copy(w, at, own, s->node, err));
    }
    w->steps[w->n_steps++] = s;
    for (int k = 0; hn_step_buffer(p, s, k, &root, &written); k++)
        if (root >= 0 && written)
            w->places[root].holds[own] = true, w->places[root].holds[other(own)] = false;
    for (int k = 0; hn_step_buffer(p, s, k, &root, &written); k++) {
        place *at = root >= 0 ? &w->places[root] : NULL;
        if (at == NULL || at->buffer[own] == root) continue;
        s->operands[k].buffer = at->buffer[own];
        if (at->last_write == i && !at->holds[HN_SPACE_HOST] && outlives(&p->buffers[root]))
            HN_TRY(add_copy(w, at, HN_SPACE_HOST, s->node, err));
    }
    return HONE_OK;
}

/* Room for what the walk may add: a copy before and one behind each operand of a step; a twin of
 * each buffer. */
static hone_status make_room(walk *w, hn_error *err) {
    hn_plan *p = w->plan;
    size_t n = (size_t)p->n_buffers;
    size_t steps = (size_t)p->n_steps;
    for (int i = 0; i < p->n_steps; i++)
        steps += 2 * (size_t)(p->steps[i]->n_operands + p->steps[i]->n_in + p->steps[i]->n_out);
    hn_buffer *buffers = hn_arena_array(&p->arena, 2 * n, sizeof *buffers);
    hn_packed **packed = hn_arena_array(&p->arena, n + (size_t)p->n_packed, sizeof *packed);
    w->places = hn_arena_array(&p->arena, n, sizeof *w->places);
    w->steps = hn_arena_array(&p->arena, steps, sizeof *w->steps);
    if (buffers == NULL || packed == NULL || w->places == NULL || w->steps == NULL)
        return HN_NOMEM(err);
    memcpy(buffers, p->buffers, n * sizeof *buffers);
    if (p->n_packed > 0) memcpy(packed, p->packed, (size_t)p->n_packed * sizeof *packed);
    p->buffers = buffers;
    p->packed = packed;
    return HONE_OK;
}

hone_status hn_plan_spaces(hn_plan *p, const hn_device *device, hn_weights *weights,
                           hn_error *err) {
    walk w = {.plan = p, .device = device, .weights = weights};
    for (int i = 0; i < p->n_steps; i++)
        if (p->steps[i]->space == HN_SPACE_DEVICE) p->device = device;
    if (p->device == NULL) return HONE_OK;
    HN_TRY(make_room(&w, err));
    find_uses(&w);
    HN_TRY(settle(&w, err));
    for (int i = 0; i < p->n_steps; i++) HN_TRY(pass(&w, i, err));
    p->steps = w.steps;
    p->n_steps = w.n_steps;
    return HONE_OK;
}
