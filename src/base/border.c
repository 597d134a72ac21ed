#include "base/border.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size.h"

/* No struct of hone.h is as long: a larger size was never written by an `init` function. */
#define MOST_SIZE 65536

enum {
#define HN_RELEASED(name, last) RELEASED_##name = HN_SIZE_TO(hone_##name, last),
#include "base/released.def"
#undef HN_RELEASED
};

static const uint32_t released[] = {
#define HONE_X(name) RELEASED_##name,
    HONE_STRUCT_LIST(HONE_X)
#undef HONE_X
};

size_t hn_caller_size(const hone_layout *caller, size_t entry) {
    uint32_t size = 0;
    if (caller != NULL && entry + sizeof size <= caller->size)
        memcpy(&size, (const char *)caller + entry, sizeof size);
    return size != 0 ? size : released[entry / sizeof size - 1];
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

hone_status hn_take(void *own, size_t own_size, const void *given, size_t size, const char *type,
                    hn_error *err) {
    const unsigned char *bytes = given;
    for (size_t i = own_size; i < size; i++)
        HN_CHECK(err, bytes[i] == 0, HONE_E_ARG,
                 "%s: byte %zu is set, but hone %s knows the first %zu bytes only; the program was "
                 "built for a newer version",
                 type, i, hone_version(), own_size);
    memcpy(own, given, least(size, own_size));
    return HONE_OK;
}

hone_status hn_take_sized(void *own, size_t own_size, const void *given, const char *type,
                          hn_error *err) {
    uint32_t size;
    if (given == NULL) return HONE_OK;
    memcpy(&size, given, sizeof size);
    HN_CHECK(err, size >= sizeof size && size <= MOST_SIZE, HONE_E_ARG,
             "%s: its size is %u, expected %zu; its init function sets it", type, size, own_size);
    return hn_take(own, own_size, given, size, type, err);
}

void hn_give(void *out, size_t size, const void *own, size_t own_size) {
    memcpy(out, own, least(size, own_size));
    if (size > own_size) memset((char *)out + own_size, 0, size - own_size);
}

void hn_give_array(void *to, size_t size, const void *own, size_t own_size, size_t n) {
    for (size_t i = 0; i < n; i++)
        hn_give((char *)to + i * size, size, (const char *)own + i * own_size, own_size);
}

static void write_size(void *out, size_t room, size_t size) {
    uint32_t written = (uint32_t)size;
    memcpy(out, &written, least(room, sizeof written));
}

void hn_give_sized(void *out, size_t size, const void *own, size_t own_size) {
    hn_give(out, size, own, own_size);
    write_size(out, size, least(size, own_size));
}

void hn_give_defaults(void *out, size_t size, const void *own, size_t own_size) {
    hn_give(out, size, own, own_size);
    write_size(out, size, size);
}

/* ---- arrays ---- */

hone_status hn_caller_array_init(hn_caller_array *t, const void *given, size_t n, size_t size,
                                 size_t own_size, const char *type, hn_error *err) {
    *t = (hn_caller_array){(void *)given, given, n, size, own_size};
    if (size == own_size || n == 0) return HONE_OK;
    t->own = hn_alloc_array(hn_allocator_default(), n, own_size, HN_MEM_OTHER);
    if (t->own == NULL) return HN_NOMEM(err);
    memset(t->own, 0, n * own_size);
    hone_status status = HONE_OK;
    for (size_t i = 0; i < n && status == HONE_OK; i++)
        status = hn_take((char *)t->own + i * own_size, own_size, (const char *)given + i * size,
                         size, type, err);
    if (status != HONE_OK) hn_caller_array_deinit(t);
    return status;
}

void hn_caller_array_give(const hn_caller_array *t, void *to) {
    if (t->own != t->given) hn_give_array(to, t->size, t->own, t->own_size, t->n);
}

void hn_caller_array_deinit(hn_caller_array *t) {
    if (t->own != t->given) hn_free(hn_allocator_default(), t->own);
    t->own = NULL;
}

const void *hn_show_one(hn_callback_struct *room, const void *own, size_t own_size, size_t size) {
    if (size <= own_size) return own;
    hn_give(room, least(size, sizeof *room), own, own_size);
    return room;
}

void *hn_show_array(void *own, size_t n, size_t own_size, size_t size) {
    if (size == own_size || n == 0) return own;
    void *shown = hn_alloc_array(hn_allocator_default(), n, size, HN_MEM_OTHER);
    if (shown != NULL) hn_give_array(shown, size, own, own_size, n);
    return shown;
}

/* ---- results ---- */

typedef struct list_view {
    void *elements;
    size_t n, size, bytes; /* bytes: of the copy, aligned; 0: it needs none */
} list_view;

static bool view_list(const void *own, const hn_list *list, const hone_layout *caller,
                      list_view *v) {
    memcpy(&v->elements, (const char *)own + list->at, sizeof v->elements);
    memcpy(&v->n, (const char *)own + list->n_at, sizeof v->n);
    v->size = hn_caller_size(caller, list->entry);
    v->bytes = 0;
    if (v->size == list->own_size) return true;
    if (!hn_size_mul(v->n, v->size, &v->bytes) || !hn_size_add(v->bytes, HN_ALIGN - 1, &v->bytes))
        return false;
    v->bytes = v->bytes / HN_ALIGN * HN_ALIGN;
    return true;
}

void *hn_show_result(void *own, size_t own_size, size_t size, const hn_list *lists, size_t n_lists,
                     const hone_layout *caller) {
    size_t head = size > own_size ? size : own_size, lists_bytes = 0, whole;
    list_view v;
    head = (head + HN_ALIGN - 1) / HN_ALIGN * HN_ALIGN;
    for (size_t i = 0; i < n_lists; i++)
        if (!view_list(own, &lists[i], caller, &v) ||
            !hn_size_add(lists_bytes, v.bytes, &lists_bytes))
            return NULL;
    if (size <= own_size && lists_bytes == 0) return own;
    if (!hn_size_add(head, lists_bytes, &whole)) return NULL;
    char *shown = hn_alloc_zero(hn_allocator_default(), whole, HN_MEM_OTHER), *at = shown + head;
    if (shown == NULL) return NULL;
    memcpy(shown, own, own_size);
    for (size_t i = 0; i < n_lists; i++) {
        view_list(own, &lists[i], caller, &v);
        if (v.bytes == 0) continue;
        hn_give_array(at, v.size, v.elements, lists[i].own_size, v.n);
        void *elements = at;
        memcpy(shown + lists[i].at, &elements, sizeof elements);
        at += v.bytes;
    }
    return shown;
}

void hn_shown_free(void *shown, const void *own) {
    if (shown != own) hn_free(hn_allocator_default(), shown);
}
