/* States: inputs whose values the library keeps from run to run.
 *
 *     run 1: in the first value ──▶ out, in the other buffer ─┐ is the input of
 *     run 2: in ◀─────────────────────────────────────────────┘ ──▶ out, in the first buffer ...
 *
 * A state has two buffers for each pair. A run reads the one that holds the value and writes the
 * other, and once the whole run has succeeded they change places; so a run that fails has changed
 * nothing. Where the plan says that the output may be written over the input (hn_plan.replaces), one
 * buffer does and the other is never made. Buffers only grow, by a quarter more than is needed where
 * sizes grow, and they are the state's: plans know inputs and outputs only as addresses that each
 * run brings.
 *
 * What a state keeps is an input of the graph for every plan: nothing of it is folded or packed
 * beforehand, even where it has an initializer, which is no more than its first value. Parameters of
 * a model that is trained are the same. A pair may name an initializer that is no input of the model:
 * the session then runs a copy of the graph in which it is one.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/size.h"

/* ---- pairs ---- */

/* A name, or a pattern: a `*` in it stands for any text. */
typedef struct pattern {
    const char *text;
    size_t n;
    const char *star; /* NULL: none */
} pattern;

/* Whether the name is `text` with the star replaced by something, which *middle then is. */
static bool matches(const pattern *p, const char *name, hn_str *middle) {
    size_t n = strlen(name), before = p->star != NULL ? (size_t)(p->star - p->text) : p->n;
    size_t after = p->star != NULL ? p->n - before - 1 : 0;
    if (p->star == NULL ? n != p->n : n < before + after) return false;
    if (memcmp(name, p->text, before) != 0) return false;
    if (after > 0 && memcmp(name + n - after, p->star + 1, after) != 0) return false;
    *middle = (hn_str){name + before, n - before - after};
    return true;
}

/* The output that the pattern names with this in the place of its star; -1: none. */
static int find_output(const hn_graph *g, const pattern *p, hn_str middle) {
    hn_str found;
    for (int i = 0; i < g->n_outputs; i++)
        if (matches(p, g->outputs[i].value->name, &found) && found.n == middle.n &&
            (found.n == 0 || memcmp(found.p, middle.p, found.n) == 0))
            return i;
    return -1;
}

static hone_status read_side(pattern *p, const char *text, size_t n, hn_error *err) {
    *p = (pattern){text, n, memchr(text, '*', n)};
    bool twice = p->star != NULL && memchr(p->star + 1, '*', (size_t)(text + n - p->star - 1));
    HN_CHECK(err, n > 0 && !twice, HONE_E_ARG,
             "state: '%.*s' is no name, expected one with at most "
             "one *",
             (int)n, text);
    return HONE_OK;
}

/* Whether the output can become the input of the next run. */
static hone_status check_pair(const hn_value *in, const hn_value *out, hn_error *err) {
    const hn_type *a = &in->type, *b = &out->type;
    bool tensors = a->kind != HN_TYPE_OTHER && b->kind != HN_TYPE_OTHER;
    HN_CHECK(err, tensors && a->dtype != HONE_DTYPE_STRING && b->dtype != HONE_DTYPE_STRING,
             HONE_E_TYPE, "state '%s=%s': %s cannot be kept", in->name, out->name,
             tensors ? "strings" : "what is not a tensor");
    HN_CHECK(err,
             a->dtype == b->dtype || a->dtype == HONE_DTYPE_NONE || b->dtype == HONE_DTYPE_NONE,
             HONE_E_TYPE, "state '%s=%s': the output is %s, the input %s", in->name, out->name,
             hone_dtype_name(b->dtype), hone_dtype_name(a->dtype));
    if (a->shape.rank < 0 || b->shape.rank < 0) return HONE_OK;
    bool fits = a->shape.rank == b->shape.rank;
    for (int i = 0; fits && i < a->shape.rank; i++) {
        int64_t x, y;
        fits = !hn_dim_is_const(a->shape.dim[i], &x) || !hn_dim_is_const(b->shape.dim[i], &y) ||
               x == y;
    }
    char want[200], found[200];
    HN_CHECK(err, fits, HONE_E_SHAPE, "state '%s=%s': the output is %s, the input %s", in->name,
             out->name, hn_shape_text(&b->shape, found, sizeof found),
             hn_shape_text(&a->shape, want, sizeof want));
    return HONE_OK;
}

static hone_status add_pair(hn_api_pairs *pairs, const hn_graph *g, int input, int output,
                            hn_error *err) {
    for (size_t i = 0; i < pairs->n; i++) {
        bool same = pairs->at[i].input == input;
        HN_CHECK(err, !same && pairs->at[i].output != output, HONE_E_ARG,
                 "state: %s '%s' is in two pairs", same ? "input" : "output",
                 same ? g->inputs[input]->name : g->outputs[output].value->name);
    }
    HN_TRY(check_pair(g->inputs[input], g->outputs[output].value, err));
    pairs->at[pairs->n++] = (hn_state_pair){input, output};
    return HONE_OK;
}

/* One word of the list, "INPUT=OUTPUT". */
typedef struct word {
    const char *text;
    int shown; /* letters of it, in messages */
    pattern in, out;
} word;

/* Reads the word at *at, which becomes where the next one begins, or NULL. */
static hone_status next_word(const char **at, word *w, hn_error *err) {
    size_t n = strcspn(*at, ",");
    const char *equals = memchr(*at, '=', n);
    w->text = *at;
    w->shown = (int)(n < 400 ? n : 400);
    HN_CHECK(err, equals != NULL, HONE_E_ARG, "state: '%.*s' is no pair, expected INPUT=OUTPUT",
             w->shown, w->text);
    HN_TRY(read_side(&w->in, *at, (size_t)(equals - *at), err));
    HN_TRY(read_side(&w->out, equals + 1, (size_t)(*at + n - equals - 1), err));
    HN_CHECK(err, (w->in.star != NULL) == (w->out.star != NULL), HONE_E_ARG,
             "state: '%.*s' has a * on one side only", w->shown, w->text);
    *at = (*at)[n] == ',' ? *at + n + 1 : NULL;
    return HONE_OK;
}

static hone_status read_word(hn_api_pairs *pairs, const hn_graph *g, const word *w, hn_error *err) {
    hn_str middle;
    bool known = false;
    size_t before = pairs->n;
    for (int i = 0; i < g->n_inputs; i++) {
        if (!matches(&w->in, g->inputs[i]->name, &middle)) continue;
        int output = find_output(g, &w->out, middle);
        known = true;
        if (output >= 0) HN_TRY(add_pair(pairs, g, i, output, err));
    }
    const pattern *missing = known ? &w->out : &w->in;
    HN_CHECK(err, pairs->n > before, HONE_E_NOT_FOUND, "state '%.*s': the model has no %s '%.*s'",
             w->shown, w->text, known ? "output" : "input", (int)missing->n, missing->text);
    return HONE_OK;
}

hone_status hn_api_pairs_read(hn_api_pairs *out, const hn_graph *g, const char *text,
                              hn_allocator *alloc, hn_error *err) {
    word w;
    if (text == NULL) return HONE_OK;
    out->at = hn_alloc_array(alloc, (size_t)g->n_inputs + 1, sizeof *out->at, HN_MEM_OTHER);
    if (out->at == NULL) return HN_NOMEM(err);
    while (text != NULL) {
        HN_TRY(next_word(&text, &w, err));
        HN_TRY(read_word(out, g, &w, err));
    }
    return HONE_OK;
}

/* ---- parameters ---- */

/* The next initializer, from value *at on, that the word pairs with an output; NULL: none. A word
 * that names inputs means those. */
static hn_value *next_parameter(const hn_graph *g, const word *w, int *at) {
    hn_str middle;
    for (int i = 0; i < g->n_inputs && *at == 0; i++)
        if (matches(&w->in, g->inputs[i]->name, &middle)) return NULL;
    while (*at < g->n_values) {
        hn_value *v = g->values[(*at)++];
        if (!v->dead && v->constant != NULL && !v->is_input && matches(&w->in, v->name, &middle) &&
            find_output(g, &w->out, middle) >= 0)
            return v;
    }
    return NULL;
}

/* Makes the initializers that the text names inputs of the graph; look: only tells whether there
 * are any. */
static hone_status add_parameters(hn_graph *g, const char *text, bool look, bool *any,
                                  hn_error *err) {
    word w;
    while (text != NULL) {
        hn_value *v;
        int at = 0;
        HN_TRY(next_word(&text, &w, err));
        while ((v = next_parameter(g, &w, &at)) != NULL) {
            *any = true;
            if (!look) HN_TRY(hn_graph_add_input(g, v, err));
        }
    }
    return HONE_OK;
}

hone_status hn_api_with_parameters(hone_model *model, const char *text, hone_model **out,
                                   hn_error *err) {
    bool any = false;
    hn_model *ir;
    HN_TRY(add_parameters(model->ir->graph, text, true, &any, err));
    if (!any) {
        atomic_fetch_add(&model->refs, 1);
        *out = model;
        return HONE_OK;
    }
    HN_TRY(hn_model_clone(&ir, model->ir, &model->alloc, err));
    hone_status status = add_parameters(ir->graph, text, false, &any, err);
    if (status != HONE_OK) {
        hn_model_destroy(ir);
        return status;
    }
    HN_TRY(hn_api_model_adopt(ir, out, err));
    atomic_fetch_add(&model->refs, 1);
    (*out)->made_of = model;
    return HONE_OK;
}

/* ---- states ---- */

typedef struct slot {
    const hn_value *input;
    const hn_value *output;
    hone_value now, next; /* dtype HONE_DTYPE_NONE: there is none */
    void *block[2];
    size_t room[2]; /* bytes of the blocks */
    int at;         /* the block that holds `now` */
    bool begun;     /* `now` is the first value, and the run that needs it is not over */
    bool guessed;   /* its sizes are, in part, what no input says */
} slot;

struct hone_state {
    hone_session *session;
    hn_allocator *alloc;
    atomic_flag used; /* by a call that is not over */
    const hn_api_pairs *pairs;
    slot slots[];
};

hone_status hone_state_create(hone_state **out, hone_session *session, hone_error *err) {
    HN_CHECK(err, hone_session_state(session, 0, NULL) != NULL, HONE_E_ARG,
             "the session declares no state (hone_session_options.state)");
    hn_allocator *alloc;
    const hn_graph *g = hn_api_session_model(session)->ir->graph;
    const hn_api_pairs *pairs = hn_api_session_ref(session, &alloc);
    hone_state *s = hn_alloc_zero(alloc, sizeof *s + pairs->n * sizeof *s->slots, HN_MEM_OTHER);
    if (s == NULL) {
        hone_session_destroy(session);
        return HN_NOMEM(err);
    }
    s->session = session;
    s->alloc = alloc;
    s->pairs = pairs;
    for (size_t i = 0; i < pairs->n; i++) {
        s->slots[i].input = g->inputs[pairs->at[i].input];
        s->slots[i].output = g->outputs[pairs->at[i].output].value;
    }
    *out = s;
    return HONE_OK;
}

void hone_state_destroy(hone_state *s) {
    if (s == NULL) return;
    for (size_t i = 0; i < s->pairs->n; i++)
        for (int k = 0; k < 2; k++) hn_free(s->alloc, s->slots[i].block[k]);
    hone_session *session = s->session;
    hn_free(s->alloc, s);
    hone_session_destroy(session);
}

/* Says in *v where a value of this kind is to be put, without touching the one there is. */
static hone_status make_room(hone_state *s, slot *t, int block, hone_dtype dtype, int rank,
                             const int64_t *dims, hone_value *v, hn_error *err) {
    size_t bytes = hone_value_bytes(dtype, rank, dims);
    HN_CHECK(err, bytes != SIZE_MAX, HONE_E_SHAPE, "state '%s' has no size", t->input->name);
    if (t->block[block] == NULL || t->room[block] < bytes) {
        bool grows = t->now.dtype != HONE_DTYPE_NONE && bytes > t->now.bytes;
        size_t more = grows && bytes < SIZE_MAX / 2 ? bytes / 4 : 0;
        if (!hn_alloc_fits(s->alloc, bytes + more)) more = 0;
        hn_free(s->alloc, t->block[block]);
        t->block[block] = hn_alloc(s->alloc, bytes + more, HN_MEM_TENSOR);
        t->room[block] = t->block[block] != NULL ? bytes + more : 0;
        HN_CHECK(err, t->block[block] != NULL, HONE_E_NOMEM,
                 "out of memory (%zu bytes for state '%s')", bytes, t->input->name);
    }
    *v = (hone_value){.name = t->input->name,
                      .dtype = dtype,
                      .rank = rank,
                      .data = t->block[block],
                      .bytes = bytes};
    memcpy(v->dims, dims, (size_t)rank * sizeof *dims);
    return HONE_OK;
}

/* ---- for runs ---- */

/* Sizes of symbols: what the given inputs say, and one for those they say nothing of. */
typedef struct sizes {
    int64_t (*size)(void *ctx, hn_dim symbol);
    void *ctx;
    int64_t unknown;
} sizes;

static int64_t size_of(void *ctx, hn_dim symbol) {
    const sizes *s = ctx;
    int64_t size = s->size(s->ctx, symbol);
    return size >= 0 ? size : s->unknown;
}

/* The size of an axis of a first value that is zeros: d in the input, `next` in the output. If the
 * given inputs do not say, it is one that the axis keeps from run to run (the batch of the other
 * inputs, or 1), or 0 if it grows. */
static bool first_size(hn_dim d, hn_dim next, sizes known, int64_t *size, bool *guessed) {
    int64_t kept;
    if (hn_dim_eval(d, known.size, known.ctx, size)) return true;
    *guessed = true;
    known.unknown = 1;
    if (next != NULL && hn_dim_eval(next, size_of, &known, size)) {
        known.unknown = *size;
        if (hn_dim_eval(next, size_of, &known, &kept) && kept == *size) return true;
    }
    known.unknown = 0;
    return hn_dim_eval(d, size_of, &known, size);
}

static hone_status first_dims(slot *t, sizes known, int64_t *dims, hn_error *err) {
    const hn_shape *a = &t->input->type.shape, *b = &t->output->type.shape;
    HN_CHECK(err, a->rank >= 0 && t->input->type.dtype != HONE_DTYPE_NONE, HONE_E_ARG,
             "state '%s' has no first value: its type or rank is not known, set it",
             t->input->name);
    for (int i = 0; i < a->rank; i++) {
        char text[200];
        hn_dim next = b->rank == a->rank ? b->dim[i] : NULL;
        HN_CHECK(err, first_size(a->dim[i], next, known, &dims[i], &t->guessed) && dims[i] >= 0,
                 HONE_E_SHAPE, "state '%s' has no first value: its axis %d is %s, set it",
                 t->input->name, i, hn_dim_text(a->dim[i], text, sizeof text));
    }
    return HONE_OK;
}

static hone_status begin(hone_state *s, slot *t, sizes known, hn_error *err) {
    const hn_tensor *first = t->input->constant;
    if (first != NULL) {
        HN_CHECK(err, first->data != NULL || first->bytes == 0, HONE_E_UNSUPPORTED,
                 "state '%s' has no first value: its initializer is sparse, set it",
                 t->input->name);
        HN_TRY(make_room(s, t, t->at, first->dtype, first->rank, first->dims, &t->now, err));
        if (first->bytes > 0) memcpy(t->now.data, first->data, first->bytes);
    } else {
        int64_t dims[HONE_MAX_RANK];
        hone_value v;
        HN_TRY(first_dims(t, known, dims, err));
        HN_TRY(
            make_room(s, t, t->at, t->input->type.dtype, t->input->type.shape.rank, dims, &v, err));
        memset(v.data, 0, v.bytes);
        t->now = v;
    }
    t->begun = true;
    return HONE_OK;
}

hone_status hn_api_state_input(hone_state *s, size_t i, int64_t (*size)(void *sizes, hn_dim symbol),
                               void *sizes_ctx, const hone_value **v, hn_error *err) {
    slot *t = &s->slots[i];
    if (t->now.dtype == HONE_DTYPE_NONE) {
        if (size == NULL) return HONE_OK;
        HN_TRY(begin(s, t, (sizes){size, sizes_ctx, 0}, err));
    }
    *v = &t->now;
    return HONE_OK;
}

hone_status hn_api_state_place(hone_state *s, int output, hone_dtype dtype, int rank,
                               const int64_t *dims, void **to, hn_error *err) {
    const void *replaced = *to;
    size_t i = 0;
    *to = NULL;
    while (i < s->pairs->n && s->pairs->at[i].output != output) i++;
    if (i == s->pairs->n) return HONE_OK;
    slot *t = &s->slots[i];
    /* Not where the run was given another value. */
    int block = replaced != NULL && replaced == t->now.data ? t->at : 1 - t->at;
    HN_TRY(make_room(s, t, block, dtype, rank, dims, &t->next, err));
    *to = t->next.data;
    return HONE_OK;
}

/* ---- calls ---- */

static hone_status enter(hone_state *s, hn_error *err) {
    HN_CHECK(err, !atomic_flag_test_and_set(&s->used), HONE_E_ARG,
             "the state is in use by another call: a state is one stream, make one for each");
    return HONE_OK;
}

/* What a run that is over leaves. */
static void settle(slot *t, bool done) {
    if (done && t->next.dtype != HONE_DTYPE_NONE) {
        t->at = t->next.data == t->block[t->at] ? t->at : 1 - t->at;
        t->now = t->next;
    } else if (t->begun) {
        t->now = (hone_value){0};
    }
    t->next = (hone_value){0};
    t->begun = t->guessed = false;
}

/* Shapes that do not fit may be those of first values. */
static void tell_guesses(const hone_state *s, hn_error *err) {
    for (size_t i = 0; i < s->pairs->n; i++) {
        const slot *t = &s->slots[i];
        char text[200] = "";
        if (!t->begun || !t->guessed) continue;
        for (int d = 0, at = 0; d < t->now.rank && at < 150; d++)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%lld", d > 0 ? ", " : "",
                           (long long)t->now.dims[d]);
        hn_error_context(err, "state '%s' begins as zeros of [%s] unless it is set", t->input->name,
                         text);
        return;
    }
}

hone_status hone_state_run_sized(hone_state *s, size_t n_in, const hone_value *in, size_t n_out,
                                 hone_value *out, const hone_layout *caller, hone_error *err) {
    HN_TRY(enter(s, err));
    hone_status status = hn_api_session_run(s->session, s, n_in, in, n_out, out, caller, err);
    if (status == HONE_E_SHAPE) tell_guesses(s, err);
    for (size_t i = 0; i < s->pairs->n; i++) settle(&s->slots[i], status == HONE_OK);
    atomic_flag_clear(&s->used);
    return status;
}

hone_status hone_state_reset(hone_state *s, hone_error *err) {
    HN_TRY(enter(s, err));
    for (size_t i = 0; i < s->pairs->n; i++) s->slots[i].now = (hone_value){0};
    atomic_flag_clear(&s->used);
    return HONE_OK;
}

static hone_status find_slot(hone_state *s, const char *name, slot **out, hn_error *err) {
    HN_CHECK(err, name != NULL, HONE_E_ARG, "a value has no name");
    for (size_t i = 0; i < s->pairs->n; i++) {
        *out = &s->slots[i];
        if (strcmp((*out)->input->name, name) == 0) return HONE_OK;
    }
    return HN_FAIL(err, HONE_E_NOT_FOUND, "the state keeps no input '%s'", name);
}

static hone_status get(hone_state *s, hone_value *v, hn_error *err) {
    slot *t;
    HN_TRY(find_slot(s, v->name, &t, err));
    HN_CHECK(err, t->now.dtype != HONE_DTYPE_NONE, HONE_E_ARG,
             "state '%s' has no value yet: the first run gives it one", v->name);
    hone_value got = t->now;
    got.name = v->name;
    got.data = v->data;
    got.owner = v->owner;
    HN_CHECK(err, v->data == NULL || v->bytes >= got.bytes, HONE_E_ARG,
             "state '%s' takes %zu bytes, its buffer has %zu", v->name, got.bytes, v->bytes);
    if (v->data == NULL) HN_TRY(hn_api_own(&got, got.bytes, NULL, err));
    if (got.bytes > 0) memcpy(got.data, t->now.data, got.bytes);
    *v = got;
    return HONE_OK;
}

hone_status hone_state_get_sized(hone_state *s, hone_value *v, const hone_layout *caller,
                                 hone_error *err) {
    hone_value own = {0};
    HN_TRY(HN_TAKE(&own, v, caller, value, err));
    HN_TRY(enter(s, err));
    hone_status status = get(s, &own, err);
    atomic_flag_clear(&s->used);
    if (status == HONE_OK) HN_GIVE(v, &own, caller, value);
    return status;
}

static hone_status set(hone_state *s, const hone_value *v, hn_error *err) {
    slot *t;
    HN_TRY(find_slot(s, v->name, &t, err));
    HN_TRY(hn_api_check_input(t->input, v, err));
    HN_TRY(make_room(s, t, 1 - t->at, v->dtype, v->rank, v->dims, &t->next, err));
    if (v->bytes > 0) memcpy(t->next.data, v->data, v->bytes);
    settle(t, true);
    return HONE_OK;
}

hone_status hone_state_set_sized(hone_state *s, const hone_value *v, const hone_layout *caller,
                                 hone_error *err) {
    hone_value own = {0};
    HN_TRY(HN_TAKE(&own, v, caller, value, err));
    HN_TRY(enter(s, err));
    hone_status status = set(s, &own, err);
    atomic_flag_clear(&s->used);
    return status;
}
