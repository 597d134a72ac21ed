/* --bisect and --reduce. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare.h"

/* Without --tolerance: what two float models of one graph keep, and a quantized one. */
#define FLOAT_DB 60
#define QUANTIZED_DB 30
/* And how far one model's results may be apart at two settings. */
#define SETTINGS_ERROR 1e-3
/* Seconds after which a run that does not end counts as a crash. */
#define HANGS 120

static tolerance tolerance_of(const comparison *c) {
    tolerance t = c->wants;
    if (t.given || t.drop_given) return t;
    if (has(c->a, "--against"))
        t.max_error = SETTINGS_ERROR;
    else if (strcmp(hone_session_precision(c->models[1].session), "int8") == 0)
        t.sqnr_db = QUANTIZED_DB;
    else
        t.sqnr_db = FLOAT_DB;
    if (isfinite(t.sqnr_db))
        note("outputs are to keep %.0f dB (--tolerance sets it)", t.sqnr_db);
    else
        note("outputs may be off by %g (--tolerance sets it)", t.max_error);
    return t;
}

exit_code compare_bisect(comparison *c) {
    hone_bisect_options o;
    hone_error err;
    progress p;
    tolerance t = tolerance_of(c);
    hone_bisect_options_init(&o);
    o.min_sqnr_db = t.sqnr_db;
    o.max_error = t.max_error;
    if (t.drop_given) {
        o.data = c->data;
        o.max_drop = t.drop * (t.relative ? c->models[0].accuracy : 1);
    }
    o.progress = progress_step;
    o.progress_ctx = &p;
    progress_start(&p, "bisect", "models");
    hone_status status = hone_session_bisect(c->models[0].session, c->models[1].session,
                                             &c->samples, &o, &c->bisection, &err);
    progress_end(&p);
    if (status == HONE_OK) return EXIT_DONE;
    exit_code code = fail_with(&err);
    return status == HONE_E_NOT_FOUND ? EXIT_FAILED : code;
}

/* ---- --reduce ---- */

/* What became of two models and an input. */
typedef enum outcome { PASSES, DIFFERS, REFUSES, CRASHES } outcome;

typedef struct trial {
    const comparison *c;
    tolerance wants;
    outcome whole; /* what the whole models do: parts fail when they do the same */
    bool known;
} trial;

typedef struct given {
    size_t n;
    const hone_value *in;
} given;

static hone_status read_given(void *ctx, int64_t run, hone_value *in, hone_error *err) {
    const given *g = ctx;
    (void)run;
    for (size_t i = 0; i < g->n; i++) {
        const char *name = in[i].name;
        in[i] = g->in[i];
        in[i].name = name;
        in[i].owner = NULL; /* it stays the caller's */
    }
    (void)err;
    return HONE_OK;
}

static outcome try_here(const trial *t, hone_model *a, hone_model *b, size_t n_in,
                        const hone_value *in) {
    hone_session *s[2] = {NULL, NULL};
    hone_model *m[2] = {a, b};
    hone_comparison *found;
    given g = {n_in, in};
    hone_samples samples = {.count = 1, .batch = 1, .read = read_given, .ctx = &g};
    hone_compare_options o;
    hone_compare_options_init(&o);
    o.tensor_runs = 0;
    for (int i = 0; i < 2; i++) {
        hone_session_options how = t->c->models[i].how;
        how.threads = 1; /* the process has no other: it was forked */
        if (hone_session_create(&s[i], m[i], &how, NULL) != HONE_OK) return REFUSES;
    }
    if (hone_session_compare(s[0], s[1], &samples, &o, &found, NULL) != HONE_OK) return REFUSES;
    return within(&t->wants, found) ? PASSES : DIFFERS;
}

/* In a process of its own, so that one that crashes can be looked at too. */
static hone_status fails(void *ctx, hone_model *a, hone_model *b, size_t n_in, const hone_value *in,
                         bool *failed, hone_error *err) {
    trial *t = ctx;
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) {
        *err = (hone_error){HONE_E_LIMIT, "no process could be made"};
        return HONE_E_LIMIT;
    }
    if (child == 0) {
        set_verbosity(true, false);
        signal(SIGALRM, SIG_DFL); /* the parent has the time limit */
        alarm(HANGS);
        _exit((int)try_here(t, a, b, n_in, in));
    }
    while (waitpid(child, &status, 0) < 0) continue; /* a signal came between; it reaches both */
    outcome found = WIFEXITED(status) ? (outcome)WEXITSTATUS(status) : CRASHES;
    if (!t->known) t->whole = found;
    t->known = true;
    *failed = found != PASSES && found == t->whole;
    return HONE_OK;
}

/* The path with something else for its last letters from '.' on; free it. */
static char *beside(const char *path, const char *ending) {
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    int n = dot != NULL && (slash == NULL || dot > slash) ? (int)(dot - path) : (int)strlen(path);
    char *text;
    if (asprintf(&text, "%.*s%s", n, path, ending) < 0) must(NULL);
    return text;
}

static hone_status save(comparison *c, hone_error *err) {
    hone_reduction *r = c->reduction;
    bool two = !has(c->a, "--against");
    c->reduced_path = value_of(c->a, "--output");
    c->reduced_inputs = beside(c->reduced_path, ".npz");
    hone_status status = hone_model_save(r->b, c->reduced_path, NULL, err);
    if (status == HONE_OK && two) {
        c->reduced_first = beside(c->reduced_path, ".first.onnx");
        status = hone_model_save(r->a, c->reduced_first, NULL, err);
    }
    if (status == HONE_OK) status = hone_npz_write(r->in, r->n_in, c->reduced_inputs, err);
    return status;
}

exit_code compare_reduce(comparison *c) {
    hone_reduce_options o;
    hone_error err;
    progress p;
    trial t = {.c = c, .wants = tolerance_of(c)};
    hone_reduce_options_init(&o);
    o.fails = fails;
    o.fails_ctx = &t;
    o.progress = progress_step;
    o.progress_ctx = &p;
    progress_start(&p, "reduce", "models");
    hone_status status = hone_session_reduce(c->models[0].session, c->models[1].session,
                                             &c->samples, &o, &c->reduction, &err);
    progress_end(&p);
    if (status == HONE_OK) status = save(c, &err);
    if (status == HONE_OK) return EXIT_DONE;
    exit_code code = fail_with(&err);
    return status == HONE_E_NOT_FOUND ? EXIT_FAILED : code;
}
