/* session.c: one session at several batch sizes, in memory of the caller's own, with a profile.
 *
 *     session MODEL
 *     session models/digits_cnn.onnx
 *
 * MODEL has one f32 input and one f32 output whose first axis is the batch. */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every function of hone that can fail says why in one line. */
static void must(hone_status status, const hone_error *err) {
    if (status == HONE_OK) return;
    fprintf(stderr, "session: %s\n", err->text);
    exit(1);
}

/* A value of that description at this batch size, in memory from calloc. */
static hone_value make(const hone_value_info *info, int64_t batch) {
    hone_value v = {.name = info->name, .dtype = info->dtype, .rank = info->rank};
    for (int i = 0; i < info->rank; i++) {
        v.dims[i] = info->dims[i] >= 0 ? info->dims[i] : batch; /* -1: symbolic */
        if (info->dims[i] < 0 && i > 0) {
            fprintf(stderr, "session: axis %d of '%s' is %s, expected a number\n", i, info->name,
                    info->dim_names[i]);
            exit(1);
        }
    }
    v.bytes = hone_value_bytes(v.dtype, v.rank, v.dims);
    v.data = v.bytes != SIZE_MAX ? calloc(1, v.bytes) : NULL;
    if (v.dtype != HONE_DTYPE_F32 || v.data == NULL) {
        fprintf(stderr, "session: '%s' cannot be made\n", info->name);
        exit(1);
    }
    return v;
}

/* What hone_session_profile calls after each step of the run. */
typedef struct slowest {
    int steps;
    double us;
    char what[100];
} slowest;

static void on_step(void *ctx, const hone_step_info *step) {
    slowest *s = ctx;
    double us = (double)(step->end_ns - step->begin_ns) * 1e-3;
    s->steps++;
    if (us <= s->us) return;
    s->us = us;
    snprintf(s->what, sizeof s->what, "%s by %s", step->op, step->kernel);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: session MODEL\n");
        return 2;
    }
    hone_error err;
    hone_model *model;
    hone_session *session;
    hone_value_info in, out;
    must(hone_model_load(&model, argv[1], NULL, &err), &err);
    must(hone_model_input(model, 0, &in, &err), &err);
    must(hone_model_output(model, 0, &out, &err), &err);

    hone_session_options options;
    hone_session_options_init(&options);
    options.threads = 1;
    must(hone_session_create(&session, model, &options, &err), &err);

    for (int64_t batch = 1; batch <= 4; batch *= 4) {
        /* Values go by name, in any order. A session takes every shape the model allows; each new
         * one is compiled when it first comes, or here, before it counts. */
        hone_value x = make(&in, batch), y = make(&out, batch);
        must(hone_session_prepare(session, 1, &x, &err), &err);

        /* The caller's memory is read and written in place. */
        float *pixels = x.data;
        for (size_t i = 0; i < x.bytes / sizeof *pixels; i++) pixels[i] = (float)(i % 7) / 7;
        must(hone_session_run(session, 1, &x, 1, &y, &err), &err);
        printf("batch %lld: the first of %zu results is %.4f\n", (long long)batch,
               y.bytes / sizeof(float), ((const float *)y.data)[0]);

        slowest s = {0};
        must(hone_session_profile(session, 1, &x, 1, &y, on_step, &s, &err), &err);
        printf("  %d steps; the slowest, %s, took %.1f us\n", s.steps, s.what, s.us);

        /* Packed weights are shared by all shapes; activations and workspace are those of this one.
         * The sum is known before the first run, and later runs take nothing more. */
        hone_memory_use use = hone_session_memory(session);
        printf("  %zu kB of weights, %zu kB of activations, %zu kB of workspace\n",
               use.weights_bytes / 1000, use.arena_bytes / 1000, use.scratch_bytes / 1000);
        free(x.data);
        free(y.data);
    }

    hone_session_destroy(session);
    hone_model_destroy(model);
    return 0;
}
