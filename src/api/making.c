#include <string.h>

#include "api/api.h"
#include "base/clock.h"
#include "base/log.h"
#include "make/make.h"

size_t hone_n_architectures(void) { return (size_t)hn_n_architectures; }

hone_status hone_architecture_sized(size_t i, hone_architecture_info *out,
                                    const hone_layout *caller, hone_error *err) {
    HN_CHECK(err, i < hone_n_architectures(), HONE_E_ARG,
             "architecture %zu was asked for, there are %d", i, hn_n_architectures);
    const hn_architecture *a = &hn_architectures[i];
    hone_architecture_info own = {a->name, a->help, a->text, a->settings};
    HN_GIVE(out, &own, caller, architecture_info);
    return HONE_OK;
}

HN_DEFINE_OPTIONS(make, .seed = 1)

/* What to make, and how. */
typedef struct order {
    const char *text;
    hn_make_options how;
    char *settings; /* those of the architecture, and the caller's behind them */
} order;

static hone_status join_settings(order *o, const char *first, const char *second, hn_error *err) {
    size_t n = strlen(first), more = second != NULL ? strlen(second) : 0;
    o->settings = hn_alloc(hn_allocator_default(), n + more + 2, HN_MEM_OTHER);
    if (o->settings == NULL) return HN_NOMEM(err);
    memcpy(o->settings, first, n);
    o->settings[n] = ' ';
    if (more > 0) memcpy(o->settings + n + 1, second, more);
    o->settings[n + 1 + more] = '\0';
    o->how.settings = o->settings;
    return HONE_OK;
}

static hone_status take_order(order *o, const char *name, const hone_make_options *options,
                              hn_error *err) {
    hone_make_options own;
    HN_TRY(HN_TAKE_OPTIONS(make, &own, options, err));
    *o = (order){.text = own.text, .how = {.seed = own.seed, .compound = own.compound}};
    const hn_architecture *a = own.text == NULL ? hn_architecture_find(name) : NULL;
    HN_CHECK(err, own.text != NULL || a != NULL, HONE_E_NOT_FOUND, "hone has no architecture '%s'",
             name);
    if (a != NULL) o->text = a->text;
    return join_settings(o, a != NULL ? a->settings : "", own.settings, err);
}

hone_status hone_make(hone_model **out, const char *name, const hone_make_options *options,
                      hone_error *err) {
    int64_t begun = hn_clock_ns();
    order o;
    hone_model *m = NULL;
    HN_TRY(take_order(&o, name, options, err));
    hone_status status = hn_api_model_create(&m, err);
    if (status == HONE_OK)
        status = hn_make(&m->ir, name, o.text, strlen(o.text), &o.how, &m->alloc, err);
    if (status == HONE_OK) status = hn_api_model_complete(m, err);
    hn_free(hn_allocator_default(), o.settings);
    if (status != HONE_OK) {
        hn_api_model_unref(m);
        return status;
    }
    hn_log(HONE_LOG_INFO, "%s: %d nodes, made in %.1f ms", name, m->ir->graph->n_nodes,
           (double)(hn_clock_ns() - begun) * 1e-6);
    *out = m;
    return HONE_OK;
}

hone_status hone_make_describe(char **text, const char *name, const hone_make_options *options,
                               hone_error *err) {
    order o;
    hn_arena arena;
    char *described, *own;
    HN_TRY(take_order(&o, name, options, err));
    hn_arena_init(&arena, hn_allocator_default(), HN_MEM_OTHER);
    hone_status status =
        hn_make_describe(&described, name, o.text, strlen(o.text), &o.how, &arena, err);
    if (status == HONE_OK) {
        size_t n = strlen(described) + 1;
        own = hn_alloc(hn_allocator_default(), n, HN_MEM_OTHER);
        if (own != NULL) memcpy(own, described, n);
        if (own == NULL)
            status = HN_NOMEM(err);
        else
            *text = own;
    }
    hn_arena_deinit(&arena);
    hn_free(hn_allocator_default(), o.settings);
    return status;
}
