/* Spans kept while they come, and written as a Chrome trace (chrome://tracing, Perfetto) or as
 * folded stacks (flame graphs). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

/* ---- recording ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void keep(void *ctx, const hone_span *s) {
    recorder *r = ctx;
    pthread_mutex_lock(&lock);
    if (r->n == r->capacity) {
        r->capacity = r->capacity * 2 + 256;
        r->spans = must(realloc(r->spans, r->capacity * sizeof *r->spans));
    }
    r->spans[r->n++] = (kept_span){.category = must(strdup(s->category)),
                                   .name = must(strdup(s->name)),
                                   .detail = s->detail != NULL ? must(strdup(s->detail)) : NULL,
                                   .begin_ns = s->begin_ns,
                                   .end_ns = s->end_ns,
                                   .live_bytes = s->live_bytes,
                                   .thread = s->thread,
                                   .plan = r->plan};
    pthread_mutex_unlock(&lock);
}

void recorder_listen(recorder *r) { hone_span_listen(keep, r); }

void recorder_pause(void) { hone_span_listen(NULL, NULL); }

void recorder_deinit(recorder *r) {
    for (size_t i = 0; i < r->n; i++) {
        free(r->spans[i].category);
        free(r->spans[i].name);
        free(r->spans[i].detail);
    }
    free(r->spans);
}

double recorder_ms(const recorder *r, int of, const char *category, const char *name) {
    double ms = 0;
    for (size_t i = 0; i < r->n; i++) {
        const kept_span *s = &r->spans[i];
        if (s->plan == of && strcmp(s->category, category) == 0 && strcmp(s->name, name) == 0)
            ms += (double)(s->end_ns - s->begin_ns) * 1e-6;
    }
    return ms;
}

/* ---- writing ---- */

static int64_t first_ns(const recorder *r) {
    int64_t first = r->n > 0 ? r->spans[0].begin_ns : 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->spans[i].begin_ns < first) first = r->spans[i].begin_ns;
    return first;
}

static void trace_event(json *j, const kept_span *s, int64_t first) {
    double begin = (double)(s->begin_ns - first) * 1e-3, end = (double)(s->end_ns - first) * 1e-3;
    json_begin(j, NULL, '{');
    json_text(j, "name", s->name);
    json_text(j, "cat", s->category);
    json_text(j, "ph", "X");
    json_int(j, "pid", s->plan + 1);
    json_int(j, "tid", s->thread);
    json_number(j, "ts", begin);
    json_number(j, "dur", end - begin);
    if (s->detail != NULL) {
        json_begin(j, "args", '{');
        json_text(j, "kernel", s->detail);
        json_end(j, '}');
    }
    json_end(j, '}');
    if (s->live_bytes < 0) return;
    /* Activations rise and fall with the steps; the rest is what the library has allocated. */
    json_begin(j, NULL, '{');
    json_text(j, "name", strcmp(s->category, "step") == 0 ? "activations" : "allocated");
    json_text(j, "ph", "C");
    json_int(j, "pid", s->plan + 1);
    json_number(j, "ts", strcmp(s->category, "step") == 0 ? begin : end);
    json_begin(j, "args", '{');
    json_int(j, "bytes", s->live_bytes);
    json_end(j, '}');
    json_end(j, '}');
}

exit_code write_trace(const recorder *r, const char *path, int n_plans,
                      const char *const *plan_names) {
    json j = {0};
    int64_t first = first_ns(r);
    j.to = must(open_memstream(&j.text, &j.bytes));
    json_begin(&j, NULL, '{');
    json_begin(&j, "traceEvents", '[');
    for (int i = 0; i < n_plans; i++) {
        json_begin(&j, NULL, '{');
        json_text(&j, "name", "process_name");
        json_text(&j, "ph", "M");
        json_int(&j, "pid", i + 1);
        json_begin(&j, "args", '{');
        json_text(&j, "name", plan_names[i]);
        json_end(&j, '}');
        json_end(&j, '}');
    }
    for (size_t i = 0; i < r->n; i++) trace_event(&j, &r->spans[i], first);
    json_end(&j, ']');
    json_text(&j, "displayTimeUnit", "ms");
    json_end(&j, '}');
    exit_code code = write_whole(path, j.text, j.bytes);
    fclose(j.to);
    free(j.text);
    return code;
}

/* ---- folded stacks ---- */

typedef struct frame {
    const kept_span *span;
    size_t length; /* of the text up to and with it */
    int64_t inside_ns;
} frame;

enum { MOST_FRAMES = 64, MOST_TEXT = 4096 };

/* By plan and thread, then outer before inner. */
static int by_begin(const void *a, const void *b) {
    const kept_span *x = a, *y = b;
    if (x->plan != y->plan) return x->plan - y->plan;
    if (x->thread != y->thread) return x->thread - y->thread;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

/* ';' parts frames, and blanks part a stack from its number. */
static void append(char *text, size_t *n, const char *name) {
    for (; *name != '\0' && *n + 1 < MOST_TEXT; name++)
        text[(*n)++] = *name == ';' ? ':' : (unsigned char)*name <= ' ' ? '_' : *name;
    text[*n] = '\0';
}

/* The innermost frame ends: its own time is what those inside it did not take. */
static void pop(FILE *to, char *text, frame *frames, int *n) {
    frame *f = &frames[--*n];
    int64_t whole = f->span->end_ns - f->span->begin_ns, own = whole - f->inside_ns;
    if (own >= 1000) fprintf(to, "%.*s %lld\n", (int)f->length, text, (long long)(own / 1000));
    if (*n > 0) frames[*n - 1].inside_ns += whole;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines of one stack become one, which ends in the sum of their numbers. */
static void merge(char *text, FILE *to) {
    size_t n = 0, capacity = 0;
    char **lines = NULL, *rest = NULL;
    for (char *l = strtok_r(text, "\n", &rest); l != NULL; l = strtok_r(NULL, "\n", &rest)) {
        if (n == capacity) {
            capacity = capacity * 2 + 64;
            lines = must(realloc(lines, capacity * sizeof *lines));
        }
        lines[n++] = l;
    }
    if (n > 0) qsort(lines, n, sizeof *lines, by_text);
    for (size_t i = 0; i < n;) {
        size_t length = strcspn(lines[i], " ");
        long long us = 0;
        size_t k = i;
        for (;
             k < n && strcspn(lines[k], " ") == length && strncmp(lines[k], lines[i], length) == 0;
             k++)
            us += atoll(lines[k] + length);
        fprintf(to, "%.*s %lld\n", (int)length, lines[i], us);
        i = k;
    }
    free(lines);
}

static void fold(const recorder *r, const char *const *plan_names, FILE *to) {
    frame frames[MOST_FRAMES];
    char text[MOST_TEXT];
    int n = 0;
    kept_span *sorted = must(malloc((r->n + 1) * sizeof *sorted));
    if (r->n > 0) memcpy(sorted, r->spans, r->n * sizeof *sorted);
    qsort(sorted, r->n, sizeof *sorted, by_begin);
    for (size_t i = 0; i < r->n; i++) {
        const kept_span *s = &sorted[i];
        while (n > 0 &&
               (frames[n - 1].span->plan != s->plan || frames[n - 1].span->thread != s->thread ||
                frames[n - 1].span->end_ns <= s->begin_ns))
            pop(to, text, frames, &n);
        if (n == MOST_FRAMES) continue;
        size_t length = n > 0 ? frames[n - 1].length : 0;
        if (n == 0) append(text, &length, plan_names[s->plan]);
        if (length + 1 < MOST_TEXT) text[length++] = ';';
        append(text, &length, s->name);
        frames[n++] = (frame){s, length, 0};
    }
    while (n > 0) pop(to, text, frames, &n);
    free(sorted);
}

exit_code write_folded(const recorder *r, const char *path, const char *const *plan_names) {
    char *raw, *merged;
    size_t raw_bytes, bytes;
    FILE *f = must(open_memstream(&raw, &raw_bytes));
    fold(r, plan_names, f);
    if (fclose(f) != 0) must(NULL);
    f = must(open_memstream(&merged, &bytes));
    merge(raw, f);
    if (fclose(f) != 0) must(NULL);
    exit_code code = write_whole(path, merged, bytes);
    free(raw);
    free(merged);
    return code;
}
