/* From a graph with known shapes to a plan: lower, choose kernels, pack weights, settle lives,
 * place buffers. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "engine/engine.h"
#include "engine/lower.h"
#include "engine/lower_quant.h"
#include "engine/memory.h"
#include "engine/packing.h"
#include "engine/spaces.h"
#include "engine/storage.h"
#include "engine/strips.h"
#include "engine/together.h"
#include "engine/tune.h"
#include "engine/weights.h"
#include "kernels/values.h"

void hn_plan_destroy(hn_plan *p) {
    if (p == NULL) return;
    hn_allocator *alloc = p->arena.alloc;
    hn_model_destroy(p->model);
    for (const hn_extra_constant *m = p->made; m != NULL; m = m->next) hn_tensor_unref(m->tensor);
    hn_arena_deinit(&p->arena);
    hn_free(alloc, p);
}

/* ---- kernels and weights ---- */

/* Rows that do not serve a step. The last of them is the most like the one that does. */
typedef struct refusals {
    const hn_step *step;
    hn_isa isa; /* that may be used */
    const hn_kernel *last;
    const char *why;
    /* Why the first that leaves out weights does not serve, of those for these instruction sets;
     * NULL: there is none. */
    const char *why_dense;
    const char *why_not_looked_up; /* the same of those that look weights up */
} refusals;

/* The share of a step's weights that are 0, where that is known to be half of them at least; else 0.
 */
static double sparsity(const hn_step *s) {
    int64_t n = 0, *zeros = NULL;
    int zero;
    if (s->family->weights_zeros != NULL) zeros = s->family->weights_zeros(s->problem, &n, &zero);
    return zeros != NULL && n > 0 ? (double)*zeros / (double)n : 0;
}

/* How many different numbers a step's weights are at most, where that is known to be few; else 0. */
static int values(const hn_step *s) {
    int32_t *n = NULL;
    if (s->family->weights_values != NULL) n = s->family->weights_values(s->problem);
    return n != NULL ? *n : 0;
}

static void passed_over(void *ctx, const hn_kernel *k, const char *why) {
    refusals *d = ctx;
    d->last = k, d->why = why;
    bool runs = (k->isa & d->isa) == k->isa;
    if (k->sparse && runs && d->why_dense == NULL && sparsity(d->step) > 0) d->why_dense = why;
    if (k->lookup && runs && d->why_not_looked_up == NULL && values(d->step) > 0)
        d->why_not_looked_up = why;
    hn_log(HONE_LOG_DEBUG, "dispatch,%s,%s,%s,declined: %s", d->step->facts->label,
           d->step->family->name, k->name, why);
}

static hn_allowed allowed(const hn_compile *how, const hn_step *s) {
    return (hn_allowed){.isa = how->isa, .precision = s->precision};
}

/* The first row that serves. */
static hone_status choose_first(hn_plan *p, hn_step *s, hn_allowed allow, hn_error *err) {
    refusals d = {.step = s, .isa = allow.isa};
    if (!hn_step_weights(p, s, NULL)) allow.repacked = s->facts->flops;
    char text[300] = "first that accepts";
    s->kernel = hn_kernel_choose(s->family, allow, s->problem, passed_over, &d);
    size_t n = strlen(text);
    if (sparsity(s) > 0 && (s->kernel->sparse || d.why_dense != NULL))
        n += (size_t)snprintf(text + n, sizeof text - n, "; %.1f%% of the weights are 0%s%s",
                              100 * sparsity(s), s->kernel->sparse ? "" : ": ",
                              s->kernel->sparse ? "" : d.why_dense);
    if (values(s) > 0 && (s->kernel->lookup || d.why_not_looked_up != NULL))
        n += (size_t)snprintf(
            text + n, sizeof text - n, "; the weights are %d different numbers%s%s", values(s),
            s->kernel->lookup ? "" : ": ", s->kernel->lookup ? "" : d.why_not_looked_up);
    if (d.last != NULL && !d.last->sparse && !d.last->lookup)
        snprintf(text + n, sizeof text - n, "; %s: %s", d.last->name, d.why);
    s->facts->why = hn_arena_strdup(&p->arena, text);
    return s->facts->why != NULL ? HONE_OK : HN_NOMEM(err);
}

/* The first row of the device that serves; NULL: the host computes the step. Steps that may find
 * contents which are not allowed set a flag of the host's. */
static const hn_kernel *device_kernel(const hn_compile *how, const hn_step *s) {
    const hn_device *d = how->device;
    const char *why;
    for (int i = 0; d != NULL && s->check == NULL && i < d->n_families; i++) {
        const hn_device_family *f = &d->families[i];
        for (int k = 0; k < f->n_rows && f->family == s->family; k++) {
            if (hn_kernel_serves(f->rows[k], allowed(how, s), s->problem, &why)) return f->rows[k];
            hn_log(HONE_LOG_DEBUG, "dispatch,%s,%s,%s,declined by %s: %s", s->facts->label,
                   s->family->name, f->rows[k]->name, d->name, why);
        }
    }
    return NULL;
}

/* A step this short is not worth waking another thread for: a hand-off takes about a microsecond,
 * and what one core wrote reaches the other through the shared cache. */
static bool is_short(const hn_step *s) {
    double us = s->facts->flops / (hn_isa_facts_of(s->kernel->isa)->short_rate * 1e3) +
                s->facts->bytes / 10e3;
    return (s->facts->flops > 0 || s->facts->bytes > 0) && us < 5;
}

/* Whether tiles multiply it, each number once. */
static bool has_fast_tiles(const hn_step *s) {
    return hn_isa_facts_of(s->kernel->isa)->tile_rate > 0 &&
           (s->kernel->precision == HN_PRECISION_BF16 || s->family->integers);
}

/* What one thread made is in its core's cache, and another that goes on with it waits for that:
 * sharing a step between two cores of Sapphire Rapids was measured to cost 3 us (ResNet-56 and
 * DS-CNN in bf16). So a step in tiles that takes one core less than about twice that stays there,
 * and so do those behind it that take no longer. */
static bool stays(const hn_step *s, bool stayed) {
    bool tiles = has_fast_tiles(s);
    const hn_isa_facts *f = hn_isa_facts_of(s->kernel->isa);
    double us =
        s->facts->flops / ((tiles ? f->tile_rate : f->near_rate) * 1e3) + s->facts->bytes / 25e3;
    return (tiles || stayed) && us < 8;
}

/* The kernel the caller asks for, or NULL. */
static const hn_kernel *forced_kernel(const hn_compile *how, const hn_step *s) {
    const char *why;
    for (int i = 0; i < how->n_forced; i++)
        if (how->forced[i].family == s->family &&
            hn_kernel_serves(how->forced[i].kernel, allowed(how, s), s->problem, &why))
            return how->forced[i].kernel;
    return NULL;
}

/* Says of a kernel that was asked for where it could not be taken, and why. */
static void note_forced(const hn_plan *p, const hn_compile *how, const hn_forced_kernel *f) {
    int n = 0, declined = 0;
    const hn_step *first = NULL;
    const char *reason = NULL, *why;
    for (int i = 0; i < p->n_steps; i++) {
        const hn_step *s = p->steps[i];
        if (s->family != f->family) continue;
        n++;
        if (hn_kernel_serves(f->kernel, allowed(how, s), s->problem, &why)) continue;
        declined++;
        if (first == NULL) first = s, reason = why;
    }
    if (first != NULL)
        hn_log(HONE_LOG_WARN, "%s=%s is not taken for %d of %d steps, the first being %s: %s",
               f->family->name, f->kernel->name, declined, n, first->facts->label, reason);
    else if (n == 0)
        hn_log(HONE_LOG_WARN, "%s=%s is not taken: no step is of that family", f->family->name,
               f->kernel->name);
}

/* The kernel that is asked for, else one of the device, else one of the host. *stayed: on the thread
 * that did the step before. */
static hone_status choose_kernel(hn_plan *p, const hn_compile *how, hn_step *s, bool *stayed,
                                 hn_error *err) {
    s->facts->why = "asked for";
    s->kernel = forced_kernel(how, s);
    bool forced = s->kernel != NULL;
    if (!forced) s->kernel = device_kernel(how, s);
    if (!forced && s->kernel != NULL) {
        s->facts->why = "first of the device that accepts";
        s->space = HN_SPACE_DEVICE;
        s->alone = true;
        *stayed = false;
        return HONE_OK;
    }
    if (!forced) HN_TRY(choose_first(p, s, allowed(how, s), err));
    *stayed = stays(s, *stayed);
    s->alone = *stayed || is_short(s);
    return forced ? HONE_OK : hn_tune_step(how->tuner, p, s, how->pool, err);
}

/* Looks at constant weights where kernels that keep them in 16 bits could compute the step. */
static void fit_weights(const hn_plan *p, const hn_step *s) {
    hn_float *fits = s->family->weights_fit != NULL ? s->family->weights_fit(s->problem) : NULL;
    hn_constant c;
    if (fits == NULL || !hn_step_weights(p, s, &c)) return;
    if (c.as.kind != HN_STORED_DENSE || c.as.type != HONE_DTYPE_F32) return;
    atomic_int *found = &((hn_tensor *)c.data)->found;
    if ((atomic_load(found) & HN_FOUND_FITS) == 0)
        atomic_fetch_or(found, 1 + (int)hn_floats_fit(c.data->data, c.as.n));
    *fits = (hn_float)((atomic_load(found) & HN_FOUND_FITS) - 1);
}

/* Counts the different numbers that constant weights are, where kernels that look them up could
 * compute the step. A codebook says it. */
static void count_values(const hn_plan *p, const hn_step *s) {
    int32_t *n = NULL;
    hn_constant c;
    if (s->family->weights_values != NULL) n = s->family->weights_values(s->problem);
    if (n == NULL || !hn_step_weights(p, s, &c)) return;
    if (c.as.kind == HN_STORED_CODEBOOK && c.other->n <= HN_MOST_VALUES) *n = (int32_t)c.other->n;
    if (c.as.kind != HN_STORED_DENSE || c.as.type != HONE_DTYPE_F32) return;
    atomic_int *found = &((hn_tensor *)c.data)->found;
    if (atomic_load(found) / HN_FOUND_VALUES == 0)
        atomic_fetch_or(found, (1 + hn_floats_values(c.data->data, c.as.n)) * HN_FOUND_VALUES);
    *n = atomic_load(found) / HN_FOUND_VALUES - 1;
}

/* Lets rows look at weights of which most are 0, up to the first row that will serve: this takes nearly
 * as long as packing. Rows that are asked for, or measured, look too. */
static void look(const hn_compile *how, const hn_step *s, const void *weights) {
    const hn_kernel *forced = forced_kernel(how, s);
    bool served = false;
    for (int i = 0; i < s->family->n_rows; i++) {
        const hn_kernel *k = s->family->rows[i];
        const char *why;
        if (!hn_kernel_serves(k, allowed(how, s), s->problem, &why)) continue;
        if (k->look != NULL && (!served || how->tuner != NULL || k == forced))
            k->look(s->problem, weights);
        served = served || k->pays == NULL || k->pays(s->problem, &why);
    }
}

/* Counts constant weights that are 0 where kernels that leave these out could compute the step. What
 * has fewer than half of them is dense. */
static void count_zeros(const hn_plan *p, const hn_compile *how, const hn_step *s) {
    int64_t n, *zeros = NULL;
    int zero = 0;
    hn_constant c;
    if (s->family->weights_zeros != NULL) zeros = s->family->weights_zeros(s->problem, &n, &zero);
    if (zeros == NULL || !hn_step_weights(p, s, &c) || s->weights != NULL || c.as.n != n) return;
    if (c.data->data == NULL) return;
    bool floats = c.as.type == HONE_DTYPE_F32;
    bool sparse = c.as.kind == HN_STORED_SPARSE && floats;
    if (c.as.kind != HN_STORED_DENSE && !sparse) return;
    /* Of a sparse constant, the elements that are stored are looked at. */
    int64_t stored = sparse ? c.as.n_stored : n;
    atomic_int *found = &((hn_tensor *)c.data)->zeros;
    if (atomic_load(found) == 0)
        atomic_store(found, 1 + (int)(floats ? hn_floats_zeros(c.data->data, stored)
                                             : hn_bytes_zeros(c.data->data, stored, zero)));
    int64_t count = atomic_load(found) - 1 + n - stored;
    *zeros = count >= n - n / 2 ? count : 0;
    if (*zeros > 0 && !sparse) look(how, s, c.data->data);
}

static hone_status choose(hn_plan *p, const hn_compile *how, hn_error *err) {
    /* At most one per step here, and one per buffer in align_constants. */
    p->packed =
        hn_arena_array(&p->arena, (size_t)p->n_steps + (size_t)p->n_buffers, sizeof *p->packed);
    if (p->packed == NULL) return HN_NOMEM(err);
    for (int i = 0; i < how->n_forced; i++) note_forced(p, how, &how->forced[i]);
    bool stayed = false;
    for (int i = 0; i < p->n_steps; i++) {
        hn_step *s = p->steps[i];
        if (s->family == NULL) continue;
        fit_weights(p, s);
        if (!how->no_sparse) count_zeros(p, how, s);
        if (!how->no_lookup) count_values(p, s);
        HN_TRY(choose_kernel(p, how, s, &stayed, err));
        s->facts->isa = s->kernel->isa;
        s->facts->exactness = s->kernel->precision;
        if (hn_step_macs(s) > 0) {
            s->facts->why_precision = hn_layers_explain(&how->layers, s, how->isa, &p->arena);
            if (s->facts->why_precision == NULL) return HN_NOMEM(err);
        }
        s->kernel->work(s->problem, p->lanes, &s->work);
        hn_log(HONE_LOG_DEBUG, "dispatch,%s,%s,%s,chosen", s->facts->label, s->family->name,
               s->kernel->name);
        hn_constant c;
        if (!hn_step_packs(s) || !hn_step_weights(p, s, &c)) continue;
        HN_TRY(hn_weights_want(how->weights, s->space, s->kernel, s->problem, &c, s->weights,
                               &p->packed[p->n_packed], err));
        s->packed = p->n_packed++;
    }
    return HONE_OK;
}

/* Packed constants get buffers of their own. */
static hone_status bind_packed(hn_plan *p, hn_error *err) {
    hn_buffer *all =
        hn_arena_array(&p->arena, (size_t)p->n_buffers + (size_t)p->n_packed, sizeof *all);
    if (all == NULL) return HN_NOMEM(err);
    if (p->n_buffers > 0) memcpy(all, p->buffers, (size_t)p->n_buffers * sizeof *all);
    p->buffers = all;
    for (int i = 0; i < p->n_steps; i++) {
        hn_step *s = p->steps[i];
        if (!hn_step_packs(s) || !hn_step_weights(p, s, NULL)) continue;
        all[p->n_buffers] = (hn_buffer){.kind = HN_BUFFER_PACKED,
                                        .index = s->packed,
                                        .bytes = p->packed[s->packed]->bytes,
                                        .inside = -1,
                                        .space = s->space};
        s->operands[s->family->weights] = (hn_operand){p->n_buffers++, 0};
    }
    return HONE_OK;
}

/* Constants that steps read as they are may lie at any address in a file. Those that are read
 * through pointers to their type are copied; pieces that are moved as bytes need not be. Those in
 * other formats are expanded. */
static hone_status align_operand(hn_plan *p, hn_weights *w, int buffer, bool any_address,
                                 hn_error *err) {
    hn_constant c;
    if (buffer < 0) return HONE_OK;
    hn_buffer *b = &p->buffers[hn_buffer_root(p, buffer)];
    if (!hn_buffer_constant(b, &c)) return HONE_OK;
    if (b->kind == HN_BUFFER_CONSTANT && (any_address || hn_tensor_aligned(b->tensor)))
        return HONE_OK;
    HN_TRY(hn_weights_want(w, HN_SPACE_HOST, NULL, NULL, &c, NULL, &p->packed[p->n_packed], err));
    b->kind = HN_BUFFER_PACKED;
    b->index = p->n_packed++;
    return HONE_OK;
}

static hone_status align_constants(hn_plan *p, hn_weights *w, hn_error *err) {
    for (int i = 0; i < p->n_steps; i++) {
        const hn_step *s = p->steps[i];
        for (int k = 0; k < s->n_operands && s->space == HN_SPACE_HOST; k++)
            HN_TRY(
                align_operand(p, w, s->operands[k].buffer, s->family->any_address >> k & 1, err));
        for (int k = 0; k < s->n_in; k++) {
            bool any = k == 0 && (s->node->op->traits & HN_ANY_ADDRESS) != 0;
            HN_TRY(align_operand(p, w, s->in[k].buffer, any, err));
        }
    }
    return HONE_OK;
}

/* ---- lives ---- */

static void live(hn_plan *p, int buffer, int step) {
    if (buffer < 0) return;
    hn_buffer *b = &p->buffers[hn_buffer_root(p, buffer)];
    if (step < b->first) b->first = step;
    if (step > b->last) b->last = step;
}

static void settle_lives(hn_plan *p) {
    for (int i = 0; i < p->n_buffers; i++) {
        p->buffers[i].first = p->n_steps;
        p->buffers[i].last = -1;
    }
    int root;
    bool written;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; hn_step_buffer(p, p->steps[i], k, &root, &written); k++) live(p, root, i);
}

/* Buffers of steps that run at the same time are alive as long as any of them runs. */
static void widen_lives(hn_plan *p) {
    for (int first = 0; first < p->n_steps; first++) {
        int last = first + p->steps[first]->together - 1;
        for (int i = first; i <= last; i++)
            for (int k = 0; k < p->steps[i]->n_operands; k++) {
                live(p, p->steps[i]->operands[k].buffer, first);
                live(p, p->steps[i]->operands[k].buffer, last);
            }
    }
}

/* ---- for profiles ---- */

static double constant_bytes(const hn_plan *p, const hn_step *s) {
    double bytes = 0;
    for (int k = 0; k < s->n_operands; k++) {
        if (s->operands[k].buffer < 0) continue;
        const hn_buffer *b = &p->buffers[hn_buffer_root(p, s->operands[k].buffer)];
        if (b->kind == HN_BUFFER_CONSTANT || b->kind == HN_BUFFER_PACKED) bytes += (double)b->bytes;
    }
    return bytes;
}

static double view_bytes(const hn_view *v) {
    if (v->buffer < 0) return 0;
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    return bytes != SIZE_MAX ? (double)bytes : 0;
}

/* Parts of a step between which a stop is seen: each takes about a tenth of a second on one core.
 * Steps of less than one are not divided. */
#define FLOPS_OF_A_PIECE 1e10
#define MOST_PIECES 65536

static void divide(hn_step *s) {
    double pieces = s->facts->flops / FLOPS_OF_A_PIECE;
    s->pieces = (uint32_t)(pieces < MOST_PIECES ? pieces : MOST_PIECES);
    s->asks = s->family == NULL || pieces >= 0.01;
}

/* What steps say of themselves once all is placed. */
static void describe(hn_plan *p) {
    for (int i = 0; i < p->n_buffers; i++) {
        const hn_buffer *b = &p->buffers[i];
        if (b->kind != HN_BUFFER_SLAB || b->inside >= 0 || b->first > b->last) continue;
        p->steps[b->first]->facts->live_bytes += b->bytes;
        if (b->last + 1 < p->n_steps) p->steps[b->last + 1]->facts->live_bytes -= b->bytes;
    }
    for (int i = 0; i < p->n_steps; i++) {
        hn_step *s = p->steps[i];
        if (i > 0) s->facts->live_bytes += p->steps[i - 1]->facts->live_bytes;
        s->facts->constant_bytes = constant_bytes(p, s);
        divide(s);
        if (s->family != NULL) continue;
        s->facts->why = "no kernel serves it";
        for (int k = 0; k < s->n_in; k++) s->facts->bytes += view_bytes(&s->in[k]);
        for (int k = 0; k < s->n_out; k++) s->facts->bytes += view_bytes(&s->out[k]);
    }
}

/* ---- in place ---- */

/* Whether step number `at` may write operand `result`, in buffer y, to the place of operand i, which
 * is in a buffer of this kind: that is read here for the last time, and by no other operand. */
static bool ends_here(const hn_plan *p, int at, int result, int y, int i, hn_buffer_kind kind) {
    const hn_step *s = p->steps[at];
    const hn_operand *in = &s->operands[i], *out = &s->operands[result];
    if (in->buffer < 0 || in->offset != out->offset) return false;
    int root = hn_buffer_root(p, in->buffer);
    const hn_buffer *b = &p->buffers[root];
    if (b->kind != kind || b->last != at || b->bytes != p->buffers[y].bytes) return false;
    if (!s->family->may_replace(s->problem, i, result)) return false;
    for (int k = 0; k < s->n_operands; k++)
        if (k != i && s->operands[k].buffer >= 0 &&
            hn_buffer_root(p, s->operands[k].buffer) == root)
            return false;
    return true;
}

/* Lets results take the places of operands that end where they begin. */
static void work_in_place(hn_plan *p) {
    for (int at = 0; at < p->n_steps; at++) {
        const hn_step *s = p->steps[at];
        if (s->family == NULL || s->family->may_replace == NULL) continue;
        if (s->lane > 0) continue; /* others of a set may still read it */
        int result = s->family->result;
        if (s->operands[result].buffer < 0) continue; /* nobody asks for it */
        int y = hn_buffer_root(p, s->operands[result].buffer);
        hn_buffer *b = &p->buffers[y];
        if (b->kind != HN_BUFFER_SLAB || b->first != at) continue;
        for (int i = 0; i < result; i++) {
            if (!ends_here(p, at, result, y, i, HN_BUFFER_SLAB)) continue;
            b->inside = hn_buffer_root(p, s->operands[i].buffer);
            p->buffers[b->inside].last = b->last;
            break;
        }
    }
}

/* The first of the last steps, none of which can fail, with so little arithmetic that a run need
 * not be ended before they are done. */
static int first_sure(const hn_plan *p) {
    double flops = 0;
    int at = p->n_steps;
    for (; at > 0; at--) {
        const hn_step *s = p->steps[at - 1];
        flops += s->facts->flops;
        if (s->family == NULL || s->check != NULL || flops >= FLOPS_OF_A_PIECE) break;
    }
    return at;
}

/* The result of a step that is in buffer y; -1: none is. */
static int result_in(const hn_plan *p, const hn_step *s, int y) {
    int first = s->family->result, n = s->family->n_results > 1 ? s->family->n_results : 1;
    for (int i = first; i < first + n && i < s->n_operands; i++)
        if (s->operands[i].buffer >= 0 && hn_buffer_root(p, s->operands[i].buffer) == y) return i;
    return -1;
}

/* Whether the output in buffer y may be written to the memory of the input in buffer x: nothing
 * reads that any more, or only the step that writes, which allows it. */
static bool may_share(const hn_plan *p, int x, int y) {
    const hn_buffer *in = &p->buffers[x], *out = &p->buffers[y];
    int at = out->first;
    if (in->kind != HN_BUFFER_INPUT || out->kind != HN_BUFFER_OUTPUT) return false;
    if (in->bytes != out->bytes || in->last > at || at == p->n_steps) return false;
    if (in->last < at) return true;
    const hn_step *s = p->steps[at];
    if (s->family == NULL || s->family->may_replace == NULL || s->lane > 0) return false;
    int result = result_in(p, s, y);
    for (int i = 0; i < s->family->result && result >= 0; i++)
        if (s->operands[i].buffer >= 0 && hn_buffer_root(p, s->operands[i].buffer) == x &&
            ends_here(p, at, result, y, i, HN_BUFFER_INPUT))
            return true;
    return false;
}

/* Finds the pairs whose outputs may be written in place, once lives are final. */
static hone_status replace_inputs(hn_plan *p, const hn_compile *how, hn_error *err) {
    int n_out = p->model->graph->n_outputs, sure = first_sure(p), first = p->n_steps;
    if (how->n_pairs == 0 || how->shows || p->device != NULL) return HONE_OK;
    p->replaces = hn_arena_array(&p->arena, (size_t)n_out, sizeof *p->replaces);
    if (p->replaces == NULL) return HN_NOMEM(err);
    for (int i = 0; i < n_out; i++) p->replaces[i] = -1;
    for (int i = 0; i < how->n_pairs && !how->no_sharing; i++) {
        int x = p->inputs[how->pairs[i].input].buffer, y = p->outputs[how->pairs[i].output].buffer;
        if (x < 0 || p->buffers[y].first < sure || !may_share(p, x, y)) continue;
        p->replaces[how->pairs[i].output] = how->pairs[i].input;
        if (p->buffers[y].first < first) first = p->buffers[y].first;
    }
    for (int i = first; i < p->n_steps; i++) p->steps[i]->sure = true;
    return HONE_OK;
}

/* ---- outputs that are shown ---- */

/* The last step that writes to each buffer; -1: none does. */
static void find_last_writes(const hn_plan *p, int *last) {
    int root;
    bool written;
    for (int i = 0; i < p->n_buffers; i++) last[i] = -1;
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; hn_step_buffer(p, p->steps[i], k, &root, &written); k++)
            if (root >= 0 && written) last[root] = i;
}

/* Once lives are settled, outputs are activations like others: nothing wrote in their place. */
static hone_status keep_outputs(hn_plan *p, hn_error *err) {
    int n_out = p->model->graph->n_outputs, n = 0;
    int *last = hn_arena_array(&p->arena, (size_t)p->n_buffers + 1, sizeof *last);
    p->shown = hn_arena_array(&p->arena, (size_t)n_out + 1, sizeof *p->shown);
    if (last == NULL || p->shown == NULL) return HN_NOMEM(err);
    find_last_writes(p, last);
    for (int i = 0; i < n_out; i++) p->buffers[p->outputs[i].buffer].kind = HN_BUFFER_SLAB;
    for (int step = -1; step < p->n_steps; step++)
        for (int i = 0; i < n_out; i++)
            if (last[p->outputs[i].buffer] == step) p->shown[n++] = (hn_shown_output){step, i};
    return HONE_OK;
}

/* ---- placing ---- */

/* Whether it takes a part of the slab of that space. */
static bool is_placed(const hn_buffer *b, hn_memory_space space) {
    return b->kind == HN_BUFFER_SLAB && b->inside < 0 && b->first <= b->last && b->space == space;
}

static hone_status place(hn_plan *p, const hn_compile *how, hn_memory_space space, size_t *total,
                         hn_error *err) {
    hn_piece *pieces =
        hn_alloc_array(how->alloc, (size_t)p->n_buffers + 1, sizeof *pieces, HN_MEM_OTHER);
    if (pieces == NULL) return HN_NOMEM(err);
    int n = 0;
    for (int i = 0; i < p->n_buffers; i++) {
        const hn_buffer *b = &p->buffers[i];
        if (is_placed(b, space))
            pieces[n++] = (hn_piece){.bytes = b->bytes, .first = b->first, .last = b->last};
    }
    hone_status status = hn_memory_plan(pieces, n, !how->no_sharing, how->alloc, total, err);
    n = 0;
    for (int i = 0; i < p->n_buffers && status == HONE_OK; i++) {
        hn_buffer *b = &p->buffers[i];
        if (is_placed(b, space)) b->offset = pieces[n++].offset;
    }
    hn_free(how->alloc, pieces);
    return status;
}

static void size_scratch(hn_plan *p) {
    size_t on_device = 0;
    for (int i = 0; i < p->n_steps; i++) {
        const hn_work *w = &p->steps[i]->work;
        size_t shared = hn_aligned(w->scratch), lane = hn_aligned(w->lane_scratch);
        if (p->steps[i]->space == HN_SPACE_DEVICE) {
            if (shared > on_device) on_device = shared;
            shared = 0;
        }
        if (p->steps[i]->lane > 0) lane += shared, shared = 0;
        if (shared > p->lane_offset) p->lane_offset = shared;
        if (lane > p->lane_bytes) p->lane_bytes = lane;
    }
    p->scratch_bytes = p->lane_offset + p->lane_bytes * (size_t)p->lanes;
    p->device_scratch = hn_aligned(p->device_bytes);
    p->device_bytes = p->device_scratch + on_device;
}

/* ---- all of it ---- */

static hone_status lower(hn_plan *p, const hn_compile *how, hn_error *err) {
    const hn_graph *g = p->model->graph;
    size_t n = (size_t)g->n_values + 1;
    hn_arena *scratch = how->scratch;
    hn_lower L = {.plan = p,
                  .graph = g,
                  .alloc = how->alloc,
                  .isa = how->isa,
                  .no_fuse = how->no_fuse,
                  .layers = &how->layers,
                  .quantized = hn_graph_is_quantized(g)};
    L.views = hn_arena_alloc(scratch, n * sizeof *L.views); /* of those that are known */
    L.known = hn_arena_array(scratch, n, sizeof *L.known);
    L.makers = hn_arena_array(scratch, n, sizeof *L.makers);
    p->inputs = hn_arena_array(&p->arena, (size_t)g->n_inputs, sizeof *p->inputs);
    p->outputs = hn_arena_array(&p->arena, (size_t)g->n_outputs, sizeof *p->outputs);
    hone_status status = HONE_OK;
    if (L.views == NULL || L.known == NULL || L.makers == NULL || p->inputs == NULL ||
        p->outputs == NULL)
        status = HN_NOMEM(err);
    if (status == HONE_OK) status = hn_lower_graph(&L, err);
    hn_arena_rewind(scratch);
    return status;
}

hone_status hn_plan_create(hn_plan **out, hn_model *m, const hn_compile *how, hn_error *err) {
    hn_plan *p = hn_alloc_zero(how->alloc, sizeof *p, HN_MEM_OTHER);
    if (p == NULL) {
        hn_model_destroy(m);
        return HN_NOMEM(err);
    }
    hone_status status;
    hn_arena_init(&p->arena, how->alloc, HN_MEM_OTHER);
    p->model = m;
    p->lanes = hn_pool_threads(how->pool);
    HN_TRY_GOTO(lower(p, how, err));
    HN_TRY_GOTO(hn_plan_store(p, how, err));
    HN_TRY_GOTO(choose(p, how, err));
    HN_TRY_GOTO(hn_plan_pack(p, how->isa, err));
    HN_TRY_GOTO(bind_packed(p, err));
    if (!how->no_fuse) HN_TRY_GOTO(hn_strips_join(p, err));
    HN_TRY_GOTO(align_constants(p, how->weights, err));
    HN_TRY_GOTO(hn_plan_spaces(p, how->device, how->weights, err));
    if (how->parallel) hn_plan_together(p);
    settle_lives(p);
    if (!how->no_sharing) work_in_place(p);
    widen_lives(p);
    HN_TRY_GOTO(replace_inputs(p, how, err));
    if (how->shows) HN_TRY_GOTO(keep_outputs(p, err));
    HN_TRY_GOTO(place(p, how, HN_SPACE_HOST, &p->slab_bytes, err));
    if (p->device != NULL) HN_TRY_GOTO(place(p, how, HN_SPACE_DEVICE, &p->device_bytes, err));
    size_scratch(p);
    describe(p);
    *out = p;
    return HONE_OK;
fail:
    hn_weights_forget(how->weights);
    hn_plan_destroy(p);
    return status;
}
