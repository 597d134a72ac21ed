/* The passes, one at a time, on the cases of tests/passes/<pass>.ir:
 *
 *     bound: 1e-5                how far results may move, relative to the largest; 0 unless said
 *
 *     case: what is shown        the pass runs until it finds nothing more, then remove_dead
 *     <model in the text form>
 *     becomes:                   the model afterwards, as it is printed
 *     <model in the text form>
 *
 *     case: what must not fire
 *     <model>
 *     stays:
 *
 * In every case both models are run on the same random inputs, an allocation failure is tried at
 * every point, and nothing may leak. The model, simplified by all passes, must stay as it is then.
 * With HONE_BLESS=1 in the environment what is found is written to the files, to be read before it
 * is believed.
 */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/text.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "passes/simplify.h"
#include "support/settled.h"

#define FOLDER HN_SOURCE_DIR "/tests/passes"
enum { MOST_FILES = 64, MOST_TENSORS = 16, MOST_SYMBOLS = 16, TEXT = 1 << 16 };

static hn_allocator mem;
static hn_error err;

typedef struct text {
    char data[TEXT];
    size_t n;
} text;

static hone_status append(void *ctx, const void *data, size_t bytes, hn_error *e) {
    (void)e;
    text *t = ctx;
    assert_true(t->n + bytes < sizeof t->data);
    memcpy(t->data + t->n, data, bytes);
    t->n += bytes;
    t->data[t->n] = '\0';
    return HONE_OK;
}

static void print(const hn_model *m, text *t) {
    t->n = 0;
    if (hn_text_print(m, &(hn_text_out){.text = append, .text_ctx = t}, &err) != HONE_OK)
        fail_msg("%s", err.text);
}

static hn_model *read_model(const char *s) {
    hn_model *m;
    if (hn_text_parse(&m, s, strlen(s), NULL, &mem, &err) != HONE_OK)
        fail_msg("%s in:\n%s", err.text, s);
    hn_model_bind_ops(m);
    return m;
}

static hn_model *inferred(const char *s) {
    hn_model *m = read_model(s);
    if (hn_model_infer(m, NULL, &err) != HONE_OK || hn_model_verify(m, &err) != HONE_OK)
        fail_msg("%s in:\n%s", err.text, s);
    return m;
}

static hn_simplify_options only(const char *pass) {
    hn_simplify_options o = hn_simplify_defaults();
    o.only = pass;
    return o;
}

static int pass_id(const char *name) {
    for (int i = 0; i < HN_PASS_COUNT_; i++)
        if (strcmp(hn_pass_name(i), name) == 0) return i;
    fail_msg("%s/%s.ir is there, but no pass of that name", FOLDER, name);
    return -1;
}

/* ---- numbers ---- */

/* Symbols have the sizes 2, 3, 4 ... in the order in which the inputs name them. */
typedef struct sizes {
    const char *name[MOST_SYMBOLS];
    int n;
} sizes;

static int64_t size_of(void *ctx, hn_dim symbol) {
    sizes *s = ctx;
    const char *name;
    if (!hn_dim_is_symbol(symbol, &name)) return -1;
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->name[i], name) == 0) return 2 + i;
    assert_true(s->n < MOST_SYMBOLS);
    s->name[s->n] = name;
    return 2 + s->n++;
}

static hn_tensor *random_input(const hn_value *v, sizes *symbols, hn_rng *rng) {
    int64_t dims[HONE_MAX_RANK];
    const hn_shape *s = &v->type.shape;
    assert_true(s->rank >= 0);
    for (int i = 0; i < s->rank; i++)
        assert_true(hn_dim_eval(s->dim[i], size_of, symbols, &dims[i]));
    hn_tensor *t;
    assert_int_equal(hn_tensor_create(&t, &mem, HN_MEM_TENSOR, v->type.dtype, s->rank, dims, &err),
                     HONE_OK);
    for (int64_t i = 0; i < t->n; i++) {
        double x = 4 * hn_rng_f64(rng) - 2;
        hn_store_f64(t->dtype, t->data, i, hn_dtype_is_float(t->dtype) ? x : x > 0);
    }
    return t;
}

static void run(const hn_model *m, hn_tensor *const *in, hn_tensor **out) {
    hn_exec_options o = {.alloc = &mem, .seed = 1};
    if (hn_graph_run(m->graph, &o, (const hn_tensor *const *)in, out, &err) != HONE_OK)
        fail_msg("%s", err.text);
}

static void compare(const hn_tensor *a, const hn_tensor *b, double bound) {
    assert_int_equal(a->dtype, b->dtype);
    assert_true(hn_tensor_same_dims(a, b->rank, b->dims));
    double largest = 0, error = 0;
    for (int64_t i = 0; i < a->n; i++) {
        double x = hn_tensor_f64(a, i), y = hn_tensor_f64(b, i);
        if (isnan(x) && isnan(y)) continue;
        largest = fmax(largest, fabs(x));
        error = x == y ? error : isfinite(x - y) ? fmax(error, fabs(x - y)) : INFINITY;
    }
    if (error > bound * largest)
        fail_msg("results differ by %g of at most %g, the bound is %g", error, largest, bound);
}

static void compare_runs(const hn_model *a, const hn_model *b, double bound) {
    hn_tensor *in[MOST_TENSORS] = {0}, *x[MOST_TENSORS], *y[MOST_TENSORS];
    sizes symbols = {.n = 0};
    hn_rng rng;
    hn_rng_init(&rng, 1);
    assert_int_equal(a->graph->n_inputs, b->graph->n_inputs);
    assert_int_equal(a->graph->n_outputs, b->graph->n_outputs);
    for (int i = 0; i < a->graph->n_inputs; i++)
        in[i] = random_input(a->graph->inputs[i], &symbols, &rng);
    run(a, in, x);
    run(b, in, y);
    for (int i = 0; i < a->graph->n_outputs; i++) {
        assert_string_equal(a->graph->outputs[i].value->name, b->graph->outputs[i].value->name);
        compare(x[i], y[i], bound);
        hn_tensor_unref(x[i]);
        hn_tensor_unref(y[i]);
    }
    for (int i = 0; i < a->graph->n_inputs; i++) hn_tensor_unref(in[i]);
}

/* ---- cases ---- */

/* Fails the first, the second, ... allocation, until all succeed; the model stays whole. */
static void count_down(const char *source, const char *pass, double bound) {
    hn_simplify_options o = only(pass);
    hn_model *original = inferred(source);
    for (int k = 0;; k++) {
        hn_model *m = read_model(source);
        if (hn_model_infer(m, NULL, &err) != HONE_OK) fail_msg("%s", err.text);
        mem.fail_after = k;
        hone_status s = hn_simplify(m, &o, NULL, &err);
        mem.fail_after = -1;
        if (s != HONE_OK) {
            assert_int_equal(s, HONE_E_NOMEM);
            if (hn_model_verify(m, &err) != HONE_OK) fail_msg("allocation %d: %s", k, err.text);
            if (k % 7 == 0) compare_runs(original, m, bound);
        }
        hn_model_destroy(m);
        if (s == HONE_OK) break;
    }
    hn_model_destroy(original);
}

/* Runs one case; the text the model has afterwards. */
static void run_case(const char *source, const char *wanted, const char *pass, double bound,
                     text *found) {
    static text before, expected;
    hn_model *original = inferred(source), *m = inferred(source);
    hn_simplify_options o = only(pass);
    hn_pass_report r;
    print(original, &before);
    if (hn_simplify(m, &o, &r, &err) != HONE_OK) fail_msg("%s", err.text);
    if (hn_model_verify(m, &err) != HONE_OK) fail_msg("%s", err.text);
    print(m, found);
    if (wanted == NULL) {
        if (r.pass[pass_id(pass)].fired != 0 || strcmp(before.data, found->data) != 0)
            fail_msg("%s fires on:\n%sgiving:\n%s", pass, source, found->data);
    } else if (getenv("HONE_BLESS") == NULL) {
        assert_true(r.pass[pass_id(pass)].fired > 0);
        hn_model *want = inferred(wanted);
        print(want, &expected);
        hn_model_destroy(want);
        assert_string_equal(found->data, expected.data);
    }
    compare_runs(original, m, bound);
    hn_model_destroy(m);
    assert_settles(original, source, &mem);
    hn_model_destroy(original);
    count_down(source, pass, bound);
}

/* The next line, cut at its end; NULL: there is none. */
static char *next_line(char **at) {
    char *line = *at;
    if (*line == '\0') return NULL;
    size_t n = strcspn(line, "\n");
    *at = line + n + (line[n] == '\n');
    line[n] = '\0';
    return line;
}

static bool begins(const char *line, const char *with) {
    return strncmp(line, with, strlen(with)) == 0;
}

typedef struct part {
    text lines;
    bool there;
} part;

static void add_line(text *t, const char *line) {
    append(t, line, strlen(line), NULL);
    append(t, "\n", 1, NULL);
}

/* The header is left out where the source has none. */
static void bless(text *t, const char *source, const char *found) {
    const char *body = strstr(found, "\n>\n");
    if (source[0] != '<' && body != NULL) found = body + 3;
    append(t, found, strlen(found), NULL);
}

static void run_file(void **state) {
    const char *pass = *state;
    static char content[1 << 18];
    static part source, wanted;
    static text found, blessed;
    char path[1024];
    snprintf(path, sizeof path, FOLDER "/%s.ir", pass);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(content, 1, sizeof content - 1, f);
    fclose(f);
    content[n] = '\0';
    pass_id(pass);
    size_t before = atomic_load(&mem.blocks); /* what an earlier test left when it failed */
    double bound = 0;
    int cases = 0;
    part *into = NULL;
    blessed.n = 0;
    source.there = wanted.there = false;
    char *at = content, *line;
    do {
        line = next_line(&at);
        bool ends = line == NULL || begins(line, "case:");
        if (ends && source.there) {
            run_case(source.lines.data, wanted.there ? wanted.lines.data : NULL, pass, bound,
                     &found);
            if (wanted.there) bless(&blessed, source.lines.data, found.data);
            if (wanted.there && line != NULL) add_line(&blessed, "");
            cases++;
        }
        if (line == NULL) break;
        if (begins(line, "bound: ")) bound = strtod(line + 7, NULL);
        if (begins(line, "case:")) {
            source.there = true;
            wanted.there = false;
            source.lines.n = wanted.lines.n = 0;
            into = &source;
        } else if (begins(line, "becomes:") || begins(line, "stays:")) {
            wanted.there = line[0] == 'b';
            into = wanted.there ? &wanted : NULL;
        } else if (into != NULL) {
            add_line(&into->lines, line);
        }
        if (into != &wanted || begins(line, "becomes:")) add_line(&blessed, line);
    } while (true);
    assert_true(cases > 1);
    if (getenv("HONE_BLESS") != NULL) {
        f = fopen(path, "w");
        assert_non_null(f);
        fwrite(blessed.data, 1, blessed.n, f);
        fclose(f);
    }
    size_t left = atomic_load(&mem.blocks);
    if (left != before) fail_msg("%zu blocks leak", left - before);
}

int main(void) {
    static struct CMUnitTest tests[MOST_FILES];
    static char names[MOST_FILES][64];
    int n = 0;
    hn_allocator_init(&mem);
    DIR *d = opendir(FOLDER);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        size_t stem = strcspn(e->d_name, ".");
        if (strcmp(e->d_name + stem, ".ir") != 0 || n == MOST_FILES || stem >= sizeof *names)
            continue;
        memcpy(names[n], e->d_name, stem);
        tests[n] = (struct CMUnitTest){.name = names[n], .test_func = run_file};
        tests[n].initial_state = names[n];
        n++;
    }
    if (d != NULL) closedir(d);
    /* Every pass has its file. */
    for (int i = 0; i < HN_PASS_COUNT_; i++) {
        int k = 0;
        while (k < n && strcmp(names[k], hn_pass_name(i)) != 0) k++;
        if (k == n) {
            fprintf(stderr, "there is no tests/passes/%s.ir\n", hn_pass_name(i));
            return 1;
        }
    }
    return _cmocka_run_group_tests("rewrites", tests, (size_t)n, NULL, NULL);
}
