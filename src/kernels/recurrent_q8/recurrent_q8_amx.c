/* For several sequences: they share what is read of R. */
#include "kernels/recurrent_f32/recurrent_f32.h"
#include "simd/amx.h"
#include "simd/avx512.h"

#define RECURRENT_Q8
#define ROWS 16
#define X_IS_U8 1
#define STEP_MACS 400000

/* Of 64 k and 16 rows. */
#define TILES
#define QUADS 16
#define ROWS_BEHIND 15

/* Of fewer rows of bytes, vectors take as long to multiply them as to read R. */
static bool enough_rows(const void *problem, const char **why) {
    const hn_recurrent_f32 *p = problem;
    enum { LEAST = 4, DIGITS_OF_H = 3 };
    int64_t rows = p->batch * (p->exact_h ? DIGITS_OF_H : 1);
    return rows >= LEAST || (*why = "too few sequences", false);
}

#define ROW hn_recurrent_q8_amx
#define NAME "amx"
#define ISA HN_ISA_AMX
#define OK enough_rows
#include "kernels/recurrent_f32/recurrent_f32_body.h"
