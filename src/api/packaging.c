#include <string.h>

#include "api/ready.h"
#include "base/cpu.h"
#include "base/isa.h"
#include "formats/package.h"

HN_DEFINE_OPTIONS(package, 0)

static void alloc_init(hn_allocator *alloc) {
    hn_allocator_init(alloc);
    alloc->limit = hn_cpu_memory();
}

/* ---- writing ---- */

enum { MOST_READY = 8 };

/* The model ready to run, for each instruction set that is asked for. */
typedef struct makers {
    size_t n;
    hn_api_maker *of[MOST_READY];
    hn_package_made made[MOST_READY];
} makers;

static void destroy_makers(makers *k) {
    while (k->n > 0) hn_api_maker_destroy(k->of[--k->n]);
}

/* path: of the model; NULL: it is the file. */
static hone_status make_one(makers *k, const char *path, hn_file *file, const char *isa,
                            const char *dims, hn_error *err) {
    hone_model *m;
    if (path != NULL) {
        HN_TRY(hone_model_load(&m, path, NULL, err));
    } else {
        HN_TRY(hn_api_model_create(&m, err));
        hone_status status = hn_onnx_load_memory(&m->ir, file, NULL, &m->alloc, err);
        if (status == HONE_OK) status = hn_api_model_complete(m, err);
        if (status != HONE_OK) {
            hone_model_destroy(m);
            return status;
        }
    }
    HN_TRY(hn_api_maker_create(&k->of[k->n], m, isa, dims, err));
    k->made[k->n] = *hn_api_maker_made(k->of[k->n]);
    k->n++;
    return HONE_OK;
}

static hone_status make_ready(makers *k, const hone_package_options *o, const char *path,
                              hn_file *file, hn_error *err) {
    const char *at = o->ready;
    if (at == NULL) return HONE_OK;
    do {
        char isa[32];
        size_t n = strcspn(at, ",");
        HN_CHECK(err, n < sizeof isa && k->n < MOST_READY, HONE_E_ARG,
                 "'%.200s' are not at most %d instruction sets", o->ready, MOST_READY);
        memcpy(isa, at, n);
        isa[n] = '\0';
        HN_TRY(make_one(k, path, file, n > 0 ? isa : NULL, o->ready_dims, err));
        at += n + (at[n] == ',');
    } while (*at != '\0');
    return HONE_OK;
}

static hn_package_options own_options(const hone_package_options *o, const makers *k) {
    return (hn_package_options){.fast = o->fast || o->ready != NULL,
                                .keep_going = o->progress,
                                .ctx = o->progress_ctx,
                                .n_made = k->n,
                                .made = k->made};
}

hone_status hone_package_write(const char *path, const char *model,
                               const hone_package_options *options, hone_error *err) {
    hone_package_options o;
    hn_allocator alloc;
    makers k = {0};
    HN_TRY(HN_TAKE_OPTIONS(package, &o, options, err));
    alloc_init(&alloc);
    hone_status status = make_ready(&k, &o, model, NULL, err);
    hn_package_options how = own_options(&o, &k);
    if (status == HONE_OK) status = hn_package_write(path, model, &how, &alloc, err);
    destroy_makers(&k);
    return status;
}

hone_status hone_model_package(hone_model *m, const char *path, const hone_package_options *options,
                               hone_error *err) {
    hone_package_options o;
    hn_file *file = NULL;
    makers k = {0};
    HN_TRY(HN_TAKE_OPTIONS(package, &o, options, err));
    HN_TRY(hn_model_check_target(m->ir, path, err));
    HN_TRY(hn_onnx_save_memory(&file, m->ir, NULL, err));
    hone_status status = make_ready(&k, &o, NULL, file, err);
    hn_package_options how = own_options(&o, &k);
    if (status == HONE_OK) status = hn_package_write_memory(path, file, &how, &m->alloc, err);
    destroy_makers(&k);
    hn_file_unref(file);
    return status;
}

hone_status hone_model_packaged_bytes(hone_model *m, const hone_package_options *options,
                                      int64_t *bytes, hone_error *err) {
    hone_package_options o;
    hn_file *file = NULL;
    makers k = {0};
    uint64_t n = 0;
    HN_TRY(HN_TAKE_OPTIONS(package, &o, options, err));
    HN_TRY(hn_onnx_save_memory(&file, m->ir, NULL, err));
    hone_status status = make_ready(&k, &o, NULL, file, err);
    hn_package_options how = own_options(&o, &k);
    if (status == HONE_OK) status = hn_package_bytes(file, &how, &n, &m->alloc, err);
    destroy_makers(&k);
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
    hone_package_ready *ready;
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
    HN_TRY(hn_package_literal(p->package, &p->package->files[0], &literal, err));
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

/* Where the blocks of the files end: what lies behind them is of what is ready to run. */
static const unsigned char *end_of_files(const hn_package *p) {
    const unsigned char *end = p->data.data;
    for (size_t k = 0; k < p->n; k++)
        for (size_t i = 0; i <= p->files[k].n; i++) {
            const hn_block *b = i > 0 ? &p->files[k].entries[i - 1].block : &p->files[k].literal;
            if (b->data + b->stored > end) end = b->data + b->stored;
        }
    return end;
}

static int64_t bytes_behind(const hn_block *b, const unsigned char *end) {
    return b->data >= end ? (int64_t)b->stored : 0;
}

static hone_status describe_ready(inspector *p, size_t i, hone_package_ready *out, hn_error *err) {
    const hn_package *package = p->package;
    const unsigned char *end = end_of_files(package);
    hn_package_ready *r;
    hn_error why;
    *out = (hone_package_ready){.isa = "", .cpu = "", .bytes = (int64_t)package->ready[i].bytes};
    hone_status status = hn_package_ready_read(p->package, i, &r, &why);
    if (status == HONE_E_NOMEM) return HN_NOMEM(err);
    out->unused =
        status == HONE_OK ? hn_api_ready_unused(&r->machine, hn_isa_available()) : "it is damaged";
    if (status != HONE_OK) return HONE_OK;
    out->isa = hn_arena_strdup(&p->arena, r->machine.isa);
    out->cpu = hn_arena_strdup(&p->arena, r->machine.cpu);
    if (out->isa == NULL || out->cpu == NULL) return HN_NOMEM(err);
    out->packed = (int64_t)r->n;
    out->bytes += bytes_behind(&r->model.literal, end);
    for (size_t k = 0; k < r->model.n; k++)
        out->bytes += bytes_behind(&r->model.entries[k].block, end);
    for (size_t k = 0; k < r->n; k++) out->bytes += bytes_behind(&r->packed[k], end);
    return HONE_OK;
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
    p->ready = hn_arena_array(&p->arena, package->n_ready, sizeof *p->ready);
    if (p->ready == NULL) return HN_NOMEM(err);
    for (size_t i = 0; i < package->n_ready; i++) HN_TRY(describe_ready(p, i, &p->ready[i], err));
    out->n_ready = package->n_ready;
    out->ready = p->ready;
    return name_tensors(p, err);
}

hone_status hone_package_inspect_sized(hone_package **out, const char *path,
                                       const hone_layout *caller, hone_error *err) {
    static const hn_list lists[] = {HN_LIST(package, codes, n_codes, package_code),
                                    HN_LIST(package, tensors, n_tensors, package_tensor),
                                    HN_LIST(package, ready, n_ready, package_ready)};
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

/* ---- the files of a model that is no package ---- */

typedef struct listing {
    void (*found)(void *ctx, const char *location);
    void *ctx;
    hn_allocator *alloc;
} listing;

static hone_status list_file(void *ctx, const hn_cut *cut, hn_error *err) {
    const listing *l = ctx;
    if (cut->location.n == 0) return HONE_OK;
    char *location = hn_alloc(l->alloc, cut->location.n + 1, HN_MEM_OTHER);
    hone_status status = HONE_OK;
    if (location == NULL) return HN_NOMEM(err);
    memcpy(location, cut->location.p, cut->location.n);
    location[cut->location.n] = '\0';
    if (strlen(location) == cut->location.n && hn_onnx_in_folder(location))
        l->found(l->ctx, location);
    else
        status = HN_FAIL(err, HONE_E_MODEL,
                         "external data '%.200s' is not inside the model's folder", location);
    hn_free(l->alloc, location);
    return status;
}

hone_status hone_model_files(const char *path, void (*found)(void *ctx, const char *location),
                             void *ctx, hone_error *err) {
    listing l = {found, ctx, hn_allocator_default()};
    hn_file *file;
    HN_CHECK(err, path != NULL && found != NULL, HONE_E_ARG, "path or found is NULL");
    HN_TRY(hn_file_open(&file, path, true, l.alloc, err));
    hone_status status =
        hn_package_is(file) ? HONE_OK : hn_cut_find(file, SIZE_MAX, list_file, &l, err);
    hn_file_unref(file);
    return status;
}
