/* stream.c: two streams over one session, each with a state of its own.
 *
 *     stream MODEL
 *     stream tests/models/stream.onnx
 *
 * MODEL has an f32 input x of shape [batch, n]; its other inputs end in 0 and take the outputs of the
 * step before whose names end in 1. */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(hone_status status, const hone_error *err) {
    if (status == HONE_OK) return;
    fprintf(stderr, "stream: %s\n", err->text);
    exit(1);
}

/* One step: n numbers go in, the first of the results is shown. */
static void step(hone_state *state, const char *who, float *numbers, int64_t n) {
    hone_error err;
    hone_value x = {.name = "x", .dtype = HONE_DTYPE_F32, .rank = 2, .dims = {1, n}};
    hone_value y = {.name = "y"};
    x.data = numbers;
    x.bytes = (size_t)n * sizeof *numbers;
    must(hone_state_run(state, 1, &x, 1, &y, &err), &err);
    printf("%s: %g\n", who, (double)((const float *)y.data)[0]);
    hone_value_release(&y, 1);
}

int main(int argc, char **argv) {
    hone_error err;
    hone_model *model;
    hone_session *session;
    hone_state *anna, *ben;
    hone_value_info info;
    if (argc != 2) {
        fprintf(stderr, "usage: stream MODEL\n");
        return 2;
    }
    must(hone_model_load(&model, argv[1], NULL, &err), &err);
    must(hone_model_input(model, 0, &info, &err), &err);

    /* Which output becomes which input. A * stands for the same text on both sides. */
    hone_session_options options;
    hone_session_options_init(&options);
    options.state = "*0=*1";
    must(hone_session_create(&session, model, &options, &err), &err);
    must(hone_state_create(&anna, session, &err), &err);
    must(hone_state_create(&ben, session, &err), &err);

    /* What one stream has seen the other does not know. They could run on threads of their own. */
    int64_t n = info.dims[1];
    float *loud = calloc((size_t)n, sizeof *loud), *quiet = calloc((size_t)n, sizeof *quiet);
    if (loud == NULL || quiet == NULL) return 1;
    for (int64_t i = 0; i < n; i++) loud[i] = 8;
    step(anna, "anna", loud, n);
    step(ben, "ben", quiet, n);
    for (int i = 0; i < 2; i++) step(anna, "anna", quiet, n);

    /* Anna's state as values, by the names of the inputs; Ben goes on with it. */
    const char *name;
    for (size_t i = 0; (name = hone_session_state(session, i, NULL)) != NULL; i++) {
        hone_value v = {.name = name};
        must(hone_state_get(anna, &v, &err), &err);
        must(hone_state_set(ben, &v, &err), &err);
        hone_value_release(&v, 1);
    }
    step(ben, "ben", quiet, n);
    must(hone_state_reset(anna, &err), &err);
    step(anna, "anna", quiet, n);

    hone_state_destroy(anna);
    hone_state_destroy(ben);
    hone_session_destroy(session);
    hone_model_destroy(model);
    free(loud);
    free(quiet);
    return 0;
}
