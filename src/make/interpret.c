#include "make/interpret.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_PARAMS = 16 };

/* How many layers of a name there are within one block, which their names count. */
typedef struct counter {
    hn_str word;
    int n;
    struct counter *next;
} counter;

typedef struct run {
    hn_maker *m;
    const hn_description *main, *common;
    const hn_settings *settings;
    hn_arena *arena;
    hn_error *err;
    hn_scope scope;
    int steps, calls;
    const char *prefix; /* of the names of layers: "layer1.0.", or "" */
    counter *counters;  /* of the block that is being carried out */
} run;

static hone_status lines(run *r, const hn_description *d, int from, int to);

static hn_reader reader_of(run *r, const hn_description *d, const hn_line *l) {
    r->scope.in = (double)r->m->flow.channels;
    return (hn_reader){.d = d, .at = l->rest, .end = l->end, .scope = &r->scope, .err = r->err};
}

static hone_status add_variable(run *r, hn_str name, double v) {
    double *own = hn_arena_array(r->arena, 1, sizeof *own);
    if (own == NULL) return HN_NOMEM(r->err);
    *own = v;
    return hn_scope_add(&r->scope, name, own, 1, r->err);
}

/* ---- names ---- */

static hone_status count_word(run *r, hn_str word, int *n) {
    counter *c = r->counters;
    while (c != NULL && !hn_same_text(c->word, word)) c = c->next;
    if (c == NULL) {
        c = hn_arena_array(r->arena, 1, sizeof *c);
        if (c == NULL) return HN_NOMEM(r->err);
        *c = (counter){word, 0, r->counters};
        r->counters = c;
    }
    *n = ++c->n;
    return HONE_OK;
}

/* A label with the numbers that its braces hold. */
static hone_status fill_label(run *r, const hn_description *d, const hn_line *l, char *out,
                              size_t size) {
    size_t n = 0, from = (size_t)(l->label.p - d->text), end = from + l->label.n;
    for (size_t at = from; at < end;) {
        char c = d->text[at];
        if (n + 24 > size)
            return hn_description_fail(d, from, HONE_E_LIMIT, r->err,
                                       "a name of more than %d letters", HN_MAKE_NAME);
        if (c != '{') {
            out[n++] = c;
            at++;
            continue;
        }
        hn_reader in = reader_of(r, d, l);
        in.at = at + 1;
        in.end = end;
        int64_t v;
        HN_TRY(hn_expression_whole(&in, "the number in a name", 0, 1e9, &v));
        if (!hn_reader_accept(&in, "}")) return hn_reader_unexpected(&in, "'}'");
        n += (size_t)snprintf(out + n, size - n, "%lld", (long long)v);
        at = in.at;
    }
    out[n] = '\0';
    return HONE_OK;
}

/* The full name of a layer or block: its label, or its word and a number. */
static hone_status name_of(run *r, const hn_description *d, const hn_line *l, hn_str word,
                           const char **out) {
    char own[HN_MAKE_NAME + 32];
    if (l->label.n > 0) {
        HN_TRY(fill_label(r, d, l, own, sizeof own));
    } else {
        int n = 0;
        HN_TRY(count_word(r, word, &n));
        snprintf(own, sizeof own, "%.*s%d", (int)(word.n < HN_MAKE_NAME ? word.n : HN_MAKE_NAME),
                 word.p, n);
    }
    size_t bytes = strlen(r->prefix) + strlen(own);
    if (bytes > HN_MAKE_NAME)
        return hn_description_fail(d, l->at, HONE_E_LIMIT, r->err, "a name of more than %d letters",
                                   HN_MAKE_NAME);
    char *name = hn_arena_array(r->arena, bytes + 1, 1);
    if (name == NULL) return HN_NOMEM(r->err);
    snprintf(name, bytes + 1, "%s%s", r->prefix, own);
    *out = name;
    return HONE_OK;
}

/* ---- arguments ---- */

/* What a layer or block takes, and what a line gives. */
typedef struct arguments {
    int n;
    hn_str name[BLOCK_PARAMS];
    bool given[BLOCK_PARAMS];
    double v[BLOCK_PARAMS];
    size_t at[BLOCK_PARAMS]; /* where the value stands, or the default of a block's parameter */
} arguments;

/* The parameter that `name =` gives, which is taken; -1: a value without a name comes next. */
static int named_argument(hn_reader *in, const arguments *a) {
    size_t at = in->at;
    hn_str name = hn_reader_name(in);
    bool named = name.n > 0 && hn_reader_accept(in, "=") && !hn_reader_accept(in, "=");
    for (int i = 0; named && i < a->n; i++)
        if (hn_same_text(a->name[i], name)) return i;
    in->at = at;
    return named ? a->n : -1;
}

static hone_status no_such_argument(hn_reader *in, const arguments *a) {
    hn_words list = {0};
    for (int i = 0; i < a->n; i++) hn_words_add(&list, a->name[i]);
    return hn_reader_unexpected(in, list.n > 0 ? list.text : "no arguments");
}

static hone_status read_arguments(run *r, const hn_description *d, const hn_line *l, arguments *a) {
    hn_reader in = reader_of(r, d, l);
    in.tight = true;
    for (int next = 0;; next++) {
        hn_reader_skip(&in);
        if (in.at == in.end) return HONE_OK;
        size_t at = in.at;
        int i = named_argument(&in, a);
        if (i < 0) i = next;
        if (i >= a->n) return no_such_argument(&in, a);
        if (a->given[i])
            return hn_description_fail(d, at, HONE_E_FORMAT, r->err, "%.*s is given twice",
                                       hn_shown(a->name[i]), a->name[i].p);
        a->at[i] = in.at;
        a->given[i] = true;
        HN_TRY(hn_expression(&in, &a->v[i]));
        if (in.at < in.end && d->text[in.at] != ' ' && d->text[in.at] != '\t')
            return hn_reader_unexpected(&in, "a space");
    }
}

static hone_status missing(run *r, const hn_description *d, const hn_line *l, hn_str name) {
    return hn_description_fail(d, l->end, HONE_E_FORMAT, r->err, "%.*s needs %.*s",
                               hn_shown(l->word), l->word.p, hn_shown(name), name.p);
}

/* ---- layers ---- */

static const char *flow_name(unsigned kinds) {
    return kinds == HN_FLOW_NONE                        ? "nothing: it is an input"
           : kinds == HN_FLOW_IDS                       ? "numbers of tokens"
           : kinds == HN_FLOW_IMAGE                     ? "an image"
           : kinds == HN_FLOW_TOKENS                    ? "tokens"
           : kinds == HN_FLOW_VECTOR                    ? "a vector"
           : kinds == (HN_FLOW_VECTOR | HN_FLOW_TOKENS) ? "a vector or tokens"
           : kinds == (HN_FLOW_VECTOR | HN_FLOW_IMAGE)  ? "a vector or an image"
                                                        : "a vector, an image or tokens";
}

static hone_status check_arguments(run *r, const hn_description *d, const hn_line *l,
                                   const hn_layer *of, arguments *a) {
    for (int i = 0; i < a->n; i++) {
        const hn_layer_param *p = &of->params[i];
        if (!a->given[i] && p->required) return missing(r, d, l, a->name[i]);
        if (!a->given[i]) {
            a->v[i] = p->value;
            continue;
        }
        double v = a->v[i];
        if (!(v >= p->least && v <= p->most) || (!p->real && v != floor(v)))
            return hn_description_fail(d, a->at[i], HONE_E_FORMAT, r->err,
                                       "%s is %.15g, wanted %s from %.15g to %.15g", p->name, v,
                                       p->real ? "a number" : "a whole number", p->least, p->most);
    }
    return HONE_OK;
}

static hone_status make_layer(run *r, const hn_description *d, const hn_line *l,
                              const hn_layer *of) {
    arguments a = {0};
    for (; a.n < HN_LAYER_PARAMS && of->params[a.n].name != NULL; a.n++)
        a.name[a.n] = (hn_str){of->params[a.n].name, strlen(of->params[a.n].name)};
    HN_TRY(read_arguments(r, d, l, &a));
    HN_TRY(check_arguments(r, d, l, of, &a));
    if ((of->takes & r->m->flow.kind) == 0)
        return hn_description_fail(
            d, l->at, HONE_E_FORMAT, r->err, "%s takes %s, found %s", of->name,
            flow_name(of->takes),
            r->m->flow.kind == HN_FLOW_NONE ? "no input before it" : flow_name(r->m->flow.kind));
    hn_str word = hn_is_word(l->word, "linear") ? (hn_str){"fc", 2} : l->word;
    HN_TRY(name_of(r, d, l, word, &r->m->at));
    return hn_description_placed(d, l->at, of->make(r->m, a.v), r->err);
}

/* The layer that an argument of a block names, which has no arguments of its own. */
static hone_status apply(run *r, const hn_description *d, const hn_line *l) {
    hn_reader in = reader_of(r, d, l);
    int64_t i;
    HN_TRY(hn_expression_whole(&in, "the number of a layer", 0, hn_n_layers - 1, &i));
    HN_TRY(hn_reader_end(&in));
    hn_line as = *l;
    as.word = (hn_str){hn_layers[i]->name, strlen(hn_layers[i]->name)};
    as.rest = l->end;
    return make_layer(r, d, &as, hn_layers[i]);
}

/* ---- blocks ---- */

/* The parameters that the first line of a block names: out kernel=3. */
static hone_status block_params(run *r, const hn_description *d, const hn_line *l, arguments *a,
                                bool *has_default) {
    hn_reader in = reader_of(r, d, l);
    in.tight = true;
    hn_reader_name(&in);
    for (hn_reader_skip(&in); in.at < in.end; hn_reader_skip(&in)) {
        if (a->n == BLOCK_PARAMS)
            return hn_description_fail(d, in.at, HONE_E_LIMIT, r->err,
                                       "a block of more than %d parameters", BLOCK_PARAMS);
        hn_str name = hn_reader_name(&in);
        if (name.n == 0) return hn_reader_unexpected(&in, "the name of a parameter");
        a->name[a->n] = name;
        has_default[a->n] = hn_reader_accept(&in, "=");
        a->at[a->n] = in.at;
        while (has_default[a->n] && in.at < in.end && d->text[in.at] != ' ') in.at++;
        a->n++;
    }
    return HONE_OK;
}

/* Gives the block its parameters. Defaults may use those before them. */
static hone_status bind(run *r, const hn_description *d, const hn_line *block, const arguments *a,
                        const size_t *defaults) {
    for (int i = 0; i < a->n; i++) {
        double v = a->v[i];
        if (!a->given[i]) {
            hn_reader in = reader_of(r, d, block);
            in.tight = true;
            in.at = defaults[i];
            HN_TRY(hn_expression(&in, &v));
        }
        HN_TRY(add_variable(r, a->name[i], v));
    }
    return HONE_OK;
}

static hone_status call_block(run *r, const hn_description *d, const hn_line *l,
                              const hn_description *owner, const hn_line *block) {
    arguments a = {0};
    bool has_default[BLOCK_PARAMS] = {false};
    size_t defaults[BLOCK_PARAMS];
    HN_TRY(block_params(r, owner, block, &a, has_default));
    memcpy(defaults, a.at, sizeof defaults);
    HN_TRY(read_arguments(r, d, l, &a));
    for (int i = 0; i < a.n; i++)
        if (!a.given[i] && !has_default[i]) return missing(r, d, l, a.name[i]);
    if (r->calls == HN_MAKE_CALLS)
        return hn_description_fail(d, l->at, HONE_E_LIMIT, r->err,
                                   "more than %d blocks call one another", HN_MAKE_CALLS);
    const char *name, *prefix = r->prefix;
    HN_TRY(name_of(r, d, l, l->word, &name));
    char *own = hn_arena_array(r->arena, strlen(name) + 2, 1);
    if (own == NULL) return HN_NOMEM(r->err);
    snprintf(own, strlen(name) + 2, "%s.", name);
    counter *counters = r->counters;
    int n = r->scope.n, local = r->scope.local;
    if (r->calls++ == 0) r->scope.n_global = n;
    r->prefix = own;
    r->counters = NULL;
    r->scope.local = n;
    hone_status status = bind(r, owner, block, &a, defaults);
    if (status == HONE_OK) status = lines(r, owner, (int)(block - owner->lines) + 1, block->close);
    r->scope.local = local;
    r->scope.n = n;
    r->counters = counters;
    r->prefix = prefix;
    r->calls--;
    if (status == HONE_OK || status == HONE_E_NOMEM) return status;
    hn_error_context(r->err, "in '%.*s'", hn_shown(l->word), l->word.p);
    return hn_description_placed(d, l->at, status, r->err);
}

static hone_status no_such_layer(run *r, const hn_description *d, const hn_line *l) {
    hn_words list = {0};
    for (int i = 0; i < hn_n_layers; i++)
        hn_words_add(&list, (hn_str){hn_layers[i]->name, strlen(hn_layers[i]->name)});
    for (int i = 0; i < r->common->n_blocks; i++) hn_words_add(&list, r->common->blocks[i].name);
    for (int i = 0; i < r->main->n_blocks; i++) hn_words_add(&list, r->main->blocks[i].name);
    return hn_description_fail(d, l->at, HONE_E_FORMAT, r->err,
                               "found '%.*s', wanted a layer or block: %s", hn_shown(l->word),
                               l->word.p, list.text);
}

static hone_status layer_or_block(run *r, const hn_description *d, const hn_line *l) {
    const hn_description *owner = r->main;
    const hn_line *block = hn_description_block(owner, l->word);
    int layer = block == NULL ? hn_layer_number(l->word) : -1;
    if (layer >= 0) return make_layer(r, d, l, hn_layers[layer]);
    if (block == NULL) {
        owner = r->common;
        block = hn_description_block(owner, l->word);
    }
    return block != NULL ? call_block(r, d, l, owner, block) : no_such_layer(r, d, l);
}

/* ---- lines that hold others ---- */

static hone_status repeat(run *r, const hn_description *d, int i) {
    const hn_line *l = &d->lines[i];
    hn_reader in = reader_of(r, d, l);
    int64_t n;
    hn_str name = {"", 0};
    HN_TRY(hn_expression_whole(&in, "repeat", 0, HN_MAKE_STEPS, &n));
    hn_reader_skip(&in);
    size_t at = in.at;
    if (hn_is_word(hn_reader_name(&in), "as")) {
        hn_reader_skip(&in);
        name = hn_reader_name(&in);
        if (name.n == 0) return hn_reader_unexpected(&in, "a name");
        at = in.at;
    }
    in.at = at;
    HN_TRY(hn_reader_end(&in));
    int known = r->scope.n;
    for (int64_t k = 0; k < n; k++) {
        if (name.n > 0) HN_TRY(add_variable(r, name, (double)k));
        HN_TRY(lines(r, d, i + 1, l->close));
        r->scope.n = known;
    }
    return HONE_OK;
}

static hone_status branch(run *r, const hn_description *d, int i) {
    const hn_line *l = &d->lines[i];
    hn_reader in = reader_of(r, d, l);
    double v;
    hn_reader_skip(&in);
    HN_TRY(hn_expression(&in, &v));
    HN_TRY(hn_reader_end(&in));
    return v != 0 ? lines(r, d, i + 1, l->second) : lines(r, d, l->second + 1, l->close);
}

static bool same_flow(const hn_flow *a, const hn_flow *b) {
    return a->kind == b->kind && a->channels == b->channels && a->height == b->height &&
           a->width == b->width && a->length == b->length;
}

static void flow_text(const hn_flow *f, char buf[96]) {
    if (f->kind == HN_FLOW_IMAGE)
        snprintf(buf, 96, "[N, %lld, %lld, %lld]", (long long)f->channels, (long long)f->height,
                 (long long)f->width);
    else
        snprintf(buf, 96, "%s of %lld features", f->kind == HN_FLOW_TOKENS ? "tokens" : "a vector",
                 (long long)f->channels);
}

static hone_status cannot_join(run *r, const hn_description *d, const hn_line *l, const hn_flow *a,
                               const hn_flow *b, const char *how) {
    char first[96], second[96];
    flow_text(a, first);
    flow_text(b, second);
    return hn_description_fail(d, l->at, HONE_E_SHAPE, r->err,
                               "the lines make %s, which cannot be %s %s", first, how, second);
}

/* Joins two values into one, by a node named after its operator. */
static hone_status join(run *r, const hn_description *d, const hn_line *l, const char *op,
                        const char *word, hn_value *a, hn_value *b) {
    hn_line unnamed = {.word = l->word, .at = l->at};
    HN_TRY(name_of(r, d, &unnamed, (hn_str){word, strlen(word)}, &r->m->at));
    return hn_description_placed(d, l->at,
                                 HN_MAKE_OP(r->m, op, NULL, NULL, &r->m->flow.value, a, b), r->err);
}

static hone_status needs_input(run *r, const hn_description *d, const hn_line *l) {
    if ((r->m->flow.kind & HN_FLOW_ANY) != 0) return HONE_OK;
    return hn_description_fail(d, l->at, HONE_E_FORMAT, r->err,
                               "'%.*s' needs an input before it: image, vector or tokens",
                               hn_shown(l->word), l->word.p);
}

/* y = lines (x) + second part (x), or + x; where a condition is 0, y = lines (x). */
static hone_status residual(run *r, const hn_description *d, int i) {
    const hn_line *l = &d->lines[i];
    hn_reader in = reader_of(r, d, l);
    double added = 1;
    HN_TRY(needs_input(r, d, l));
    if (in.at < in.end) HN_TRY(hn_expression(&in, &added));
    HN_TRY(hn_reader_end(&in));
    hn_flow x = r->m->flow, body;
    HN_TRY(lines(r, d, i + 1, l->second));
    if (added == 0) return HONE_OK;
    body = r->m->flow;
    r->m->flow = x;
    if (l->second < l->close) HN_TRY(lines(r, d, l->second + 1, l->close));
    if (!same_flow(&body, &r->m->flow)) return cannot_join(r, d, l, &body, &r->m->flow, "added to");
    return join(r, d, l, "Add", "add", body.value, r->m->flow.value);
}

/* y = x * lines (x), which give a number for each channel of an image, or are of x's own shape. */
static hone_status gate(run *r, const hn_description *d, int i) {
    const hn_line *l = &d->lines[i];
    HN_TRY(needs_input(r, d, l));
    HN_TRY(hn_reader_end(&(hn_reader){.d = d, .at = l->rest, .end = l->end, .err = r->err}));
    hn_flow x = r->m->flow, g;
    HN_TRY(lines(r, d, i + 1, l->close));
    g = r->m->flow;
    bool per_channel = g.kind == HN_FLOW_IMAGE && x.kind == HN_FLOW_IMAGE &&
                       g.channels == x.channels && g.height == 1 && g.width == 1;
    if (!per_channel && !same_flow(&x, &g)) return cannot_join(r, d, l, &g, &x, "multiplied with");
    r->m->flow = x;
    return join(r, d, l, "Mul", "mul", x.value, g.value);
}

/* ---- all other lines ---- */

static hone_status let(run *r, const hn_description *d, const hn_line *l) {
    hn_reader in = reader_of(r, d, l);
    hn_str name = hn_reader_name(&in);
    double v;
    if (name.n == 0) return hn_reader_unexpected(&in, "a name");
    hn_reader_skip(&in);
    if (!hn_reader_accept(&in, "=")) return hn_reader_unexpected(&in, "'='");
    HN_TRY(hn_expression(&in, &v));
    HN_TRY(hn_reader_end(&in));
    return hn_description_placed(d, l->at, add_variable(r, name, v), r->err);
}

/* Settings that a description cannot be made with are refused in its own words. */
static hone_status require(run *r, const hn_description *d, const hn_line *l) {
    hn_reader in = reader_of(r, d, l);
    double v;
    HN_TRY(hn_expression(&in, &v));
    HN_TRY(hn_reader_end(&in));
    if (v != 0) return HONE_OK;
    hn_str text = {d->text + l->rest, l->end - l->rest};
    return hn_description_fail(d, l->at, r->settings->n > 0 ? HONE_E_ARG : HONE_E_FORMAT, r->err,
                               "this model needs %.*s", (int)(text.n < 200 ? text.n : 200), text.p);
}

static const char *const kind_words[] = {
#define HN_X(name, word) word,
    HN_INITIAL_KIND_LIST(HN_X)
#undef HN_X
};

static hone_status initial(run *r, const hn_description *d, const hn_line *l) {
    hn_reader in = reader_of(r, d, l);
    size_t at = in.at;
    hn_str word = hn_reader_name(&in);
    int kind = 0;
    while (kind < HN_INITIAL_COUNT_ && !hn_is_word(word, kind_words[kind])) kind++;
    in.at = at;
    if (kind == HN_INITIAL_COUNT_)
        return hn_reader_unexpected(&in, "conv, linear, bias or embedding");
    hn_reader_name(&in);
    hn_reader_skip(&in);
    at = in.at;
    const hn_initial_def *def = hn_initial_find(hn_reader_name(&in));
    if (def == NULL) {
        hn_words list = {0};
        for (int i = 0; i < hn_n_initials; i++)
            hn_words_add(&list, (hn_str){hn_initials[i].name, strlen(hn_initials[i].name)});
        in.at = at;
        return hn_reader_unexpected(&in, list.text);
    }
    hn_initial how = {def, 0};
    if (def->number) HN_TRY(hn_expression(&in, &how.number));
    r->m->initial[kind] = how;
    return hn_reader_end(&in);
}

static hone_status line(run *r, const hn_description *d, int i) {
    const hn_line *l = &d->lines[i];
    hn_declared declared;
    if (++r->steps > HN_MAKE_STEPS)
        return hn_description_fail(d, l->at, HONE_E_LIMIT, r->err,
                                   "more than %d lines are carried out", HN_MAKE_STEPS);
    switch (l->kind) {
        case HN_LINE_NUMBER:
        case HN_LINE_WHOLE:
        case HN_LINE_LIST:
        case HN_LINE_CHOICE:
            return hn_declare(&declared, &r->scope, d, l, r->settings, r->arena, r->err);
        case HN_LINE_LET: return let(r, d, l);
        case HN_LINE_REQUIRE: return require(r, d, l);
        case HN_LINE_APPLY: return apply(r, d, l);
        case HN_LINE_INIT: return initial(r, d, l);
        case HN_LINE_REPEAT: return repeat(r, d, i);
        case HN_LINE_IF: return branch(r, d, i);
        case HN_LINE_RESIDUAL: return residual(r, d, i);
        case HN_LINE_GATE: return gate(r, d, i);
        case HN_LINE_LAYER: return layer_or_block(r, d, l);
        default:
            return HONE_OK; /* what others close with, and blocks, which are looked for by name */
    }
}

/* Lines [from, to), those that others hold being theirs. */
static hone_status lines(run *r, const hn_description *d, int from, int to) {
    for (int i = from; i < to; i++) {
        const hn_line *l = &d->lines[i];
        if (l->kind == HN_LINE_EMPTY) continue;
        HN_TRY(line(r, d, i));
        if (l->close > i) i = l->close;
    }
    return HONE_OK;
}

hone_status hn_interpret(hn_maker *m, const hn_description *d, const hn_description *common,
                         const hn_settings *s, hn_arena *arena, hn_error *err) {
    run *r = hn_arena_array(arena, 1, sizeof *r);
    if (r == NULL) return HN_NOMEM(err);
    *r = (run){.m = m,
               .main = d,
               .common = common,
               .settings = s,
               .arena = arena,
               .err = err,
               .prefix = ""};
    return lines(r, d, 0, d->n_lines);
}
