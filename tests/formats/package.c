#include "formats/package.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/checksum.h"
#include "formats/package_layout.h"
#include "ir/text.h"
#include "support/models.h"
#include "support/paths.h"
#include "support/scratch.h"

static hn_error err;

/* ---- helpers ---- */

static hn_file *open_file(const char *path) {
    hn_file *file;
    ASSERT_OK(hn_file_open(&file, path, true, &scratch_mem, &err), err);
    return file;
}

static hn_file *file_of(const void *data, size_t bytes) {
    hn_file *file;
    void *copy = hn_alloc(&scratch_mem, bytes, HN_MEM_DATA);
    if (bytes > 0) memcpy(copy, data, bytes);
    assert_int_equal(hn_file_adopt(&file, "copy.hone", copy, bytes, &scratch_mem, &err), HONE_OK);
    return file;
}

static void assert_same_file(const char *a, const char *b) {
    hn_file *x = open_file(a), *y = open_file(b);
    assert_int_equal(x->bytes, y->bytes);
    assert_memory_equal(x->data, y->data, x->bytes);
    hn_file_unref(x);
    hn_file_unref(y);
}

/* Both models have the same values, and constants of the same contents. */
static void assert_same_constants(const hn_model *a, const hn_model *b) {
    assert_int_equal(a->n_graphs, b->n_graphs);
    for (int k = 0; k < a->n_graphs; k++) {
        const hn_graph *g = a->graphs[k], *h = b->graphs[k];
        assert_int_equal(g->n_values, h->n_values);
        for (int i = 0; i < g->n_values; i++) {
            const hn_tensor *x = g->values[i]->constant, *y = h->values[i]->constant;
            assert_string_equal(g->values[i]->name, h->values[i]->name);
            assert_int_equal(x != NULL, y != NULL);
            if (x != NULL && x->data != NULL && y->data != NULL) assert_true(hn_tensor_equal(x, y));
        }
    }
}

/* Packages the file, compares what is loaded and what is unpacked. */
static void there_and_back(const char *path) {
    static const char name[] = "there.hone";
    hn_model *a, *b;
    const char *package = scratch_path(name);
    for (int fast = 0; fast < 2; fast++) {
        hn_package_options o = {.fast = fast != 0};
        ASSERT_OK(hn_package_write(package, path, &o, &scratch_mem, &err), err);
        ASSERT_OK(hn_onnx_load(&a, path, NULL, &scratch_mem, &err), err);
        hn_onnx_options strict = {.check_stored = true};
        ASSERT_OK(hn_onnx_load(&b, package, &strict, &scratch_mem, &err), err);
        assert_same_constants(a, b);
        hn_model_destroy(a);
        hn_model_destroy(b);
        ASSERT_OK(hn_package_unpack(package, scratch_path("back.onnx"), &scratch_mem, &err), err);
        assert_same_file(path, scratch_path("back.onnx"));
    }
}

/* A model of the text, as a file. graph_model takes short ones only. */
static hn_file *file_of_text(const char *text) {
    hn_model *m;
    hn_file *file;
    ASSERT_OK(hn_text_parse(&m, text, strlen(text), NULL, &scratch_mem, &err), err);
    ASSERT_OK(hn_onnx_save_memory(&file, m, NULL, &err), err);
    hn_model_destroy(m);
    return file;
}
#define HEAD "<ir_version: 10, opset_import: [\"\": 25]>\n"

/* A model of one constant of n elements. */
static hn_file *model_of(hone_dtype dtype, int n) {
    static char text[100000];
    char type[32];
    static const char *const names[] = {
#define X(name, number, short_name, onnx_name, bits) [number] = onnx_name,
        HONE_DTYPE_LIST(X)
#undef X
    };
    snprintf(type, sizeof type, "%s", names[dtype]);
    int at = snprintf(text, sizeof text, HEAD "g () => (%s[%d] y) <%s[%d] w = {", type, n, type, n);
    for (int i = 0; i < n; i++) {
        int v = i * i % 7 % 2;
        const char *form = dtype == HONE_DTYPE_STRING ? "%s\"text %d\"" : "%s%d";
        at += snprintf(text + at, sizeof text - (size_t)at, form, i > 0 ? ", " : "", v);
    }
    snprintf(text + at, sizeof text - (size_t)at, "}> { y = Identity (w) }");
    return file_of_text(text);
}

/* ---- lossless ---- */

static void every_type(void **state) {
    (void)state;
    for (int d = 1; d < HONE_DTYPE_COUNT_; d++) {
        if (d == HONE_DTYPE_C64 || d == HONE_DTYPE_C128) continue; /* no text has them */
        for (int n = 0; n <= 700; n += 700) {
            hn_file *file = model_of((hone_dtype)d, n);
            there_and_back(scratch_put("type.onnx", file->data, file->bytes));
            hn_file_unref(file);
        }
    }
}

/* Models with functions, subgraphs, external data, names of all sorts. */
static void models_of_the_tests(void **state) {
    (void)state;
    static const char *const paths[] = {MODEL("add"),
                                        MODEL("branches"),
                                        MODEL("int8"),
                                        MODEL("layers"),
                                        MODEL("names"),
                                        MODEL("large"),
                                        MODEL("stream"),
                                        MODEL("quantized"),
                                        MODEL("wide"),
                                        DIGITS,
                                        HN_SOURCE_DIR "/tests/fuzz/corpus/onnx/functions.onnx"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) there_and_back(paths[i]);
}

static void external_data(void **state) {
    (void)state;
    hn_file *onnx = open_file(MODEL("external"));
    hn_file *data = open_file(HN_SOURCE_DIR "/tests/models/external.data");
    scratch_put("m.onnx", onnx->data, onnx->bytes);
    scratch_put("external.data", data->data, data->bytes);
    const char *package = scratch_path("m.hone");
    ASSERT_OK(hn_package_write(package, scratch_path("m.onnx"), NULL, &scratch_mem, &err), err);
    /* It does not overwrite what is there, nor need it. */
    ASSERT_FAILS(hn_package_unpack(package, scratch_path("n.onnx"), &scratch_mem, &err), err,
                 HONE_E_ARG, "external.data");
    hn_model *a, *b;
    ASSERT_OK(hn_onnx_load(&a, scratch_path("m.onnx"), NULL, &scratch_mem, &err), err);
    assert_int_equal(unlink(scratch_path("external.data")), 0);
    assert_int_equal(unlink(scratch_path("m.onnx")), 0);
    ASSERT_OK(hn_onnx_load(&b, package, NULL, &scratch_mem, &err), err);
    assert_same_constants(a, b);
    hn_model_destroy(a);
    hn_model_destroy(b);
    ASSERT_OK(hn_package_unpack(package, scratch_path("n.onnx"), &scratch_mem, &err), err);
    assert_same_file(MODEL("external"), scratch_path("n.onnx"));
    assert_same_file(HN_SOURCE_DIR "/tests/models/external.data", scratch_path("external.data"));
    hn_file_unref(onnx);
    hn_file_unref(data);
}

static void real_models(void **state) {
    (void)state;
    static const char *const names[] = {"kws_dscnn_fp32", "mobilenetv2_int8_qdq",
                                        "yunet_n_dynamic"};
    const char *assets = test_assets();
    if (assets == NULL) skip();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[4300];
        snprintf(path, sizeof path, "%s/models/%s.onnx", assets, names[i]);
        there_and_back(path);
    }
}

/* Raw tensors are not copied: they lie in the package, aligned. */
static void raw_tensors_are_mapped(void **state) {
    (void)state;
    static char text[200000];
    hn_model *m;
    hn_file *file;
    int at = snprintf(text, sizeof text, HEAD "g () => (uint8[9999] y) <uint8[9999] w = {");
    uint64_t random = 1;
    for (int i = 0; i < 9999; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        at += snprintf(text + at, sizeof text - (size_t)at, i > 0 ? ",%d" : "%d",
                       (int)(random >> 40 & 255));
    }
    snprintf(text + at, sizeof text - (size_t)at, "}> { y = Identity (w) }");
    file = file_of_text(text);
    const char *package = scratch_path("raw.hone");
    ASSERT_OK(hn_package_write_memory(package, file, NULL, &scratch_mem, &err), err);
    ASSERT_OK(hn_onnx_load(&m, package, NULL, &scratch_mem, &err), err);
    const hn_tensor *w = NULL;
    for (int i = 0; i < m->graph->n_values; i++)
        if (m->graph->values[i]->constant != NULL) w = m->graph->values[i]->constant;
    assert_non_null(w->file);
    assert_string_equal(w->file->path, package);
    assert_int_equal((size_t)((const unsigned char *)w->data - w->file->data) % 64, 0);
    hn_model_destroy(m);
    hn_file_unref(file);
}

/* The same bytes every time. */
static void packages_repeat(void **state) {
    (void)state;
    ASSERT_OK(hn_package_write(scratch_path("1.hone"), DIGITS, NULL, &scratch_mem, &err), err);
    ASSERT_OK(hn_package_write(scratch_path("2.hone"), DIGITS, NULL, &scratch_mem, &err), err);
    assert_same_file(scratch_path("1.hone"), scratch_path("2.hone"));
}

/* ---- bad input ---- */

static hone_status put(void *ctx, const void *data, size_t bytes, hn_error *e) {
    (void)e;
    hn_growing_put(ctx, data, bytes);
    return HONE_OK;
}

/* What became of a package: it is restored, or an error. */
static hone_status restore(hn_file *file, hn_growing *to) {
    hn_package *p;
    to->n = 0;
    HN_TRY(hn_package_open(&p, file, true, &scratch_mem, &err));
    hone_status status = HONE_OK;
    for (size_t k = 0; k < p->n && status == HONE_OK; k++) {
        status = hn_package_restore(p, k, put, to, &err);
    }
    hn_package_close(p);
    return status;
}

/* A package of a model with tensors in several codes. */
static hn_file *small_package(void) {
    const char *path = scratch_path("small.hone");
    ASSERT_OK(hn_package_write(path, MODEL("layers"), NULL, &scratch_mem, &err), err);
    hn_file *mapped = open_file(path), *file = file_of(mapped->data, mapped->bytes);
    hn_file_unref(mapped);
    return file;
}

/* A changed byte is noticed, or does not matter: it lies between blocks. The header and the contents
 * are tried byte by byte. */
static void every_byte_is_checked(void **state) {
    (void)state;
    hn_file *file = small_package();
    hn_growing was = {.alloc = &scratch_mem}, is = {.alloc = &scratch_mem};
    assert_int_equal(restore(file, &was), HONE_OK);
    unsigned char *bytes = (unsigned char *)file->data;
    size_t missed = 0;
    for (size_t i = 0; i < file->bytes; i += i < 400 ? 1 : 17) {
        bytes[i] ^= 1;
        hone_status status = restore(file, &is);
        bytes[i] ^= 1;
        if (status == HONE_OK) {
            missed++;
            assert_int_equal(is.n, was.n);
            assert_memory_equal(is.data, was.data, was.n);
        } else {
            assert_true(status == HONE_E_FORMAT || status == HONE_E_UNSUPPORTED);
        }
    }
    assert_true(missed < 64 * 8);
    hn_free(&scratch_mem, was.data);
    hn_free(&scratch_mem, is.data);
    hn_file_unref(file);
}

static void every_cut_is_noticed(void **state) {
    (void)state;
    hn_file *file = small_package();
    hn_model *m;
    for (size_t n = 8; n < file->bytes; n += n < 400 ? 1 : 17) {
        hn_file *piece = file_of(file->data, n);
        ASSERT_FAILS(hn_onnx_load_memory(&m, piece, NULL, &scratch_mem, &err), err, HONE_E_FORMAT,
                     "copy.hone");
        hn_file_unref(piece);
    }
    hn_file_unref(file);
}

/* Fills in the checksum of a header whose table has n rows. */
static void seal(unsigned char *bytes, size_t n) {
    unsigned char head[4096];
    memcpy(head, bytes, 32);
    memcpy(head + 32, bytes + 40, n * 32);
    uint64_t sum = hn_checksum(head, 32 + n * 32);
    for (int i = 0; i < 8; i++) bytes[32 + i] = (unsigned char)(sum >> (8 * i));
}

static void add(unsigned char *at, int bytes, int64_t v) {
    uint64_t sum = 0;
    for (int i = 0; i < bytes; i++) sum |= (uint64_t)at[i] << (8 * i);
    sum += (uint64_t)v;
    for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(sum >> (8 * i));
}

/* A section more, of a kind nobody knows. */
static hn_file *with_section(const hn_file *file, int flags) {
    size_t n = file->bytes + 32;
    unsigned char *bytes = test_malloc(n);
    memcpy(bytes, file->data, 104);
    memset(bytes + 104, 0, 32);
    memcpy(bytes + 136, file->data + 104, file->bytes - 104);
    add(bytes + 16, 8, 32);
    add(bytes + 24, 4, 1);
    add(bytes + 48, 8, 32);
    add(bytes + 80, 8, 32);
    add(bytes + 104, 4, 77);
    add(bytes + 108, 4, flags);
    seal(bytes, 3);
    hn_file *more = file_of(bytes, n);
    test_free(bytes);
    return more;
}

static void newer_versions(void **state) {
    (void)state;
    hn_file *file = small_package(), *other;
    unsigned char *bytes = (unsigned char *)file->data;
    hn_model *m;
    /* A newer format that this one can read; then one that it cannot. */
    add(bytes + 8, 4, 1);
    seal(bytes, 2);
    ASSERT_OK(hn_onnx_load_memory(&m, file, NULL, &scratch_mem, &err), err);
    hn_model_destroy(m);
    add(bytes + 12, 4, 1);
    seal(bytes, 2);
    ASSERT_FAILS(hn_onnx_load_memory(&m, file, NULL, &scratch_mem, &err), err, HONE_E_UNSUPPORTED,
                 "newer version of hone");
    add(bytes + 12, 4, -1);
    /* A section that need not be understood; then one that must. */
    other = with_section(file, 0);
    ASSERT_OK(hn_onnx_load_memory(&m, other, NULL, &scratch_mem, &err), err);
    hn_model_destroy(m);
    hn_file_unref(other);
    other = with_section(file, HN_SECTION_REQUIRED);
    ASSERT_FAILS(hn_onnx_load_memory(&m, other, NULL, &scratch_mem, &err), err, HONE_E_UNSUPPORTED,
                 "section 77 was made by a newer version");
    hn_file_unref(other);
    hn_file_unref(file);
}

/* Bytes without end that a few bytes ask for. */
static void what_would_not_fit_is_refused(void **state) {
    (void)state;
    unsigned char contents[64], bytes[256] = {0};
    hn_growing g = {.alloc = &scratch_mem};
    hn_growing_varint(&g, 1); /* files */
    hn_growing_varint(&g, 0); /* name */
    hn_growing_varint(&g, 0); /* entries */
    hn_growing_varint(&g, (uint64_t)1 << 60);
    hn_growing_varint(&g, HN_CODE_PLANES);
    hn_growing_varint(&g, 0);
    hn_growing_varint(&g, 3);
    size_t n = g.n + 8;
    memcpy(contents, g.data, g.n);
    static const unsigned char same[] = {1, 1, 0}; /* width 1, all the same */
    uint64_t sum = hn_checksum(same, 3);
    for (int i = 0; i < 8; i++) contents[g.n + (size_t)i] = (unsigned char)(sum >> (8 * i));
    hn_free(&scratch_mem, g.data);
    memcpy(bytes, HN_PACKAGE_MAGIC, 8);
    add(bytes + 8, 4, 1);
    add(bytes + 12, 4, 1);
    add(bytes + 16, 8, (int64_t)(104 + n + 3));
    add(bytes + 24, 4, 2);
    add(bytes + 40, 4, HN_SECTION_CONTENTS);
    add(bytes + 48, 8, 104);
    add(bytes + 56, 8, (int64_t)n);
    add(bytes + 64, 8, (int64_t)hn_checksum(contents, n));
    add(bytes + 72, 4, HN_SECTION_DATA);
    add(bytes + 80, 8, (int64_t)(104 + n));
    add(bytes + 88, 8, 3);
    memcpy(bytes + 104, contents, n);
    memcpy(bytes + 104 + n, same, 3);
    seal(bytes, 2);
    hn_file *file = file_of(bytes, 104 + n + 3);
    hn_model *m;
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    alloc.limit = (size_t)1 << 30;
    ASSERT_FAILS(hn_onnx_load_memory(&m, file, NULL, &alloc, &err), err, HONE_E_NOMEM,
                 "1152921504606846976 bytes");
    hn_file_unref(file);
}

/* ---- models made ready ---- */

static unsigned char packed_bytes[3][2000];

/* Another answer for each tensor of the model. */
static unsigned plain(void *ctx, const char *name, size_t bytes) {
    (void)name, (void)bytes;
    return (unsigned)++*(int *)ctx;
}

/* A package of the layers, with two models made ready. */
static hn_file *ready_package(void) {
    static const uint64_t keys[] = {7, 8, UINT64_MAX};
    const char *path = scratch_path("ready.hone");
    hn_package_packed packed[3];
    hn_file *model = open_file(MODEL("layers"));
    int calls = 0;
    for (size_t i = 0; i < 3; i++) {
        memset(packed_bytes[i], (int)i + 1, sizeof packed_bytes[i]);
        packed[i] = (hn_package_packed){keys[i], packed_bytes[i], 100 + 900 * i};
    }
    hn_package_made made[2] = {
        {{"0.1 abc", "avx2", "a CPU", 32768, 1 << 20}, model, plain, &calls, 3, packed},
        {{"0.1 abc", "amx", "", 49152, 2 << 20}, model, NULL, NULL, 0, NULL},
    };
    hn_package_options o = {.fast = true, .n_made = 2, .made = made};
    ASSERT_OK(hn_package_write(path, MODEL("layers"), &o, &scratch_mem, &err), err);
    hn_file_unref(model);
    hn_file *mapped = open_file(path), *file = file_of(mapped->data, mapped->bytes);
    hn_file_unref(mapped);
    return file;
}

static void ready_models_come_back(void **state) {
    (void)state;
    hn_file *file = ready_package();
    hn_package *p;
    hn_package_ready *r;
    hn_model *a, *b;
    ASSERT_OK(hn_package_open(&p, file, false, &scratch_mem, &err), err);
    assert_int_equal(p->n_ready, 2);
    ASSERT_OK(hn_package_ready_read(p, 0, &r, &err), err);
    assert_string_equal(r->machine.library, "0.1 abc");
    assert_string_equal(r->machine.isa, "avx2");
    assert_string_equal(r->machine.cpu, "a CPU");
    assert_int_equal(r->machine.l1, 32768);
    assert_int_equal(r->machine.l2, 1 << 20);
    assert_true(r->model.n > 0);
    for (size_t i = 0; i < r->model.n; i++) assert_int_equal(r->plain[i], i + 1);
    assert_int_equal(r->n, 3);
    assert_memory_equal(hn_package_ready_find(p, r, 8, 1000), packed_bytes[1], 1000);
    assert_memory_equal(hn_package_ready_find(p, r, UINT64_MAX, 1900), packed_bytes[2], 1900);
    assert_null(hn_package_ready_find(p, r, 8, 999)); /* another size than is wanted */
    assert_null(hn_package_ready_find(p, r, 9, 1000));
    ASSERT_OK(hn_onnx_load(&a, MODEL("layers"), NULL, &scratch_mem, &err), err);
    ASSERT_OK(hn_package_ready_model(p, r, &b, &scratch_mem, &err), err);
    assert_same_constants(a, b);
    hn_model_destroy(b);
    ASSERT_OK(hn_package_ready_read(p, 1, &r, &err), err);
    assert_string_equal(r->machine.isa, "amx");
    assert_int_equal(r->n, 0);
    hn_package_close(p);
    hn_model_destroy(a);
    ASSERT_OK(hn_package_unpack(scratch_path("ready.hone"), scratch_path("back.onnx"), &scratch_mem,
                                &err),
              err);
    assert_same_file(MODEL("layers"), scratch_path("back.onnx"));
    hn_file_unref(file);
}

/* Where a section lies, by its row in the table. */
static size_t section_at(const hn_file *file, size_t row, size_t *bytes) {
    const unsigned char *at = file->data + 40 + 32 * row;
    *bytes = (size_t)(at[16] | at[17] << 8 | at[18] << 16);
    return (size_t)(at[8] | at[9] << 8 | at[10] << 16);
}

/* What is ready is not there where it is damaged; the model still is, and a strict reader says so. */
static void damaged_ready_models_are_left_alone(void **state) {
    (void)state;
    hn_file *file = ready_package();
    unsigned char *bytes = (unsigned char *)file->data;
    size_t n, at = section_at(file, 2, &n);
    hn_onnx_options strict = {.check_stored = true};
    hn_package_ready *r;
    hn_package *p;
    hn_model *m;
    for (size_t i = at; i < at + n; i++) {
        bytes[i] ^= 1;
        ASSERT_OK(hn_package_open(&p, file, false, &scratch_mem, &err), err);
        ASSERT_FAILS(hn_package_ready_read(p, 0, &r, &err), err, HONE_E_FORMAT, "damaged");
        ASSERT_OK(hn_package_ready_read(p, 1, &r, &err), err);
        hn_package_close(p);
        bytes[i] ^= 1;
    }
    bytes[at] ^= 1;
    ASSERT_OK(hn_onnx_load_memory(&m, file, NULL, &scratch_mem, &err), err);
    hn_model_destroy(m);
    ASSERT_FAILS(hn_onnx_load_memory(&m, file, &strict, &scratch_mem, &err), err, HONE_E_FORMAT,
                 "ready to run is damaged");
    bytes[at] ^= 1;

    ASSERT_OK(hn_package_open(&p, file, false, &scratch_mem, &err), err);
    ASSERT_OK(hn_package_ready_read(p, 0, &r, &err), err);
    ((unsigned char *)r->packed[1].data)[5] ^= 1;
    assert_null(hn_package_ready_find(p, r, 8, 1000));
    assert_non_null(hn_package_ready_find(p, r, 7, 100));
    hn_package_close(p);
    ASSERT_FAILS(hn_onnx_load_memory(&m, file, &strict, &scratch_mem, &err), err, HONE_E_FORMAT,
                 "damaged");
    hn_file_unref(file);
}

/* Bytes that were changed on purpose, with a checksum that fits: nothing beyond the file is read. */
static void forged_ready_models(void **state) {
    (void)state;
    hn_file *file = ready_package();
    unsigned char *bytes = (unsigned char *)file->data, sum = 0;
    size_t n, at = section_at(file, 2, &n), taken = 0;
    for (size_t i = at; i < at + n; i++)
        for (int change = 1; change < 256; change = 2 * change + 1) {
            hn_package_ready *r;
            hn_package *p;
            hn_model *m;
            bytes[i] ^= (unsigned char)change;
            uint64_t v = hn_checksum(bytes + at, n);
            for (int k = 0; k < 8; k++) bytes[40 + 64 + 24 + k] = (unsigned char)(v >> (8 * k));
            seal(bytes, 4);
            ASSERT_OK(hn_package_open(&p, file, false, &scratch_mem, &err), err);
            if (hn_package_ready_read(p, 0, &r, &err) == HONE_OK) {
                taken++;
                for (size_t k = 0; k < r->n; k++) {
                    size_t size = r->packed[k].bytes;
                    const unsigned char *at_key = hn_package_ready_find(p, r, r->keys[k], size);
                    for (size_t b = 0; at_key != NULL && b < size; b++) sum ^= at_key[b];
                }
                if (hn_package_ready_model(p, r, &m, &scratch_mem, &err) == HONE_OK)
                    hn_model_destroy(m);
            } else {
                assert_int_equal(err.status, HONE_E_FORMAT);
            }
            hn_package_close(p);
            bytes[i] ^= (unsigned char)change;
        }
    assert_true(taken > 0 && sum != 1);
    hn_file_unref(file);
}

static void wrong_places(void **state) {
    (void)state;
    const char *package = scratch_path("p.hone");
    ASSERT_FAILS(hn_package_write(package, "/no/such.onnx", NULL, &scratch_mem, &err), err,
                 HONE_E_IO, "/no/such.onnx");
    ASSERT_FAILS(hn_package_write(package, MODEL("broken"), NULL, &scratch_mem, &err), err,
                 HONE_E_MODEL, "broken.onnx");
    ASSERT_OK(hn_package_write(package, DIGITS, NULL, &scratch_mem, &err), err);
    ASSERT_FAILS(hn_package_write(scratch_path("q.hone"), package, NULL, &scratch_mem, &err), err,
                 HONE_E_ARG, "is a package already");
    ASSERT_FAILS(hn_package_unpack(package, package, &scratch_mem, &err), err, HONE_E_ARG,
                 "will not be overwritten");
    ASSERT_FAILS(hn_package_unpack(DIGITS, scratch_path("q.onnx"), &scratch_mem, &err), err,
                 HONE_E_FORMAT, "no .hone package");
    ASSERT_FAILS(hn_package_write("/no/such/folder/p.hone", DIGITS, NULL, &scratch_mem, &err), err,
                 HONE_E_IO, "/no/such/folder");
}

static void lack_of_memory(void **state) {
    (void)state;
    const char *package = scratch_path("p.hone"), *back = scratch_path("p.onnx");
    hone_status done = HONE_E_NOMEM;
    for (int k = 0; done != HONE_OK; k++) {
        hn_allocator alloc;
        hn_model *m = NULL;
        hn_allocator_init(&alloc);
        atomic_store(&alloc.fail_after, k);
        done = hn_package_write(package, MODEL("layers"), NULL, &alloc, &err);
        if (done == HONE_OK) done = hn_onnx_load(&m, package, NULL, &alloc, &err);
        if (done == HONE_OK) done = hn_package_unpack(package, back, &alloc, &err);
        hn_model_destroy(m);
        if (done != HONE_OK && done != HONE_E_NOMEM) fail_msg("allocation %d: %s", k, err.text);
        assert_int_equal(atomic_load(&alloc.blocks), 0);
        assert_true(done != HONE_OK || k > 50);
    }
    assert_same_file(back, MODEL("layers"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_type),
        TEST(models_of_the_tests),
        TEST(external_data),
        TEST(real_models),
        TEST(raw_tensors_are_mapped),
        TEST(packages_repeat),
        TEST(every_byte_is_checked),
        TEST(every_cut_is_noticed),
        TEST(newer_versions),
        TEST(what_would_not_fit_is_refused),
        TEST(ready_models_come_back),
        TEST(damaged_ready_models_are_left_alone),
        TEST(forged_ready_models),
        TEST(wrong_places),
        TEST(lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
