#include <limits.h>
#include <string.h>

#include "api/api.h"
#include "api/ready.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/span.h"
#include "compress/lineage.h"
#include "formats/onnx.h"
#include "formats/onnx_check.h"
#include "ir/text.h"
#include "measure/inspect.h"
#include "ops/infer.h"
#include "passes/set_dim.h"

hone_status hn_api_model_create(hone_model **out, hn_error *err) {
    hone_model *m = hn_alloc_zero(hn_allocator_default(), sizeof *m, HN_MEM_MODEL);
    if (m == NULL) return HN_NOMEM(err);
    atomic_init(&m->refs, 1);
    hn_allocator_init(&m->alloc);
    m->alloc.limit = hn_cpu_memory();
    hn_arena_init(&m->arena, &m->alloc, HN_MEM_MODEL);
    pthread_mutex_init(&m->prepared.lock, NULL);
    *out = m;
    return HONE_OK;
}

void hn_api_model_unref(hone_model *m) {
    while (m != NULL && atomic_fetch_sub(&m->refs, 1) == 1) {
        hone_model *made_of = m->made_of;
        hn_api_ready_close(m);
        hn_model_destroy(m->ir);
        hn_arena_deinit(&m->arena);
        pthread_mutex_destroy(&m->prepared.lock);
        hn_free(hn_allocator_default(), m);
        m = made_of;
    }
}

void hone_model_destroy(hone_model *model) { hn_api_model_unref(model); }

/* ---- inputs and outputs ---- */

static hone_status describe(hone_model *m, const hn_value *v, hone_value_info *out, hn_error *err) {
    *out = (hone_value_info){.name = v->name, .rank = -1};
    if (v->type.kind != HN_TYPE_TENSOR) return HONE_OK;
    out->dtype = v->type.dtype;
    out->rank = v->type.shape.rank;
    for (int i = 0; i < out->rank; i++) {
        hn_dim d = v->type.shape.dim[i];
        char text[256];
        if (hn_dim_is_const(d, &out->dims[i])) continue;
        out->dims[i] = -1;
        out->dim_names[i] = hn_arena_strdup(&m->arena, hn_dim_text(d, text, sizeof text));
        if (out->dim_names[i] == NULL) return HN_NOMEM(err);
    }
    return HONE_OK;
}

static hone_status describe_all(hone_model *m, hn_error *err) {
    const hn_graph *g = m->ir->graph;
    size_t n_in = 0, n_out = (size_t)g->n_outputs;
    hone_value_info *in = hn_arena_array(&m->arena, (size_t)g->n_inputs, sizeof *in);
    hone_value_info *out = hn_arena_array(&m->arena, n_out, sizeof *out);
    if (in == NULL || out == NULL) return HN_NOMEM(err);
    for (int i = 0; i < g->n_inputs; i++)
        if (g->inputs[i]->constant == NULL) HN_TRY(describe(m, g->inputs[i], &in[n_in++], err));
    for (size_t i = 0; i < n_out; i++) HN_TRY(describe(m, g->outputs[i].value, &out[i], err));
    m->inputs = in;
    m->n_inputs = n_in;
    m->outputs = out;
    m->n_outputs = n_out;
    return HONE_OK;
}

size_t hone_model_n_inputs(const hone_model *m) { return m->n_inputs; }
size_t hone_model_n_outputs(const hone_model *m) { return m->n_outputs; }

hone_status hone_model_input_sized(const hone_model *m, size_t i, hone_value_info *out,
                                   const hone_layout *caller, hone_error *err) {
    HN_CHECK(err, i < m->n_inputs, HONE_E_ARG, "input %zu was asked for, the model has %zu", i,
             m->n_inputs);
    HN_GIVE(out, &m->inputs[i], caller, value_info);
    return HONE_OK;
}

hone_status hone_model_output_sized(const hone_model *m, size_t i, hone_value_info *out,
                                    const hone_layout *caller, hone_error *err) {
    HN_CHECK(err, i < m->n_outputs, HONE_E_ARG, "output %zu was asked for, the model has %zu", i,
             m->n_outputs);
    HN_GIVE(out, &m->outputs[i], caller, value_info);
    return HONE_OK;
}

const char *hone_model_metadata(const hone_model *m, const char *key) {
    return hn_model_metadata(m->ir, key);
}

/* ---- loading ---- */

HN_DEFINE_OPTIONS(load, 0)

hone_status hn_api_model_complete(hone_model *m, hn_error *err) {
    int64_t begun = hn_span_begin();
    hn_api_ready_close(m);
    HN_TRY(hn_model_verify(m->ir, err));
    /* Initializers that are also inputs are as good as constants until somebody overrides them. */
    HN_TRY(hn_model_infer(m->ir, &(hn_infer_options){.defaults = true, .free_zeros = true}, err));
    hn_span_end("load", "infer", begun, (int64_t)atomic_load(&m->alloc.live));
    return describe_all(m, err);
}

/* Hands the model out, or destroys it. */
static hone_status finish(hone_model *m, int64_t begun, hone_status status, hone_model **out) {
    if (status != HONE_OK) {
        hn_api_model_unref(m);
        return status;
    }
    hn_log(HONE_LOG_INFO, "%s: %d nodes, read in %.1f ms",
           m->ir->path != NULL ? m->ir->path : "(text)", m->ir->graph->n_nodes,
           (double)(hn_clock_ns() - begun) * 1e-6);
    *out = m;
    return HONE_OK;
}

/* With what it has for sessions. */
static hone_status load_package(hone_model *m, hn_file *file, hn_error *err) {
    HN_TRY(hn_package_load(&m->ir, file, NULL, &m->alloc, err));
    hone_status status = hn_api_model_complete(m, err);
    if (status == HONE_OK) status = hn_api_ready_open(m, file, err);
    if (status != HONE_OK) hn_error_context(err, "%s", file->path);
    return status;
}

hone_status hone_model_load(hone_model **out, const char *path, const hone_load_options *options,
                            hone_error *err) {
    hone_load_options o;
    HN_TRY(HN_TAKE_OPTIONS(load, &o, options, err));
    int64_t begun = hn_clock_ns();
    hone_model *m;
    hn_file *file = NULL;
    HN_TRY(hn_api_model_create(&m, err));
    hn_error unread;
    hone_status status;
    /* Packed weights are of use only where they are mapped. */
    bool open = !o.no_mmap && hn_file_open(&file, path, true, &m->alloc, &unread) == HONE_OK;
    if (open && hn_package_is(file)) {
        status = load_package(m, file, err);
    } else {
        hn_file_unref(file);
        file = NULL;
        status =
            hn_onnx_load(&m->ir, path, &(hn_onnx_options){.no_mmap = o.no_mmap}, &m->alloc, err);
        if (status == HONE_OK) {
            status = hn_api_model_complete(m, err);
            if (status != HONE_OK) hn_error_context(err, "%s", path);
        }
    }
    hn_file_unref(file);
    return finish(m, begun, status, out);
}

hone_status hn_api_model_adopt(hn_model *ir, hone_model **out, hn_error *err) {
    hone_model *m;
    hone_status status = hn_api_model_create(&m, err);
    if (status != HONE_OK) {
        hn_model_destroy(ir);
        return status;
    }
    m->ir = ir;
    status = hn_api_model_complete(m, err);
    if (status != HONE_OK)
        hn_api_model_unref(m);
    else
        *out = m;
    return status;
}

/* A file made of a copy of the caller's bytes. */
static hone_status copy_file(hn_file **out, const void *data, size_t bytes, hn_allocator *alloc,
                             hn_error *err) {
    void *block = hn_alloc(alloc, bytes, HN_MEM_MODEL);
    if (block == NULL) return HN_NOMEM(err);
    if (bytes > 0) memcpy(block, data, bytes);
    hone_status status = hn_file_adopt(out, "(memory)", block, bytes, alloc, err);
    if (status != HONE_OK) hn_free(alloc, block);
    return status;
}

hone_status hone_model_load_memory(hone_model **out, const void *data, size_t bytes,
                                   hone_error *err) {
    int64_t begun = hn_clock_ns();
    hone_model *m;
    hn_file *file = NULL;
    HN_TRY(hn_api_model_create(&m, err));
    hone_status status = copy_file(&file, data, bytes, &m->alloc, err);
    if (status == HONE_OK && hn_package_is(file)) {
        status = load_package(m, file, err);
    } else if (status == HONE_OK) {
        status = hn_onnx_load_memory(&m->ir, file, NULL, &m->alloc, err);
        if (status == HONE_OK) status = hn_api_model_complete(m, err);
    }
    hn_file_unref(file);
    return finish(m, begun, status, out);
}

hone_status hone_model_load_text(hone_model **out, const char *text, hone_error *err) {
    int64_t begun = hn_clock_ns();
    hone_model *m;
    HN_TRY(hn_api_model_create(&m, err));
    hone_status status = hn_text_parse(&m->ir, text, strlen(text), NULL, &m->alloc, err);
    if (status == HONE_OK) {
        m->ir->file_bytes = (int64_t)strlen(text);
        hn_model_bind_ops(m->ir);
        status = hn_api_model_complete(m, err);
    }
    return finish(m, begun, status, out);
}

/* ---- saving and printing ---- */

HN_DEFINE_OPTIONS(save, 0)

hone_status hone_model_save(hone_model *m, const char *path, const hone_save_options *options,
                            hone_error *err) {
    hone_save_options o;
    HN_TRY(HN_TAKE_OPTIONS(save, &o, options, err));
    HN_CHECK(err, o.opset >= 0 && o.external_min >= 0, HONE_E_ARG,
             "opset %lld and external_min %lld, expected 0 or more", (long long)o.opset,
             (long long)o.external_min);
    hn_onnx_save_options how = {.opset = o.opset,
                                .external = o.external_min > 0,
                                .external_threshold = (size_t)o.external_min};
    return hn_onnx_save(m->ir, path, &how, err);
}

typedef struct text {
    char *data;
    size_t bytes, capacity;
} text;

static hone_status append(void *ctx, const void *data, size_t bytes, hn_error *err) {
    text *t = ctx;
    if (bytes >= t->capacity - t->bytes) {
        size_t capacity = 2 * t->capacity + bytes + 1024;
        char *grown = hn_realloc(hn_allocator_default(), t->data, capacity, HN_MEM_OTHER);
        if (grown == NULL) return HN_NOMEM(err);
        t->data = grown;
        t->capacity = capacity;
    }
    if (bytes > 0) memcpy(t->data + t->bytes, data, bytes);
    t->bytes += bytes;
    t->data[t->bytes] = '\0';
    return HONE_OK;
}

hone_status hone_model_print(const hone_model *m, char **out, hone_error *err) {
    text t = {0};
    hn_text_out to = {.text = append, .text_ctx = &t, .all_types = true};
    hone_status status = hn_text_print(m->ir, &to, err);
    if (status == HONE_OK)
        *out = t.data;
    else
        hn_free(hn_allocator_default(), t.data);
    return status;
}

/* ---- sizes of inputs ---- */

static hone_status set_dims(hone_model *m, const hone_dim_setting *settings, size_t n,
                            hn_error *err) {
    HN_CHECK(err, atomic_load(&m->refs) == 1, HONE_E_ARG,
             "the sizes of a model cannot change while sessions of it exist");
    HN_CHECK(err, n <= INT_MAX, HONE_E_ARG, "%zu settings", n);
    hn_dim_setting *own = hn_alloc_array(&m->alloc, n + 1, sizeof *own, HN_MEM_OTHER);
    if (own == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        own[i] = (hn_dim_setting){settings[i].input, settings[i].axis, settings[i].to};
    hone_status status = hn_model_set_dims(m->ir, own, (int)n, err);
    hn_free(&m->alloc, own);
    hn_api_ready_close(m);
    return status == HONE_OK ? describe_all(m, err) : status;
}

hone_status hone_model_set_dims_sized(hone_model *m, const hone_dim_setting *settings, size_t n,
                                      const hone_layout *caller, hone_error *err) {
    hn_caller_array own;
    HN_TRY(HN_TAKE_ARRAY(&own, settings, n, caller, dim_setting, err));
    hone_status status = set_dims(m, own.own, n, err);
    hn_caller_array_deinit(&own);
    return status;
}

/* ---- inspection and conformance ---- */

hone_status hone_model_inspect_sized(hone_model *m, const hone_dim_value *dims, size_t n_dims,
                                     hone_inspection **out, const hone_layout *caller,
                                     hone_error *err) {
    static const hn_list lists[] = {HN_LIST(inspection, nodes, n_nodes, node_info),
                                    HN_LIST(inspection, ops, n_ops, op_use),
                                    HN_LIST(inspection, dtypes, n_dtypes, dtype_use),
                                    HN_LIST(inspection, dims, n_dims, dim_value)};
    hone_inspection *made;
    hn_caller_array own;
    HN_TRY(HN_TAKE_ARRAY(&own, dims, n_dims, caller, dim_value, err));
    hone_status status =
        hn_model_inspect(m->ir, own.own, n_dims, hn_allocator_default(), &made, err);
    hn_caller_array_deinit(&own);
    HN_TRY(status);
    HN_HAND_OUT(out, made, lists, caller, inspection, err);
}

void hone_inspection_destroy(hone_inspection *inspection) { hn_inspection_destroy(inspection); }

hone_status hone_model_check(const char *path, void (*finding)(void *ctx, const char *text),
                             void *ctx, size_t *n_findings, hone_error *err) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    alloc.limit = hn_cpu_memory();
    return hn_onnx_check(path, finding, ctx, n_findings, &alloc, err);
}
