#include "make/expression.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "ir/text.h"
#include "make/layer.h"

/* How deep parentheses, functions and signs may be nested. */
enum { DEPTH = 64 };

const hn_variable *hn_scope_find(const hn_scope *s, hn_str name) {
    for (int i = s->n - 1; i >= 0; i--) {
        if (i < s->local && i >= s->n_global) continue;
        const hn_variable *v = &s->at[i];
        if (hn_same_text(v->name, name)) return v;
    }
    return NULL;
}

/* ---- words ---- */

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

void hn_reader_skip(hn_reader *r) {
    while (r->at < r->end && is_space(r->d->text[r->at])) r->at++;
}

/* Between the parts of an expression; an argument has no spaces there. */
static void skip_inside(hn_reader *r) {
    if (!r->tight || r->depth > 0) hn_reader_skip(r);
}

hn_str hn_reader_name(hn_reader *r) {
    const char *s = r->d->text + r->at;
    size_t n = 0, left = r->end - r->at;
    while (n < left && (hn_text_is_letter(s[n]) || (n > 0 && hn_text_is_digit(s[n])))) n++;
    r->at += n;
    return (hn_str){s, n};
}

bool hn_reader_accept(hn_reader *r, const char *text) {
    size_t n = strlen(text);
    if (r->end - r->at < n || memcmp(r->d->text + r->at, text, n) != 0) return false;
    r->at += n;
    return true;
}

/* Takes a word that is an operator, and no longer name. */
static bool accept_word(hn_reader *r, const char *text) {
    size_t at = r->at;
    if (hn_is_word(hn_reader_name(r), text)) return true;
    r->at = at;
    return false;
}

hone_status hn_reader_unexpected(hn_reader *r, const char *wanted) {
    size_t at = r->at;
    if (at == r->end)
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err,
                                   "found the end of the line, wanted %s", wanted);
    hn_str word = hn_reader_name(r);
    unsigned char c = (unsigned char)r->d->text[at];
    if (word.n > 0)
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err, "found '%.*s', wanted %s",
                                   hn_shown(word), word.p, wanted);
    if (c < 0x20 || c >= 0x7f)
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err, "found the byte %u, wanted %s",
                                   c, wanted);
    return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err, "found '%c', wanted %s", c, wanted);
}

hone_status hn_reader_end(hn_reader *r) {
    hn_reader_skip(r);
    return r->at == r->end ? HONE_OK : hn_reader_unexpected(r, "the end of the line");
}

static hone_status want(hn_reader *r, const char *text, const char *shown) {
    skip_inside(r);
    return hn_reader_accept(r, text) ? HONE_OK : hn_reader_unexpected(r, shown);
}

/* ---- functions ---- */

/* As networks round their channels: to the nearest multiple of m, at least m, and not below nine
 * tenths of x. */
static double round_to(double x, double m) {
    double y = floor((x + m / 2) / m) * m;
    if (y < m) y = m;
    return y < 0.9 * x ? y + m : y;
}

static double round_fn(const double *v, int n) {
    return n == 1 ? floor(v[0] + 0.5) : round_to(v[0], v[1]);
}
static double floor_fn(const double *v, int n) { return n > 0 ? floor(v[0]) : 0; }
static double ceil_fn(const double *v, int n) { return n > 0 ? ceil(v[0]) : 0; }
static double min_fn(const double *v, int n) { return n > 1 && v[1] < v[0] ? v[1] : v[0]; }
static double max_fn(const double *v, int n) { return n > 1 && v[1] > v[0] ? v[1] : v[0]; }
static double choose_fn(const double *v, int n) { return v[0] != 0 || n < 3 ? v[1] : v[2]; }

static const struct function {
    const char *name;
    int least, most; /* arguments */
    double (*fn)(const double *v, int n);
} functions[] = {
    {"round", 1, 2, round_fn}, {"floor", 1, 1, floor_fn}, {"ceil", 1, 1, ceil_fn},
    {"min", 2, 2, min_fn},     {"max", 2, 2, max_fn},     {"choose", 3, 3, choose_fn},
};

static hone_status any(hn_reader *r, double *out);

static hone_status call(hn_reader *r, const struct function *f, double *out) {
    double v[3] = {0};
    size_t at = r->at;
    int n = 0;
    do HN_TRY(any(r, &v[n++]));
    while (n < f->most && (skip_inside(r), hn_reader_accept(r, ",")));
    if (n < f->least)
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err,
                                   "%s has %d arguments here, wanted %d", f->name, n, f->least);
    HN_TRY(want(r, ")", "')'"));
    if (f->fn == round_fn && n == 2 && !(v[1] > 0))
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err,
                                   "round to a multiple of %g, wanted one above 0", v[1]);
    *out = f->fn(v, n);
    return HONE_OK;
}

static hone_status named_function(hn_reader *r, hn_str name, size_t at, double *out) {
    if (hn_is_word(name, "count")) {
        skip_inside(r);
        hn_str list = hn_reader_name(r);
        const hn_variable *v = hn_scope_find(r->scope, list);
        if (v == NULL) return hn_reader_unexpected(r, "the name of a list");
        *out = v->n;
        return want(r, ")", "')'");
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (hn_is_word(name, functions[i].name)) return call(r, &functions[i], out);
    return hn_description_fail(
        r->d, at, HONE_E_FORMAT, r->err,
        "there is no function '%.*s', wanted round, floor, ceil, min, max, choose or count",
        hn_shown(name), name.p);
}

/* ---- the grammar, from the tightest binding on ---- */

static hone_status element(hn_reader *r, const hn_variable *v, size_t at, double *out) {
    double i;
    HN_TRY(any(r, &i));
    HN_TRY(want(r, "]", "']'"));
    if (!(i >= 0 && i < v->n && i == floor(i)))
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err,
                                   "element %g of '%.*s', which has elements 0 to %d", i,
                                   hn_shown(v->name), v->name.p, v->n - 1);
    *out = v->v[(int)i];
    return HONE_OK;
}

static hone_status name_value(hn_reader *r, double *out) {
    size_t at = r->at;
    hn_str name = hn_reader_name(r);
    hone_status status;
    r->depth++; /* inside brackets spaces are free */
    if (hn_reader_accept(r, "(")) {
        status = named_function(r, name, at, out);
        r->depth--;
        return status;
    }
    const hn_variable *v = hn_scope_find(r->scope, name);
    bool indexed = v != NULL && hn_reader_accept(r, "[");
    status = indexed ? element(r, v, at, out) : HONE_OK;
    r->depth--;
    if (indexed || status != HONE_OK) return status;
    if (v == NULL && hn_is_word(name, "in")) {
        *out = r->scope->in;
        return HONE_OK;
    }
    int layer = v == NULL ? hn_layer_number(name) : -1;
    if (layer >= 0) {
        *out = layer;
        return HONE_OK;
    }
    if (v == NULL)
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err,
                                   "there is no number '%.*s' here", hn_shown(name), name.p);
    if (v->n != 1)
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err,
                                   "'%.*s' is a list of %d numbers, wanted one: %.*s[0]",
                                   hn_shown(name), name.p, v->n, hn_shown(name), name.p);
    *out = v->v[0];
    return HONE_OK;
}

static hone_status literal(hn_reader *r, double *out) {
    const char *s = r->d->text + r->at;
    size_t n = 0, left = r->end - r->at;
    while (n < left && (hn_text_is_digit(s[n]) || s[n] == '.' || s[n] == 'e' || s[n] == 'E' ||
                        ((s[n] == '-' || s[n] == '+') && n > 0 && (s[n - 1] | 32) == 'e')))
        n++;
    if (n == 0 || !hn_decimal_f64(s, n, out)) return hn_reader_unexpected(r, "a number");
    r->at += n;
    return HONE_OK;
}

static hone_status atom(hn_reader *r, double *out) {
    skip_inside(r);
    char c = r->at < r->end ? r->d->text[r->at] : '\0';
    if (hn_text_is_letter(c)) return name_value(r, out);
    if (c != '(') return literal(r, out);
    r->at++;
    r->depth++;
    hone_status status = any(r, out);
    if (status == HONE_OK) status = want(r, ")", "')'");
    r->depth--;
    return status;
}

static hone_status sign(hn_reader *r, double *out) {
    skip_inside(r);
    bool negative = false;
    while (hn_reader_accept(r, "-")) {
        negative = !negative;
        skip_inside(r);
    }
    HN_TRY(atom(r, out));
    if (negative) *out = -*out;
    return HONE_OK;
}

typedef enum operation {
    OR,
    AND,
    EQ,
    NE,
    LE,
    GE,
    LT,
    GT,
    ADD,
    SUB,
    FLOOR_DIV,
    MUL,
    DIV,
    MOD
} operation;

static double apply(operation op, double a, double b) {
    switch (op) {
        case OR: return a != 0 || b != 0;
        case AND: return a != 0 && b != 0;
        case EQ: return a == b;
        case NE: return a != b;
        case LE: return a <= b;
        case GE: return a >= b;
        case LT: return a < b;
        case GT: return a > b;
        case ADD: return a + b;
        case SUB: return a - b;
        case MUL: return a * b;
        case DIV: return a / b;
        case FLOOR_DIV: return floor(a / b);
        case MOD: return a - floor(a / b) * b;
    }
    return NAN;
}

/* Operators by how tightly they bind, loosest first. Where one is the beginning of another, the
 * longer one comes first. */
static const struct {
    const char *text;
    operation op;
    int level;
} operators[] = {
    {"or", OR, 0},        {"and", AND, 1}, {"==", EQ, 2}, {"!=", NE, 2}, {"<=", LE, 2},
    {">=", GE, 2},        {"<", LT, 2},    {">", GT, 2},  {"+", ADD, 3}, {"-", SUB, 3},
    {"//", FLOOR_DIV, 4}, {"*", MUL, 4},   {"/", DIV, 4}, {"%", MOD, 4},
};
enum { N_OPERATORS = sizeof operators / sizeof *operators, LEVELS = 5 };

static bool accept_operator(hn_reader *r, int level, operation *op) {
    skip_inside(r);
    for (int i = 0; i < N_OPERATORS; i++) {
        if (operators[i].level != level) continue;
        const char *text = operators[i].text;
        bool found = hn_text_is_letter(text[0]) ? accept_word(r, text) : hn_reader_accept(r, text);
        if (!found) continue;
        *op = operators[i].op;
        return true;
    }
    return false;
}

static hone_status binary(hn_reader *r, int level, double *out) {
    if (level == LEVELS) return sign(r, out);
    HN_TRY(binary(r, level + 1, out));
    operation op;
    for (size_t at = r->at; accept_operator(r, level, &op); at = r->at) {
        double b;
        HN_TRY(binary(r, level + 1, &b));
        *out = apply(op, *out, b);
        if (!isfinite(*out))
            return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err,
                                       "the result is not a finite number");
    }
    return HONE_OK;
}

/* An expression inside of another. */
static hone_status any(hn_reader *r, double *out) {
    if (r->depth > DEPTH)
        return hn_description_fail(r->d, r->at, HONE_E_LIMIT, r->err,
                                   "more than %d brackets are open here", DEPTH);
    return binary(r, 0, out);
}

hone_status hn_expression(hn_reader *r, double *out) {
    r->depth = 0;
    return any(r, out);
}

hone_status hn_expression_whole(hn_reader *r, const char *what, double least, double most,
                                int64_t *out) {
    hn_reader_skip(r);
    size_t at = r->at;
    double v;
    HN_TRY(hn_expression(r, &v));
    if (!(v >= least && v <= most && v == floor(v)))
        return hn_description_fail(r->d, at, HONE_E_FORMAT, r->err,
                                   "%s is %.15g, wanted a whole number from %.15g to %.15g", what,
                                   v, least, most);
    *out = (int64_t)v;
    return HONE_OK;
}
