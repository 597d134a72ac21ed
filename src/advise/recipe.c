#include "advise/recipe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compress/lineage.h"

static const char head[] = "hone recipe 1";
static const char *const kinds[] = {
    [HN_LAYER_F32] = "f32",         [HN_LAYER_F16] = "f16",         [HN_LAYER_BF16] = "bf16",
    [HN_LAYER_WEIGHTS] = "weights", [HN_LAYER_DYNAMIC] = "dynamic", [HN_LAYER_STATIC] = "static"};
#define COUNT(list) ((int)(sizeof list / sizeof *list))

static bool is_static(const hn_recipe *r) {
    bool any = r->layer.kind == HN_LAYER_STATIC;
    for (int i = 0; i < r->n_rules; i++) any |= r->rules[i].layer.kind == HN_LAYER_STATIC;
    return any;
}

bool hn_recipe_needs_data(const hn_recipe *r) {
    bool needs = is_static(r);
    for (int i = 0; i < r->n_methods; i++) needs |= r->methods[i]->needs_data;
    return needs;
}

/* ---- writing ---- */

typedef struct text {
    hn_arena *arena;
    char *data;
    size_t bytes, room;
    bool failed; /* out of memory */
} text;

static void append(text *t, const char *data, size_t n) {
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

HONE_PRINTF(2, 3)
static void put(text *t, const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    append(t, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
}

static void put_type(text *t, const hn_qtype *q) {
    if (q->dtype == HONE_DTYPE_NONE) return;
    put(t, " %s", hone_dtype_name(q->dtype));
    if (q->bits != hone_dtype_bits(q->dtype)) put(t, ":bits=%d", q->bits);
    if (q->symmetric) put(t, ":symmetric");
    if (q->per_channel) put(t, ":channel");
    if (q->group > 0) put(t, ":group=%" PRId64, q->group);
}

/* A control character in a name becomes what stands for any letter. */
static void put_layer(text *t, const char *name, const hn_layer_scheme *l) {
    put(t, "layer '");
    for (; *name != '\0'; name++) append(t, (unsigned char)*name < 0x20 ? "?" : name, 1);
    put(t, "' %s", kinds[l->kind]);
    put_type(t, &l->weights);
    put_type(t, &l->activations);
    put(t, "\n");
}

hone_status hn_recipe_write(const hn_recipe *r, hn_arena *arena, char **out, hn_error *err) {
    text t = {.arena = arena};
    put(&t, "%s\n", head);
    if (r->name[0] != '\0') put(&t, "name %s\n", r->name);
    put_layer(&t, "*", &r->layer);
    for (int i = 0; i < r->n_rules; i++) put_layer(&t, r->rules[i].name, &r->rules[i].layer);
    if (r->embeddings) put(&t, "embeddings\n");
    if (r->runtime != NULL) put(&t, "for %s\n", r->runtime->name);
    if (is_static(r)) put(&t, "ranges %s\n", hn_range_method_name(r->ranges));
    for (int i = 0; i < r->n_methods; i++) put(&t, "method %s\n", r->methods[i]->name);
    put(&t, "seed %" PRIu64 "\n", r->seed);
    if (r->source[0] != '\0') put(&t, "source %s\n", r->source);
    if (r->samples > 0) put(&t, "calibration %" PRId64 " %s\n", r->samples, r->calibration);
    if (t.failed) return HN_NOMEM(err);
    *out = t.data;
    return HONE_OK;
}

/* ---- reading ---- */

typedef struct reader {
    hn_recipe *r;
    hn_arena *arena;
    int line, n_layers;
    char *rest; /* of the line */
    hn_error *err;
} reader;

static hone_status wrong(const reader *d, const char *wanted, const char *found) {
    return HN_FAIL(d->err, HONE_E_FORMAT, "recipe: line %d: found '%.100s', %s is wanted", d->line,
                   found != NULL ? found : "nothing", wanted);
}

/* What comes before one of the letters of `ends`; NULL: nothing is left. */
static char *next(char **rest, const char *ends) {
    char *word = *rest + strspn(*rest, ends), *end = word + strcspn(word, ends);
    if (*word == '\0') return NULL;
    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return word;
}

static bool whole(const char *word, uint64_t most, uint64_t *v) {
    char *end;
    if (word == NULL || *word < '0' || *word > '9') return false;
    *v = strtoull(word, &end, 10);
    return *end == '\0' && *v <= most;
}

static bool find(const char *word, const char *const *list, int n, int *which) {
    for (*which = 0; word != NULL && *which < n; ++*which)
        if (strcmp(word, list[*which]) == 0) return true;
    return false;
}

static hone_status read_hash(const reader *d, const char *word, char hex[HN_SHA256_HEX]) {
    if (word == NULL || strlen(word) != HN_SHA256_HEX - 1 ||
        strspn(word, "0123456789abcdef") != HN_SHA256_HEX - 1)
        return wrong(d, "a SHA-256 of 64 digits", word);
    memcpy(hex, word, HN_SHA256_HEX);
    return HONE_OK;
}

/* "s4:symmetric:group=64" */
static hone_status read_type(const reader *d, char *word, hn_qtype *q) {
    static const hone_dtype known[] = {HONE_DTYPE_U8, HONE_DTYPE_S8, HONE_DTYPE_U16, HONE_DTYPE_S16,
                                       HONE_DTYPE_U4, HONE_DTYPE_S4, HONE_DTYPE_U2,  HONE_DTYPE_S2};
    char *part = next(&word, ":");
    int i = 0;
    while (part != NULL && i < COUNT(known) && strcmp(part, hone_dtype_name(known[i])) != 0) i++;
    if (part == NULL || i == COUNT(known)) return wrong(d, "a type such as s8 or u4", part);
    *q = (hn_qtype){.dtype = known[i], .bits = hone_dtype_bits(known[i])};
    while ((part = next(&word, ":")) != NULL) {
        uint64_t v;
        if (strcmp(part, "symmetric") == 0)
            q->symmetric = true;
        else if (strcmp(part, "channel") == 0)
            q->per_channel = true;
        else if (strncmp(part, "bits=", 5) == 0 && whole(part + 5, (uint64_t)q->bits, &v) && v > 0)
            q->bits = (int)v;
        else if (strncmp(part, "group=", 6) == 0 && whole(part + 6, INT32_MAX, &v))
            q->group = (int64_t)v;
        else
            return wrong(d, "symmetric, channel, bits=N or group=N", part);
    }
    return HONE_OK;
}

static hone_status read_scheme(reader *d, hn_layer_scheme *l) {
    int kind;
    char *word = next(&d->rest, " ");
    *l = (hn_layer_scheme){0};
    if (!find(word, kinds, COUNT(kinds), &kind)) return wrong(d, "f32, bf16, static ...", word);
    l->kind = (hn_layer_kind)kind;
    if ((word = next(&d->rest, " ")) != NULL) HN_TRY(read_type(d, word, &l->weights));
    if ((word = next(&d->rest, " ")) != NULL) HN_TRY(read_type(d, word, &l->activations));
    return HONE_OK;
}

/* The first is for all nodes. */
static hone_status read_layer(reader *d) {
    hn_recipe *r = d->r;
    char *from = strchr(d->rest, '\''), *to = strrchr(d->rest, '\'');
    if (from == NULL || from == to) return wrong(d, "a name in quotes", d->rest);
    *to = '\0';
    d->rest = to + 1;
    if (d->n_layers++ == 0) {
        if (strcmp(from + 1, "*") != 0) return wrong(d, "'*' as the first layer", from + 1);
        return read_scheme(d, &r->layer);
    }
    if ((r->n_rules & (r->n_rules - 1)) == 0) { /* full: room for as many again */
        size_t room = r->n_rules > 0 ? 2 * (size_t)r->n_rules : 1;
        hn_scheme_rule *more = hn_arena_array(d->arena, room, sizeof *more);
        if (more == NULL) return HN_NOMEM(d->err);
        if (r->n_rules > 0) memcpy(more, r->rules, (size_t)r->n_rules * sizeof *more);
        r->rules = more;
    }
    hn_scheme_rule *rule = &r->rules[r->n_rules++];
    rule->name = hn_arena_strdup(d->arena, from + 1);
    if (rule->name == NULL) return HN_NOMEM(d->err);
    return read_scheme(d, &rule->layer);
}

static hone_status read_name(reader *d) {
    char *word = next(&d->rest, "");
    if (word == NULL || strlen(word) >= sizeof d->r->name) return wrong(d, "a short name", word);
    strcpy(d->r->name, word);
    return HONE_OK;
}

static hone_status read_embeddings(reader *d) {
    d->r->embeddings = true;
    return HONE_OK;
}

static hone_status read_runtime(reader *d) {
    char *word = next(&d->rest, " ");
    d->r->runtime = word != NULL ? hn_quant_target_named(word) : NULL;
    return d->r->runtime != NULL ? HONE_OK : wrong(d, "hone, onnxruntime ...", word);
}

static hone_status read_ranges(reader *d) {
    char *word = next(&d->rest, " ");
    d->r->ranges = word != NULL ? hn_range_method_named(word) : HN_RANGE_METHODS;
    return d->r->ranges < HN_RANGE_METHODS ? HONE_OK : wrong(d, "minmax, mse ...", word);
}

static hone_status read_method(reader *d) {
    char *word = next(&d->rest, " ");
    const hn_method *m = word != NULL ? hn_method_named(word) : NULL;
    if (m == NULL || d->r->n_methods == HN_RECIPE_METHODS) return wrong(d, "a method", word);
    d->r->methods[d->r->n_methods++] = m;
    return HONE_OK;
}

static hone_status read_seed(reader *d) {
    char *word = next(&d->rest, " ");
    return whole(word, UINT64_MAX, &d->r->seed) ? HONE_OK : wrong(d, "a whole number", word);
}

static hone_status read_source(reader *d) {
    return read_hash(d, next(&d->rest, " "), d->r->source);
}

static hone_status read_calibration(reader *d) {
    uint64_t n;
    char *word = next(&d->rest, " ");
    if (!whole(word, INT64_MAX, &n) || n == 0) return wrong(d, "a number of samples", word);
    d->r->samples = (int64_t)n;
    return read_hash(d, next(&d->rest, " "), d->r->calibration);
}

static hone_status read_line(reader *d) {
    static const struct {
        const char *word;
        hone_status (*read)(reader *d);
    } lines[] = {{"name", read_name},     {"layer", read_layer},
                 {"ranges", read_ranges}, {"embeddings", read_embeddings},
                 {"method", read_method}, {"seed", read_seed},
                 {"source", read_source}, {"calibration", read_calibration},
                 {"for", read_runtime}};
    char *word = next(&d->rest, " ");
    if (word == NULL) return HONE_OK;
    for (int i = 0; i < COUNT(lines); i++) {
        if (strcmp(word, lines[i].word) != 0) continue;
        HN_TRY(lines[i].read(d));
        word = next(&d->rest, " ");
        return word == NULL ? HONE_OK : wrong(d, "the end of the line", word);
    }
    return wrong(d, "name, layer, method ...", word);
}

hone_status hn_recipe_read(hn_recipe *out, const char *from, hn_arena *arena, hn_error *err) {
    hn_recipe r = {.seed = 1};
    reader d = {.r = &r, .arena = arena, .err = err};
    char *rest = hn_arena_strdup(arena, from);
    if (rest == NULL) return HN_NOMEM(err);
    while (*rest != '\0') {
        char *line = rest, *end = line + strcspn(line, "\n");
        rest = *end != '\0' ? end + 1 : end;
        *end = '\0';
        d.rest = line;
        if (++d.line == 1) {
            if (strcmp(line, head) != 0) return wrong(&d, "'hone recipe 1'", line);
        } else if (*line != '#') {
            HN_TRY(read_line(&d));
        }
    }
    HN_CHECK(err, d.n_layers > 0, HONE_E_FORMAT, "recipe: there is no line layer '*' in it");
    HN_CHECK(err, !hn_recipe_needs_data(&r) || r.samples > 0, HONE_E_FORMAT,
             "recipe: it calibrates, but there is no line calibration in it");
    *out = r;
    return HONE_OK;
}

/* ---- carrying out ---- */

/* Measurements are no part of it: doing it again gives the same bytes. */
static hone_status sign(const hn_recipe *r, hn_model *m, hn_allocator *alloc, hn_error *err) {
    hn_arena arena;
    char *all, hex[HN_SHA256_HEX], line[HN_RECIPE_NAME + HN_SHA256_HEX + 16];
    hn_arena_init(&arena, alloc, HN_MEM_OTHER);
    hone_status status = hn_recipe_write(r, &arena, &all, err);
    if (status == HONE_OK) {
        hn_sha256(all, strlen(all), hex);
        snprintf(line, sizeof line, "optimize %s %s", r->name, hex);
        hn_lineage l = {r->source, r->samples > 0 ? r->calibration : NULL, line};
        status = hn_lineage_write(m, &l, err);
    }
    hn_arena_deinit(&arena);
    return status;
}

/* What was found out for single layers is the recipe's from here on. */
static hone_status keep_rules(hn_recipe *r, const hn_mixed *x, hn_arena *arena, hn_error *err) {
    r->rules = hn_arena_array(arena, (size_t)x->n_rules, sizeof *r->rules);
    if (r->rules == NULL) return HN_NOMEM(err);
    for (int i = 0; i < x->n_rules; i++) {
        r->rules[i] = x->rules[i];
        r->rules[i].name = hn_arena_strdup(arena, x->rules[i].name);
        if (r->rules[i].name == NULL) return HN_NOMEM(err);
    }
    r->n_rules = x->n_rules;
    return HONE_OK;
}

hone_status hn_recipe_apply(hn_recipe *r, const hn_kitchen *k, hn_compressed *out, hn_error *err) {
    bool data = hn_recipe_needs_data(r) || k->mix != NULL;
    HN_CHECK(err, !data || k->calibrate != NULL, HONE_E_ARG,
             "'%s' wants samples to calibrate with, there are none", r->name);
    hn_compress_options o = {
        .scheme = {.layer = r->layer,
                   .n_rules = r->n_rules,
                   .rules = r->rules,
                   .target = r->runtime != NULL ? r->runtime : hn_quant_target_named("hone"),
                   .embeddings = r->embeddings},
        .mix = k->mix,
        .n_methods = r->n_methods,
        .methods = r->methods,
        .calibrate = {.method = r->ranges},
        .data = data ? k->calibrate : NULL,
        .seed = r->seed,
        .how = k->how,
        .progress = k->progress,
        .progress_ctx = k->progress_ctx};
    HN_TRY(hn_compress(out, k->model, &o, k->alloc, err));
    hone_status status = HONE_OK;
    if (r->calibration[0] != '\0' && strcmp(r->calibration, out->data) != 0)
        status = HN_FAIL(err, HONE_E_ARG,
                         "'%s' was calibrated with other samples: their SHA-256 is %.12s..., not "
                         "%.12s...",
                         r->name, r->calibration, out->data);
    r->samples = out->samples;
    memcpy(r->calibration, out->data, sizeof r->calibration);
    if (status == HONE_OK && k->mix != NULL) status = keep_rules(r, &out->mixed, k->arena, err);
    if (status == HONE_OK) status = sign(r, out->model, k->alloc, err);
    if (status != HONE_OK) hn_compressed_deinit(out);
    return status;
}
