#include "make/settings.h"

#include <math.h>
#include <string.h>

#include "base/decimal.h"
#include "ops/scalar.h"

enum { MOST_SETTINGS = 64, MOST_WORDS = 16 };

hone_status hn_scope_add(hn_scope *s, hn_str name, const double *v, int n, hn_error *err) {
    HN_CHECK(err, s->n < HN_SCOPE_MOST, HONE_E_LIMIT, "more than %d names are known here",
             HN_SCOPE_MOST);
    s->at[s->n++] = (hn_variable){name, n, v};
    return HONE_OK;
}

/* ---- what the caller gives ---- */

static const char *const compound_names[] = {
#define HN_X(name, word, log) word,
    HN_COMPOUND_LIST(HN_X)
#undef HN_X
};
static const double compound_logs[] = {
#define HN_X(name, word, log) log,
    HN_COMPOUND_LIST(HN_X)
#undef HN_X
};

static hn_reader reader_of(const hn_description *d, const hn_line *l, const hn_scope *scope,
                           hn_error *err) {
    return (hn_reader){.d = d, .at = l->rest, .end = l->end, .scope = scope, .err = err};
}

static hn_str declared_name(const hn_description *d, const hn_line *l) {
    hn_reader r = reader_of(d, l, NULL, NULL);
    return hn_reader_name(&r);
}

static bool declares(const hn_description *d, hn_str name) {
    for (int i = 0; i < d->n_lines; i++)
        if (hn_line_declares(&d->lines[i]) && hn_same_text(declared_name(d, &d->lines[i]), name))
            return true;
    return false;
}

static hn_words declared_names(const hn_description *d) {
    hn_words all = {0};
    for (int i = 0; i < d->n_lines; i++)
        if (hn_line_declares(&d->lines[i])) hn_words_add(&all, declared_name(d, &d->lines[i]));
    return all;
}

static hone_status add_setting(hn_settings *s, const hn_description *d, hn_str word,
                               hn_error *err) {
    const char *eq = memchr(word.p, '=', word.n);
    HN_CHECK(err, eq != NULL && eq > word.p && eq + 1 < word.p + word.n, HONE_E_ARG,
             "the setting '%.*s', wanted NAME=VALUE", hn_shown(word), word.p);
    hn_setting one = {{word.p, (size_t)(eq - word.p)},
                      {eq + 1, (size_t)(word.p + word.n - eq - 1)}};
    if (!declares(d, one.name)) {
        hn_words names = declared_names(d);
        return HN_FAIL(err, HONE_E_ARG, "%s has no number '%.*s'; it has %s", d->name,
                       hn_shown(one.name), one.name.p, names.n > 0 ? names.text : "none");
    }
    HN_CHECK(err, s->n < MOST_SETTINGS, HONE_E_ARG, "more than %d settings", MOST_SETTINGS);
    s->at[s->n++] = one;
    return HONE_OK;
}

static hone_status read_compound(hn_settings *s, const hn_description *d, double power,
                                 hn_error *err) {
    HN_CHECK(err, power >= -8 && power <= 8, HONE_E_ARG, "compound scaling by %g, wanted -8 to 8",
             power);
    for (int i = 0; i < HN_COMPOUND_COUNT_; i++) {
        s->factor[i] = 1;
        if (power == 0) continue;
        const char *name = compound_names[i];
        HN_CHECK(err, declares(d, (hn_str){name, strlen(name)}), HONE_E_ARG,
                 "compound scaling needs depth, width and resolution: %s has no number '%s'",
                 d->name, name);
        /* Three digits, so that a factor's last bits decide nothing. */
        s->factor[i] = floor(hn_exp(power * compound_logs[i]) * 1000 + 0.5) / 1000;
    }
    return HONE_OK;
}

hone_status hn_settings_read(hn_settings *s, const hn_description *d, const hn_make_options *o,
                             hn_arena *arena, hn_error *err) {
    *s = (hn_settings){.at = hn_arena_array(arena, MOST_SETTINGS, sizeof *s->at)};
    if (s->at == NULL) return HN_NOMEM(err);
    for (const char *p = o->settings; p != NULL && *p != '\0';) {
        size_t n = strcspn(p, " ");
        if (n > 0) HN_TRY(add_setting(s, d, (hn_str){p, n}, err));
        p += n + strspn(p + n, " ");
    }
    return read_compound(s, d, o->compound, err);
}

/* The last value given for a name; NULL: none. */
static const hn_setting *find(const hn_settings *s, hn_str name) {
    for (int i = s->n - 1; i >= 0; i--)
        if (hn_same_text(s->at[i].name, name)) return &s->at[i];
    return NULL;
}

static hone_status given_number(const hn_setting *g, hn_str text, double *v, hn_error *err) {
    HN_CHECK(err, hn_decimal_f64(text.p, text.n, v) && isfinite(*v), HONE_E_ARG,
             "%.*s is '%.*s', wanted a number", hn_shown(g->name), g->name.p, hn_shown(text),
             text.p);
    return HONE_OK;
}

/* ---- lines ---- */

static double scaled(const hn_settings *s, hn_str name, double v) {
    for (int i = 0; i < HN_COMPOUND_COUNT_; i++)
        if (hn_is_word(name, compound_names[i]) && s->factor[i] != 1) {
            v *= s->factor[i];
            if (i == HN_COMPOUND_RESOLUTION) v = fmax(4, floor(v / 4 + 0.5) * 4);
        }
    return v;
}

/* from A to B; absent: any number. */
static hone_status read_range(hn_reader *r, double *least, double *most) {
    *least = -HUGE_VAL;
    *most = HUGE_VAL;
    hn_reader_skip(r);
    if (r->at == r->end) return HONE_OK;
    if (!hn_is_word(hn_reader_name(r), "from")) return hn_reader_unexpected(r, "'from' or nothing");
    HN_TRY(hn_expression(r, least));
    hn_reader_skip(r);
    if (!hn_is_word(hn_reader_name(r), "to")) return hn_reader_unexpected(r, "'to'");
    HN_TRY(hn_expression(r, most));
    return hn_reader_end(r);
}

static hone_status declare_number(hn_declared *out, hn_reader *r, bool whole, const hn_settings *s,
                                  const hn_setting *given) {
    double least, most;
    HN_TRY(hn_expression(r, out->v));
    for (out->to = r->at; r->d->text[out->to - 1] == ' ';) out->to--;
    HN_TRY(read_range(r, &least, &most));
    if (given != NULL) HN_TRY(given_number(given, given->value, out->v, r->err));
    double v = scaled(s, out->name, *out->v);
    out->set = given != NULL || v != *out->v;
    *out->v = v;
    out->n = 1;
    if (v >= least && v <= most && (!whole || v == floor(v))) return HONE_OK;
    hone_status status = out->set ? HONE_E_ARG : HONE_E_FORMAT;
    hn_fail(r->err, status, "%.*s is %.15g, wanted %s from %.15g to %.15g", hn_shown(out->name),
            out->name.p, v, whole ? "a whole number" : "a number", least, most);
    return out->set ? status : hn_description_placed(r->d, out->from, status, r->err);
}

/* Numbers of a list that the caller gives: 784-300-100-10 or 784,300,100,10 */
static hone_status given_list(hn_declared *out, const hn_setting *g, hn_error *err) {
    const char *p = g->value.p, *end = p + g->value.n;
    out->n = 0;
    for (;;) {
        const char *to = p;
        while (to < end && *to != ',' && *to != '-') to++;
        HN_CHECK(err, out->n < HN_LIST_MOST, HONE_E_ARG, "%.*s has more than %d numbers",
                 hn_shown(g->name), g->name.p, HN_LIST_MOST);
        HN_TRY(given_number(g, (hn_str){p, (size_t)(to - p)}, &out->v[out->n++], err));
        if (to == end) return HONE_OK;
        p = to + 1;
    }
}

static hone_status declare_list(hn_declared *out, hn_reader *r, const hn_setting *given) {
    r->tight = true;
    for (hn_reader_skip(r); r->at < r->end; hn_reader_skip(r)) {
        if (out->n == HN_LIST_MOST)
            return hn_description_fail(r->d, r->at, HONE_E_LIMIT, r->err,
                                       "a list of more than %d numbers", HN_LIST_MOST);
        size_t at = r->at;
        HN_TRY(hn_expression(r, &out->v[out->n++]));
        if (r->at == at) return hn_reader_unexpected(r, "a number");
    }
    out->to = r->end;
    if (out->n == 0) return hn_reader_unexpected(r, "a number");
    out->set = given != NULL;
    return given != NULL ? given_list(out, given, r->err) : HONE_OK;
}

static hone_status no_such_word(const hn_declared *c, const hn_setting *g, hn_error *err) {
    hn_words list = {0};
    for (int i = 0; i < c->n_words; i++) hn_words_add(&list, c->words[i]);
    return HN_FAIL(err, HONE_E_ARG, "%.*s is '%.*s', wanted %s", hn_shown(g->name), g->name.p,
                   hn_shown(g->value), g->value.p, list.text);
}

static hone_status declare_choice(hn_declared *out, hn_reader *r, hn_scope *scope,
                                  const hn_setting *given, hn_arena *arena) {
    hn_str *words = hn_arena_array(arena, MOST_WORDS, sizeof *words);
    double *numbers = hn_arena_array(arena, MOST_WORDS, sizeof *numbers);
    if (words == NULL || numbers == NULL) return HN_NOMEM(r->err);
    for (hn_reader_skip(r); r->at < r->end; hn_reader_skip(r)) {
        int i = out->n_words;
        size_t at = r->at;
        hn_str word = hn_reader_name(r);
        if (word.n == 0) return hn_reader_unexpected(r, "a word");
        if (i == MOST_WORDS || hn_scope_find(scope, word) != NULL)
            return hn_description_fail(
                r->d, at, HONE_E_FORMAT, r->err,
                i == MOST_WORDS ? "more than 16 words" : "this word has a meaning already");
        words[i] = word;
        numbers[i] = i;
        HN_TRY(hn_scope_add(scope, word, &numbers[i], 1, r->err));
        out->n_words++;
    }
    if (out->n_words == 0) return hn_reader_unexpected(r, "a word");
    out->to = r->end;
    out->words = words;
    out->n = 1;
    out->v[0] = 0;
    out->set = given != NULL;
    if (given == NULL) return HONE_OK;
    for (int i = 0; i < out->n_words; i++)
        if (hn_same_text(words[i], given->value)) {
            out->v[0] = i;
            return HONE_OK;
        }
    return no_such_word(out, given, r->err);
}

hone_status hn_declare(hn_declared *out, hn_scope *scope, const hn_description *d, const hn_line *l,
                       const hn_settings *s, hn_arena *arena, hn_error *err) {
    hn_reader r = reader_of(d, l, scope, err);
    size_t at = r.at, room = l->kind == HN_LINE_LIST ? HN_LIST_MOST : 1;
    *out =
        (hn_declared){.name = hn_reader_name(&r), .v = hn_arena_array(arena, room, sizeof *out->v)};
    if (out->v == NULL) return HN_NOMEM(err);
    if (out->name.n == 0) return hn_reader_unexpected(&r, "a name");
    if (hn_scope_find(scope, out->name) != NULL || hn_is_word(out->name, "in"))
        return hn_description_fail(d, at, HONE_E_FORMAT, err, "'%.*s' has a meaning already",
                                   hn_shown(out->name), out->name.p);
    hn_reader_skip(&r);
    if (!hn_reader_accept(&r, "=")) return hn_reader_unexpected(&r, "'='");
    hn_reader_skip(&r);
    out->from = r.at;
    const hn_setting *given = find(s, out->name);
    if (l->kind == HN_LINE_LIST)
        HN_TRY(declare_list(out, &r, given));
    else if (l->kind == HN_LINE_CHOICE)
        HN_TRY(declare_choice(out, &r, scope, given, arena));
    else
        HN_TRY(declare_number(out, &r, l->kind == HN_LINE_WHOLE, s, given));
    return hn_scope_add(scope, out->name, out->v, out->n, err);
}
