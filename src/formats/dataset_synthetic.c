/* synthetic:digits, samples drawn on demand: as many as asked for, different ones for every seed.
 */
#include <string.h>

#include "base/size.h"
#include "formats/dataset_kind.h"
#include "formats/digits.h"

enum { DEFAULT_COUNT = 1000 };

static hone_status open_synthetic(hn_dataset *ds, hn_error *err) {
    HN_CHECK(err, strcmp(ds->spec.path, "digits") == 0, HONE_E_ARG,
             "there is no synthetic '%s'; there is digits", ds->spec.path);
    HN_CHECK(err,
             hn_i64_add(ds->spec.skip, ds->spec.n < 0 ? DEFAULT_COUNT : ds->spec.n, &ds->total),
             HONE_E_ARG, "n and skip are too large");
    HN_TRY(hn_dataset_add_fields(ds, 1, 0, err));
    return hn_dataset_set_shape(ds, 0, HONE_DTYPE_U8, 3,
                                (const int64_t[]){1, HN_DIGITS_SIDE, HN_DIGITS_SIDE}, err);
}

static hone_status sample(const hn_dataset *ds, hn_dataset_room *room, int field, int64_t i,
                          const void **data, hn_error *err) {
    (void)field;
    (void)err;
    int label;
    hn_digits_sample(ds->spec.seed, i, room->sample, &label);
    *data = room->sample;
    return HONE_OK;
}

static int64_t label_of(const hn_dataset *ds, int64_t i) {
    uint8_t image[HN_DIGITS_SIDE * HN_DIGITS_SIDE];
    int label;
    hn_digits_sample(ds->spec.seed, i, image, &label);
    return label;
}

const hn_dataset_kind hn_dataset_synthetic = {.name = "synthetic",
                                              .path = "digits",
                                              .keys = HN_KEYS_NUMBERS | HN_KEY(SEED),
                                              .scale = 1.0 / 255,
                                              .open = open_synthetic,
                                              .sample = sample,
                                              .label = label_of};
