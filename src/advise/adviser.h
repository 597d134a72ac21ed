/* What the files behind advice.h share: the model and the machine as a plan is made of them. */
#ifndef HN_ADVISE_ADVISER_H
#define HN_ADVISE_ADVISER_H

#include "advise/advice.h"

/* What remedies have made of the model so far. */
typedef struct hn_outlook {
    const char *precision; /* of products; NULL: their own */
    /* What remains of arithmetic and of bytes, by precision and by structure. */
    double narrow_activations, narrow_weights, narrow_file;
    double flops, activations, weights, file;
    bool fused, captured, tuned;
    double reach;   /* times that of the machine */
    double threads; /* times as many as in the profile */
    double batch;   /* samples, times those of a run as it is */
} hn_outlook;

/* Where the time of a run goes. ms is that of all samples of a run. */
typedef struct hn_outcome {
    double ms, roof_ms, compute_ms, memory_ms, overhead_ms;
} hn_outcome;

typedef struct hn_adviser {
    const hn_advice_facts *f;
    hn_arena *arena;
    hone_advice *out;
    hn_piece *works; /* measured steps, or nodes */
    int n;
    double run_bytes; /* that a run goes over */
    double rest_ms;   /* of a measured run, outside its steps */
    double matrices;  /* shares of all arithmetic, counted: of products with matrices; */
    double windows;   /* of convolutions that can be replaced; */
    double replaced;  /* what is left of them then */
    hn_outlook now;   /* with all that is planned so far */
    hn_outcome base;
    const char *untimed;  /* why nobody can tell how long a run takes; NULL: it is known */
    bool has_limits, met; /* met: by `now` */
    int planned;
    bool failed; /* out of memory */
} hn_adviser;

/* A text in the arena; "" where memory ran out, which `failed` keeps. */
HONE_PRINTF(2, 3) const char *hn_advice_text(hn_adviser *a, const char *format, ...);
/* "12.3 ms", of three digits; buf has 32 bytes. */
const char *hn_advice_ms(double ms, char *buf);
const char *hn_advice_bytes(double bytes, char *buf);
/* What a run takes, of all that there are limits on: "12.3 ms and 2 MB of memory, the file 1 MB". */
const char *hn_advice_takes(hn_adviser *a, const hn_outlook *o);

/* ---- outlook.c ---- */

/* Fills in works and shares. */
hone_status hn_outlook_init(hn_adviser *a, hn_error *err);
hn_outlook hn_outlook_original(void);
hn_outcome hn_outcome_of(const hn_adviser *a, const hn_outlook *o);
/* The machine's peak in a precision; 0: it does not compute in it. */
double hn_advice_peak(const hn_adviser *a, const char *precision);
double hn_outlook_file(const hn_adviser *a, const hn_outlook *o);   /* bytes */
double hn_outlook_memory(const hn_adviser *a, const hn_outlook *o); /* bytes of a run */
double hn_outlook_per_second(const hn_adviser *a, const hn_outlook *o);
/* Copying the inputs of a run to the device. */
double hn_outlook_copy_ms(const hn_adviser *a);
/* What is allowed, or else what the machine has; 0: not known. */
double hn_advice_memory_room(const hn_adviser *a);
double hn_advice_file_room(const hn_adviser *a);
/* Whether a run and the file have room, as far as it is known. */
bool hn_outlook_fits(const hn_adviser *a, const hn_outlook *o);
/* Whether all that is wanted is met; true also where nothing is wanted. Room for a run and the file
 * counts as far as it is known; a time that is not known meets no limit. */
bool hn_outlook_meets(const hn_adviser *a, const hn_outlook *o);

/* ---- remedies.c ---- */

/* Judges the remedy, and if it is planned makes it part of a->now. */
void hn_remedy_judge(hn_adviser *a, const hn_remedy *r, hone_advice_remedy *out);

/* ---- symptoms.c ---- */

void hn_advice_bottleneck(hn_adviser *a);
void hn_advice_symptoms(hn_adviser *a);
/* Whether there is a reason to stop. */
bool hn_advice_stops(hn_adviser *a);
/* Stop i in words. */
const char *hn_advice_reason(size_t i);

#endif
