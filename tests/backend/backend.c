/* Runs ONNX's own backend tests through the plain executor, or through the engine.
 *
 *   backend [-v] [--engine] [--simplify] [--every N] [--known FILE] [--digests FILE [--bless]]
 * PATH...
 *
 * PATH is a case (a folder with model.onnx and test_data_set_*), a folder of cases, or a full-size
 * topology of `light/` (NAME.onnx with NAME_output_0.pb beside it).
 *
 * Out of scope, counted as skipped with the reason: strings, sequences, optionals, ai.onnx.ml, the
 * preview and training domains, ImageDecoder. Random operators are checked for type and shape.
 * Tolerances are those of ONNX's runner: |a - b| <= 1e-7 + 1e-3 |b|, bfloat16 2^-6 |b|.
 *
 * --engine      makes a plan for this machine (HONE_ISA limits it) and runs that
 * --simplify    runs the graph passes first, all operators allowed
 * --every N     only each N-th case (for slow emulators)
 * --known FILE  cases that are expected to fail, `name reason`; one that passes is a failure
 * --digests FILE  a digest of the outputs of every case whose outputs are all integers must be the
 *               one stored there, on every machine; --bless writes the file
 *
 * The last line is `N passed, N failed, N skipped`. Exit status 1 if anything failed.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/file.h"
#include "base/isa.h"
#include "base/pool.h"
#include "engine/engine.h"
#include "formats/onnx.h"
#include "ops/eval.h"
#include "ops/infer.h"
#include "passes/simplify.h"

#define MOST_VALUES 256

typedef struct totals {
    int passed, failed, skipped;
} totals;

static struct {
    bool verbose, bless, simplify, engine;
    int every;
    char **known; /* lines of the file */
    int n_known;
    char **digests;
    int n_digests;
    FILE *bless_to;
    hn_pool *pool;
    int seen;
} opt = {.every = 1};

static totals total;

typedef enum verdict { PASS, FAIL, SKIP } verdict;

static bool exists(const char *path) {
    struct stat s;
    return stat(path, &s) == 0;
}

/* ---- what is out of scope ---- */

static const char *graph_out_of_scope(const hn_graph *g) {
    for (int i = 0; i < g->n_values; i++) {
        const hn_value *v = g->values[i];
        if (v->type.kind == HN_TYPE_OTHER) return "sequences and optionals";
        if (v->type.dtype == HONE_DTYPE_STRING) return "strings";
    }
    static const char *const others[] = {"Sequence", "Optional", "ConcatFromSequence",
                                         "SplitToSequence"};
    for (const hn_node *n = g->first; n != NULL; n = n->next) {
        if (strcmp(n->domain, "ai.onnx.ml") == 0) return "ai.onnx.ml";
        if (strncmp(n->domain, "ai.onnx.preview", 15) == 0) return "preview and training domains";
        if (strcmp(n->op_type, "ImageDecoder") == 0) return "ImageDecoder";
        if (strncmp(n->op_type, "String", 6) == 0 || strcmp(n->op_type, "RegexFullMatch") == 0)
            return "strings";
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            if (strncmp(n->op_type, others[i], strlen(others[i])) == 0)
                return "sequences and optionals";
        int at = 0;
        for (const hn_graph *sub; (sub = hn_node_subgraph(n, &at)) != NULL;) {
            const char *why = graph_out_of_scope(sub);
            if (why != NULL) return why;
        }
    }
    return NULL;
}

static bool is_random(const hn_graph *g) {
    for (const hn_node *n = g->first; n != NULL; n = n->next)
        if (n->op != NULL && (n->op->traits & HN_RANDOM) != 0) return true;
    return false;
}

/* ---- comparing ---- */

static bool close_enough(hone_dtype t, double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (isinf(a) || isinf(b)) return a == b;
    double relative = t == HONE_DTYPE_BF16 ? 0x1p-6 : 1e-3;
    return fabs(a - b) <= 1e-7 + relative * fabs(b);
}

static bool same_tensor(const hn_tensor *found, const hn_tensor *want, bool contents, char *why,
                        size_t size) {
    char a[200], b[200];
    if (found->dtype != want->dtype || !hn_tensor_same_dims(found, want->rank, want->dims)) {
        snprintf(why, size, "found %s, expected %s", hn_tensor_text(found, a, sizeof a),
                 hn_tensor_text(want, b, sizeof b));
        return false;
    }
    if (!contents) return true;
    bool complex_ = hn_dtype_in(want->dtype, HN_DTYPES_COMPLEX);
    hone_dtype part = want->dtype == HONE_DTYPE_C64    ? HONE_DTYPE_F32
                      : want->dtype == HONE_DTYPE_C128 ? HONE_DTYPE_F64
                                                       : want->dtype;
    int64_t n = want->n * (complex_ ? 2 : 1), wrong = 0, first = -1;
    for (int64_t i = 0; i < n; i++) {
        bool ok;
        if (hn_dtype_is_int(part))
            ok = hn_load_s64(part, found->data, i) == hn_load_s64(part, want->data, i);
        else
            ok = close_enough(part, hn_load_f64(part, found->data, i),
                              hn_load_f64(part, want->data, i));
        if (!ok && wrong++ == 0) first = i;
    }
    if (wrong == 0) return true;
    snprintf(why, size, "%lld of %lld elements differ, first [%lld]: found %.9g, expected %.9g",
             (long long)wrong, (long long)n, (long long)first,
             hn_load_f64(part, found->data, first), hn_load_f64(part, want->data, first));
    return false;
}

/* ---- lists in files ---- */

static char **read_lines(const char *path, int *n) {
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        fprintf(stderr, "backend: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    char **lines = NULL, *line = NULL;
    size_t size = 0;
    *n = 0;
    while (getline(&line, &size, f) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#') continue;
        lines = realloc(lines, (size_t)(*n + 1) * sizeof *lines);
        lines[(*n)++] = strdup(line);
    }
    free(line);
    fclose(f);
    return lines;
}

/* The rest of the line that starts with `name `, or NULL. */
static const char *look_up(char **lines, int n, const char *name) {
    size_t len = strlen(name);
    for (int i = 0; i < n; i++)
        if (strncmp(lines[i], name, len) == 0 && lines[i][len] == ' ') return lines[i] + len + 1;
    return NULL;
}

static uint64_t digest(uint64_t h, const hn_tensor *t) {
    h = h * 31 + hn_checksum(t->dims, (size_t)t->rank * sizeof t->dims[0]);
    h = h * 31 + (uint64_t)t->dtype;
    return h * 31 + hn_checksum(t->data, t->bytes);
}

/* ---- one case ---- */

static hone_status load_pb(const char *path, hn_allocator *alloc, hn_tensor **out, hn_error *err) {
    hn_file *file;
    HN_TRY(hn_file_open(&file, path, true, alloc, err));
    hone_status status = hn_onnx_read_tensor(out, file, alloc, err);
    hn_file_unref(file);
    return status;
}

static hone_status ramp(hn_tensor **out, hn_allocator *alloc, const hn_value *v, hn_error *err) {
    int64_t dims[HONE_MAX_RANK];
    for (int i = 0; i < v->type.shape.rank; i++)
        if (!hn_dim_is_const(v->type.shape.dim[i], &dims[i])) dims[i] = 1;
    HN_TRY(
        hn_tensor_create(out, alloc, HN_MEM_DATA, HONE_DTYPE_F32, v->type.shape.rank, dims, err));
    for (int64_t i = 0; i < (*out)->n; i++)
        ((float *)(*out)->data)[i] = (float)((double)i / (double)(*out)->n);
    return HONE_OK;
}

typedef struct job {
    hn_allocator alloc;
    hn_model *model;
    hn_tensor *in[MOST_VALUES], *out[MOST_VALUES];
    uint64_t digest;
    bool all_integer;
} job;

static hone_status run_plain(job *j, hn_error *err) {
    hn_exec_options o = {.alloc = &j->alloc, .pool = opt.pool, .seed = 1};
    return hn_graph_run(j->model->graph, &o, (const hn_tensor *const *)j->in, j->out, err);
}

static hone_status place_output(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                                void **to, hn_error *err) {
    job *j = ctx;
    HN_TRY(hn_tensor_create(&j->out[i], &j->alloc, HN_MEM_DATA, dtype, rank, dims, err));
    *to = j->out[i]->data;
    return HONE_OK;
}

static hone_status place_again(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                               void **to, hn_error *err) {
    job *j = ctx;
    (void)dtype, (void)rank, (void)dims, (void)err;
    *to = j->out[i]->data;
    return HONE_OK;
}

/* A file gives tensors no alignment. */
static hone_status align_inputs(job *j, hn_error *err) {
    for (int i = 0; i < j->model->graph->n_inputs; i++) {
        hn_tensor *old = j->in[i];
        if (old == NULL || hn_tensor_aligned(old)) continue;
        hn_tensor *t;
        HN_TRY(hn_tensor_create(&t, &j->alloc, HN_MEM_DATA, old->dtype, old->rank, old->dims, err));
        memcpy(t->data, old->data, old->bytes);
        hn_tensor_unref(old);
        j->in[i] = t;
    }
    return HONE_OK;
}

static hone_status run_engine(job *j, hn_error *err) {
    hn_engine *e;
    HN_TRY(align_inputs(j, err));
    hn_engine_options o = {
        .alloc = &j->alloc, .pool = opt.pool, .isa = hn_isa_available(), .seed = 1};
    HN_TRY(hn_engine_create(&e, j->model, &o, err));
    hone_status status =
        hn_engine_run(e, (const hn_tensor *const *)j->in, place_output, j, NULL, NULL, err);
    size_t taken = atomic_load(&j->alloc.taken);
    if (status == HONE_OK && hn_engine_memory_use(e).planned) {
        status = hn_engine_run(e, (const hn_tensor *const *)j->in, place_again, j, NULL, NULL, err);
        if (status == HONE_OK && atomic_load(&j->alloc.taken) != taken)
            status = HN_FAIL(err, HONE_E_LIMIT, "the second run allocates");
    }
    hn_engine_destroy(e);
    return status;
}

/* set NULL: a light topology, whose input is a ramp. */
static verdict run_set(job *j, const char *set, const char *light, char *why, size_t size) {
    const hn_graph *g = j->model->graph;
    hn_error err;
    char path[4096];
    verdict v = FAIL;
    int k = 0;
    for (int i = 0; i < g->n_inputs; i++) {
        hone_status status;
        if (set == NULL) {
            if (g->inputs[i]->constant != NULL) continue;
            status = ramp(&j->in[i], &j->alloc, g->inputs[i], &err);
        } else {
            snprintf(path, sizeof path, "%s/input_%d.pb", set, k++);
            if (g->inputs[i]->constant != NULL && !exists(path)) continue;
            status = load_pb(path, &j->alloc, &j->in[i], &err);
        }
        if (status != HONE_OK) {
            snprintf(why, size, "input %d: %s", i, err.text);
            goto done;
        }
    }
    if ((opt.engine ? run_engine(j, &err) : run_plain(j, &err)) != HONE_OK) {
        snprintf(why, size, "%s", err.text);
        goto done;
    }
    bool contents = !is_random(g);
    for (int i = 0; i < g->n_outputs; i++) {
        hn_tensor *want;
        if (set == NULL)
            snprintf(path, sizeof path, "%s_output_%d.pb", light, i);
        else
            snprintf(path, sizeof path, "%s/output_%d.pb", set, i);
        if (load_pb(path, &j->alloc, &want, &err) != HONE_OK) {
            snprintf(why, size, "output %d: %s", i, err.text);
            goto done;
        }
        char detail[512];
        bool same = same_tensor(j->out[i], want, contents, detail, sizeof detail);
        hn_tensor_unref(want);
        if (!same) {
            snprintf(why, size, "output %d ('%s'): %s", i, g->outputs[i].value->name, detail);
            goto done;
        }
        bool integer = hn_dtype_is_int(j->out[i]->dtype) || j->out[i]->dtype == HONE_DTYPE_BOOL;
        j->all_integer = j->all_integer && integer && contents;
        j->digest = digest(j->digest, j->out[i]);
    }
    v = PASS;
done:
    for (int i = 0; i < MOST_VALUES; i++) {
        hn_tensor_unref(j->in[i]);
        hn_tensor_unref(j->out[i]);
        j->in[i] = j->out[i] = NULL;
    }
    return v;
}

static verdict run_case(const char *model_path, const char *folder, const char *light,
                        const char *name, char *why, size_t size) {
    job j = {.all_integer = true};
    hn_allocator_init(&j.alloc);
    hn_error err;
    verdict v = FAIL;
    /* Some of what is out of scope does not even pass the checks of reading; look before judging.
     */
    hone_status status = hn_onnx_load(&j.model, model_path, NULL, &j.alloc, &err);
    if (status != HONE_OK) {
        snprintf(why, size, "%s", err.text);
        goto done;
    }
    const char *scope = graph_out_of_scope(j.model->graph);
    if (scope != NULL) {
        snprintf(why, size, "%s", scope);
        v = SKIP;
        goto done;
    }
    if (hn_model_verify(j.model, &err) != HONE_OK ||
        hn_model_infer(j.model, NULL, &err) != HONE_OK ||
        hn_model_verify(j.model, &err) != HONE_OK) {
        snprintf(why, size, "%s", err.text);
        goto done;
    }
    hn_simplify_options how = hn_simplify_defaults();
    how.keep_opset = false;
    how.max_growth = -1;
    if (opt.simplify && (hn_simplify(j.model, &how, NULL, &err) != HONE_OK ||
                         hn_model_verify(j.model, &err) != HONE_OK)) {
        snprintf(why, size, "%s", err.text);
        goto done;
    }
    if (j.model->graph->n_inputs > MOST_VALUES || j.model->graph->n_outputs > MOST_VALUES) {
        snprintf(why, size, "more than %d inputs or outputs", MOST_VALUES);
        goto done;
    }
    if (folder == NULL) {
        v = run_set(&j, NULL, light, why, size);
    } else {
        for (int k = 0;; k++) {
            char set[4096];
            snprintf(set, sizeof set, "%s/test_data_set_%d", folder, k);
            if (!exists(set)) {
                if (k == 0) snprintf(why, size, "there is no test_data_set_0");
                break;
            }
            v = run_set(&j, set, NULL, why, size);
            if (v != PASS) break;
        }
    }
    if (v == PASS && j.all_integer) {
        char text[32];
        snprintf(text, sizeof text, "%016llx", (unsigned long long)j.digest);
        if (opt.bless_to != NULL) fprintf(opt.bless_to, "%s %s\n", name, text);
        const char *want = look_up(opt.digests, opt.n_digests, name);
        if (opt.digests != NULL && (want == NULL || strcmp(want, text) != 0)) {
            snprintf(why, size, "the digest of its outputs is %s, expected %s", text,
                     want != NULL ? want : "one in the list");
            v = FAIL;
        }
    }
done:
    hn_model_destroy(j.model);
    if (v == PASS && atomic_load(&j.alloc.blocks) != 0) {
        snprintf(why, size, "%zu blocks are still allocated", (size_t)atomic_load(&j.alloc.blocks));
        v = FAIL;
    }
    return v;
}

static void judge(const char *model_path, const char *folder, const char *light) {
    const char *path = folder != NULL ? folder : light;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    if (opt.seen++ % opt.every != 0) return;
    char why[1400] = "";
    verdict v = run_case(model_path, folder, light, name, why, sizeof why);
    const char *known = look_up(opt.known, opt.n_known, name);
    if (known != NULL && v == FAIL) {
        v = SKIP;
        snprintf(why, sizeof why, "known: %s", known);
    } else if (known != NULL && v == PASS) {
        v = FAIL;
        snprintf(why, sizeof why, "passes, but is listed as known to fail");
    }
    if (v == PASS)
        total.passed++;
    else if (v == SKIP)
        total.skipped++;
    else
        total.failed++;
    if (v == FAIL || opt.verbose)
        printf("%s %s%s%s\n",
               v == PASS   ? "ok  "
               : v == FAIL ? "FAIL"
                           : "skip",
               name, why[0] != '\0' ? ": " : "", why);
    fflush(stdout);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void walk(const char *path) {
    char model[4096];
    size_t len = strlen(path);
    if (len > 5 && strcmp(path + len - 5, ".onnx") == 0) {
        char light[4096];
        snprintf(light, sizeof light, "%.*s", (int)(len - 5), path);
        judge(path, NULL, light);
        return;
    }
    snprintf(model, sizeof model, "%s/model.onnx", path);
    if (exists(model)) {
        judge(model, path, NULL);
        return;
    }
    DIR *dir = opendir(path);
    if (dir == NULL) {
        fprintf(stderr, "backend: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    char **names = NULL;
    size_t n = 0;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        char sub[4096];
        snprintf(sub, sizeof sub, "%s/%s", path, d->d_name);
        struct stat s;
        size_t sub_len = strlen(sub);
        bool onnx = sub_len > 5 && strcmp(sub + sub_len - 5, ".onnx") == 0;
        if (d->d_name[0] == '.' || stat(sub, &s) != 0 || (!S_ISDIR(s.st_mode) && !onnx)) continue;
        names = realloc(names, (n + 1) * sizeof *names);
        names[n++] = strdup(sub);
    }
    closedir(dir);
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 0; i < n; i++) {
        walk(names[i]);
        free(names[i]);
    }
    free(names);
}

static const char *argument(int argc, char **argv, int *i) {
    if (*i + 1 >= argc) {
        fprintf(stderr, "backend: %s wants an argument\n", argv[*i]);
        exit(2);
    }
    return argv[++*i];
}

int main(int argc, char **argv) {
    const char *digests = NULL;
    hn_error err;
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-v") == 0)
            opt.verbose = true;
        else if (strcmp(argv[i], "--engine") == 0)
            opt.engine = true;
        else if (strcmp(argv[i], "--simplify") == 0)
            opt.simplify = true;
        else if (strcmp(argv[i], "--bless") == 0)
            opt.bless = true;
        else if (strcmp(argv[i], "--every") == 0)
            opt.every = atoi(argument(argc, argv, &i));
        else if (strcmp(argv[i], "--known") == 0)
            opt.known = read_lines(argument(argc, argv, &i), &opt.n_known);
        else if (strcmp(argv[i], "--digests") == 0)
            digests = argument(argc, argv, &i);
        else {
            fprintf(stderr, "backend: no option '%s'\n", argv[i]);
            return 2;
        }
    }
    if (i == argc || opt.every < 1) {
        fprintf(stderr,
                "usage: backend [-v] [--engine] [--simplify] [--every N] [--known FILE] [--digests "
                "FILE [--bless]] PATH...\n");
        return 2;
    }
    if (digests != NULL && opt.bless) {
        opt.bless_to = fopen(digests, "w");
        if (opt.bless_to == NULL) {
            fprintf(stderr, "backend: %s: %s\n", digests, strerror(errno));
            return 2;
        }
        fprintf(opt.bless_to,
                "# Digests of integer outputs, the same on every machine. Made by: backend "
                "--digests FILE --bless PATH...\n");
    } else if (digests != NULL) {
        opt.digests = read_lines(digests, &opt.n_digests);
    }
    if (hn_pool_create(&opt.pool, 0, hn_allocator_default(), &err) != HONE_OK) {
        fprintf(stderr, "backend: %s\n", err.text);
        return 2;
    }
    for (; i < argc; i++) walk(argv[i]);
    hn_pool_destroy(opt.pool);
    if (opt.bless_to != NULL) fclose(opt.bless_to);
    for (int k = 0; k < opt.n_known; k++) free(opt.known[k]);
    for (int k = 0; k < opt.n_digests; k++) free(opt.digests[k]);
    free(opt.known);
    free(opt.digests);
    printf("%d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped);
    return total.failed != 0;
}
