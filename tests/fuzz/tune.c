/* The tuning cache: whatever its lines say, no step computes anything else for them.
 *
 * The bytes are lines behind a first line that holds for this machine. Instruction sets are left
 * out, so that the problems of the corpus are met on every machine. */
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "ir/text.h"
#include "ops/infer.h"

enum { N = 16 * 24 };

static const char text[] =
    "<ir_version: 10, opset_import: [\"\" : 18]>\n"
    "m (float[16,24] x, float[24,8] z) => (float[16,8] y) { a = Softmax (x) y = MatMul (a, z) }";

static hone_status place(void *ctx, int i, hone_dtype dtype, int rank, const int64_t *dims,
                         void **to, hn_error *err) {
    (void)i, (void)dtype, (void)rank, (void)dims, (void)err;
    *to = ctx;
    return HONE_OK;
}

/* The model with this tuner on two lanes. */
static void run(hn_tuner *tuner, hn_pool *pool, hn_allocator *alloc, float *y) {
    static float x[N];
    hn_error err;
    hn_model *m = NULL;
    hn_engine *e = NULL;
    hn_tensor *in[2];
    for (int i = 0; i < N; i++) x[i] = (float)(i % 7) / 8;
    hn_engine_options o = {.alloc = alloc, .pool = pool, .tuner = tuner};
    if (hn_text_parse(&m, text, sizeof text - 1, NULL, alloc, &err) != HONE_OK) abort();
    hn_model_bind_ops(m);
    if (hn_engine_create(&e, m, &o, &err) != HONE_OK ||
        hn_tensor_create_borrowed(&in[0], alloc, HONE_DTYPE_F32, 2, (int64_t[]){16, 24}, x, &err) !=
            HONE_OK ||
        hn_tensor_create_borrowed(&in[1], alloc, HONE_DTYPE_F32, 2, (int64_t[]){24, 8}, x, &err) !=
            HONE_OK ||
        hn_engine_run(e, (const hn_tensor *const *)in, place, y, NULL, NULL, &err) != HONE_OK)
        abort();
    hn_tensor_unref(in[0]);
    hn_tensor_unref(in[1]);
    hn_engine_destroy(e);
    hn_model_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static float plain[16 * 8], tuned[16 * 8];
    static hn_pool *pool; /* kept from input to input */
    hn_allocator alloc;
    hn_error err;
    hn_tuner *t = NULL;
    hn_allocator_init(&alloc);
    if (pool == NULL && hn_pool_create(&pool, 2, hn_allocator_default(), &err) != HONE_OK) abort();
    if (hn_tuner_create(&t, HN_TUNE_OFF, 0, NULL, &alloc, &err) != HONE_OK) abort();
    run(t, pool, &alloc, plain);
    if (hn_tuner_read(t, (const char *)data, size, &err) != HONE_OK) abort();
    run(t, pool, &alloc, tuned);
    if (memcmp(plain, tuned, sizeof plain) != 0) abort();
    hn_tuner_destroy(t);
    if (atomic_load(&alloc.blocks) != 0) abort();
    return 0;
}
