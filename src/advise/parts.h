/* Which samples serve what: those ranges are found on say nothing of how good a model is, and those
 * a model was chosen by say too much.
 *
 *     data      | calibrate | choose (its first eighth: look) | verify | the rest |
 *
 * Data of one kind is shuffled by the seed and cut: up to 512 samples but no more than a quarter to
 * calibrate with, a quarter of the others to verify with; up to 2048 for either. Where data for one
 * purpose is given apart, only the rest is cut. The parts depend on seed and number of samples
 * alone. Models are trained on the samples of `data` that serve neither choice nor verification;
 * where there is no `data`, on those to calibrate with.
 */
#ifndef HN_ADVISE_PARTS_H
#define HN_ADVISE_PARTS_H

#include "formats/dataset.h"

typedef struct hn_parts {
    hn_dataset *calibrate;
    hn_dataset *look; /* the first of `choose`; NULL: there are too few for a first look */
    hn_dataset *choose;
    hn_dataset *verify;
    hn_dataset *train; /* those to calibrate with and the rest */
    /* What a recipe calls the parts that a model is made with (hn_part_open); "": all samples. */
    const char *calibrate_name, *train_name;
} hn_parts;

/* Any may be NULL; what no samples are there for is NULL. HONE_E_ARG: too few to be cut. */
hone_status hn_parts_init(hn_parts *p, const hn_dataset *data, const hn_dataset *calibrate,
                          const hn_dataset *eval, uint64_t seed, hn_allocator *alloc,
                          hn_error *err);
void hn_parts_deinit(hn_parts *p); /* one that is all zero accepted */
/* The part of `data` that a recipe names; `data` must outlive it. HONE_E_ARG: there is none of that
 * name, or there are too few samples. */
hone_status hn_part_open(hn_dataset **part, const hn_dataset *data, const char *name, uint64_t seed,
                         hn_allocator *alloc, hn_error *err);

#endif
