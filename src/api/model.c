#include <string.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/log.h"
#include "formats/onnx.h"
#include "formats/onnx_check.h"
#include "measure/inspect.h"
#include "ops/infer.h"

void hone_load_options_init(hone_load_options *o) { *o = (hone_load_options){.size = sizeof *o}; }

static hone_status create(hone_model **out, hn_error *err) {
    hone_model *m = hn_alloc_zero(hn_allocator_default(), sizeof *m, HN_MEM_MODEL);
    if (m == NULL) return HN_NOMEM(err);
    atomic_init(&m->refs, 1);
    hn_allocator_init(&m->alloc);
    m->alloc.limit = hn_cpu_memory();
    hn_arena_init(&m->texts, &m->alloc, HN_MEM_MODEL);
    *out = m;
    return HONE_OK;
}

void hn_api_model_unref(hone_model *m) {
    if (m == NULL || atomic_fetch_sub(&m->refs, 1) != 1) return;
    hn_model_destroy(m->ir);
    hn_arena_deinit(&m->texts);
    hn_free(hn_allocator_default(), m);
}

void hone_model_destroy(hone_model *model) { hn_api_model_unref(model); }

/* What every way of loading ends with. Takes m over. */
static hone_status finish(hone_model *m, hone_status status, hone_model **out, hn_error *err) {
    if (status == HONE_OK) status = hn_model_verify(m->ir, err);
    if (status == HONE_OK) status = hn_model_infer(m->ir, NULL, err);
    if (status != HONE_OK) {
        hn_api_model_unref(m);
        return status;
    }
    *out = m;
    return HONE_OK;
}

hone_status hone_model_load(hone_model **out, const char *path, const hone_load_options *options,
                            hone_error *err) {
    hone_load_options o;
    hone_load_options_init(&o);
    if (options != NULL) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    hone_model *m;
    HN_TRY(create(&m, err));
    struct stat s;
    if (stat(path, &s) == 0) m->file_bytes = s.st_size;
    hn_onnx_options how = {.no_mmap = o.no_mmap};
    hone_status status = hn_onnx_load(&m->ir, path, &how, &m->alloc, err);
    if (status == HONE_OK) {
        status = finish(m, status, out, err);
        if (status != HONE_OK) hn_error_context(err, "%s", path);
        return status;
    }
    return finish(m, status, out, err);
}

hone_status hone_model_load_memory(hone_model **out, const void *data, size_t bytes,
                                   hone_error *err) {
    hone_model *m;
    HN_TRY(create(&m, err));
    m->file_bytes = (int64_t)bytes;
    hn_file *file = NULL;
    hone_status status = HONE_OK;
    void *block = hn_alloc(&m->alloc, bytes, HN_MEM_MODEL);
    if (block == NULL)
        status = HN_NOMEM(err);
    else if (bytes > 0)
        memcpy(block, data, bytes);
    if (status == HONE_OK) {
        status = hn_file_adopt(&file, "(memory)", block, bytes, &m->alloc, err);
        if (status != HONE_OK) hn_free(&m->alloc, block);
    }
    if (status == HONE_OK) status = hn_onnx_load_memory(&m->ir, file, NULL, &m->alloc, err);
    hn_file_unref(file);
    return finish(m, status, out, err);
}

/* ---- inputs and outputs ---- */

static size_t n_open_inputs(const hn_graph *g) {
    size_t n = 0;
    for (int i = 0; i < g->n_inputs; i++) n += g->inputs[i]->constant == NULL;
    return n;
}

size_t hone_model_n_inputs(const hone_model *m) { return n_open_inputs(m->ir->graph); }
size_t hone_model_n_outputs(const hone_model *m) { return (size_t)m->ir->graph->n_outputs; }

static hone_status describe(hone_model *m, const hn_value *v, hone_value_info *out, hn_error *err) {
    hone_value_info info = {.name = v->name, .rank = -1};
    if (v->type.kind == HN_TYPE_TENSOR) {
        info.dtype = v->type.dtype;
        info.rank = v->type.shape.rank;
    }
    for (int i = 0; i < info.rank; i++) {
        char text[256];
        if (hn_dim_is_const(v->type.shape.dim[i], &info.dims[i])) continue;
        info.dims[i] = -1;
        info.dim_names[i] =
            hn_arena_strdup(&m->texts, hn_dim_text(v->type.shape.dim[i], text, sizeof text));
        if (info.dim_names[i] == NULL) return HN_NOMEM(err);
    }
    *out = info;
    return HONE_OK;
}

hone_status hone_model_input(hone_model *m, size_t i, hone_value_info *out, hone_error *err) {
    const hn_graph *g = m->ir->graph;
    for (int k = 0; k < g->n_inputs; k++)
        if (g->inputs[k]->constant == NULL && i-- == 0) return describe(m, g->inputs[k], out, err);
    return HN_FAIL(err, HONE_E_ARG, "the model has %zu inputs", n_open_inputs(g));
}

hone_status hone_model_output(hone_model *m, size_t i, hone_value_info *out, hone_error *err) {
    const hn_graph *g = m->ir->graph;
    HN_CHECK(err, i < (size_t)g->n_outputs, HONE_E_ARG, "the model has %d outputs", g->n_outputs);
    return describe(m, g->outputs[i].value, out, err);
}

/* ---- inspection ---- */

hone_status hone_model_inspect(hone_model *m, const hone_dim_value *dims, size_t n_dims,
                               hone_inspection **out, hone_error *err) {
    HN_TRY(hn_model_inspect(m->ir, dims, n_dims, hn_allocator_default(), out, err));
    (*out)->file_bytes = m->file_bytes;
    return HONE_OK;
}

void hone_inspection_destroy(hone_inspection *inspection) { hn_inspection_destroy(inspection); }

/* ---- conformance ---- */

hone_status hone_model_check(const char *path, void (*finding)(void *ctx, const char *text),
                             void *ctx, size_t *n_findings, hone_error *err) {
    hn_allocator alloc;
    hn_allocator_init(&alloc);
    alloc.limit = hn_cpu_memory();
    return hn_onnx_check(path, finding, ctx, n_findings, &alloc, err);
}
