#include "advise/parts.h"

#include <string.h>

#include "base/least.h"

#define MOST_CALIBRATION 512 /* more hardly moves a range */
#define MOST_CHOICE 2048     /* a loss of 1 point is told from none by fewer; so is the next */
#define MOST_VERIFIED 2048
#define LEAST_SAMPLES 8 /* to be cut into parts */
/* Names of parts in recipes. */
#define CALIBRATE "calibrate"
#define REST "rest" /* all but those to choose and verify with */
#define SOME "some" /* of what is given to calibrate with */

#define LEAST_LOOK 100 /* samples, for their interval to exclude anything */

/* Of n evaluation samples at these places: those to choose by, and those to verify with. *used:
 * how many that are. */
static hone_status cut_eval(hn_parts *p, const hn_dataset *from, const int64_t *order, int64_t n,
                            int64_t *used, hn_error *err) {
    int64_t verify = hn_least(n / 4, MOST_VERIFIED), choose = hn_least(n - n / 4, MOST_CHOICE);
    int64_t look = choose / 8;
    *used = choose + verify;
    HN_TRY(hn_dataset_part(&p->choose, from, order, choose, err));
    if (look >= LEAST_LOOK) HN_TRY(hn_dataset_part(&p->look, from, order, look, err));
    return hn_dataset_part(&p->verify, from, order + choose, verify, err);
}

/* Of all n samples at these places, those that are not among the `used` ones from `first` on. */
static hone_status cut_training(hn_parts *p, const hn_dataset *from, int64_t *order, int64_t first,
                                int64_t used, int64_t n, hn_error *err) {
    if (n == used) return HONE_OK;
    memmove(order + first, order + first + used, (size_t)(n - first - used) * sizeof *order);
    return hn_dataset_part(&p->train, from, order, n - used, err);
}

/* All samples, in their order. */
static hone_status take_all(hn_dataset **part, const hn_dataset *from, hn_allocator *alloc,
                            hn_error *err) {
    int64_t n = hn_dataset_count(from);
    int64_t *order = hn_alloc_array(alloc, (size_t)n, sizeof *order, HN_MEM_SCRATCH);
    if (order == NULL) return HN_NOMEM(err);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    hone_status status = hn_dataset_part(part, from, order, n, err);
    hn_free(alloc, order);
    return status;
}

enum { TO_EVAL = 1, TO_TRAIN = 2 };

/* The first so many to calibrate with. */
static hone_status cut(hn_parts *p, const hn_dataset *from, int64_t calibrate, int wanted,
                       uint64_t seed, hn_allocator *alloc, hn_error *err) {
    int64_t n = hn_dataset_count(from), used = 0, *order;
    HN_CHECK(err, n >= LEAST_SAMPLES, HONE_E_ARG,
             "there are %lld samples; at least %d are wanted, to calibrate, choose and verify with",
             (long long)n, LEAST_SAMPLES);
    HN_TRY(hn_dataset_permutation(&order, n, seed, alloc, err));
    hone_status status = HONE_OK;
    if (calibrate > 0) status = hn_dataset_part(&p->calibrate, from, order, calibrate, err);
    if (status == HONE_OK && (wanted & TO_EVAL))
        status = cut_eval(p, from, order + calibrate, n - calibrate, &used, err);
    if (status == HONE_OK && (wanted & TO_TRAIN))
        status = cut_training(p, from, order, calibrate, used, n, err);
    hn_free(alloc, order);
    return status;
}

hone_status hn_parts_init(hn_parts *p, const hn_dataset *data, const hn_dataset *calibrate,
                          const hn_dataset *eval, uint64_t seed, hn_allocator *alloc,
                          hn_error *err) {
    bool rest = data != NULL && eval == NULL; /* what is neither chosen nor verified by */
    *p = (hn_parts){.calibrate_name = calibrate != NULL ? SOME : CALIBRATE,
                    .train_name = rest ? REST : ""};
    hone_status status = HONE_OK;
    if (calibrate != NULL) {
        int64_t some = hn_least(MOST_CALIBRATION, hn_dataset_count(calibrate));
        status = cut(p, calibrate, some, 0, seed, alloc, err);
    }
    if (status == HONE_OK && eval != NULL) status = cut(p, eval, 0, TO_EVAL, seed, alloc, err);
    if (status == HONE_OK && data != NULL) {
        int64_t some =
            calibrate != NULL ? 0 : hn_least(MOST_CALIBRATION, hn_dataset_count(data) / 4);
        status = cut(p, data, some, rest ? TO_TRAIN | TO_EVAL : 0, seed, alloc, err);
    }
    const hn_dataset *whole = rest ? NULL : data != NULL ? data : calibrate;
    if (status == HONE_OK && whole != NULL) status = take_all(&p->train, whole, alloc, err);
    if (status != HONE_OK) hn_parts_deinit(p);
    return status;
}

void hn_parts_deinit(hn_parts *p) {
    hn_dataset_close(p->calibrate);
    hn_dataset_close(p->look);
    hn_dataset_close(p->choose);
    hn_dataset_close(p->verify);
    hn_dataset_close(p->train);
    *p = (hn_parts){0};
}

hone_status hn_part_open(hn_dataset **part, const hn_dataset *data, const char *name, uint64_t seed,
                         hn_allocator *alloc, hn_error *err) {
    bool some = strcmp(name, SOME) == 0, rest = strcmp(name, REST) == 0;
    hn_parts p;
    HN_CHECK(err, some || rest || strcmp(name, CALIBRATE) == 0, HONE_E_ARG,
             "the recipe was made with part '%s' of the samples, expected " CALIBRATE ", " SOME
             " or " REST,
             name);
    HN_TRY(hn_parts_init(&p, some ? NULL : data, some ? data : NULL, NULL, seed, alloc, err));
    hn_dataset **of = rest ? &p.train : &p.calibrate;
    *part = *of;
    *of = NULL;
    hn_parts_deinit(&p);
    HN_CHECK(err, *part != NULL, HONE_E_ARG,
             "the recipe was made with part '%s' of the samples, and of these none is in it", name);
    return HONE_OK;
}
