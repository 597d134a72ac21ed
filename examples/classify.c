/* classify.c: runs a classifier on samples and prints the classes it holds most likely.
 *
 *     classify MODEL [DATA]
 *     classify models/digits_cnn.onnx synthetic:digits,n=3,seed=7
 *
 * DATA is a dataset as `hone eval --data` takes it; without it, three digits that hone draws. */
#include <hone/hone.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOWN = 3 };

/* Every function of hone that can fail says why in one line. */
static void must(hone_status status, const hone_error *err) {
    if (status == HONE_OK) return;
    fprintf(stderr, "classify: %s\n", err->text);
    exit(1);
}

/* The class with the highest score among those not taken. */
static int64_t best(const float *score, int64_t n, const bool *taken) {
    int64_t at = -1;
    for (int64_t i = 0; i < n; i++)
        if (!taken[i] && (at < 0 || score[i] > score[at])) at = i;
    return at;
}

static void print_top(const float *score, int64_t n) {
    bool *taken = calloc((size_t)n, sizeof *taken);
    if (taken == NULL) exit(1);
    float highest = score[best(score, n, taken)];
    double sum = 0; /* of the softmax; the highest score is taken off so that nothing overflows */
    for (int64_t i = 0; i < n; i++) sum += exp((double)score[i] - highest);
    for (int k = 0; k < SHOWN && k < n; k++) {
        int64_t i = best(score, n, taken);
        taken[i] = true;
        printf("  class %lld %5.1f %%", (long long)i, 100 * exp((double)score[i] - highest) / sum);
    }
    printf("\n");
    free(taken);
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: classify MODEL [DATA]\n");
        return 2;
    }
    hone_error err;
    hone_model *model;
    hone_session *session;
    hone_dataset *data;
    must(hone_model_load(&model, argv[1], NULL, &err), &err);
    must(hone_session_create(&session, model, NULL, &err), &err);
    must(hone_dataset_open(&data, argc > 2 ? argv[2] : "synthetic:digits,n=3", &err), &err);

    /* One value for each input. Names and memory are the library's until they are released. */
    size_t n_inputs = hone_model_n_inputs(model);
    hone_value *inputs = calloc(n_inputs, sizeof *inputs);
    if (inputs == NULL) return 1;

    /* The first output; without data of its own, the library allocates it. */
    hone_value_info info;
    must(hone_model_output(model, 0, &info, &err), &err);
    hone_value scores = {.name = info.name};

    for (int64_t i = 0; i < hone_dataset_count(data); i++) {
        must(hone_dataset_read(data, model, i, 1, inputs, &err), &err);
        must(hone_session_run(session, n_inputs, inputs, 1, &scores, &err), &err);
        if (scores.dtype != HONE_DTYPE_F32 || scores.bytes == 0) {
            fprintf(stderr, "classify: output '%s' is %s, expected scores in f32\n", scores.name,
                    hone_dtype_name(scores.dtype));
            return 1;
        }
        printf("sample %lld", (long long)i);
        if (hone_dataset_has_labels(data)) {
            int64_t label;
            must(hone_dataset_labels(data, i, 1, &label, &err), &err);
            printf(" (%lld)", (long long)label);
        }
        print_top(scores.data, (int64_t)(scores.bytes / sizeof(float)));
        hone_value_release(inputs, n_inputs);
        hone_value_release(&scores, 1); /* keeps the name, so it can be used again */
    }

    free(inputs);
    hone_dataset_destroy(data);
    hone_session_destroy(session);
    hone_model_destroy(model);
    return 0;
}
