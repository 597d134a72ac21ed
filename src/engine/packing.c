#include "engine/packing.h"

#include <string.h>

#include "kernels/copy/copy.h"

bool hn_step_packs(const hn_step *s) {
    return s->family != NULL && (s->kernel->pack != NULL || s->weights != NULL);
}

bool hn_step_weights(const hn_plan *p, const hn_step *s, hn_constant *out) {
    const hn_operand *w = &s->operands[s->family->weights];
    if (w->buffer < 0 || (w->offset != 0 && s->weights == NULL)) return false;
    return hn_buffer_constant(&p->buffers[w->buffer], out);
}

/* ---- the step ---- */

typedef struct packing {
    const hn_kernel *row;
    const void *problem;
} packing;

enum { PLAIN, PACKED };

static void work(const void *problem, int lanes, hn_work *w) {
    (void)lanes;
    const packing *p = problem;
    *w = (hn_work){.n_phases = 1, .tasks = {hn_pack_tasks(p->row, p->problem)}};
}

static void run(const hn_call *call, int phase, int64_t begin, int64_t end, void *lane) {
    (void)phase, (void)lane;
    const packing *p = call->problem;
    hn_stored plain = hn_stored_plain(call->ptr[PLAIN]);
    if (begin < end) p->row->pack(p->problem, &plain, begin, end, call->ptr[PACKED]);
}

static const hn_kernel kernel = {.name = "pack", .order = "none", .work = work, .run = run};
static const hn_kernel *const kernels[] = {&kernel};
static const hn_family family = {.name = "pack",
                                 .help = "weights that are not constant, as a kernel wants them",
                                 .rows = kernels,
                                 .n_rows = 1};

/* ---- adding it ---- */

/* Fewer bytes stay on one core. Shared between two, with a product behind that both read, packing
 * made MatMulInteger by 256x256 take 27 us instead of 18 (Granite Rapids). */
#define SHORT_BYTES 150e3

/* Weights in a form that a step has made. */
typedef struct form {
    hn_operand from;
    const hn_view *view;  /* NULL: as they lie */
    const hn_kernel *row; /* NULL: in the order of the view */
    uint64_t key;
    int at, buffer; /* the step that makes it, and where */
} form;

typedef struct packer {
    hn_plan *plan;
    hn_isa isa;
    hn_step **steps;
    form *forms;
    int n_steps, n_forms;
} packer;

static bool same_view(const hn_view *a, const hn_view *b) {
    if (a == NULL || b == NULL) return a == b;
    return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(a->strides, b->strides, sizeof a->strides) == 0;
}

static bool same_form(const form *a, const form *b) {
    bool packed = a->row != NULL;
    return a->from.buffer == b->from.buffer && a->from.offset == b->from.offset &&
           same_view(a->view, b->view) && packed == (b->row != NULL) &&
           (!packed || (a->key == b->key && a->row->pack == b->row->pack));
}

static bool writes(const hn_plan *p, const hn_step *s, int buffer) {
    int root;
    bool written;
    for (int k = 0; hn_step_buffer(p, s, k, &root, &written); k++)
        if (written && root == buffer) return true;
    return false;
}

/* The form that is wanted, if a step has made it and none has written to the weights since. */
static const form *find(const packer *k, const form *wanted) {
    int root = hn_buffer_root(k->plan, wanted->from.buffer);
    for (int i = k->n_forms - 1; i >= 0; i--) {
        const form *f = &k->forms[i];
        if (!same_form(f, wanted)) continue;
        for (int s = f->at + 1; s < k->n_steps; s++)
            if (writes(k->plan, k->steps[s], root)) return NULL;
        return f;
    }
    return NULL;
}

/* A step before `user` from an operand to a new buffer of so many bytes. */
static hone_status add_step(packer *k, const hn_step *user, const hn_family *f, void *problem,
                            hn_operand from, double read, size_t bytes, int *buffer,
                            hn_error *err) {
    hn_plan *p = k->plan;
    hn_step *s = hn_step_create(&p->arena);
    if (s == NULL) return HN_NOMEM(err);
    *buffer = p->n_buffers++;
    p->buffers[*buffer] = (hn_buffer){.kind = HN_BUFFER_SLAB, .bytes = bytes, .inside = -1};
    s->family = f;
    s->kernel = hn_kernel_choose(f, (hn_allowed){.isa = k->isa}, problem, NULL, NULL);
    s->kernel->work(problem, p->lanes, &s->work);
    s->problem = problem;
    s->node = user->node;
    s->n_operands = 2;
    s->writes = 1u << PACKED;
    s->operands[PLAIN] = from;
    s->operands[PACKED] = (hn_operand){*buffer, 0};
    s->alone = read + (double)bytes < SHORT_BYTES;
    *s->facts = (hn_step_facts){.maker = user->facts->maker,
                                .label = "Pack",
                                .bytes = read + (double)bytes,
                                .why = "its weights are not constant",
                                .isa = f == &family ? user->facts->isa : s->kernel->isa};
    k->steps[k->n_steps++] = s;
    return HONE_OK;
}

/* The view of weights, dense in order of its axes. */
static hone_status gather(packer *k, const hn_step *user, const hn_view *v, hn_operand *out,
                          hn_error *err) {
    size_t size = (size_t)hone_dtype_bits(v->dtype) / 8;
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    form f = {.from = {v->buffer, (size_t)v->offset * size}, .view = v};
    const form *made = find(k, &f);
    if (made == NULL) {
        hn_copy *copy = hn_arena_alloc(&k->plan->arena, sizeof *copy);
        if (copy == NULL) return HN_NOMEM(err);
        int64_t dense[HONE_MAX_RANK], step = 1;
        for (int i = v->rank - 1; i >= 0; step *= v->dims[i--]) dense[i] = step;
        hn_copy_init(copy, size, v->rank, v->dims, v->strides, dense);
        HN_TRY(
            add_step(k, user, &hn_copy_family, copy, f.from, (double)bytes, bytes, &f.buffer, err));
        f.at = k->n_steps - 1;
        made = &k->forms[k->n_forms];
        k->forms[k->n_forms++] = f;
    }
    *out = (hn_operand){made->buffer, 0};
    return HONE_OK;
}

static hone_status pack(packer *k, hn_step *s, hn_error *err) {
    hn_operand *w = &s->operands[s->family->weights];
    double read = s->weights != NULL ? (double)hone_value_bytes(s->weights->dtype, s->weights->rank,
                                                                s->weights->dims)
                                     : (double)k->plan->buffers[w->buffer].bytes;
    if (s->weights != NULL) HN_TRY(gather(k, s, s->weights, w, err));
    if (s->kernel->pack == NULL) return HONE_OK;
    form f = {.from = *w, .row = s->kernel, .key = s->kernel->pack_key(s->problem)};
    const form *made = find(k, &f);
    if (made == NULL) {
        packing *p = hn_arena_alloc(&k->plan->arena, sizeof *p);
        if (p == NULL) return HN_NOMEM(err);
        *p = (packing){s->kernel, s->problem};
        size_t bytes = s->kernel->packed_bytes(s->problem);
        HN_TRY(add_step(k, s, &family, p, f.from, read, bytes, &f.buffer, err));
        f.at = k->n_steps - 1;
        made = &k->forms[k->n_forms];
        k->forms[k->n_forms++] = f;
    }
    *w = (hn_operand){made->buffer, 0};
    return HONE_OK;
}

hone_status hn_plan_pack(hn_plan *p, hn_isa isa, hn_error *err) {
    size_t n = 0, steps = (size_t)p->n_steps, buffers = (size_t)p->n_buffers;
    for (int i = 0; i < p->n_steps; i++)
        n += hn_step_packs(p->steps[i]) && !hn_step_weights(p, p->steps[i], NULL);
    if (n == 0) return HONE_OK;
    packer k = {.plan = p, .isa = isa};
    k.steps = hn_arena_array(&p->arena, steps + 2 * n, sizeof *k.steps);
    k.forms = hn_arena_array(&p->arena, 2 * n, sizeof *k.forms);
    hn_buffer *all = hn_arena_array(&p->arena, buffers + 2 * n, sizeof *all);
    if (k.steps == NULL || k.forms == NULL || all == NULL) return HN_NOMEM(err);
    memcpy(all, p->buffers, buffers * sizeof *all);
    p->buffers = all;
    for (int i = 0; i < p->n_steps; i++) {
        hn_step *s = p->steps[i];
        if (hn_step_packs(s) && !hn_step_weights(p, s, NULL)) HN_TRY(pack(&k, s, err));
        k.steps[k.n_steps++] = s;
    }
    p->steps = k.steps;
    p->n_steps = k.n_steps;
    return HONE_OK;
}
