#include "kernels/kernel.h"

#include <string.h>

#include "kernels/values.h"

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

/* ---- weights of 16 bits ---- */

/* Whether f16 holds the number with these bits: 10 bits of fraction from 2^-14 on, fewer below it,
 * down to 2^-24. */
static bool fits_f16(uint32_t bits) {
    int exponent = (int)(bits >> 23 & 0xff) - 127;
    if (bits << 1 == 0) return true;
    if (exponent < -24 || exponent > 15) return false;
    int lost = exponent >= -14 ? 13 : -1 - exponent;
    return (bits & ((1u << lost) - 1)) == 0;
}

static bool fits_bf16(uint32_t bits) { return (bits & 0xffff) == 0 && (bits >> 23 & 0xff) != 0xff; }

typedef uint32_t any_u32 __attribute__((aligned(1), may_alias));

/* 0: f16 holds them all. It may be something else where there are zeros or numbers below 2^-14. */
static uint32_t beyond_f16(const any_u32 *bits, int64_t n) {
    uint32_t beyond = 0;
    for (int64_t i = 0; i < n; i++)
        beyond |= (bits[i] & 0x1fff) | ((bits[i] >> 23 & 0xff) - 113 > 29);
    return beyond;
}

static bool all_fit(const any_u32 *bits, int64_t n, bool f16) {
    enum { BLOCK = 256 };
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t some = n - i < BLOCK ? n - i : BLOCK;
        if (f16 && beyond_f16(bits + i, some) == 0) continue;
        for (int64_t k = i; k < i + some; k++)
            if (!(f16 ? fits_f16(bits[k]) : fits_bf16(bits[k]))) return false;
    }
    return true;
}

hn_float hn_floats_fit(const void *floats, int64_t n) {
    if (all_fit(floats, n, true)) return HN_FLOAT_F16;
    return all_fit(floats, n, false) ? HN_FLOAT_BF16 : HN_FLOAT_F32;
}

/* ---- sparse weights ---- */

static int64_t count_floats(const void *floats, int64_t first, int64_t n, int zero) {
    const any_u32 *bits = (const any_u32 *)floats + first;
    int64_t found = 0;
    (void)zero;
    for (int64_t i = 0; i < n; i++) found += bits[i] << 1 == 0;
    return found;
}

static int64_t count_bytes(const void *bytes, int64_t first, int64_t n, int zero) {
    const uint8_t *at = (const uint8_t *)bytes + first;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) found += at[i] == zero;
    return found;
}

typedef int64_t count_fn(const void *weights, int64_t first, int64_t n, int zero);

static int64_t count_zeros(count_fn *count, const void *weights, int64_t n, int zero) {
    enum { LOOKS = 16, LOOK = 64 }; /* places all over the constant, and weights at each */
    if (n >= 1 << 30) return 0;
    if (n > 4 * LOOKS * LOOK) {
        int64_t seen = 0;
        for (int64_t i = 0; i < LOOKS; i++) seen += count(weights, n / LOOKS * i, LOOK, zero);
        if (seen < LOOKS * LOOK / 4) return 0;
    }
    return count(weights, 0, n, zero);
}

int64_t hn_floats_zeros(const void *floats, int64_t n) {
    return count_zeros(count_floats, floats, n, 0);
}

int64_t hn_bytes_zeros(const void *bytes, int64_t n, int zero) {
    return count_zeros(count_bytes, bytes, n, zero);
}

/* ---- weights that are few numbers ---- */

int hn_floats_values(const void *floats, int64_t n) {
    const any_u32 *bits = (const any_u32 *)floats;
    hn_values values = {0};
    for (int64_t i = 0; i < n; i++)
        if (hn_values_place(&values, bits[i], HN_MOST_VALUES) < 0) return 0;
    return values.n;
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
        if (hn_kernel_serves(k, allowed, problem, &why) &&
            (k->pays == NULL || k->pays(problem, &why)))
            return k;
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
