#include "compress/shrinking.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/pattern.h"
#include "engine/layers.h"
#include "ops/nodes.h"

void hn_shrinking_init(hn_shrinking *s, hn_allocator *alloc) {
    *s = (hn_shrinking){.score = NAN};
    hn_arena_init(&s->arena, alloc, HN_MEM_OTHER);
}

void hn_shrinking_deinit(hn_shrinking *s) {
    hn_arena_deinit(&s->arena);
    hn_model_destroy(s->early);
    *s = (hn_shrinking){0};
}

/* Room for one more element of a list in the arena. */
static hone_status grow(hn_arena *arena, void **list, int n, int *room, size_t size,
                        hn_error *err) {
    if (n < *room) return HONE_OK;
    int more = *room > 0 ? 2 * *room : 16;
    void *v = hn_arena_array(arena, (size_t)more, size);
    if (v == NULL) return HN_NOMEM(err);
    if (n > 0) memcpy(v, *list, (size_t)n * size);
    *list = v;
    *room = more;
    return HONE_OK;
}

static hone_status copy_text(hn_arena *arena, const char **text, hn_error *err) {
    if (*text == NULL) return HONE_OK;
    *text = hn_arena_strdup(arena, *text);
    return *text != NULL ? HONE_OK : HN_NOMEM(err);
}

hone_status hn_shrinking_tell(const hn_transform_ctx *c, const hn_shrunk_layer *row,
                              hn_error *err) {
    hn_shrinking *s = c->shrinking;
    hn_shrunk_layer own = *row;
    if (s == NULL) return HONE_OK;
    HN_TRY(grow(&s->arena, (void **)&s->v, s->n, &s->room, sizeof *s->v, err));
    HN_TRY(copy_text(&s->arena, &own.transform, err));
    HN_TRY(copy_text(&s->arena, &own.layer, err));
    HN_TRY(copy_text(&s->arena, &own.op, err));
    HN_TRY(copy_text(&s->arena, &own.what, err));
    HN_TRY(copy_text(&s->arena, &own.why_not, err));
    s->v[s->n++] = own;
    return HONE_OK;
}

/* NULL: it keeps nothing yet. */
static hn_kept_weight *kept_of(const hn_shrinking *s, const char *name) {
    for (int i = 0; i < s->n_kept; i++)
        if (strcmp(s->kept[i].name, name) == 0) return &s->kept[i];
    return NULL;
}

hone_status hn_shrinking_keep(const hn_transform_ctx *c, const char *name, unsigned keeps,
                              hn_error *err) {
    hn_shrinking *s = c->shrinking;
    if (s == NULL) return HONE_OK;
    hn_kept_weight *k = kept_of(s, name);
    if (k == NULL) {
        hn_kept_weight new = {.name = name};
        HN_TRY(grow(&s->arena, (void **)&s->kept, s->n_kept, &s->room_kept, sizeof *s->kept, err));
        HN_TRY(copy_text(&s->arena, &new.name, err));
        k = &s->kept[s->n_kept++];
        *k = new;
    }
    k->keeps |= keeps;
    return HONE_OK;
}

hone_status hn_shrinking_found(const hn_transform_ctx *c, const char *text, hn_error *err) {
    hn_shrinking *s = c->shrinking;
    hn_found_setting new = {c->step, text};
    if (s == NULL) return HONE_OK;
    HN_TRY(grow(&s->arena, (void **)&s->found, s->n_found, &s->room_found, sizeof *s->found, err));
    HN_TRY(copy_text(&s->arena, &new.text, err));
    s->found[s->n_found++] = new;
    return HONE_OK;
}

unsigned hn_shrinking_keeps(const hn_shrinking *s, const char *name) {
    const hn_kept_weight *k = s != NULL ? kept_of(s, name) : NULL;
    return k != NULL ? k->keeps : 0;
}

bool hn_shrinking_is_listed(const char *list, const char *name) {
    char pattern[256];
    for (const char *at = list; *at != '\0';) {
        size_t n = strcspn(at, ",");
        snprintf(pattern, sizeof pattern, "%.*s", n < sizeof pattern ? (int)n : 255, at);
        if (hn_pattern_matches(pattern, name)) return true;
        at += n + (at[n] == ',');
    }
    return false;
}

hone_status hn_shrinking_layers(const hn_transform_ctx *c, const char *only, const char *except,
                                hn_arena *arena, hn_weighted **out, int *n, hn_error *err) {
    /* Every layer whose weight could become integers: which ones is all that is asked. */
    const hn_scheme all = {
        .layer = {.kind = HN_LAYER_WEIGHTS, .weights = {.dtype = HONE_DTYPE_S8, .bits = 8}}};
    int kept = 0;
    HN_TRY(hn_weighted_layers(c->model, &all, arena, out, n, err));
    for (int i = 0; i < *n; i++) {
        const char *name = hn_layer_name((*out)[i].node);
        if (only != NULL && !hn_shrinking_is_listed(only, name)) continue;
        if (except != NULL && hn_shrinking_is_listed(except, name)) continue;
        (*out)[kept++] = (*out)[i];
    }
    *n = kept;
    return HONE_OK;
}

hone_status hn_shrinking_edit(const hn_transform_ctx *c, const hn_weighted *w, float **data,
                              hn_error *err) {
    const hn_tensor *old = w->weight->constant;
    hn_tensor *made;
    HN_CHECK(err, hn_used_once(w->weight), HONE_E_ARG, "weight '%s' is read by several nodes",
             w->weight->name);
    HN_TRY(hn_tensor_create(&made, c->alloc, HN_MEM_WEIGHTS, HONE_DTYPE_F32, old->rank, old->dims,
                            err));
    memcpy(made->data, old->data, (size_t)old->n * sizeof(float));
    hn_value_set_constant(w->weight, made);
    *data = made->data;
    return HONE_OK;
}
