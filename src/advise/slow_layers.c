#include "advise/slow_layers.h"

#include <math.h>
#include <string.h>

#include "engine/choice.h"
#include "engine/layers.h"
#include "engine/lower_quant.h"
#include "ops/nodes.h"

enum { RUNS = 8, ORIGINAL = 0, OWN = 1, MODELS = 2 };
#define SLOWER 1.05 /* times as long: below lies noise */

/* A layer of both models. */
typedef struct layer {
    const char *name;
    double ms[MODELS]; /* the least of all runs */
    double run;        /* the current one */
} layer;

typedef struct layers {
    int n;
    layer *v;
} layers;

static hone_status add(hn_slow_layers *to, const char *name, double f32_ms, double own_ms,
                       hn_arena *arena, hn_error *err) {
    const char *text = hn_arena_strdup(arena, name);
    if (text == NULL) return HN_NOMEM(err);
    to->v[to->n++] = (hn_slow_layer){text, f32_ms, own_ms};
    return HONE_OK;
}

/* ---- parts between DequantizeLinear and QuantizeLinear ---- */

static hone_status add_parts(hn_slow_layers *to, int room, const hn_model *m,
                             const hn_run_options *how, const hn_tensor *const *in, hn_arena *arena,
                             hn_error *err) {
    hn_program *p;
    hn_run_options choosing = *how;
    choosing.engine.auto_precision = true;
    HN_TRY(hn_program_create(&p, m, &choosing, err));
    hone_status status = hn_program_prepare(p, in, err);
    const hn_choice *c;
    for (size_t i = 0; status == HONE_OK && (c = hn_program_choice(p, i)) != NULL; i++)
        if (to->n < room && c->int8_us > SLOWER * c->f32_us) /* it may have chosen all */
            status = add(to, c->rule.name, c->f32_us * 1e-3, c->int8_us * 1e-3, arena, err);
    hn_program_destroy(p);
    return status;
}

/* ---- layers between floats ---- */

/* n multiplies by weights in integers, and is no part of the kind above. */
static bool is_quantized(const hn_node *n) {
    if (hn_quant_part(n) != NULL) return false;
    if (n->op != NULL && n->op->quantized != NULL) return true;
    hn_weight_kind kind = hn_weight_kind_of(n);
    if (kind != HN_WEIGHT_MATRIX && kind != HN_WEIGHT_WINDOWS && kind != HN_WEIGHT_STATE)
        return false;
    const hn_value *w = hn_node_input(n, n->op->weights->input);
    return w != NULL && w->producer != NULL && hn_node_is_quantized(w->producer);
}

static hone_status find_layers(layers *all, const hn_model *m, hn_arena *arena, hn_error *err) {
    all->v = hn_arena_array(arena, (size_t)m->graph->n_nodes + 1, sizeof *all->v);
    if (all->v == NULL) return HN_NOMEM(err);
    for (const hn_node *n = m->graph->first; n != NULL; n = n->next)
        if (is_quantized(n))
            all->v[all->n++] = (layer){.name = hn_layer_name(n), .ms = {INFINITY, INFINITY}};
    return HONE_OK;
}

static void take_time(void *ctx, const hn_step_time *t) {
    layers *all = ctx;
    const hn_node *maker = t->step->facts->maker;
    for (int i = 0; maker != NULL && i < all->n; i++)
        if (strcmp(all->v[i].name, hn_layer_name(maker)) == 0)
            all->v[i].run += (double)(t->end_ns - t->begin_ns) * 1e-6;
}

/* The first run of each warms up. A layer that has no step of its name keeps an infinite time. */
static hone_status time_layers(layers *all, hn_program *const programs[MODELS],
                               const hn_tensor *const *in, hn_error *err) {
    for (int k = 0; k < MODELS * (RUNS + 1); k++) {
        int who = k % MODELS;
        for (int i = 0; i < all->n; i++) all->v[i].run = 0;
        HN_TRY(hn_program_profile(programs[who], in, take_time, all, err));
        for (int i = 0; k >= MODELS && i < all->n; i++) {
            layer *l = &all->v[i];
            if (l->run > 0) l->ms[who] = fmin(l->ms[who], l->run);
        }
    }
    return HONE_OK;
}

static hone_status add_layers(hn_slow_layers *to, int room, hn_program *original, const hn_model *m,
                              const hn_run_options *how, const hn_tensor *const *in,
                              hn_arena *arena, hn_error *err) {
    layers all = {0};
    hn_program *p;
    HN_TRY(find_layers(&all, m, arena, err));
    if (all.n == 0) return HONE_OK;
    HN_TRY(hn_program_create(&p, m, how, err));
    hn_program *const programs[MODELS] = {original, p};
    hone_status status = time_layers(&all, programs, in, err);
    for (int i = 0; i < all.n && to->n < room && status == HONE_OK; i++) {
        const layer *l = &all.v[i];
        if (isfinite(l->ms[OWN]) && l->ms[OWN] > SLOWER * l->ms[ORIGINAL])
            status = add(to, l->name, l->ms[ORIGINAL], l->ms[OWN], arena, err);
    }
    hn_program_destroy(p);
    return status;
}

hone_status hn_slow_layers_find(hn_slow_layers *out, hn_program *original, const hn_model *m,
                                const hn_run_options *how, const hn_tensor *const *in,
                                hn_arena *arena, hn_error *err) {
    int room = m->graph->n_nodes;
    *out = (hn_slow_layers){.v = hn_arena_array(arena, (size_t)room + 1, sizeof *out->v)};
    if (out->v == NULL) return HN_NOMEM(err);
    HN_TRY(add_parts(out, room, m, how, in, arena, err));
    return add_layers(out, room, original, m, how, in, arena, err);
}
