/* Trained models that outlive a search that is ended.
 *
 * Training takes most of a search's time, so each model is kept as soon as it is trained, in a
 * folder the caller names, and taken from there by a later search for the same: by the same model,
 * candidate, seed, changes to samples, runtime and samples to train on, whose hashes are in the
 * name. Everything else is measured again. A file is an ONNX model like any other; its metadata has
 * the recipe. Beside it stands how many seconds its training took, which count for the later search.
 *
 *     channels-30-8f3a61c09e14d27b.onnx      channels-30-8f3a61c09e14d27b.txt
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advise/search.h"
#include "base/file.h"
#include "base/log.h"
#include "compress/lineage.h"
#include "compress/samples.h"
#include "formats/onnx.h"
#include "ops/infer.h"

enum { PATH_ROOM = 4096, KEY_DIGITS = 16 };

static bool go_on(void *state, int64_t done, int64_t total) {
    return hn_search_progress(state, done, total);
}

/* Labels, and target t, of all samples. */
static hone_status add_labels(hn_sha256_parts *h, const hn_dataset *data, hn_error *err) {
    int64_t label;
    for (int64_t i = 0; hn_dataset_has_labels(data) && i < hn_dataset_count(data); i++) {
        HN_TRY(hn_dataset_labels(data, i, 1, &label, err));
        hn_sha256_add(h, &label, sizeof label);
    }
    return HONE_OK;
}

static hone_status add_target(hn_sha256_parts *h, const hn_dataset *data, int t,
                              hn_allocator *alloc, hn_error *err) {
    const hn_dataset_field *f = hn_dataset_target_at(data, t);
    hn_tensor *one;
    HN_TRY(hn_tensor_create(&one, alloc, HN_MEM_SCRATCH, f->dtype, f->rank, f->dims, err));
    hone_status status = HONE_OK;
    for (int64_t i = 0; status == HONE_OK && i < hn_dataset_count(data); i++) {
        status = hn_dataset_targets(data, t, i, 1, one->data, err);
        if (status == HONE_OK) hn_sha256_add(h, one->data, one->bytes);
    }
    hn_tensor_unref(one);
    return status;
}

/* The hash of what is learned from: some of the samples, as recipes name them, how many there are,
 * and all labels and targets. */
static hone_status hash_samples(hn_search_state *s, hn_error *err) {
    const hn_dataset *data = s->parts.train;
    int64_t n = hn_dataset_count(data);
    hn_sample_choice c;
    hn_sha256_parts h;
    if (s->learned_from[0] != '\0') return HONE_OK;
    HN_TRY(hn_sample_choose(&c, s->parts.train, HN_RECIPE_SAMPLES, s->original->graph, 0,
                            s->o.threads, go_on, s, s->alloc, err));
    hn_sha256_begin(&h);
    hn_sha256_add(&h, c.hash, sizeof c.hash);
    hn_sha256_add(&h, &n, sizeof n);
    hn_sample_choice_deinit(&c);
    HN_TRY(add_labels(&h, data, err));
    for (int t = 0; t < hn_dataset_n_targets(data); t++)
        HN_TRY(add_target(&h, data, t, s->alloc, err));
    hn_sha256_end(&h, s->learned_from);
    return HONE_OK;
}

/* Where the model of a trial is kept, without the ending. */
static hone_status path_of(hn_search_state *s, const hn_trial *t, char *path, hn_error *err) {
    const hn_candidate *c = t->candidate;
    char seed[32], key[HN_SHA256_HEX];
    HN_TRY(hash_samples(s, err));
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)s->o.seed);
    const char *const parts[] = {s->o.source,
                                 s->learned_from,
                                 c->recipe,
                                 seed,
                                 s->o.augment != NULL ? s->o.augment : "",
                                 s->out->runtime,
                                 t->trained_longer ? "longer" : ""};
    hn_sha256_parts h;
    hn_sha256_begin(&h);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        hn_sha256_add(&h, parts[i], strlen(parts[i]) + 1);
    hn_sha256_end(&h, key);
    int n = snprintf(path, PATH_ROOM, "%s/%s%s-%.*s", s->o.keep, c->name,
                     t->trained_longer ? "-2" : "", KEY_DIGITS, key);
    HN_CHECK(err, n < PATH_ROOM - 8, HONE_E_ARG, "%.60s...: the path is too long", s->o.keep);
    return HONE_OK;
}

/* ---- storing ---- */

static hone_status write_seconds(const char *path, double seconds, hn_allocator *alloc,
                                 hn_error *err) {
    char name[PATH_ROOM], text[64];
    hn_file_writer *w;
    snprintf(name, sizeof name, "%.*s.txt", PATH_ROOM - 8, path);
    int n = snprintf(text, sizeof text, "%.3f seconds of training\n", seconds);
    HN_TRY(hn_file_write_begin(&w, name, NULL, alloc, err));
    hone_status status = hn_file_write_append(w, text, (size_t)n, err);
    if (status == HONE_OK) return hn_file_write_commit(w, err);
    hn_file_write_abort(w);
    return status;
}

hone_status hn_kept_store(hn_search_state *s, const hn_trial *t, hn_error *err) {
    char path[PATH_ROOM], name[PATH_ROOM];
    hn_error own;
    if (s->o.keep == NULL) return HONE_OK;
    HN_TRY(path_of(s, t, path, err));
    snprintf(name, sizeof name, "%.*s.onnx", PATH_ROOM - 8, path);
    bool there = mkdir(s->o.keep, 0777) == 0 || errno == EEXIST;
    hone_status status = there ? write_seconds(path, t->train_seconds, s->alloc, &own)
                               : HN_FAIL(&own, HONE_E_IO, "%s: %s", s->o.keep, strerror(errno));
    if (status == HONE_OK) status = hn_onnx_save(t->model, name, NULL, &own);
    /* The search is not worse for it, only the next one would be. */
    if (status != HONE_OK) hn_log(HONE_LOG_WARN, "a trained model is not kept: %s", own.text);
    return HONE_OK;
}

/* ---- recalling ---- */

static double read_seconds(const char *path) {
    char name[PATH_ROOM];
    double seconds = 0;
    snprintf(name, sizeof name, "%.*s.txt", PATH_ROOM - 8, path);
    FILE *f = fopen(name, "r");
    if (f == NULL) return 0;
    if (fscanf(f, "%lf", &seconds) != 1 || !(seconds >= 0 && seconds < 1e9)) seconds = 0;
    fclose(f);
    return seconds;
}

/* Recipe and epochs of a kept model, if it is whole and of this search's original. */
static hone_status read_recipe(const hn_search_state *s, hn_trial *t, const hn_model *m,
                               hn_error *err) {
    const char *source = hn_model_metadata(m, "hone.source"),
               *data = hn_model_metadata(m, "hone.data"),
               *text = hn_model_metadata(m, "hone.recipe");
    hn_recipe r;
    HN_CHECK(err,
             source != NULL && data != NULL && text != NULL && hn_sha256_is_hex(data) &&
                 strcmp(source, s->o.source) == 0,
             HONE_E_MODEL, "it was not made of this model");
    HN_TRY(hn_recipe_read(&r, text, s->arena, err));
    memcpy(r.source, s->o.source, sizeof r.source);
    memcpy(r.data, data, sizeof r.data);
    for (int i = 0; i < r.n; i++)
        if (hn_step_trains(&r.steps[i])) t->epochs = (int64_t)hn_step_number(&r.steps[i], "epochs");
    t->recipe = r;
    return HONE_OK;
}

hone_status hn_kept_recall(hn_search_state *s, hn_trial *t, hn_error *err) {
    char path[PATH_ROOM], name[PATH_ROOM];
    hn_model *m = NULL;
    hn_error own;
    if (s->o.keep == NULL) return HONE_OK;
    HN_TRY(path_of(s, t, path, err));
    snprintf(name, sizeof name, "%.*s.onnx", PATH_ROOM - 8, path);
    if (access(name, F_OK) != 0) return HONE_OK;
    hone_status status =
        hn_onnx_load(&m, name, &(hn_onnx_options){.no_mmap = true}, s->alloc, &own);
    if (status == HONE_OK) status = hn_model_infer(m, NULL, &own);
    if (status == HONE_OK) status = read_recipe(s, t, m, &own);
    if (status == HONE_OK) {
        t->model = m;
        t->train_seconds = read_seconds(path);
        s->trained_seconds += t->train_seconds;
        return HONE_OK;
    }
    hn_model_destroy(m);
    HN_CHECK(err, status != HONE_E_NOMEM, status, "%s", own.text);
    hn_log(HONE_LOG_WARN, "%s: ignored: %s", name, own.text);
    return HONE_OK;
}

/* ---- removing ---- */

/* The name is one of those that this file gives. */
static bool is_ours(const char *name) {
    const hn_candidate *c;
    for (int i = 0; (c = hn_candidate_at(i)) != NULL; i++) {
        size_t n = strlen(c->name);
        if (!hn_candidate_trains(c) || strncmp(name, c->name, n) != 0) continue;
        const char *key = name + n;
        if (strncmp(key, "-2-", 3) == 0) key += 2;
        if (key[0] != '-' || strspn(key + 1, "0123456789abcdef") != KEY_DIGITS) continue;
        key += 1 + KEY_DIGITS;
        if (strcmp(key, ".onnx") == 0 || strcmp(key, ".txt") == 0) return true;
    }
    return false;
}

void hn_kept_remove(hn_search_state *s) {
    char path[PATH_ROOM];
    const struct dirent *e;
    DIR *d = s->o.keep != NULL ? opendir(s->o.keep) : NULL;
    if (d == NULL) return;
    while ((e = readdir(d)) != NULL) {
        if (!is_ours(e->d_name)) continue;
        int n = snprintf(path, sizeof path, "%s/%s", s->o.keep, e->d_name);
        if (n < PATH_ROOM) unlink(path);
    }
    closedir(d);
    rmdir(s->o.keep); /* stays where something else is in it */
}
