/* What a model was read from is not overwritten: weights may still lie there, and it is the user's.
 */
#include <sys/stat.h>

#include "ir/ir.h"

static bool same_file(const char *path, const struct stat *target) {
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == target->st_dev && st.st_ino == target->st_ino;
}

static bool lies_in(const hn_tensor *t, const struct stat *target, const hn_file **last) {
    while (t->base != NULL) t = t->base;
    if (t->values != NULL)
        return lies_in(t->values, target, last) || lies_in(t->indices, target, last);
    if (t->file == NULL || t->file == *last) return false;
    *last = t->file;
    return same_file(t->file->path, target);
}

hone_status hn_model_check_target(const hn_model *m, const char *path, hn_error *err) {
    struct stat target;
    if (stat(path, &target) != 0) return HONE_OK;
    const hn_file *last = NULL;
    bool found = false;
    for (int i = 0; i < m->n_graphs; i++) {
        const hn_graph *g = m->graphs[i];
        for (int k = 0; k < g->n_values && !found; k++)
            found =
                g->values[k]->constant != NULL && lies_in(g->values[k]->constant, &target, &last);
    }
    HN_CHECK(err, !found, HONE_E_ARG,
             "'%s' holds weights of the input and will not be overwritten; choose another name",
             path);
    return HONE_OK;
}
