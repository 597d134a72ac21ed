#include "api/ready.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/identity.h"
#include "base/isa.h"
#include "base/log.h"
#include "engine/weights.h"

/* ---- which machine ---- */

/* Layouts belong to one version of the library. */
static void library_text(char *text, size_t bytes) {
    snprintf(text, bytes, "%s %s", hone_version(), hn_source_identity);
}

const char *hn_api_ready_unused(const hn_package_machine *made, hn_isa isa) {
    char library[100];
    library_text(library, sizeof library);
    hn_near_caches near = hn_near_caches_get();
    if (strcmp(made->library, library) != 0) return "it was made by another version of hone";
    if (strcmp(made->isa, hn_isa_name(isa)) != 0) return "it is for another instruction set";
    if (made->l1 != (uint64_t)near.l1 || made->l2 != (uint64_t)near.l2)
        return "it is for a CPU with other caches";
    return NULL;
}

/* ---- finding ---- */

typedef struct form {
    hn_premade kept; /* whose ctx is this */
    hn_package *package;
    hn_package_ready *ready; /* NULL: damaged */
} form;

struct hn_api_ready {
    hn_package *package;
    const char *path; /* of the package */
    size_t n;
    form *forms;
};

static hone_status form_model(void *ctx, hn_model **out, hn_allocator *alloc, hn_error *err) {
    form *f = ctx;
    return hn_package_ready_model(f->package, f->ready, out, alloc, err);
}

static const void *form_packed(void *ctx, uint64_t key, size_t bytes) {
    const form *f = ctx;
    return hn_package_ready_find(f->package, f->ready, key, bytes);
}

static const hn_premade *find(void *ctx, hn_isa isa) {
    const hn_api_ready *r = ctx;
    const char *why = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const form *f = &r->forms[i];
        const char *unused =
            f->ready == NULL ? "it is damaged" : hn_api_ready_unused(&f->ready->machine, isa);
        if (unused == NULL) return &f->kept;
        if (why == NULL || r->n == 1) why = unused;
    }
    if (why != NULL)
        hn_log(HONE_LOG_INFO, "%s: what is ready to run is not used: %s", r->path, why);
    return NULL;
}

static hone_status read_forms(hone_model *m, hn_api_ready *r, hn_error *err) {
    hn_package *p = r->package;
    r->forms = hn_alloc_array(&m->alloc, p->n_ready, sizeof *r->forms, HN_MEM_OTHER);
    if (r->forms == NULL) return HN_NOMEM(err);
    for (; r->n < p->n_ready; r->n++) {
        form *f = &r->forms[r->n];
        hn_error unread;
        *f = (form){.kept = {f, form_model, form_packed}, .package = p};
        if (hn_package_ready_read(p, r->n, &f->ready, &unread) == HONE_E_NOMEM)
            return HN_NOMEM(err);
    }
    return HONE_OK;
}

hone_status hn_api_ready_open(hone_model *m, hn_file *package, hn_error *err) {
    hn_api_ready *r = hn_alloc_zero(&m->alloc, sizeof *r, HN_MEM_OTHER);
    if (r == NULL) return HN_NOMEM(err);
    m->ready = r;
    HN_TRY(hn_package_open(&r->package, package, false, &m->alloc, err));
    r->path = r->package->file->path;
    HN_TRY(read_forms(m, r, err));
    m->prepared.kept = find;
    m->prepared.kept_ctx = r;
    return HONE_OK;
}

void hn_api_ready_close(hone_model *m) {
    hn_api_ready *r = m->ready;
    if (r == NULL) return;
    m->prepared.kept = NULL;
    m->ready = NULL;
    hn_package_close(r->package);
    hn_free(&m->alloc, r->forms);
    hn_free(&m->alloc, r);
}

/* ---- making ---- */

struct hn_api_maker {
    hone_model *m;
    hone_session *s;
    hn_allocator alloc;
    hn_file *file; /* the model after the passes */
    hn_premade kept;
    char library[100], cpu[200];
    hn_package_made made;
    size_t room;
    hn_package_packed *packed;
    bool failed; /* out of memory */
};

static hone_status own_model(void *ctx, hn_model **out, hn_allocator *alloc, hn_error *err) {
    const hn_api_maker *k = ctx;
    return hn_onnx_load_memory(out, k->file, NULL, alloc, err);
}

static const void *nothing_packed(void *ctx, uint64_t key, size_t bytes) {
    (void)ctx, (void)key, (void)bytes;
    return NULL;
}

static const hn_premade *own_kept(void *ctx, hn_isa isa) {
    (void)isa;
    return &((const hn_api_maker *)ctx)->kept;
}

static hone_status copy(hn_api_maker *k, const hn_file *file, hn_error *err) {
    void *block = hn_alloc(&k->alloc, file->bytes, HN_MEM_MODEL);
    if (block == NULL) return HN_NOMEM(err);
    memcpy(block, file->data, file->bytes);
    hone_status status = hn_file_adopt(&k->file, "(ready)", block, file->bytes, &k->alloc, err);
    if (status != HONE_OK) hn_free(&k->alloc, block);
    return status;
}

/* What the passes make of the model, in the file of the maker. */
static hone_status make_model(hn_api_maker *k, const hone_session_options *o, hn_error *err) {
    HN_TRY(hone_session_create(&k->s, k->m, o, err));
    hn_model *after = k->m->prepared.first->model;
    for (const hn_node *n = after->graph->first; n != NULL; n = n->next)
        HN_CHECK(err, n->written == HONE_DTYPE_NONE, HONE_E_UNSUPPORTED,
                 "models that compute in 16-bit floats cannot be packaged ready to run");
    hn_onnx_save_options how = {.opset = HN_NEWEST_OPSET};
    hn_file *file;
    HN_TRY(hn_onnx_save_memory(&file, after, &how, err));
    hone_status status = copy(k, file, err); /* it goes with the session */
    hn_file_unref(file);
    hone_session_destroy(k->s);
    k->s = NULL;
    return status;
}

/* The size that dims, "N=1,S=128", gives a symbolic axis; 0: none. */
static int64_t size_of(const char *dims, const char *name) {
    size_t n = strlen(name);
    for (const char *at = dims; at != NULL && *at != '\0'; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, name, n) == 0 && at[n] == '=') return strtoll(at + n + 1, NULL, 10);
    }
    return 0;
}

/* As programs of the command line do: 1 for a first axis, 128 for others. */
static hone_status prepare(hn_api_maker *k, const char *dims, hn_error *err) {
    size_t n = k->m->n_inputs;
    hone_value *in = hn_alloc_zero(&k->alloc, (n + 1) * sizeof *in, HN_MEM_OTHER);
    if (in == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < n; i++) {
        const hone_value_info *v = &k->m->inputs[i];
        in[i] = (hone_value){.name = v->name, .dtype = v->dtype, .rank = v->rank};
        for (int d = 0; d < v->rank; d++) {
            int64_t asked = v->dim_names[d] != NULL ? size_of(dims, v->dim_names[d]) : 0;
            in[i].dims[d] = v->dims[d] >= 0 ? v->dims[d] : asked > 0 ? asked : d == 0 ? 1 : 128;
        }
    }
    hone_status status = hone_session_prepare(k->s, n, in, err);
    hn_free(&k->alloc, in);
    return status;
}

static void add_packed(void *ctx, uint64_t key, const hn_packed *p) {
    hn_api_maker *k = ctx;
    if (k->made.n == k->room) {
        size_t room = 2 * k->room + 64;
        hn_package_packed *grown =
            hn_realloc(&k->alloc, k->packed, room * sizeof *grown, HN_MEM_OTHER);
        k->failed = k->failed || grown == NULL;
        if (grown == NULL) return;
        k->packed = grown;
        k->room = room;
    }
    k->packed[k->made.n++] = (hn_package_packed){key, p->data, p->bytes};
}

static int by_key(const void *a, const void *b) {
    const hn_package_packed *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static unsigned plain(void *ctx, const char *name, size_t bytes) {
    const hn_api_maker *k = ctx;
    const hn_value *v = hn_graph_value(k->m->prepared.first->model->graph, name);
    const hn_tensor *t = v != NULL ? v->constant : NULL;
    return t != NULL && t->dtype == HONE_DTYPE_F32 && t->bytes == bytes ? hn_tensor_plain(t) : 0;
}

/* A session of the model that make_model wrote, so that names are those of a session to come. */
static hone_status make_packed(hn_api_maker *k, const hone_session_options *o, const char *dims,
                               hn_error *err) {
    k->kept = (hn_premade){k, own_model, nothing_packed};
    k->m->prepared.kept = own_kept;
    k->m->prepared.kept_ctx = k;
    HN_TRY(hone_session_create(&k->s, k->m, o, err));
    HN_CHECK(err, k->m->prepared.first->kept != NULL, HONE_E_UNSUPPORTED,
             "the model cannot be packaged ready to run: it is another once it is saved");
    HN_TRY(prepare(k, dims, err));
    hn_weights_each(k->m->prepared.first->weights, add_packed, k);
    if (k->failed) return HN_NOMEM(err);
    size_t n = 0;
    if (k->made.n > 0) qsort(k->packed, k->made.n, sizeof *k->packed, by_key);
    for (size_t i = 0; i < k->made.n; i++)
        if (n == 0 || k->packed[i].key != k->packed[n - 1].key) k->packed[n++] = k->packed[i];
    k->made.n = n;
    return HONE_OK;
}

static hone_status make(hn_api_maker *k, const char *isa, const char *dims, hn_error *err) {
    hone_session_options o;
    hone_session_options_init(&o);
    o.isa = isa;
    HN_TRY(make_model(k, &o, err));
    HN_TRY(make_packed(k, &o, dims, err));
    hn_near_caches near = hn_near_caches_get();
    library_text(k->library, sizeof k->library);
    hn_cpu_name("", k->cpu, sizeof k->cpu);
    k->made.machine = (hn_package_machine){.library = k->library,
                                           .isa = hone_session_isa(k->s),
                                           .cpu = k->cpu,
                                           .l1 = (uint64_t)near.l1,
                                           .l2 = (uint64_t)near.l2};
    k->made.model = k->file;
    k->made.plain = plain;
    k->made.ctx = k;
    k->made.packed = k->packed;
    return HONE_OK;
}

hone_status hn_api_maker_create(hn_api_maker **out, hone_model *m, const char *isa,
                                const char *dims, hn_error *err) {
    hn_api_maker *k = hn_alloc_zero(hn_allocator_default(), sizeof *k, HN_MEM_OTHER);
    if (k == NULL) {
        hone_model_destroy(m);
        return HN_NOMEM(err);
    }
    hn_allocator_init(&k->alloc);
    k->m = m;
    hone_status status = make(k, isa, dims, err);
    if (status == HONE_OK)
        *out = k;
    else
        hn_api_maker_destroy(k);
    return status;
}

void hn_api_maker_destroy(hn_api_maker *k) {
    if (k == NULL) return;
    hone_session_destroy(k->s);
    hn_file_unref(k->file);
    hone_model_destroy(k->m);
    hn_free(&k->alloc, k->packed);
    hn_free(hn_allocator_default(), k);
}

const hn_package_made *hn_api_maker_made(const hn_api_maker *k) { return &k->made; }
