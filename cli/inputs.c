/* What a model is run on: values given or made up, with sizes for its symbolic axes. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* The size of symbolic axes nobody gave one: of the first axis, and of others. */
#define BATCH_SIZE 1
#define OTHER_SIZE 128

hone_value_info value_info(const hone_model *m, bool input, size_t i) {
    hone_value_info v = {.name = "", .rank = -1};
    if (input)
        hone_model_input(m, i, &v, NULL);
    else
        hone_model_output(m, i, &v, NULL);
    return v;
}

/* The size of the symbol, or NULL when it is not settled. */
static const int64_t *size_of(const feed *f, const char *symbol) {
    for (size_t i = 0; i < f->n_dims; i++)
        if (strcmp(f->dims[i].name, symbol) == 0) return &f->dims[i].value;
    return NULL;
}

static void settle(feed *f, const char *symbol, int64_t size) {
    if (size_of(f, symbol) == NULL) f->dims[f->n_dims++] = (hone_dim_value){symbol, size};
}

bool feed_knows(const feed *f, const char *symbol, int64_t *size) {
    const int64_t *found = size_of(f, symbol);
    if (found != NULL) *size = *found;
    return found != NULL;
}

bool feed_size(feed *f, const char *symbol, int64_t size) {
    settle(f, symbol, size);
    return *size_of(f, symbol) == size;
}

/* --dim, whose names must be symbols of the inputs. */
static exit_code take_dims(feed *f, const args *a) {
    hone_dim_value dims[MOST_OPTIONS];
    size_t n, k = 0;
    if (!dims_of(a, dims, &n)) return EXIT_USAGE;
    const char **symbols = must(calloc(f->n_in * HONE_MAX_RANK + 1, sizeof *symbols));
    exit_code code = EXIT_DONE;
    for (size_t i = 0; i < f->n_in; i++)
        for (int d = 0; d < f->info[i].rank; d++)
            if (f->info[i].dim_names[d] != NULL) symbols[k++] = f->info[i].dim_names[d];
    for (size_t i = 0; i < n && code == EXIT_DONE; i++) {
        size_t at = 0;
        while (at < k && strcmp(symbols[at], dims[i].name) != 0) at++;
        if (at < k) {
            settle(f, symbols[at], dims[i].value);
            f->n_asked = f->n_dims;
        } else {
            has_no("the model", "symbolic input axis", dims[i].name, symbols);
            code = EXIT_USAGE;
        }
    }
    free(symbols);
    return code;
}

exit_code feed_init(feed *f, const args *a, const hone_model *m) {
    f->n_in = hone_model_n_inputs(m);
    f->n_out = hone_model_n_outputs(m);
    f->info = must(calloc(f->n_in + 1, sizeof *f->info));
    f->in = must(calloc(f->n_in + 1, sizeof *f->in));
    f->out = must(calloc(f->n_out + 1, sizeof *f->out));
    f->dims = must(calloc(f->n_in * HONE_MAX_RANK + 1, sizeof *f->dims));
    for (size_t i = 0; i < f->n_in; i++) {
        hone_model_input(m, i, &f->info[i], NULL);
        f->in[i].name = f->info[i].name;
    }
    for (size_t i = 0; i < f->n_out; i++) {
        hone_value_info info;
        hone_model_output(m, i, &info, NULL);
        f->out[i].name = info.name;
    }
    return take_dims(f, a);
}

void feed_deinit(feed *f) {
    if (f->in != NULL) hone_value_release(f->in, f->n_in);
    if (f->out != NULL) hone_value_release(f->out, f->n_out);
    free(f->info);
    free(f->in);
    free(f->out);
    free(f->dims);
}

void feed_take(feed *f, size_t i, hone_value *v) {
    const hone_value_info *info = &f->info[i];
    f->in[i] = *v;
    f->in[i].name = info->name;
    for (int d = 0; d < info->rank && d < v->rank; d++)
        if (info->dim_names[d] != NULL) settle(f, info->dim_names[d], v->dims[d]);
    *v = (hone_value){0};
}

hone_status feed_read(feed *f, size_t i, const char *path, hone_error *err) {
    hone_value v = {0};
    hone_status status = hone_npy_read(&v, path, err);
    if (status == HONE_OK) feed_take(f, i, &v);
    return status;
}

bool fill_of(const args *a, int *fill) {
    static const char *const kinds[] = {"zeros", "ones", "random"};
    const char *text = value_of(a, "--fill");
    if (text == NULL) return true;
    for (int i = 0; i < 3; i++) {
        if (strcmp(kinds[i], text) != 0) continue;
        *fill = i;
        return true;
    }
    complain("--fill wants zeros, ones or random, got '%s'", text);
    return false;
}

/* Gives a made-up input its dims. */
static void size_up(feed *f, const hone_value_info *info, hone_value *v) {
    v->dtype = info->dtype;
    v->rank = info->rank;
    for (int d = 0; d < info->rank; d++) {
        const char *symbol = info->dim_names[d];
        if (symbol != NULL && size_of(f, symbol) == NULL) {
            settle(f, symbol, d == 0 ? BATCH_SIZE : OTHER_SIZE);
            note("%s is taken as %lld (--dim %s=N sets it)", symbol, (long long)*size_of(f, symbol),
                 symbol);
        }
        v->dims[d] = symbol != NULL ? *size_of(f, symbol) : info->dims[d];
    }
}

/* What is made up may not take more than --max-memory. */
static bool fits(const hone_value *v, size_t most, size_t *taken) {
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    char a[32], b[32];
    if (most == 0 || (bytes <= most && *taken <= most - bytes)) {
        *taken += bytes;
        return true;
    }
    complain("input '%s' takes %s, more than --max-memory leaves of %s", v->name,
             bytes < INT64_MAX ? human_bytes((int64_t)bytes, a) : "more bytes than there can be",
             human_bytes((int64_t)most, b));
    return false;
}

exit_code feed_fill(feed *f, int fill, uint64_t seed, size_t most) {
    hone_error err;
    size_t taken = 0;
    for (size_t i = 0; i < f->n_in; i++) {
        const hone_value_info *info = &f->info[i];
        if (f->in[i].dtype != HONE_DTYPE_NONE) continue;
        if (fill < 0) {
            complain("input '%s' is not given: --in %s=FILE.npy, or --fill zeros|ones|random",
                     info->name, info->name);
            return EXIT_USAGE;
        }
        if (info->rank < 0) {
            complain(
                "input '%s' cannot be made up, its rank is not known: hone run --in %s=FILE.npy",
                info->name, info->name);
            return EXIT_USAGE;
        }
        size_up(f, info, &f->in[i]);
        if (!fits(&f->in[i], most, &taken)) return EXIT_RESOURCE;
        if (hone_value_fill(&f->in[i], (hone_fill)fill, seed + i, &err) != HONE_OK)
            return fail_with(&err);
    }
    return EXIT_DONE;
}
