#include "make/make.h"

#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "make/interpret.h"
#include "ops/op.h"

/* What every operator of the layers exists in, and readers of models have known for long. */
#define OPSET 17
#define IR_VERSION 8

/* ---- the architectures ---- */

#define HN_MODEL(name, file, settings, help) extern const char hn_text_##file[];
#include "make/models.def"
#undef HN_MODEL
extern const char hn_text_blocks[]; /* the blocks that all descriptions share */

const hn_architecture hn_architectures[] = {
#define HN_MODEL(name, file, settings, help) {name, help, settings, hn_text_##file},
#include "make/models.def"
#undef HN_MODEL
};
const int hn_n_architectures = sizeof hn_architectures / sizeof *hn_architectures;

const hn_architecture *hn_architecture_find(const char *name) {
    for (int i = 0; i < hn_n_architectures; i++)
        if (strcmp(hn_architectures[i].name, name) == 0) return &hn_architectures[i];
    return NULL;
}

/* ---- the text with its settings ---- */

/* Text that grows in an arena, which is asked for all it can need at the beginning. */
typedef struct page {
    char *text;
    size_t n;
} page;

static void put(page *p, const char *text, size_t n) {
    memcpy(p->text + p->n, text, n);
    p->n += n;
}

static void put_numbers(page *p, const hn_declared *v) {
    char buf[HN_DECIMAL_TEXT];
    for (int i = 0; i < v->n; i++) {
        if (i > 0) put(p, " ", 1);
        hn_decimal_text_f64(v->v[i], buf);
        put(p, buf, strlen(buf));
    }
}

/* The word that was chosen, and then the others. */
static void put_words(page *p, const hn_declared *v) {
    int chosen = (int)v->v[0];
    put(p, v->words[chosen].p, v->words[chosen].n);
    for (int i = 0; i < v->n_words; i++) {
        if (i == chosen) continue;
        put(p, " ", 1);
        put(p, v->words[i].p, v->words[i].n);
    }
}

static hone_status describe(char **out, const hn_description *d, const hn_settings *s,
                            hn_arena *arena, hn_error *err) {
    hn_scope *scope = hn_arena_array(arena, 1, sizeof *scope);
    page p = {hn_arena_array(arena,
                             d->n + HN_SCOPE_MOST * (size_t)HN_DECIMAL_TEXT +
                                 (size_t)HN_LIST_MOST * HN_DECIMAL_TEXT * (size_t)s->n + 1,
                             1),
              0};
    if (scope == NULL || p.text == NULL) return HN_NOMEM(err);
    size_t done = 0;
    for (int i = 0; i < d->n_lines; i++) {
        const hn_line *l = &d->lines[i];
        hn_declared v;
        if (!hn_line_declares(l)) continue;
        HN_TRY(hn_declare(&v, scope, d, l, s, arena, err));
        if (!v.set) continue;
        put(&p, d->text + done, v.from - done);
        if (l->kind == HN_LINE_CHOICE)
            put_words(&p, &v);
        else
            put_numbers(&p, &v);
        done = v.to;
    }
    put(&p, d->text + done, d->n - done);
    p.text[p.n] = '\0';
    *out = p.text;
    return HONE_OK;
}

hone_status hn_make_describe(char **out, const char *name, const char *text, size_t n,
                             const hn_make_options *o, hn_arena *arena, hn_error *err) {
    hn_description *d = hn_arena_array(arena, 1, sizeof *d);
    hn_settings s;
    if (d == NULL) return HN_NOMEM(err);
    HN_TRY(hn_description_read(d, name, text, n, arena, err));
    HN_TRY(hn_settings_read(&s, d, o, arena, err));
    return describe(out, d, &s, arena, err);
}

/* ---- the model ---- */

/* The name of a file without its folder and ending: where it lies must not change the model. */
static const char *graph_name(hn_arena *arena, const char *name) {
    const char *slash = strrchr(name, '/'), *own = slash != NULL ? slash + 1 : name;
    const char *dot = strrchr(own, '.');
    return hn_arena_strndup(arena, own,
                            dot != NULL && dot > own ? (size_t)(dot - own) : strlen(own));
}

static hone_status begin(hn_maker *m, const char *name, hn_error *err) {
    hn_model *model = m->model;
    model->ir_version = IR_VERSION;
    model->producer_name = "hone";
    HN_TRY(hn_model_set_opset(model, "", OPSET, err));
    HN_TRY(hn_graph_create(&m->graph, model, NULL, err));
    m->graph->name = graph_name(&model->arena, name);
    if (m->graph->name == NULL) return HN_NOMEM(err);
    const struct {
        const char *how;
        double number;
    } first[HN_INITIAL_COUNT_] = {[HN_INITIAL_CONV] = {"kaiming_out", 0},
                                  [HN_INITIAL_LINEAR] = {"uniform", 0},
                                  [HN_INITIAL_BIAS] = {"zeros", 0},
                                  [HN_INITIAL_EMBEDDING] = {"truncated", 0.02}};
    for (int i = 0; i < HN_INITIAL_COUNT_; i++)
        m->initial[i] = (hn_initial){hn_initial_find((hn_str){first[i].how, strlen(first[i].how)}),
                                     first[i].number};
    m->flow = (hn_flow){.kind = HN_FLOW_NONE};
    return HONE_OK;
}

static hone_status finish(hn_maker *m, const char *name, hn_error *err) {
    hn_value *y = m->flow.value;
    HN_CHECK(err, y != NULL && y->producer != NULL, HONE_E_FORMAT,
             "%s: no layer behind an input, wanted at least one", name);
    const hn_value *taken = hn_graph_value(m->graph, "logits");
    HN_CHECK(err, taken == NULL || taken == y, HONE_E_FORMAT,
             "%s: the name 'logits' is for what the last layer makes", name);
    if (taken == NULL) HN_TRY(hn_value_rename(y, "logits", err));
    HN_TRY(hn_graph_add_output(m->graph, y, err));
    hn_model_bind_ops(m->model);
    return HONE_OK;
}

/* What the model was made of, so that it can be made again, or another like it. */
static hone_status note(hn_maker *m, const char *text, hn_error *err) {
    hn_arena *arena = &m->model->arena;
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)m->seed);
    hn_prop *v = hn_arena_array(arena, 3, sizeof *v);
    if (v == NULL) return HN_NOMEM(err);
    v[0] = (hn_prop){"hone.description", hn_arena_strdup(arena, text)};
    v[1] = (hn_prop){"hone.seed", hn_arena_strdup(arena, seed)};
    v[2] = (hn_prop){"hone.version", hone_version()};
    if (v[0].value == NULL || v[1].value == NULL) return HN_NOMEM(err);
    m->model->metadata = (hn_props){3, v};
    return HONE_OK;
}

static hone_status make(hn_maker *m, const char *name, const char *text, size_t n,
                        const hn_make_options *o, hn_arena *arena, hn_error *err) {
    hn_description *d = hn_arena_array(arena, 2, sizeof *d), *common = d + 1;
    hn_settings s;
    char *described;
    if (d == NULL) return HN_NOMEM(err);
    HN_TRY(hn_description_read(d, name, text, n, arena, err));
    HN_TRY(
        hn_description_read(common, "blocks", hn_text_blocks, strlen(hn_text_blocks), arena, err));
    HN_TRY(hn_settings_read(&s, d, o, arena, err));
    HN_TRY(describe(&described, d, &s, arena, err));
    HN_TRY(begin(m, name, err));
    HN_TRY(hn_interpret(m, d, common, &s, arena, err));
    HN_TRY(finish(m, name, err));
    return note(m, described, err);
}

hone_status hn_make(hn_model **out, const char *name, const char *text, size_t n,
                    const hn_make_options *o, hn_allocator *alloc, hn_error *err) {
    hn_maker m = {.seed = o->seed, .most_params = o->most_params, .err = err};
    hn_arena arena;
    if (m.most_params == 0) m.most_params = HN_MAKE_MOST_PARAMS;
    HN_TRY(hn_model_create(&m.model, alloc, err));
    hn_arena_init(&arena, alloc, HN_MEM_OTHER);
    hone_status status = make(&m, name, text, n, o, &arena, err);
    hn_arena_deinit(&arena);
    if (status != HONE_OK)
        hn_model_destroy(m.model);
    else
        *out = m.model;
    return status;
}
