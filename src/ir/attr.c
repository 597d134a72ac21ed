#include <string.h>

#include "ir/ir.h"

const char *hn_attr_type_name(hn_attr_type t) {
    static const char *const names[] = {
        "UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
        "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
        "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};
    return (unsigned)t < sizeof names / sizeof *names ? names[t] : "?";
}

hn_attr_type hn_attr_list_of(hn_attr_type t) {
    if (t >= HN_ATTR_FLOAT && t <= HN_ATTR_GRAPH) return (hn_attr_type)(t + 5);
    if (t == HN_ATTR_SPARSE_TENSOR || t == HN_ATTR_TYPE_PROTO) return (hn_attr_type)(t + 1);
    return HN_ATTR_NONE;
}

hn_attr_type hn_attr_element_of(hn_attr_type t) {
    for (int i = HN_ATTR_FLOAT; t != HN_ATTR_NONE && i <= HN_ATTR_TYPE_PROTO; i++)
        if (hn_attr_list_of((hn_attr_type)i) == t) return (hn_attr_type)i;
    return HN_ATTR_NONE;
}

hn_attr *hn_node_attr(const hn_node *n, const char *name) {
    for (hn_attr *a = n->attrs; a != NULL; a = a->next)
        if (hn_same_name(a->name, name)) return a;
    return NULL;
}

static void clear(hn_attr *a) {
    if (a->type == HN_ATTR_TENSOR || a->type == HN_ATTR_SPARSE_TENSOR) hn_tensor_unref(a->u.tensor);
    if (a->type == HN_ATTR_TENSORS || a->type == HN_ATTR_SPARSE_TENSORS)
        for (int i = 0; i < a->n; i++) hn_tensor_unref(a->u.tensors[i]);
    a->type = HN_ATTR_NONE;
    a->n = 0;
    memset(&a->u, 0, sizeof a->u);
}

hone_status hn_node_add_attr(hn_attr **out, hn_node *n, const char *name, hn_attr_type type,
                             hn_error *err) {
    hn_node_touch(n);
    hn_attr **at = &n->attrs;
    while (*at != NULL && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    if (*at == NULL) {
        hn_arena *arena = &n->graph->model->arena;
        hn_attr *a = hn_arena_zero(arena, sizeof *a);
        const char *copy = hn_arena_strdup(arena, name);
        if (a == NULL || copy == NULL) return HN_NOMEM(err);
        a->name = copy;
        a->doc = "";
        *at = a;
    } else {
        clear(*at);
    }
    (*at)->type = type;
    *out = *at;
    return HONE_OK;
}

void hn_node_remove_attr(hn_node *n, const char *name) {
    for (hn_attr **at = &n->attrs; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->name, name) != 0) continue;
        hn_node_touch(n);
        clear(*at);
        *at = (*at)->next;
        return;
    }
}

hone_status hn_node_set_i(hn_node *n, const char *name, int64_t v, hn_error *err) {
    hn_attr *a;
    HN_TRY(hn_node_add_attr(&a, n, name, HN_ATTR_INT, err));
    a->u.i = v;
    return HONE_OK;
}

hone_status hn_node_set_f(hn_node *n, const char *name, float v, hn_error *err) {
    hn_attr *a;
    HN_TRY(hn_node_add_attr(&a, n, name, HN_ATTR_FLOAT, err));
    a->u.f = v;
    return HONE_OK;
}

hone_status hn_node_set_s(hn_node *n, const char *name, const char *v, hn_error *err) {
    const char *copy = hn_arena_strdup(&n->graph->model->arena, v);
    if (copy == NULL) return HN_NOMEM(err);
    hn_attr *a;
    HN_TRY(hn_node_add_attr(&a, n, name, HN_ATTR_STRING, err));
    a->u.s = (hn_str){copy, strlen(copy)};
    return HONE_OK;
}

hone_status hn_node_set_ints(hn_node *n, const char *name, const int64_t *v, int count,
                             hn_error *err) {
    int64_t *copy = hn_arena_array(&n->graph->model->arena, (size_t)count, sizeof *copy);
    if (copy == NULL) return HN_NOMEM(err);
    if (count > 0) memcpy(copy, v, (size_t)count * sizeof *copy);
    hn_attr *a;
    HN_TRY(hn_node_add_attr(&a, n, name, HN_ATTR_INTS, err));
    a->n = count;
    a->u.ints = copy;
    return HONE_OK;
}
