#include <string.h>

#include "api/api.h"
#include "base/cpu.h"
#include "formats/package.h"

HN_DEFINE_OPTIONS(package, 0)

static hn_package_options own_options(const hone_package_options *o) {
    return (hn_package_options){o->fast, o->progress, o->progress_ctx};
}

static void alloc_init(hn_allocator *alloc) {
    hn_allocator_init(alloc);
    alloc->limit = hn_cpu_memory();
}

hone_status hone_package_write(const char *path, const char *model,
                               const hone_package_options *options, hone_error *err) {
    hone_package_options o;
    hn_allocator alloc;
    HN_TRY(HN_TAKE_OPTIONS(package, &o, options, err));
    alloc_init(&alloc);
    hn_package_options how = own_options(&o);
    return hn_package_write(path, model, &how, &alloc, err);
}

hone_status hone_model_package(hone_model *m, const char *path, const hone_package_options *options,
                               hone_error *err) {
    hone_package_options o;
    hn_file *file = NULL;
    HN_TRY(HN_TAKE_OPTIONS(package, &o, options, err));
    hn_package_options how = own_options(&o);
    HN_TRY(hn_model_check_target(m->ir, path, err));
    HN_TRY(hn_onnx_save_memory(&file, m->ir, NULL, err));
    hone_status status = hn_package_write_memory(path, file, &how, &m->alloc, err);
    hn_file_unref(file);
    return status;
}

hone_status hone_model_packaged_bytes(hone_model *m, const hone_package_options *options,
                                      int64_t *bytes, hone_error *err) {
    hone_package_options o;
    hn_file *file = NULL;
    uint64_t n = 0;
    HN_TRY(HN_TAKE_OPTIONS(package, &o, options, err));
    hn_package_options how = own_options(&o);
    HN_TRY(hn_onnx_save_memory(&file, m->ir, NULL, err));
    hone_status status = hn_package_bytes(file, &how, &n, &m->alloc, err);
    hn_file_unref(file);
    if (status == HONE_OK) *bytes = (int64_t)n;
    return status;
}

hone_status hone_package_unpack(const char *package, const char *path, hone_error *err) {
    hn_allocator alloc;
    alloc_init(&alloc);
    return hn_package_unpack(package, path, &alloc, err);
}

/* ---- inspection ---- */

typedef struct inspector {
    hone_package out;
    hn_allocator alloc;
    hn_arena arena;
    hn_package *package;
    size_t *first; /* number of the first tensor of each file */
    hone_package_tensor *tensors;
    hone_package_code codes[HN_CODE_COUNT_];
} inspector;

void hone_package_destroy(hone_package *package) {
    if (package == NULL) return;
    inspector *p = package->owner;
    hn_arena_deinit(&p->arena);
    hn_shown_free(package, &p->out);
    hn_free(hn_allocator_default(), p);
}

/* Gives the entry of a tensor its name. */
static hone_status on_cut(void *ctx, const hn_cut *cut, hn_error *err) {
    inspector *p = ctx;
    size_t k = 0;
    if (cut->location.n > 0)
        for (k = 1; k < p->package->n; k++)
            if (strlen(p->package->files[k].name) == cut->location.n &&
                memcmp(p->package->files[k].name, cut->location.p, cut->location.n) == 0)
                break;
    if (k == p->package->n || cut->name.n == 0) return HONE_OK;
    const hn_package_file *f = &p->package->files[k];
    const hn_package_entry *e = k == 0 ? hn_package_entry_at(f, (size_t)cut->offset)
                                       : hn_package_entry_over(f, cut->offset, 0);
    if (e == NULL || (k > 0 && e->offset != cut->offset)) return HONE_OK;
    hone_package_tensor *t = &p->tensors[p->first[k] + (size_t)(e - f->entries)];
    t->name = hn_arena_strndup(&p->arena, cut->name.p, cut->name.n);
    return t->name != NULL ? HONE_OK : HN_NOMEM(err);
}

static hone_status name_tensors(inspector *p, hn_error *err) {
    hn_file *literal;
    HN_TRY(hn_package_literal(p->package, 0, &literal, err));
    hone_status status = hn_cut_find(literal, 0, on_cut, p, err);
    hn_file_unref(literal);
    return status;
}

static void add_code(inspector *p, const hn_block *b) {
    const char *name = hn_code_name(b->code);
    hone_package_code *c = p->codes;
    while (c->code != NULL && strcmp(c->code, name) != 0) c++;
    c->code = name;
    c->tensors++;
    c->bytes += (int64_t)b->bytes;
    c->stored_bytes += (int64_t)b->stored;
    p->out.n_codes =
        (size_t)(c - p->codes) + 1 > p->out.n_codes ? (size_t)(c - p->codes) + 1 : p->out.n_codes;
}

static hone_status inspect(inspector *p, hn_error *err) {
    const hn_package *package = p->package;
    hone_package *out = &p->out;
    size_t n = 0;
    p->first = hn_arena_array(&p->arena, package->n, sizeof *p->first);
    if (p->first == NULL) return HN_NOMEM(err);
    for (size_t k = 0; k < package->n; k++) {
        p->first[k] = n;
        n += package->files[k].n;
    }
    p->tensors = hn_arena_array(&p->arena, n, sizeof *p->tensors);
    if (p->tensors == NULL) return HN_NOMEM(err);
    for (size_t k = 0; k < package->n; k++) {
        const hn_package_file *f = &package->files[k];
        const char *name = hn_arena_strdup(&p->arena, f->name);
        if (name == NULL) return HN_NOMEM(err);
        out->source_bytes += (int64_t)f->bytes;
        out->graph_bytes += (int64_t)f->literal.bytes;
        out->graph_stored_bytes += (int64_t)f->literal.stored;
        for (size_t i = 0; i < f->n; i++) {
            const hn_package_entry *e = &f->entries[i];
            p->tensors[p->first[k] + i] = (hone_package_tensor){"",
                                                                name,
                                                                e->dtype,
                                                                hn_code_name(e->block.code),
                                                                (int64_t)e->block.bytes,
                                                                (int64_t)e->block.stored};
            add_code(p, &e->block);
        }
    }
    out->format = package->format;
    out->file_bytes = (int64_t)package->file->bytes;
    out->files = (int64_t)package->n;
    out->graph_code = hn_code_name(package->files[0].literal.code);
    out->codes = p->codes;
    out->n_tensors = n;
    out->tensors = p->tensors;
    return name_tensors(p, err);
}

hone_status hone_package_inspect_sized(hone_package **out, const char *path,
                                       const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(package, codes, n_codes, package_code),
                                    HN_LIST(package, tensors, n_tensors, package_tensor)};
    hn_file *file = NULL;
    inspector *p = hn_alloc_zero(hn_allocator_default(), sizeof *p, HN_MEM_OTHER);
    if (p == NULL) return HN_NOMEM(err);
    p->out.size = sizeof p->out;
    p->out.owner = p;
    alloc_init(&p->alloc);
    hn_arena_init(&p->arena, &p->alloc, HN_MEM_OTHER);
    hone_status status = hn_file_open(&file, path, true, &p->alloc, err);
    if (status == HONE_OK) {
        status = hn_package_open(&p->package, file, false, &p->alloc, err);
        if (status == HONE_OK) status = inspect(p, err);
        if (status != HONE_OK) hn_error_context(err, "%s", path);
    }
    hn_package_close(p->package);
    hn_file_unref(file);
    p->package = NULL;
    if (status == HONE_OK) HN_HAND_OUT(out, &p->out, lists, caller, package, err);
    hone_package_destroy(&p->out);
    return status;
}
