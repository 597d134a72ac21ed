/* random, values for any input: N(0, 1) for floats, 0 or 1 for integers. No labels. */
#include "base/dtype.h"
#include "base/rng.h"
#include "base/size.h"
#include "formats/dataset_kind.h"

enum { DEFAULT_COUNT = 100 };

static hone_status open_random(hn_dataset *ds, hn_error *err) {
    HN_CHECK(err,
             hn_i64_add(ds->spec.skip, ds->spec.n < 0 ? DEFAULT_COUNT : ds->spec.n, &ds->total),
             HONE_E_ARG, "n and skip are too large");
    HN_TRY(hn_dataset_add_fields(ds, 1, 0, err));
    ds->fields[0].shown.rank = -1;
    return HONE_OK;
}

/* Depends on seed, sample and input only, so it is the same in batches of any size. */
static void make(const hn_dataset *ds, int field, int64_t i, hone_dtype dtype, int64_t n, void *dst,
                 int64_t at) {
    hn_rng rng;
    hn_rng_init(&rng, ds->spec.seed);
    uint64_t sample_seed = hn_rng_u64(&rng) + (uint64_t)i;
    hn_rng_init(&rng, sample_seed);
    uint64_t field_seed = hn_rng_u64(&rng) + (uint64_t)field;
    hn_rng_init(&rng, field_seed);
    for (int64_t k = 0; k < n; k++) {
        if (hn_dtype_is_float(dtype))
            hn_store_f64(dtype, dst, at + k, hn_rng_normal(&rng));
        else
            hn_store_s64(dtype, dst, at + k, (int64_t)(hn_rng_u64(&rng) >> 63));
    }
}

const hn_dataset_kind hn_dataset_random = {.name = "random",
                                           .keys = HN_KEY(N) | HN_KEY(SKIP) | HN_KEY(SEED),
                                           .open = open_random,
                                           .make = make};
