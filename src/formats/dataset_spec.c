/* The line that names a dataset, `KIND:PATH[,key=value...]` or `@FILE`: what may stand in it is
 * said in dataset.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dtype.h"
#include "formats/dataset_files.h"
#include "formats/dataset_kind.h"
#include "formats/dataset_text.h"

#define HN_DATASET_KIND(name) extern const hn_dataset_kind hn_dataset_##name;
#include "formats/dataset.def"
#undef HN_DATASET_KIND

static const hn_dataset_kind *const kinds[] = {
#define HN_DATASET_KIND(name) &hn_dataset_##name,
#include "formats/dataset.def"
#undef HN_DATASET_KIND
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static const char *const key_names[] = {
#define HN_X(name, text) text,
    HN_DATASET_KEYS(HN_X)
#undef HN_X
};

enum { MAX_LINE = 65536, MAX_WORD = 32, MAX_SIDE = 1 << 14 };

/* ---- naming what there is instead --------------------------------------------------------------
 */

static int least(int a, int b) { return a < b ? a : b; }

/* Single-letter insertions, deletions and changes between two words; MAX_WORD for long ones. */
static int distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n >= MAX_WORD || m >= MAX_WORD) return MAX_WORD;
    int row[MAX_WORD]; /* of the last letter of a: to each beginning of b */
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(changed, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[m];
}

/* A list of words and the one nearest to a wrong word, as the end of a message. */
typedef struct hint {
    const char *wrong;
    const char *nearest;
    int best;
    char words[256];
    size_t used;
} hint;

static void hint_add(hint *h, const char *word) {
    int d = distance(h->wrong, word);
    if (d < h->best) {
        h->best = d;
        h->nearest = word;
    }
    if (h->used < sizeof h->words)
        h->used += (size_t)snprintf(h->words + h->used, sizeof h->words - h->used, "%s%s",
                                    h->used == 0 ? "" : ", ", word);
}

static hint hint_for(const char *wrong) { return (hint){.wrong = wrong, .best = 3}; }

/* ---- values -----------------------------------------------------------------------------------
 */

/* Where the first unescaped `stop` is, or the end. */
static char *find(char *text, char stop) {
    for (; *text != '\0' && *text != stop; text++)
        if (*text == '\\' && text[1] != '\0') text++;
    return text;
}

/* Cuts the text at the first unescaped `stop` and returns what follows, NULL if there is none. */
static char *split(char *text, char stop) {
    char *end = find(text, stop);
    if (*end == '\0') return NULL;
    *end = '\0';
    return end + 1;
}

/* Removes the escapes, in place. */
static hone_status unescape(char *text, hn_error *err) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '\\') {
            from++;
            HN_CHECK(err, *from == ',' || *from == ':' || *from == '\\', HONE_E_ARG,
                     "'\\' stands only before ',', ':' or '\\' (write '\\\\' for itself)");
        }
        *to++ = *from;
    }
    *to = '\0';
    return HONE_OK;
}

/* 0.5 or 1/255, the first n characters of text. */
static hone_status parse_number(const char *key, const char *text, size_t n, double *value,
                                hn_error *err) {
    const char *slash = memchr(text, '/', n);
    size_t first = slash != NULL ? (size_t)(slash - text) : n;
    double v, divisor = 1;
    bool valid = hn_text_f64(text, first, &v);
    if (valid && slash != NULL)
        valid = hn_text_f64(slash + 1, n - first - 1, &divisor) && isfinite(v / divisor);
    HN_CHECK(err, valid, HONE_E_ARG, "%s: '%.*s' is not a number", key, (int)n, text);
    *value = v / divisor;
    return HONE_OK;
}

hone_status hn_dataset_numbers(hn_arena *arena, const char *key, const char *text, int *n,
                               double **values, hn_error *err) {
    int count = 1;
    for (const char *c = text; *c != '\0'; c++) count += *c == ':';
    double *list = hn_arena_array(arena, (size_t)count, sizeof *list);
    if (list == NULL) return HN_NOMEM(err);
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(text, ":");
        HN_TRY(parse_number(key, text, length, &list[i], err));
        text += length + 1;
    }
    *n = count;
    *values = list;
    return HONE_OK;
}

/* The first `length` characters of text. */
static hone_status parse_count(const char *key, const char *text, size_t length, int64_t lowest,
                               int64_t *value, hn_error *err) {
    int64_t v = 0;
    HN_CHECK(err, hn_text_s64(text, length, &v) && v >= lowest, HONE_E_ARG,
             "%s: '%.*s' is not a whole number of at least %d", key, (int)length, text,
             (int)lowest);
    *value = v;
    return HONE_OK;
}

static hone_status parse_side(const char *key, const char *text, size_t length, int64_t *value,
                              hn_error *err) {
    HN_TRY(parse_count(key, text, length, 1, value, err));
    HN_CHECK(err, *value <= MAX_SIDE, HONE_E_LIMIT, "%s: %.*s is more than %d pixels", key,
             (int)length, text, MAX_SIDE);
    return HONE_OK;
}

hone_status hn_dataset_sides(const char *key, const char *text, char between, int64_t *first,
                             int64_t *second, hn_error *err) {
    const char *end = strchr(text, between);
    *second = 0;
    if (end == NULL) return parse_side(key, text, strlen(text), first, err);
    HN_TRY(parse_side(key, end + 1, strlen(end + 1), second, err));
    return parse_side(key, text, (size_t)(end - text), first, err);
}

static hone_status parse_choice(const char *key, const char *text, const char *zero,
                                const char *one, bool *value, hn_error *err) {
    *value = strcmp(text, one) == 0;
    HN_CHECK(err, *value || strcmp(text, zero) == 0, HONE_E_ARG, "%s: '%s' is neither %s nor %s",
             key, text, zero, one);
    return HONE_OK;
}

static hone_status parse_path(const char *key, char *text, const char **path, hn_error *err) {
    HN_TRY(unescape(text, err));
    HN_CHECK(err, *text != '\0', HONE_E_ARG, "%s: no file is named", key);
    *path = text;
    return HONE_OK;
}

static hone_status parse_value(hn_dataset *ds, hn_dataset_key key, char *text, hn_error *err) {
    hn_dataset_spec *s = &ds->spec;
    const char *name = key_names[key];
    bool second = false;
    int64_t number = 0;
    switch (key) {
        case HN_DATASET_KEY_SCALE: return parse_number(name, text, strlen(text), &s->scale, err);
        case HN_DATASET_KEY_MEAN:
            return hn_dataset_numbers(&ds->arena, name, text, &s->n_mean, &s->mean, err);
        case HN_DATASET_KEY_STD:
            HN_TRY(hn_dataset_numbers(&ds->arena, name, text, &s->n_std, &s->std, err));
            for (int i = 0; i < s->n_std; i++)
                HN_CHECK(err, s->std[i] != 0, HONE_E_ARG, "std: a value is 0");
            return HONE_OK;
        case HN_DATASET_KEY_ORDER: return parse_choice(name, text, "rgb", "bgr", &s->bgr, err);
        case HN_DATASET_KEY_LAYOUT:
            HN_TRY(parse_choice(name, text, "nchw", "nhwc", &second, err));
            s->layout = second ? HN_LAYOUT_NHWC : HN_LAYOUT_NCHW;
            return HONE_OK;
        case HN_DATASET_KEY_N: return parse_count(name, text, strlen(text), 1, &s->n, err);
        case HN_DATASET_KEY_SKIP: return parse_count(name, text, strlen(text), 0, &s->skip, err);
        case HN_DATASET_KEY_SEED:
            HN_TRY(parse_count(name, text, strlen(text), 0, &number, err));
            s->seed = (uint64_t)number;
            return HONE_OK;
        case HN_DATASET_KEY_SHUFFLE:
            HN_TRY(parse_count(name, text, strlen(text), 0, &number, err));
            s->shuffle = (uint64_t)number;
            s->shuffled = true;
            return HONE_OK;
        case HN_DATASET_KEY_LABELS: return parse_path(name, text, &s->labels, err);
        case HN_DATASET_KEY_BOXES: return parse_path(name, text, &s->boxes, err);
        case HN_DATASET_KEY_MASKS: return parse_path(name, text, &s->masks, err);
        case HN_DATASET_KEY_TARGETS:
            HN_CHECK(err, *text != '\0', HONE_E_ARG, "targets: nothing is named");
            s->targets = text;
            return HONE_OK;
        case HN_DATASET_KEY_DTYPE:
            s->dtype = hn_dtype_from_onnx_name(text);
            HN_CHECK(err, s->dtype != HONE_DTYPE_NONE, HONE_E_ARG, "dtype: no type is called '%s'",
                     text);
            return HONE_OK;
        case HN_DATASET_KEY_RESIZE:
            return hn_dataset_sides(name, text, ':', &s->scaling.resize, &s->scaling.resize_width,
                                    err);
        case HN_DATASET_KEY_CROP:
            return parse_side(name, text, strlen(text), &s->scaling.crop, err);
        case HN_DATASET_KEY_COUNT_: break;
    }
    assert(!"no key");
    return HONE_E_ARG;
}

/* ---- the line ---------------------------------------------------------------------------------
 */

/* The text of FILE as one line: what stands on its lines, without blanks around it, joined by
 * commas. */
static hone_status read_line(hn_dataset *ds, const char *path, char **line, hn_error *err) {
    hn_file *file = NULL;
    HN_TRY(hn_file_open(&file, path, false, ds->alloc, err));
    hone_status status = HONE_OK;
    HN_CHECK_GOTO(err, file->bytes <= MAX_LINE, HONE_E_LIMIT,
                  "'%s' has %zu bytes; a dataset is named by at most %d", path, file->bytes,
                  MAX_LINE);
    HN_CHECK_GOTO(err, memchr(file->data, '\0', file->bytes) == NULL, HONE_E_FORMAT,
                  "'%s' is not text: it has a zero byte", path);
    char *to = hn_arena_alloc(&ds->arena, file->bytes + 2);
    if (to == NULL) {
        status = HN_NOMEM(err);
        goto fail;
    }
    *line = to;
    hn_rows rows = hn_rows_of(file->data, file->bytes);
    for (hn_row row; hn_rows_next(&rows, &row);) {
        if (to > *line && to[-1] != ',') *to++ = ',';
        memcpy(to, row.at, (size_t)(row.end - row.at));
        to += row.end - row.at;
    }
    if (to > *line && to[-1] == ',') to--;
    *to = '\0';
fail:
    hn_file_unref(file);
    return status;
}

static bool ends_in(const char *name, size_t n, const char *ending, size_t m) {
    return n > m && memcmp(name + n - m, ending, m) == 0;
}

/* The kind of dataset a file or folder of this name usually is; NULL: it may be any. */
static const char *usual_kind(const char *path) {
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return "images";
    size_t n = strlen(path);
    if (ends_in(path, n, ".gz", 3) || ends_in(path, n, ".xz", 3)) n -= 3;
    for (int i = 0; i < N_KINDS; i++) {
        const char *ending = kinds[i]->endings;
        while (ending != NULL) {
            size_t m = strcspn(ending, " ");
            if (ends_in(path, n, ending, m)) return kinds[i]->name;
            ending = ending[m] == ' ' ? ending + m + 1 : NULL;
        }
    }
    return NULL;
}

static hone_status parse_kind(hn_dataset *ds, char *item, hn_error *err) {
    char *path = split(item, ':');
    const char *usual = path == NULL ? usual_kind(item) : NULL;
    hint h = hint_for(item);
    for (int i = 0; i < N_KINDS; i++) {
        if (strcmp(kinds[i]->name, item) == 0) ds->spec.kind = kinds[i];
        hint_add(&h, kinds[i]->name);
    }
    const hn_dataset_kind *kind = ds->spec.kind;
    HN_CHECK(err, kind != NULL || usual == NULL, HONE_E_ARG,
             "no kind of dataset is named before the path; do you mean '%s:%s'?", usual, item);
    HN_CHECK(err, kind != NULL, HONE_E_ARG, "there is no kind of dataset '%s'%s%s%s; there are %s",
             item, h.nearest ? " (do you mean '" : "", h.nearest ? h.nearest : "",
             h.nearest ? "'?)" : "", h.words);
    if (kind->path == NULL) {
        HN_CHECK(err, path == NULL, HONE_E_ARG, "%s takes no path, but '%s' is given", item, path);
        return HONE_OK;
    }
    HN_CHECK(err, path != NULL && *path != '\0', HONE_E_ARG, "%s needs a path: %s:%s", item, item,
             kind->path);
    ds->spec.path = path;
    return unescape(path, err);
}

static hone_status parse_item(hn_dataset *ds, char *item, uint32_t *seen, hn_error *err) {
    char *value = split(item, '=');
    HN_CHECK(err, value != NULL, HONE_E_ARG,
             "'%s' is not key=value (a ',' in a path is written '\\,')", item);
    const hn_dataset_kind *kind = ds->spec.kind;
    hint h = hint_for(item);
    int key = HN_DATASET_KEY_COUNT_;
    for (int i = 0; i < HN_DATASET_KEY_COUNT_; i++) {
        if (strcmp(key_names[i], item) == 0) key = i;
        if ((kind->keys >> i & 1) != 0) hint_add(&h, key_names[i]);
    }
    HN_CHECK(err, key != HN_DATASET_KEY_COUNT_, HONE_E_ARG,
             "there is no key '%s'%s%s%s; %s takes %s", item, h.nearest ? " (do you mean '" : "",
             h.nearest ? h.nearest : "", h.nearest ? "'?)" : "", kind->name, h.words);
    HN_CHECK(err, (kind->keys >> key & 1) != 0, HONE_E_ARG,
             "key '%s' is not supported for %s, which takes %s", item, kind->name, h.words);
    HN_CHECK(err, (*seen >> key & 1) == 0, HONE_E_ARG, "key '%s' is given twice", item);
    *seen |= 1u << key;
    return parse_value(ds, (hn_dataset_key)key, value, err);
}

/* The line that a text is or names, in the dataset's arena. */
static hone_status line_of(hn_dataset *ds, const char *text, char **line, hn_error *err) {
    HN_CHECK(err, strlen(text) <= MAX_LINE, HONE_E_LIMIT,
             "a dataset is named by at most %d characters, not %zu", MAX_LINE, strlen(text));
    if (text[0] == '@') return read_line(ds, text + 1, line, err);
    *line = hn_arena_strdup(&ds->arena, text);
    return *line != NULL ? HONE_OK : HN_NOMEM(err);
}

/* Cuts the line to pieces. */
static hone_status parse_line(hn_dataset *ds, char *line, hn_error *err) {
    hn_dataset_spec *s = &ds->spec;
    *s = (hn_dataset_spec){.scale = 1, .n = -1, .seed = 1};
    uint32_t seen = 0;
    char *rest = split(line, ',');
    HN_TRY(parse_kind(ds, line, err));
    if (s->kind->scale != 0) s->scale = s->kind->scale;
    while (rest != NULL) {
        char *item = rest;
        rest = split(item, ',');
        HN_TRY(parse_item(ds, item, &seen, err));
    }
    HN_CHECK(err, s->n_mean <= 1 || s->n_std <= 1 || s->n_mean == s->n_std, HONE_E_ARG,
             "mean has %d values and std %d", s->n_mean, s->n_std);
    return HONE_OK;
}

hone_status hn_dataset_parse(hn_dataset *ds, const char *text, hn_error *err) {
    char *line = NULL;
    HN_TRY(line_of(ds, text, &line, err));
    return parse_line(ds, line, err);
}

/* ---- the line with other paths ----------------------------------------------------------------
 */

typedef struct mover {
    hn_dataset *ds; /* parsed */
    const char *(*place)(void *ctx, const char *path);
    void *ctx;
    hn_allocator *alloc;
    char *text;
    size_t n, room;
} mover;

static hone_status put(mover *m, const char *bytes, size_t n, hn_error *err) {
    if (m->room - m->n <= n) {
        size_t room = 2 * m->room + n + 256;
        char *more = hn_realloc(m->alloc, m->text, room, HN_MEM_OTHER);
        if (more == NULL) return HN_NOMEM(err);
        m->text = more;
        m->room = room;
    }
    if (n > 0) memcpy(m->text + m->n, bytes, n);
    m->n += n;
    m->text[m->n] = '\0';
    return HONE_OK;
}

static hone_status put_path(mover *m, const char *path, hn_error *err) {
    for (; *path != '\0'; path++) {
        if (*path == ',' || *path == ':' || *path == '\\') HN_TRY(put(m, "\\", 1, err));
        HN_TRY(put(m, path, 1, err));
    }
    return HONE_OK;
}

static hone_status put_place(mover *m, const char *path, hn_error *err) {
    const char *other = m->place(m->ctx, path);
    HN_CHECK(err, other != NULL, HONE_E_LIMIT, "'%s' has no place", path);
    return put_path(m, other, err);
}

/* A file that a key names: of a dataset that is a folder it may lie there. */
static hone_status put_named(mover *m, const char *name, hn_error *err) {
    const hn_dataset_spec *s = &m->ds->spec;
    char path[PATH_MAX];
    if (s->kind->path_is != HN_PATH_FOLDER) return put_place(m, name, err);
    HN_TRY(hn_dataset_beside(m->ds, name, path, err));
    bool beside = strcmp(path, name) != 0;
    return beside && hn_dataset_inside(name) ? put_path(m, name, err) : put_place(m, path, err);
}

static hone_status put_item(mover *m, const char *item, size_t n, hn_error *err) {
    size_t length = strcspn(item, "=");
    for (int key = 0; key < HN_DATASET_KEY_COUNT_; key++) {
        bool named = strlen(key_names[key]) == length && memcmp(key_names[key], item, length) == 0;
        if (!named || (HN_KEYS_PATHS >> key & 1) == 0) continue;
        const char *path = key == HN_DATASET_KEY_LABELS  ? m->ds->spec.labels
                           : key == HN_DATASET_KEY_BOXES ? m->ds->spec.boxes
                                                         : m->ds->spec.masks;
        HN_TRY(put(m, item, length + 1, err));
        return put_named(m, path, err);
    }
    return put(m, item, n, err);
}

static hone_status move(mover *m, char *line, hn_error *err) {
    const hn_dataset_kind *kind = m->ds->spec.kind;
    char *end = find(line, ',');
    if (kind->path_is != HN_PATH_WORD) {
        HN_TRY(put(m, kind->name, strlen(kind->name), err));
        HN_TRY(put(m, ":", 1, err));
        HN_TRY(put_place(m, m->ds->spec.path, err));
    } else {
        HN_TRY(put(m, line, (size_t)(end - line), err));
    }
    while (*end != '\0') {
        char *item = end + 1;
        end = find(item, ',');
        HN_TRY(put(m, ",", 1, err));
        HN_TRY(put_item(m, item, (size_t)(end - item), err));
    }
    return HONE_OK;
}

hone_status hn_dataset_moved(char **text, const char *spec,
                             const char *(*place)(void *ctx, const char *path), void *ctx,
                             hn_allocator *alloc, hn_error *err) {
    hn_dataset ds = {.alloc = alloc};
    mover m = {.ds = &ds, .place = place, .ctx = ctx, .alloc = alloc};
    char *line = NULL, *cut = NULL;
    hn_arena_init(&ds.arena, alloc, HN_MEM_DATA);
    hone_status status = line_of(&ds, spec, &line, err);
    if (status == HONE_OK && (cut = hn_arena_strdup(&ds.arena, line)) == NULL)
        status = HN_NOMEM(err);
    if (status == HONE_OK) status = parse_line(&ds, cut, err);
    if (status == HONE_OK) status = move(&m, line, err);
    if (status == HONE_OK)
        *text = m.text;
    else
        hn_free(alloc, m.text);
    hn_arena_deinit(&ds.arena);
    return status;
}
