#include "advise/parts.h"

#include "base/least.h"

#define MOST_CALIBRATION 512 /* more hardly moves a range */
#define MOST_CHOICE 2048     /* a loss of 1 point is told from none by fewer; so is the next */
#define MOST_VERIFIED 2048
#define LEAST_SAMPLES 8 /* to be cut into parts */
#define LEAST_LOOK 100  /* samples, for their interval to exclude anything */

/* Of n evaluation samples at these places: those to choose by, and those to verify with. */
static hone_status cut_eval(hn_parts *p, const hn_dataset *from, const int64_t *order, int64_t n,
                            hn_error *err) {
    int64_t verify = hn_least(n / 4, MOST_VERIFIED), choose = hn_least(n - n / 4, MOST_CHOICE);
    int64_t look = choose / 8;
    HN_TRY(hn_dataset_part(&p->choose, from, order, choose, err));
    if (look >= LEAST_LOOK) HN_TRY(hn_dataset_part(&p->look, from, order, look, err));
    return hn_dataset_part(&p->verify, from, order + choose, verify, err);
}

static hone_status cut(hn_parts *p, const hn_dataset *from, int64_t calibrate, bool eval,
                       uint64_t seed, hn_allocator *alloc, hn_error *err) {
    int64_t n = hn_dataset_count(from), *order;
    HN_CHECK(err, n >= LEAST_SAMPLES, HONE_E_ARG,
             "there are %lld samples; at least %d are wanted, to calibrate, choose and verify with",
             (long long)n, LEAST_SAMPLES);
    HN_TRY(hn_dataset_permutation(&order, n, seed, alloc, err));
    hone_status status = HONE_OK;
    if (calibrate > 0) status = hn_dataset_part(&p->calibrate, from, order, calibrate, err);
    if (status == HONE_OK && eval)
        status = cut_eval(p, from, order + calibrate, n - calibrate, err);
    hn_free(alloc, order);
    return status;
}

hone_status hn_parts_init(hn_parts *p, const hn_dataset *data, const hn_dataset *calibrate,
                          const hn_dataset *eval, uint64_t seed, hn_allocator *alloc,
                          hn_error *err) {
    *p = (hn_parts){0};
    hone_status status = HONE_OK;
    if (calibrate != NULL) {
        int64_t some = hn_least(MOST_CALIBRATION, hn_dataset_count(calibrate));
        status = cut(p, calibrate, some, false, seed, alloc, err);
    }
    if (status == HONE_OK && eval != NULL) status = cut(p, eval, 0, true, seed, alloc, err);
    if (status == HONE_OK && data != NULL && (calibrate == NULL || eval == NULL)) {
        int64_t some =
            calibrate != NULL ? 0 : hn_least(MOST_CALIBRATION, hn_dataset_count(data) / 4);
        status = cut(p, data, some, eval == NULL, seed, alloc, err);
    }
    if (status != HONE_OK) hn_parts_deinit(p);
    return status;
}

void hn_parts_deinit(hn_parts *p) {
    hn_dataset_close(p->calibrate);
    hn_dataset_close(p->look);
    hn_dataset_close(p->choose);
    hn_dataset_close(p->verify);
    *p = (hn_parts){0};
}
