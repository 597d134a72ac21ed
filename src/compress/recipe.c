#include "compress/recipe.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "compress/place.h"

static const char head[] = "hone recipe 2";

/* ---- making one ---- */

void hn_recipe_init(hn_recipe *r, hn_arena *arena) {
    *r = (hn_recipe){.arena = arena, .samples = -1, .seed = 1};
}

hone_status hn_recipe_add(hn_recipe *r, const hn_transform *t, hn_error *err) {
    int at = 0;
    for (int i = 0; i < r->n; i++) {
        const hn_transform *other = r->steps[i].transform;
        HN_CHECK(err, other != t || t->stage == HN_STAGE_SHRINK, HONE_E_ARG,
                 "'%s' is asked for twice, expected it once", t->name);
        HN_CHECK(err, t->stage != HN_STAGE_WRITE || other->stage != HN_STAGE_WRITE, HONE_E_ARG,
                 "'%s' and '%s' both give layers their types, expected one of them", other->name,
                 t->name);
        if (other->stage <= t->stage) at = i + 1;
    }
    HN_CHECK(err, r->n < HN_RECIPE_STEPS, HONE_E_ARG, "more than %d transforms", HN_RECIPE_STEPS);
    memmove(&r->steps[at + 1], &r->steps[at], (size_t)(r->n - at) * sizeof *r->steps);
    r->steps[at] = (hn_recipe_step){.transform = t};
    r->n++;
    return HONE_OK;
}

static hone_status no_param(const hn_transform *t, const char *word, hn_error *err) {
    char names[400] = "";
    for (const hn_parameter *p = t->params; p->name != NULL; p++)
        hn_list_add(names, sizeof names, p->name);
    if (names[0] == '\0')
        return HN_FAIL(err, HONE_E_ARG, "'%.100s', expected nothing: it has no parameters", word);
    return HN_FAIL(err, HONE_E_ARG, "'%.100s', expected one of: %s", word, names);
}

hone_status hn_recipe_keep(hn_recipe *r, hn_recipe_step *s, const hn_setting *set, hn_error *err) {
    if ((s->n & (s->n - 1)) == 0) { /* full: room for as many again */
        hn_setting *more = hn_arena_array(r->arena, s->n > 0 ? 2 * (size_t)s->n : 1, sizeof *more);
        if (more == NULL) return HN_NOMEM(err);
        if (s->n > 0) memcpy(more, s->v, (size_t)s->n * sizeof *more);
        s->v = more;
    }
    s->v[s->n++] = *set;
    return HONE_OK;
}

hone_status hn_recipe_set(hn_recipe *r, hn_recipe_step *s, const char *word, hn_error *err) {
    char name[32];
    size_t n = strcspn(word, ":=");
    snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : (int)sizeof name - 1, word);
    const hn_parameter *p = hn_transform_param(s->transform, name);
    if (p == NULL || strlen(p->name) != n) return no_param(s->transform, word, err);
    bool layer = hn_param_is_of_layers(p), flag = p->kind == HN_PARAM_FLAG;
    const char *eq = layer ? strrchr(word, '=') : word + n;
    HN_CHECK(err, !layer || (word[n] == ':' && eq != NULL && eq > word + n + 1), HONE_E_ARG,
             "'%.100s', expected %s:PATTERN=%s", word, name,
             p->kind == HN_PARAM_LAYER ? "TYPE" : "N");
    HN_CHECK(err, layer || *eq == (flag ? '\0' : '='), HONE_E_ARG, "'%.100s', expected %s%s", word,
             name, flag ? " alone" : "=VALUE");
    HN_CHECK(err, layer || hn_step_setting(s, name) == NULL, HONE_E_ARG,
             "'%.100s': %s is set twice, expected it once", word, name);
    if (!flag) HN_TRY(hn_param_check(p, eq + 1, err));
    hn_setting set = {.param = p, .value = hn_arena_strdup(r->arena, flag ? "" : eq + 1)};
    if (layer) set.pattern = hn_arena_strndup(r->arena, word + n + 1, (size_t)(eq - word) - n - 1);
    if (set.value == NULL || (layer && set.pattern == NULL)) return HN_NOMEM(err);
    return hn_recipe_keep(r, s, &set, err);
}

hone_status hn_recipe_setf(hn_recipe *r, hn_recipe_step *s, hn_error *err, const char *format,
                           ...) {
    va_list args;
    va_start(args, format);
    char *word = hn_arena_vformat(r->arena, format, args);
    va_end(args);
    if (word == NULL) return HN_NOMEM(err);
    return hn_recipe_set(r, s, word, err);
}

hone_status hn_recipe_set_target(hn_recipe *r, const char *name, hn_error *err) {
    char names[200] = "";
    r->target = hn_quant_target_named(name);
    for (int i = 0; i < hn_quant_target_count(); i++)
        hn_list_add(names, sizeof names, hn_quant_target_at(i)->name);
    HN_CHECK(err, r->target != NULL, HONE_E_ARG, "runtime '%.100s', expected one of: %s", name,
             names);
    return HONE_OK;
}

/* ---- asking it ---- */

hn_recipe_step *hn_recipe_writer(const hn_recipe *r) {
    for (int i = 0; i < r->n; i++)
        if (r->steps[i].transform->stage == HN_STAGE_WRITE) return (hn_recipe_step *)&r->steps[i];
    return NULL;
}

const char *hn_recipe_word(const hn_recipe *r, const char *name) {
    const hn_recipe_step *s = hn_recipe_writer(r);
    return s != NULL ? hn_step_word(s, name) : NULL;
}

hone_status hn_recipe_check(const hn_recipe *r, hn_error *err) {
    const hn_transform *quantize = hn_transform_named("quantize");
    bool there = false;
    for (int i = 0; i < r->n; i++) there = there || r->steps[i].transform == quantize;
    for (int i = 0; i < r->n; i++) {
        const hn_transform *t = r->steps[i].transform;
        HN_CHECK(err, there || !hn_transform_is_method(t), HONE_E_ARG,
                 "'%s' serves '%s', which must come %s it, and there is none", t->name,
                 quantize->name, t->stage < quantize->stage ? "after" : "before");
    }
    return HONE_OK;
}

const hn_setting *hn_step_setting(const hn_recipe_step *s, const char *name) {
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->v[i].param->name, name) == 0) return &s->v[i];
    return NULL;
}

const char *hn_step_word(const hn_recipe_step *s, const char *name) {
    const hn_setting *set = hn_step_setting(s, name);
    const hn_parameter *p = hn_transform_param(s->transform, name);
    return set != NULL ? set->value : p != NULL ? p->usual : NULL;
}

double hn_step_number(const hn_recipe_step *s, const char *name) {
    const char *text = hn_step_word(s, name);
    double x;
    return text != NULL && hn_decimal_f64(text, strlen(text), &x) ? x : NAN;
}

bool hn_step_flag(const hn_recipe_step *s, const char *name) {
    return hn_step_setting(s, name) != NULL;
}

bool hn_recipe_trains(const hn_recipe *r) {
    bool trains = false;
    for (int i = 0; i < r->n; i++) trains = trains || hn_step_trains(&r->steps[i]);
    return trains;
}

/* ---- writing ---- */

typedef struct buffer {
    hn_arena *arena;
    char *data;
    size_t bytes, room;
    bool failed; /* out of memory */
} buffer;

static void append(buffer *t, const char *data, size_t n) {
    if (n >= t->room - t->bytes && !t->failed) {
        size_t room = 2 * t->room + n + 1024;
        char *more = hn_arena_alloc(t->arena, room);
        t->failed = more == NULL;
        if (t->failed) return;
        if (t->bytes > 0) memcpy(more, t->data, t->bytes);
        t->data = more;
        t->room = room;
    }
    if (t->failed) return;
    memcpy(t->data + t->bytes, data, n);
    t->bytes += n;
    t->data[t->bytes] = '\0';
}

static void put(buffer *t, const char *s) { append(t, s, strlen(s)); }

/* A control character becomes what stands for any letter in a pattern. */
static void put_letters(buffer *t, const char *s, bool quoted) {
    for (; *s != '\0'; s++) {
        append(t, (unsigned char)*s < 0x20 || *s == 0x7f ? "?" : s, 1);
        if (*s == '\'' && quoted) append(t, s, 1);
    }
}

static void put_word(buffer *t, const char *a, const char *b, const char *c, const char *d,
                     const char *e) {
    const char *const parts[] = {a, b, c, d, e};
    bool quoted = a[0] == '\0';
    for (int i = 0; i < 5; i++) quoted = quoted || parts[i][strcspn(parts[i], " ;'")] != '\0';
    put(t, quoted ? " '" : " ");
    for (int i = 0; i < 5; i++) put_letters(t, parts[i], quoted);
    if (quoted) put(t, "'");
}

static void put_setting(buffer *t, const hn_setting *s) {
    bool flag = s->param->kind == HN_PARAM_FLAG, layer = hn_param_is_of_layers(s->param);
    put_word(t, s->param->name, layer ? ":" : "", layer ? s->pattern : "", flag ? "" : "=",
             s->value);
}

static void put_step(buffer *t, const hn_recipe_step *s) {
    put(t, s->transform->name);
    for (int i = 0; i < s->n; i++) put_setting(t, &s->v[i]);
}

hone_status hn_recipe_write_step(const hn_recipe_step *s, hn_arena *arena, char **out,
                                 hn_error *err) {
    buffer t = {.arena = arena};
    put_step(&t, s);
    if (t.failed) return HN_NOMEM(err);
    *out = t.data;
    return HONE_OK;
}

hone_status hn_recipe_write(const hn_recipe *r, bool one_line, hn_arena *arena, char **out,
                            hn_error *err) {
    buffer t = {.arena = arena};
    const char *end = one_line ? "; " : "\n";
    char samples[24], batch[24], seed[24];
    snprintf(samples, sizeof samples, "%" PRId64, r->samples);
    snprintf(batch, sizeof batch, "%" PRId64, r->batch);
    snprintf(seed, sizeof seed, "%" PRIu64, r->seed);
    const struct {
        const char *name, *value;
        bool there;
    } lines[] = {
        {"name", r->name, r->name[0] != '\0'},
        {"source", r->source, r->source[0] != '\0' && !one_line},
        {"data", r->data, r->data[0] != '\0' && !one_line},
        {"part", r->part, r->part[0] != '\0'},
        {"samples", samples, r->samples >= 0},
        {"batch", batch, r->batch > 0},
        {"seed", seed, r->seed != 1},
        {"for", r->target != NULL ? r->target->name : "", r->target != NULL},
    };
    put(&t, head);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!lines[i].there) continue;
        put(&t, end);
        put(&t, lines[i].name);
        put_word(&t, lines[i].value, "", "", "", "");
    }
    for (int i = 0; i < r->n; i++) {
        put(&t, end);
        put_step(&t, &r->steps[i]);
    }
    if (!one_line) put(&t, "\n");
    if (t.failed) return HN_NOMEM(err);
    *out = t.data;
    return HONE_OK;
}

/* ---- reading ---- */

typedef struct reader {
    hn_recipe *r;
    char *at;
    int line;
    bool ended; /* the line, by what stood behind its last word */
    bool broke; /* by the end of a line of the text: the next word is on the next one */
    hn_error *err;
} reader;

static hone_status wrong(const reader *d, const char *word, const char *found, const char *wanted) {
    return HN_FAIL(d->err, HONE_E_FORMAT, "recipe: line %d: %s: found '%.100s', expected %s",
                   d->line, word, found != NULL ? found : "nothing", wanted);
}

static void skip_spaces(reader *d) {
    if (d->broke) d->line++;
    d->broke = false;
    while (*d->at == ' ' || *d->at == '\t' || *d->at == '\r') d->at++;
}

/* The next word of the line, without its quotes, in its place; NULL: there is none. */
static hone_status next_word(reader *d, char **word) {
    *word = NULL;
    if (d->ended) return HONE_OK;
    skip_spaces(d);
    char *to = d->at, *from = d->at;
    bool quoted = false, any = false;
    for (; *from != '\0' && *from != '\n' && (quoted || strchr(" \t\r;", *from) == NULL); from++) {
        any = true;
        if (*from != '\'') {
            *to++ = *from;
        } else if (quoted && from[1] == '\'') {
            *to++ = *from++;
        } else {
            quoted = !quoted;
        }
    }
    char end = *from;
    d->ended = end == '\0' || end == '\n' || end == ';';
    d->broke = end == '\n';
    if (any) *word = d->at;
    d->at = from + (end != '\0');
    *to = '\0';
    return quoted ? wrong(d, "a word in quotes", *word, "a ' at its end") : HONE_OK;
}

/* Goes to the first word of the next line that has one; NULL: the text is at its end. */
static hone_status next_line(reader *d, char **word) {
    *word = NULL;
    while (*word == NULL) {
        d->ended = false;
        skip_spaces(d);
        if (*d->at == '\0') return HONE_OK;
        if (*d->at == '#') {
            d->at += strcspn(d->at, "\n");
            if (*d->at == '\n') d->at++, d->line++;
            continue;
        }
        HN_TRY(next_word(d, word));
    }
    return HONE_OK;
}

bool hn_recipe_whole(const char *word, uint64_t most, uint64_t *v) {
    *v = 0;
    if (word == NULL || *word == '\0') return false;
    for (; *word >= '0' && *word <= '9'; word++) {
        uint64_t digit = (uint64_t)(*word - '0');
        if (*v > (most - digit) / 10) return false;
        *v = *v * 10 + digit;
    }
    return *word == '\0';
}

/* *is: the line is one of those that hold for all transforms. */
static hone_status read_general(reader *d, const char *name, bool *is) {
    static const char *const names[] = {"name", "part",    "source", "data",
                                        "for",  "samples", "batch",  "seed"};
    enum { NAME, PART, SOURCE, DATA, FOR, SAMPLES, BATCH, SEED, LINES };
    hn_recipe *r = d->r;
    hn_error own;
    char *word;
    uint64_t v = 0;
    int i = 0;
    while (i < LINES && strcmp(names[i], name) != 0) i++;
    *is = i < LINES;
    if (!*is) return HONE_OK;
    if (r->n > 0) return wrong(d, name, name, "it before the first transform");
    HN_TRY(next_word(d, &word));
    if ((i == NAME || i == PART) && (word == NULL || strlen(word) >= sizeof r->name))
        return wrong(d, name, word, "a short name");
    if ((i == SOURCE || i == DATA) && (word == NULL || !hn_sha256_is_hex(word)))
        return wrong(d, name, word, "a SHA-256 of 64 digits");
    if (i >= SAMPLES && !hn_recipe_whole(word, i == SEED ? UINT64_MAX : INT64_MAX, &v))
        return wrong(d, name, word, "a whole number");
    if (i == FOR && hn_recipe_set_target(r, word != NULL ? word : "", &own) != HONE_OK)
        return HN_FAIL(d->err, HONE_E_FORMAT, "recipe: line %d: for: %s", d->line, own.text);
    if (i == NAME || i == PART) strcpy(i == NAME ? r->name : r->part, word);
    if (i == SOURCE || i == DATA) strcpy(i == SOURCE ? r->source : r->data, word);
    if (i == SAMPLES || i == BATCH) *(i == SAMPLES ? &r->samples : &r->batch) = (int64_t)v;
    if (i == SEED) r->seed = v;
    return HONE_OK;
}

static hone_status read_transform(reader *d, const char *name) {
    hn_recipe *r = d->r;
    const hn_transform *t = hn_transform_named(name);
    hn_error own;
    char *word, names[300] = "one of: ";
    for (int i = 0; i < hn_transform_count(); i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i > 0 ? ", " : "",
                 hn_transform_at(i)->name);
    if (t == NULL) return wrong(d, "a transform", name, names);
    const hn_transform *last = r->n > 0 ? r->steps[r->n - 1].transform : t;
    HN_CHECK(d->err, last->stage <= t->stage, HONE_E_FORMAT,
             "recipe: line %d: '%s' must come before '%s', and comes after it", d->line, t->name,
             last->name);
    hone_status status = hn_recipe_add(r, t, &own);
    while (status == HONE_OK) {
        status = next_word(d, &word);
        if (status != HONE_OK || word == NULL) return status;
        status = hn_recipe_set(r, &r->steps[r->n - 1], word, &own);
    }
    if (status == HONE_E_NOMEM) return HN_NOMEM(d->err);
    return HN_FAIL(d->err, HONE_E_FORMAT, "recipe: line %d: %s: %s", d->line, t->name, own.text);
}

static hone_status read_lines(reader *d) {
    char *word;
    bool general;
    for (;;) {
        HN_TRY(next_line(d, &word));
        if (word == NULL) return HONE_OK;
        HN_TRY(read_general(d, word, &general));
        if (!general) HN_TRY(read_transform(d, word));
        HN_TRY(next_word(d, &word));
        if (word != NULL) return wrong(d, "the line", word, "its end");
    }
}

static bool begins_with(const char *text, const char *with) {
    size_t n = strlen(with);
    return strncmp(text, with, n) == 0 && (text[n] == '\0' || strchr(" \r\n;", text[n]) != NULL);
}

/* Which of the three it is. */
static hone_status read_any(hn_recipe *r, char *text, hn_error *err) {
    reader d = {.r = r, .at = text, .line = 1, .err = err};
    hn_error own;
    hone_status status;
    if (begins_with(text, head)) {
        d.at += strlen(head) + (text[strlen(head)] == ';');
        return read_lines(&d);
    }
    if (begins_with(text, "hone recipe 1"))
        status = hn_recipe_read_1(r, text, &d.line, &own);
    else if (begins_with(text, "quantize"))
        status = hn_recipe_read_options(r, text, &own);
    else
        return HN_FAIL(err, HONE_E_FORMAT,
                       begins_with(text, "optimize")
                           ? "recipe: line 1: found '%.*s', which names a recipe; expected its text"
                           : "recipe: line 1: found '%.*s', expected '%s'",
                       (int)strcspn(text, "\n") < 100 ? (int)strcspn(text, "\n") : 100, text, head);
    if (status == HONE_OK || status == HONE_E_NOMEM) return status;
    return HN_FAIL(err, HONE_E_FORMAT, "recipe: line %d: %s", d.line, own.text);
}

hone_status hn_recipe_read(hn_recipe *out, const char *from, hn_arena *arena, hn_error *err) {
    hn_recipe r;
    hn_recipe_init(&r, arena);
    char *text = hn_arena_strdup(arena, from);
    if (text == NULL) return HN_NOMEM(err);
    HN_TRY(read_any(&r, text, err));
    HN_CHECK(err, r.n > 0, HONE_E_FORMAT, "recipe: there is no transform in it, expected one");
    hn_error own;
    HN_CHECK(err, hn_recipe_check(&r, &own) == HONE_OK, HONE_E_FORMAT, "recipe: %s", own.text);
    *out = r;
    return HONE_OK;
}
