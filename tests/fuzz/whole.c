/* A model through the whole path, by the functions programs call: loaded, inspected, run,
 * simplified, quantized, and what came out of both run again. Whatever the bytes are, each step
 * either does its work or fails with a message, within the memory and the time it is given.
 *
 * The last byte chooses the type that is quantized to, so that a seed is a model as it is: ONNX
 * files end in the version of an opset, and mutations change that as well as any other byte. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hone/hone.h"

/* Little, so that no product or convolution that fits takes long under sanitizers. */
#define MOST_MEMORY ((size_t)16 << 20)
#define MOST_SECONDS 2.0

typedef struct clock_ {
    double until;
} clock_;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool is_time(void *ctx) { return now() < ((const clock_ *)ctx)->until; }

static bool progress(void *ctx, const char *what, int64_t done, int64_t total) {
    (void)what, (void)done, (void)total;
    return is_time(ctx);
}

/* A failure has a status and one line. */
static void check_error(hone_status status, const hone_error *err) {
    if (status == HONE_OK) return;
    if (err->status != status || err->text[0] == '\0' || strchr(err->text, '\n') != NULL) abort();
}

/* Symbolic sizes become small ones. False: the model wants what cannot be made up. */
static bool make_input(const hone_value_info *info, hone_value *v) {
    hone_error err = {0};
    *v = (hone_value){.name = info->name, .dtype = info->dtype, .rank = info->rank};
    if (info->rank < 0) return false;
    for (int i = 0; i < info->rank; i++) v->dims[i] = info->dims[i] >= 0 ? info->dims[i] : 2;
    size_t bytes = hone_value_bytes(v->dtype, v->rank, v->dims);
    if (bytes > MOST_MEMORY) return false;
    hone_status status = hone_value_fill(v, HONE_FILL_RANDOM, 1, &err);
    check_error(status, &err);
    return status == HONE_OK;
}

/* Cancels a run that takes too long, as keep_going cannot from inside a long operator. */
typedef struct guard {
    hone_session *session;
    struct timespec until;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over;
} guard;

static void *watch(void *ctx) {
    guard *g = ctx;
    pthread_mutex_lock(&g->lock);
    while (!g->over)
        if (pthread_cond_timedwait(&g->ended, &g->lock, &g->until) != 0 && !g->over) {
            hone_session_cancel(g->session);
            break;
        }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static hone_status guarded_run(hone_session *s, size_t n_in, const hone_value *in, size_t n_out,
                               hone_value *out, hone_error *err) {
    guard g = {.session = s};
    pthread_t thread;
    clock_gettime(CLOCK_REALTIME, &g.until);
    g.until.tv_sec += (time_t)MOST_SECONDS;
    pthread_mutex_init(&g.lock, NULL);
    pthread_cond_init(&g.ended, NULL);
    if (pthread_create(&thread, NULL, watch, &g) != 0) abort();
    hone_status status = hone_session_run(s, n_in, in, n_out, out, err);
    pthread_mutex_lock(&g.lock);
    g.over = true;
    pthread_cond_signal(&g.ended);
    pthread_mutex_unlock(&g.lock);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&g.ended);
    pthread_mutex_destroy(&g.lock);
    return status;
}

static void run_session(hone_session *s, const hone_model *m) {
    size_t n_in = hone_model_n_inputs(m), n_out = hone_model_n_outputs(m);
    hone_value *in = calloc(n_in + 1, sizeof *in), *out = calloc(n_out + 1, sizeof *out);
    hone_error err = {0};
    bool ready = in != NULL && out != NULL;
    for (size_t i = 0; i < n_in && ready; i++) {
        hone_value_info info;
        hone_model_input(m, i, &info, NULL);
        ready = make_input(&info, &in[i]);
    }
    for (size_t i = 0; i < n_out && ready; i++) {
        hone_value_info info;
        hone_model_output(m, i, &info, NULL);
        out[i].name = info.name;
    }
    if (ready) {
        hone_status status = guarded_run(s, n_in, in, n_out, out, &err);
        check_error(status, &err);
        if (status == HONE_OK) hone_value_release(out, n_out);
    }
    if (in != NULL) hone_value_release(in, n_in);
    free(in);
    free(out);
}

static void run_model(hone_model *m, const hone_session_options *o) {
    hone_error err = {0};
    hone_session *s = NULL;
    hone_status status = hone_session_create(&s, m, o, &err);
    check_error(status, &err);
    if (status == HONE_OK) run_session(s, m);
    hone_session_destroy(s);
}

static void quantize(hone_model *m, unsigned choice, const hone_session_options *run) {
    static const char *const types[] = {"int8", "int8-dynamic", "int8-weights",
                                        "int4", "f16",          "bf16"};
    hone_error err = {0};
    hone_dataset *data = NULL;
    hone_model *made = NULL;
    hone_quantization *report = NULL;
    hone_quantize_options o;
    hone_quantize_options_init(&o);
    o.type = types[choice % 6];
    o.integer_io = choice / 6 % 2 != 0;
    o.run = run;
    o.progress = progress;
    o.progress_ctx = run->keep_going_ctx;
    if (hone_dataset_open(&data, "random,n=2", &err) != HONE_OK) abort();
    hone_status status = hone_model_quantize(&made, m, data, &o, &report, &err);
    check_error(status, &err);
    if (status == HONE_OK) run_model(made, run);
    hone_quantization_destroy(report);
    hone_model_destroy(made);
    hone_dataset_destroy(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    hone_error err = {0};
    hone_model *m = NULL;
    hone_inspection *found = NULL;
    clock_ time = {now() + MOST_SECONDS};
    hone_session_options o;
    hone_session_options_init(&o);
    o.threads = 1;
    o.max_memory = MOST_MEMORY;
    o.keep_going = is_time;
    o.keep_going_ctx = &time;
    hone_status status = hone_model_load_memory(&m, bytes, size, &err);
    check_error(status, &err);
    if (status != HONE_OK) return 0;
    status = hone_model_inspect(m, NULL, 0, &found, &err);
    check_error(status, &err);
    hone_inspection_destroy(found);
    run_model(m, &o);
    quantize(m, bytes[size - 1], &o);
    status = hone_model_simplify(m, NULL, NULL, &err);
    check_error(status, &err);
    if (status == HONE_OK) run_model(m, &o);
    hone_model_destroy(m);
    return 0;
}
