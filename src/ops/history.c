/* What an operator did not have yet at an older opset: history.def, read where it is needed. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/lift.h"

static const struct row {
    const char *op, *text;
} rows[] = {
#define HN_HISTORY(op, text) {#op, text},
#include "ops/history.def"
#undef HN_HISTORY
};
#define N_ROWS ((int)(sizeof rows / sizeof *rows))

/* One word of a row: what exists from an opset on. */
typedef struct clause {
    int since;
    char kind;   /* '@' an attribute, 'i' an input, 'o' an output */
    hn_str name; /* of the attribute */
    int index;   /* of the input or output */
    bool onward; /* and all that follow */
    char what;   /* 0: exists; may be: '=' value, '<' negative, '?' absent, ':' of types */
    hn_str value;
} clause;

static bool text_is(hn_str a, const char *p, size_t n) {
    return a.n == n && memcmp(a.p, p, n) == 0;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The texts are ours and tested, so there is no error to report. */
static bool next_clause(const char **p, clause *c) {
    while (**p == ' ' || **p == ';') ++*p;
    if (is_digit(**p)) {
        char *end;
        c->since = (int)strtol(*p, &end, 10);
        *p = end + 1;
    }
    if (**p == '\0') return false;
    const char *q = *p, *end = q + strcspn(q, " ;");
    *p = end;
    c->kind = *q;
    c->onward = false;
    if (c->kind == '@') {
        c->name = (hn_str){q + 1, strcspn(q + 1, "=< ;")};
        q = c->name.p + c->name.n;
    } else {
        char *after;
        c->index = (int)strtol(q + (c->kind == 'i' ? 2 : 3), &after, 10);
        q = after;
        c->onward = *q == '+';
        q += c->onward;
    }
    c->what = '\0';
    if (q < end) {
        c->what = *q;
        c->value = (hn_str){q + 1, (size_t)(end - q - 1)};
    }
    return true;
}

static hn_dtypes types_of(hn_str list) {
    hn_dtypes types = 0;
    for (size_t at = 0; at < list.n;) {
        size_t n = 0;
        while (at + n < list.n && list.p[at + n] != ',') n++;
        types |= hn_op_types((hn_str){list.p + at, n});
        at += n + 1;
    }
    return types;
}

static const char *row_of(const char *op) {
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].op, op) == 0) return rows[i].text;
    return "";
}

int hn_attr_since(const char *op, const char *attr) {
    const char *text = row_of(op);
    for (clause c = {0}; next_clause(&text, &c);)
        if (c.kind == '@' && c.what == '\0' && text_is(c.name, attr, strlen(attr))) return c.since;
    return 0;
}

/* ---- checking a form ---- */

typedef struct fitting {
    const hn_node *node;
    hn_form *form;
    int64_t opset;
    hn_arena *arena;
    int64_t *need;
    hn_error *err;
} fitting;

/* found: what the node does that it could not do before. */
static hone_status HONE_PRINTF(3, 4)
    too_new(const fitting *t, const clause *c, const char *found, ...) {
    char label[320], text[400];
    va_list args;
    va_start(args, found);
    vsnprintf(text, sizeof text, found, args);
    va_end(args);
    *t->need = c->since;
    return hn_fail(
        t->err, HONE_E_UNSUPPORTED, "%s: %s from opset %d on, the model is to be saved at %lld",
        hn_node_label(t->node, label, sizeof label), text, c->since, (long long)t->opset);
}

/* The attribute says what its absence would. */
static bool says_nothing(const hn_attr *a, const hn_attr_def *d) {
    if (a->type == HN_ATTR_INTS) { /* dilations */
        for (int i = 0; i < a->n; i++)
            if (a->u.ints[i] != 1) return false;
        return strcmp(a->name, "dilations") == 0;
    }
    if (d == NULL || !d->has_default || a->type != d->type) return false;
    if (a->type == HN_ATTR_INT) return a->u.i == d->i;
    if (a->type == HN_ATTR_FLOAT) return a->u.f == d->f;
    return a->type == HN_ATTR_STRING && text_is(a->u.s, d->s, strlen(d->s));
}

/* Axes that count from the end are counted from the front, where the rank is known. */
static hone_status count_from_front(const fitting *t, const clause *c, hn_attr **at) {
    hn_attr *a = *at;
    bool list = a->type == HN_ATTR_INTS;
    if (!list && a->type != HN_ATTR_INT) return HONE_OK;
    int n = list ? a->n : 1;
    const int64_t *v = list ? a->u.ints : &a->u.i;
    bool negative = false;
    for (int i = 0; i < n; i++) negative = negative || v[i] < 0;
    if (!negative) return HONE_OK;
    const hn_form *f = t->form;
    const hn_value *x = c->value.n > 1 ? (f->n_outputs > 0 ? f->outputs[0] : NULL)
                                       : (f->n_inputs > 0 ? f->inputs[0] : NULL);
    int rank = x != NULL ? x->type.shape.rank : -1;
    if (rank < 0)
        return too_new(t, c, "'%s' counts from the end of an unknown rank, which it may", a->name);
    int64_t *front = hn_arena_array(t->arena, (size_t)n, sizeof *front);
    hn_attr *copy = hn_arena_zero(t->arena, sizeof *copy);
    if (front == NULL || copy == NULL) return HN_NOMEM(t->err);
    for (int i = 0; i < n; i++) front[i] = v[i] < 0 ? v[i] + rank : v[i];
    *copy = *a;
    if (list)
        copy->u.ints = front;
    else
        copy->u.i = front[0];
    *at = copy;
    return HONE_OK;
}

static hone_status fit_attr(const fitting *t, const clause *c) {
    for (hn_attr **at = &t->form->attrs; *at != NULL; at = &(*at)->next) {
        hn_attr *a = *at;
        if (!text_is(c->name, a->name, strlen(a->name))) continue;
        if (c->what == '<') return count_from_front(t, c, at);
        if (c->what == '=') {
            if (a->type != HN_ATTR_STRING || !text_is(c->value, a->u.s.p, a->u.s.n)) return HONE_OK;
            return too_new(t, c, "attribute '%s' may be '%.*s'", a->name, (int)c->value.n,
                           c->value.p);
        }
        const hn_op_def *op = hn_op_find("", t->form->op_type);
        if (op == NULL || !says_nothing(a, hn_op_attr(op, a->name)))
            return too_new(t, c, "attribute '%s' exists", a->name);
        *at = a->next;
        return HONE_OK;
    }
    return HONE_OK;
}

static hone_status fit_values(const fitting *t, const clause *c, const char *what, hn_value **v,
                              int n, uint64_t *missing) {
    if (c->what == ':') {
        hn_dtypes types = types_of(c->value);
        int end = c->onward || c->index >= n ? n : c->index + 1;
        for (int i = c->index; i < end; i++)
            if (v[i] != NULL && hn_dtype_in(v[i]->type.dtype, types))
                return too_new(t, c, "%s %d may be %s", what, i, hone_dtype_name(v[i]->type.dtype));
        return HONE_OK;
    }
    bool there = c->index < n && v[c->index] != NULL;
    if (c->what == '?') {
        if (there || (*missing >> c->index & 1) != 0) return HONE_OK;
        return too_new(t, c, "%s %d may be absent", what, c->index);
    }
    *missing |= (uint64_t)1 << c->index; /* at this opset there is no such input */
    if (!there) return HONE_OK;
    if (c->kind == 'i' || v[c->index]->n_uses > 0)
        return too_new(t, c, "%s %d exists", what, c->index);
    v[c->index] = NULL;
    return HONE_OK;
}

hone_status hn_form_fit(const hn_node *n, hn_form *f, int64_t opset, hn_arena *arena, int64_t *need,
                        hn_error *err) {
    fitting t = {n, f, opset, arena, need, err};
    const char *text = row_of(f->op_type);
    uint64_t missing_in = 0, missing_out = 0;
    for (clause c = {0}; next_clause(&text, &c);) {
        if (c.since <= opset) continue;
        if (c.kind == '@')
            HN_TRY(fit_attr(&t, &c));
        else if (c.kind == 'i')
            HN_TRY(fit_values(&t, &c, "input", f->inputs, f->n_inputs, &missing_in));
        else
            HN_TRY(fit_values(&t, &c, "output", f->outputs, f->n_outputs, &missing_out));
    }
    if (missing_in != 0)
        while (f->n_inputs > 0 && f->inputs[f->n_inputs - 1] == NULL) f->n_inputs--;
    if (missing_out != 0)
        while (f->n_outputs > 0 && f->outputs[f->n_outputs - 1] == NULL) f->n_outputs--;
    return HONE_OK;
}
