/* data.c: how fast a folder of images becomes batches for a model.
 *
 * bench_data SPEC SIDE BATCH THREADS SECONDS goes over the dataset with a loader, again and again
 * for that long, for a model of [n, 3, SIDE, SIDE], and prints the best pass in images per second.
 */
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static hone_status pass(hone_dataset *dataset, hone_model *model, const hone_loader_options *o,
                        int64_t *n, hone_error *err) {
    hone_loader *loader;
    hone_status status = hone_loader_create(&loader, dataset, model, o, err);
    if (status != HONE_OK) return status;
    const hone_batch *b;
    *n = 0;
    while ((status = hone_loader_next(loader, &b, err)) == HONE_OK && b->n > 0) *n += b->n;
    hone_loader_destroy(loader);
    return status;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: bench_data SPEC SIDE BATCH THREADS SECONDS\n");
        return 2;
    }
    char text[200];
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17]> g (float[n,3,%s,%s] x) => "
             "(float[n,3,%s,%s] y) { y = Relu (x) }",
             argv[2], argv[2], argv[2], argv[2]);
    hone_loader_options o;
    hone_loader_options_init(&o);
    o.batch = atoi(argv[3]);
    o.threads = atoi(argv[4]);
    hone_dataset *dataset = NULL;
    hone_model *model = NULL;
    hone_error err;
    double best = 0, begun = now_s();
    hone_status status = hone_dataset_open(&dataset, argv[1], &err);
    if (status == HONE_OK) status = hone_model_load_text(&model, text, &err);
    do {
        int64_t n = 0;
        double start = now_s();
        if (status == HONE_OK) status = pass(dataset, model, &o, &n, &err);
        double rate = (double)n / (now_s() - start);
        if (rate > best) best = rate;
    } while (status == HONE_OK && now_s() - begun < atof(argv[5]));
    if (status == HONE_OK)
        printf("%.1f\n", best);
    else
        fprintf(stderr, "bench_data: %s\n", err.text);
    hone_dataset_destroy(dataset);
    if (model != NULL) hone_model_destroy(model);
    return status == HONE_OK ? 0 : 3;
}
