/* The stages around inference, timed apart on samples of a dataset. */
#include <stdlib.h>

#include "profile.h"

/* The class of the highest score of each sample: what most programs do with the outputs. */
static void postprocess(const hone_value *scores, int64_t *best) {
    if (scores->dtype != HONE_DTYPE_F32 || scores->rank < 1 || scores->dims[0] < 1) return;
    const float *v = scores->data;
    int64_t rows = scores->dims[0], n = (int64_t)(scores->bytes / sizeof *v) / rows;
    for (int64_t i = 0; i < rows; i++) {
        int64_t top = 0;
        for (int64_t k = 1; k < n; k++)
            if (v[i * n + k] > v[i * n + top]) top = k;
        *best += top; /* so that it is not left out */
    }
}

/* One batch from the dataset to an answer. */
static hone_status run_batch(plan *p, hone_dataset *d, int64_t first, int64_t n, hone_value *in,
                             hone_error *err) {
    feed *f = &p->feed;
    int64_t best = 0;
    hone_status status = hone_dataset_read(d, p->model, first, n, in, err);
    if (status != HONE_OK) return status;
    hone_region_begin("inference");
    status = hone_session_run(p->session, f->n_in, in, f->n_out, f->out, err);
    hone_region_end();
    hone_region_begin("postprocess");
    if (status == HONE_OK && f->n_out > 0) postprocess(&f->out[0], &best);
    hone_region_end();
    hone_value_release(in, f->n_in);
    return status;
}

static void sum_up(plan *p, const recorder *r, int64_t batches) {
    stages *s = &p->stages;
    double n = (double)batches, resize = recorder_ms(r, 0, "data", "resize");
    *s = (stages){.known = true,
                  .decode_ms = (recorder_ms(r, 0, "data", "decode") - resize) / n,
                  .preprocess_ms = (recorder_ms(r, 0, "data", "preprocess") + resize) / n,
                  .copy_ms = recorder_ms(r, 0, "data", "copy") / n,
                  .inference_ms = recorder_ms(r, 0, "region", "inference") / n,
                  .postprocess_ms = recorder_ms(r, 0, "region", "postprocess") / n};
    double all = s->decode_ms + s->preprocess_ms + s->copy_ms + s->inference_ms + s->postprocess_ms;
    s->share = all > 0 ? s->inference_ms / all : 0;
}

int64_t batch_of(const feed *f) {
    return f->n_in > 0 && f->in[0].rank > 0 && f->in[0].dims[0] > 0 ? f->in[0].dims[0] : 1;
}

/* Batches are as large as the one that was profiled. */
exit_code measure_stages(plan *p, int64_t batches) {
    const char *spec = value_of(&p->a, "--data");
    hone_dataset *d = NULL;
    hone_error err;
    progress bar;
    recorder r = {0};
    if (spec == NULL) return EXIT_DONE;
    if (hone_dataset_open(&d, spec, &err) != HONE_OK) return fail_with(&err);
    int64_t count = hone_dataset_count(d), n = batch_of(&p->feed);
    if (n > count) n = count;
    hone_value *in = must(calloc(p->feed.n_in + 1, sizeof *in));
    progress_start(&bar, "data", "batches");
    hone_status status = run_batch(p, d, 0, n, in, &err); /* warms up */
    recorder_listen(&r);
    for (int64_t i = 0; i < batches && status == HONE_OK; i++) {
        status = run_batch(p, d, i % (count / n) * n, n, in, &err);
        if (status == HONE_OK && !progress_step(&bar, i + 1, batches)) break;
    }
    recorder_pause();
    progress_end(&bar);
    if (status == HONE_OK) sum_up(p, &r, batches);
    recorder_deinit(&r);
    hone_dataset_destroy(d);
    free(in);
    if (status != HONE_OK) return fail_with(&err);
    return not_interrupted(NULL) ? EXIT_DONE : say_interrupted();
}
