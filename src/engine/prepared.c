#include "engine/prepared.h"

#include <string.h>

#include "base/log.h"
#include "base/span.h"
#include "engine/weights.h"
#include "engine/widen.h"
#include "ops/infer.h"
#include "passes/simplify.h"

/* Folding constants unpacks bytes that hold several codes each (compress/pack.h): what that may
 * add, with what it holds on the way. */
static int64_t unpacked_bytes(const hn_model *m) {
    int64_t bytes = 0;
    for (int i = 0; i < m->graph->n_values; i++) {
        const hn_value *v = m->graph->values[i];
        if (!v->dead && v->constant != NULL && v->constant->dtype == HONE_DTYPE_U8)
            bytes += (int64_t)v->constant->bytes;
    }
    return 8 * bytes;
}

hone_status hn_prepare_model(const hn_engine_options *o, hn_model *m, hn_error *err) {
    bool widened;
    int64_t begun = hn_span_begin();
    HN_TRY(hn_model_infer(m, NULL, err));
    HN_TRY(hn_widen(m, &widened, err));
    if (widened) HN_TRY(hn_model_infer(m, NULL, err));
    if (o->no_simplify) return HONE_OK;
    hn_simplify_options s = hn_simplify_defaults();
    s.keep_opset = false;
    s.inferred = true;
    s.max_growth += unpacked_bytes(m);
    s.disable = o->disable;
    HN_TRY(hn_simplify(m, &s, NULL, err));
    hn_span_end("compile", "passes", begun, (int64_t)atomic_load(&o->alloc->live));
    return HONE_OK;
}

static hone_status simplified(const hn_prepared *p, const hn_engine_options *o, hn_model **out,
                              hn_error *err) {
    hn_model *m;
    HN_TRY(hn_model_clone(&m, p->source, p->alloc, err));
    hone_status status = hn_prepare_model(o, m, err);
    if (status == HONE_OK)
        *out = m;
    else
        hn_model_destroy(m);
    return status;
}

/* ---- a kept model ---- */

static bool same_type(const hn_value *a, const hn_value *b) {
    const hn_type *x = &a->type, *y = &b->type;
    if (strcmp(a->name, b->name) != 0 || x->kind != y->kind || x->dtype != y->dtype ||
        x->shape.rank != y->shape.rank || (a->constant != NULL) != (b->constant != NULL))
        return false;
    for (int i = 0; i < x->shape.rank; i++) {
        int64_t n = -1, k = -1;
        hn_dim_is_const(x->shape.dim[i], &n);
        hn_dim_is_const(y->shape.dim[i], &k);
        if (n != k) return false;
    }
    return true;
}

/* Whether a session of the source can run m. */
static bool fits_source(const hn_model *m, const hn_model *source) {
    const hn_graph *g = m->graph, *s = source->graph;
    if (g->n_inputs != s->n_inputs || g->n_outputs != s->n_outputs) return false;
    for (int i = 0; i < g->n_inputs; i++)
        if (!same_type(g->inputs[i], s->inputs[i])) return false;
    for (int i = 0; i < g->n_outputs; i++) {
        const hn_value *a = g->outputs[i].value, *b = s->outputs[i].value;
        if (strcmp(a->name, b->name) != 0 || a->type.dtype != b->type.dtype) return false;
    }
    return true;
}

/* NULL: none is kept, or it cannot be used. */
static hn_model *load_kept(const hn_prepared *p, const hn_premade *kept) {
    hn_model *m;
    hn_error why = {0};
    int64_t begun = hn_span_begin();
    hone_status status = kept->model(kept->ctx, &m, p->alloc, &why);
    if (status == HONE_OK) {
        status = hn_model_verify(m, &why);
        if (status == HONE_OK) status = hn_model_infer(m, NULL, &why);
        if (status == HONE_OK && !fits_source(m, p->source))
            status = HN_FAIL(&why, HONE_E_MODEL, "it is of another model");
        if (status != HONE_OK) hn_model_destroy(m);
    }
    hn_span_end("compile", "kept", begun, (int64_t)atomic_load(&p->alloc->live));
    if (status == HONE_OK) return m;
    hn_log(HONE_LOG_INFO, "what is ready to run is not used: %s", why.text);
    return NULL;
}

static const hn_premade *find_kept(const hn_prepared *p, const hn_engine_options *o) {
    bool all = !o->no_simplify && o->device == NULL && (o->disable == NULL || *o->disable == 0);
    return p->list != NULL && p->list->kept != NULL && all
               ? p->list->kept(p->list->kept_ctx, o->isa)
               : NULL;
}

/* By tensor, those of the outermost graph. */
static hone_status list_names(hn_prepared *p, hn_error *err) {
    hn_map_init(&p->names, p->alloc);
    for (int i = 0; p->kept != NULL && i < p->model->graph->n_values; i++) {
        const hn_value *v = p->model->graph->values[i];
        hn_tensor *const *t = &v->constant;
        if (v->dead || *t == NULL || hn_map_get(&p->names, (const char *)t, sizeof *t) != NULL)
            continue;
        if (!hn_map_put(&p->names, (const char *)t, sizeof *t, (void *)v->name))
            return HN_NOMEM(err);
    }
    return HONE_OK;
}

static hn_tensor *constant(const hn_model *m, int id) { return m->graph->values[id]->constant; }

static void let_files_go(const hn_model *m) {
    const hn_file *last = NULL;
    for (int i = 0; i < m->graph->n_values; i++) {
        const hn_tensor *t = constant(m, i);
        if (t == NULL || t->file == NULL || t->file == last) continue;
        last = t->file;
        hn_file_let_go(last, last->data, last->bytes);
    }
}

/* ---- making and sharing ---- */

/* What the source does not hold, one value of the model does. */
static hone_status list_made(hn_prepared *p, hn_error *err) {
    size_t n = (size_t)p->model->graph->n_values;
    p->made = hn_alloc_array(p->alloc, n, sizeof *p->made, HN_MEM_OTHER);
    p->readers = hn_alloc_zero(p->alloc, n * sizeof *p->readers, HN_MEM_OTHER);
    if (p->made == NULL || p->readers == NULL) return HN_NOMEM(err);
    for (int i = 0; i < (int)n; i++) {
        const hn_tensor *t = constant(p->model, i);
        if (p->kept != NULL) continue;
        if (t != NULL && t->own != NULL && atomic_load(&t->refs) == 1) p->made[p->n_made++] = i;
    }
    return HONE_OK;
}

/* With what they are views of. The keys are addresses, where these are kept. */
static hone_status list_constants(hn_prepared *p, hn_error *err) {
    hn_map_init(&p->constants, p->alloc);
    for (int k = 0; k < p->model->n_graphs; k++)
        for (int i = 0; i < p->model->graphs[k]->n_values; i++) {
            hn_tensor *const *t = &p->model->graphs[k]->values[i]->constant;
            for (; *t != NULL; t = &(*t)->base)
                if (!hn_map_put(&p->constants, (const char *)t, sizeof *t, *t))
                    return HN_NOMEM(err);
        }
    return HONE_OK;
}

bool hn_prepared_holds(const hn_prepared *p, const hn_tensor *t) {
    return hn_map_get(&p->constants, (const char *)&t, sizeof t) != NULL;
}

static void destroy(hn_prepared *p, hn_allocator *from) {
    hn_weights_destroy(p->weights);
    hn_map_deinit(&p->names);
    hn_map_deinit(&p->constants);
    hn_model_destroy(p->model);
    hn_free(p->alloc, p->made);
    hn_free(p->alloc, p->readers);
    hn_free(p->alloc, p->disable);
    hn_arena_deinit(&p->scratch);
    pthread_mutex_destroy(&p->making);
    pthread_mutex_destroy(&p->owners.lock);
    hn_free(from, p);
}

static hone_status fill(hn_prepared *p, const hn_engine_options *o, hn_error *err) {
    p->no_simplify = o->no_simplify;
    p->device = o->device;
    if (o->disable != NULL) {
        size_t n = strlen(o->disable) + 1;
        p->disable = hn_alloc(p->alloc, n, HN_MEM_OTHER);
        if (p->disable == NULL) return HN_NOMEM(err);
        memcpy(p->disable, o->disable, n);
    }
    if (p->list != NULL) HN_TRY(hn_weights_create(&p->weights, o->device, p->alloc, err));
    p->kept = find_kept(p, o);
    if (p->kept != NULL) p->model = load_kept(p, p->kept);
    if (p->model == NULL) {
        p->kept = NULL;
        HN_TRY(simplified(p, o, &p->model, err));
    }
    HN_TRY(list_made(p, err));
    HN_TRY(list_constants(p, err));
    HN_TRY(list_names(p, err));
    if (p->kept != NULL) hn_weights_keep(p->weights, p->kept, &p->names);
    let_files_go(p->source);
    p->reads_files = true;
    return HONE_OK;
}

/* What it is kept in itself, which engines need not count. */
static hn_allocator *keeper(const hn_engine_options *o) {
    return o->prepared != NULL ? hn_allocator_default() : o->alloc;
}

static hone_status create(hn_prepared **out, const hn_model *source, const hn_engine_options *o,
                          hn_owner *as, hn_error *err) {
    hn_prepared *p = hn_alloc_zero(keeper(o), sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    p->list = o->prepared;
    p->source = source;
    p->alloc = o->alloc;
    p->users = 1;
    pthread_mutex_init(&p->making, NULL);
    pthread_mutex_init(&p->owners.lock, NULL);
    if (p->list != NULL) {
        p->alloc = &p->common;
        hn_allocator_init(&p->common);
        p->common.owners = &p->owners;
        hn_owner_join(p->alloc, as);
    }
    hn_arena_init(&p->scratch, p->alloc, HN_MEM_SCRATCH);
    hn_prepared_lock(p, o->alloc);
    hone_status status = fill(p, o, err);
    hn_prepared_unlock(p);
    if (status != HONE_OK) {
        if (p->list != NULL) hn_owner_leave(p->alloc, as);
        destroy(p, keeper(o));
        return status;
    }
    *out = p;
    return HONE_OK;
}

static bool is_alike(const hn_prepared *p, const hn_engine_options *o) {
    const char *a = p->disable != NULL ? p->disable : "", *b = o->disable != NULL ? o->disable : "";
    return p->no_simplify == o->no_simplify && p->device == o->device && strcmp(a, b) == 0;
}

hone_status hn_prepared_take(hn_prepared **out, const hn_model *source, const hn_engine_options *o,
                             hn_owner *as, hn_error *err) {
    hn_prepared_list *list = o->prepared;
    if (list == NULL) return create(out, source, o, as, err);
    hone_status status = HONE_OK;
    pthread_mutex_lock(&list->lock);
    hn_prepared *p = list->first;
    while (p != NULL && !is_alike(p, o)) p = p->next;
    if (p == NULL && (status = create(&p, source, o, as, err)) == HONE_OK) {
        p->next = list->first;
        list->first = p;
    } else if (status == HONE_OK && !hn_owner_join(p->alloc, as)) {
        status = HN_NOMEM(err);
    } else if (status == HONE_OK) {
        p->users++;
    }
    pthread_mutex_unlock(&list->lock);
    if (status == HONE_OK) *out = p;
    return status;
}

void hn_prepared_give(hn_prepared *p, hn_owner *as) {
    if (p == NULL) return;
    hn_prepared_list *list = p->list;
    if (list == NULL) {
        destroy(p, p->alloc);
        return;
    }
    pthread_mutex_lock(&list->lock);
    hn_owner_leave(p->alloc, as);
    if (--p->users == 0) {
        hn_prepared **at = &list->first;
        while (*at != p) at = &(*at)->next;
        *at = p->next;
        destroy(p, hn_allocator_default());
    }
    pthread_mutex_unlock(&list->lock);
}

/* ---- making plans ---- */

void hn_prepared_lock(hn_prepared *p, hn_allocator *owner) {
    pthread_mutex_lock(&p->making);
    p->owners.taker = owner;
}

void hn_prepared_unlock(hn_prepared *p) {
    p->owners.taker = NULL;
    pthread_mutex_unlock(&p->making);
}

hone_status hn_prepared_restore(hn_prepared *p, const hn_engine_options *o, size_t budget,
                                hn_error *err) {
    hn_model *again;
    size_t restored = 0;
    if (!p->dropped) return HONE_OK;
    HN_TRY(simplified(p, o, &again, err));
    for (int i = 0; i < p->n_made; i++) {
        hn_tensor *t = constant(p->model, p->made[i]);
        if (t->own != NULL) continue;
        hn_tensor_refill(t, constant(again, p->made[i]));
        restored += t->bytes;
    }
    p->dropped = false;
    p->reads_files = true;
    p->keeps_plain = restored <= budget;
    hn_model_destroy(again);
    return HONE_OK;
}

size_t hn_prepared_drop(hn_prepared *p, const bool *reads, bool only_count) {
    size_t bytes = 0;
    if (p->reads_files && !only_count) {
        let_files_go(p->source);
        let_files_go(p->model);
        p->reads_files = false;
    }
    for (int i = 0; i < p->n_made && !p->keeps_plain; i++) {
        hn_tensor *t = constant(p->model, p->made[i]);
        if (t->own == NULL || reads[i] || atomic_load(&p->readers[i]) > 0) continue;
        bytes += hn_alloc_bytes(t->bytes);
        if (only_count) continue;
        hn_tensor_drop(t);
        p->dropped = true;
    }
    return bytes;
}
