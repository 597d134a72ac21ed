#include "kernels/kernel.h"

#include <string.h>

#define HN_FAMILY(name) extern const hn_family hn_##name##_family;
#include "kernels/families.def"
#undef HN_FAMILY

const hn_family *const hn_families[] = {
#define HN_FAMILY(name) &hn_##name##_family,
#include "kernels/families.def"
#undef HN_FAMILY
};
const int hn_n_families = sizeof hn_families / sizeof *hn_families;

static bool is(const char *a, const char *name, size_t n) {
    return strlen(a) == n && memcmp(a, name, n) == 0;
}

const hn_family *hn_family_named(const char *name, size_t n) {
    for (int i = 0; i < hn_n_families; i++)
        if (is(hn_families[i]->name, name, n)) return hn_families[i];
    return NULL;
}

const hn_kernel *hn_kernel_named(const hn_family *f, const char *name, size_t n) {
    for (int i = 0; i < f->n_rows; i++)
        if (is(f->rows[i]->name, name, n)) return f->rows[i];
    return NULL;
}

double hn_precision_error(hn_precision p) {
    static const double errors[] = {
#define HN_X(name, text, error) error,
        HN_PRECISION_LIST(HN_X)
#undef HN_X
    };
    return errors[p];
}

bool hn_kernel_serves(const hn_kernel *k, hn_allowed allowed, const void *problem,
                      const char **why) {
    if ((k->isa & allowed.isa) != k->isa) return *why = "not allowed or not on this CPU", false;
    if (k->precision > allowed.precision) return *why = "not exact enough", false;
    if (k->ok != NULL && !k->ok(problem, why)) return false;
    if (allowed.repacked > 0 && k->pack_worth > 0 &&
        allowed.repacked < k->pack_worth * (double)k->packed_bytes(problem))
        return *why = "packing the weights on every run would take longer than it saves", false;
    return true;
}

const hn_kernel *hn_kernel_choose(const hn_family *f, hn_allowed allowed, const void *problem,
                                  void (*note)(void *ctx, const hn_kernel *k, const char *why),
                                  void *ctx) {
    for (int i = 0; i + 1 < f->n_rows; i++) {
        const hn_kernel *k = f->rows[i];
        const char *why = NULL;
        if (hn_kernel_serves(k, allowed, problem, &why)) return k;
        if (note != NULL) note(ctx, k, why);
    }
    return f->rows[f->n_rows - 1];
}

bool hn_axes_agree(int rank, const int64_t *dims, const int64_t *a, const int64_t *b) {
    for (int i = 0; i < rank; i++)
        if (dims[i] != 1 && a[i] != b[i]) return false;
    return true;
}

uint64_t hn_pack_hash(const int64_t *facts, size_t n) {
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (uint64_t)facts[i]) * 0x100000001b3;
        h ^= h >> 29;
    }
    return h;
}

void hn_kernel_run(const hn_kernel *k, const hn_call *call, void *lane) {
    for (int phase = 0; phase < call->work->n_phases; phase++)
        k->run(call, phase, 0, hn_work_tasks(call->work, phase), lane);
}
