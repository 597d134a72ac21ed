/* The tables of strategy.def and advice.def: devices, what is tried on each, and what is expected. */
#ifndef HN_ADVISE_STRATEGY_H
#define HN_ADVISE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>

/* ---- devices and their trees (strategy.def) ---- */

typedef enum hn_tree { HN_TREE_CPU, HN_TREE_EDGE, HN_TREE_GPU } hn_tree;

typedef struct hn_target {
    const char *name;
    hn_tree tree;
    int bits;
    const char *pruning, *layout, *precision;
} hn_target;

typedef enum hn_branch_id {
    HN_BRANCH_FIRST,
    HN_BRANCH_STARVED,
    HN_BRANCH_BUSY,
    HN_BRANCH_LARGE,
    HN_BRANCH_FITS,
    HN_BRANCH_SHORT
} hn_branch_id;

typedef struct hn_branch {
    hn_tree tree;
    hn_branch_id id;
    const char *question; /* "": it is always taken */
} hn_branch;

typedef enum hn_does_id {
#define HN_DOES(id, ...) HN_DOES_##id,
#define HN_TYPICAL(...)
#define HN_PURPOSE(...)
#define HN_SYMPTOM(...)
#include "advise/advice.def"
#undef HN_DOES
#undef HN_TYPICAL
#undef HN_PURPOSE
#undef HN_SYMPTOM
    HN_DOES_COUNT_
} hn_does_id;

typedef enum hn_remedy_by { HN_BY_ENGINE, HN_BY_SEARCH, HN_BY_PEOPLE } hn_remedy_by;

typedef struct hn_remedy {
    const char *device;
    hn_branch_id branch;
    const char *name;
    hn_does_id does;
    hn_remedy_by by;
    const char *gain;    /* people are told to expect; "": none is told */
    const char *command; /* "": it is outside of hone */
} hn_remedy;

typedef struct hn_trouble {
    const char *device;
    hn_does_id does;
    const char *sign, *remedy;
} hn_trouble;

/* What is no remedy for a device. */
typedef struct hn_refused {
    const char *device;
    hn_does_id does;
    const char *name, *why;
} hn_refused;

const hn_target *hn_target_at(int i);                     /* NULL: there are no more */
const hn_target *hn_target_named(const char *name);       /* NULL: there is none */
const hn_branch *hn_branch_at(hn_tree tree, int i);       /* in order; NULL: there are no more */
const hn_remedy *hn_remedy_at(const char *device, int i); /* in order; NULL: there are no more */
const hn_remedy *hn_remedy_named(const char *device, const char *name);
const hn_trouble *hn_trouble_of(const char *device);
const hn_refused *hn_refused_at(const char *device, int i); /* NULL: there are no more */
/* "cpu, embedded_mcu ...": all devices. Returns text. */
const char *hn_devices_text(char *text, size_t bytes);
/* The names of what models are used for, likewise. */
const char *hn_purposes_text(char *text, size_t bytes);
/* "threads, fast kernels, ...": what the guides try on a device, in order. Returns text. */
const char *hn_remedies_text(const char *device, char *text, size_t bytes);

/* ---- what remedies do and what is wanted (advice.def) ---- */

typedef enum hn_wants { HN_WANTS_NOTHING, HN_WANTS_SAMPLES, HN_WANTS_TRAINING } hn_wants;

typedef struct hn_does {
    const char *precision; /* that products are computed in afterwards; NULL: as before */
    /* What remains, as shares: of the arithmetic, of the bytes of activations and of weights while
     * running, and of the file. 1: all; NaN: it depends on the model. */
    double flops, activations, weights, file;
    const char *effort; /* the time it takes to do */
    hn_wants needs;
    double loss; /* of accuracy, that guides tell people to expect at most */
    const char *risk;
} hn_does;

/* Figures of a typical device of a class, for plans that no measured machine is given for. */
typedef struct hn_typical {
    const char *device, *name;
    double f32, f16, bf16, int8,
        int4;                     /* 10^9 operations per second; 0: it has no arithmetic for it */
    double cache_bytes, cache_gb; /* 10^9 bytes per second from it */
    double memory_bytes, memory_gb;
    double file_bytes;  /* it has storage for; 0: enough */
    double copy_gb;     /* to its own memory; 0: it has none */
    double overhead_us; /* that starting a step takes */
    double reach;       /* the share of the roof that models reach */
    bool fuses; /* what runs models there computes elementwise nodes with those before them */
} hn_typical;

/* What --use stands for. */
typedef struct hn_purpose {
    const char *name, *what;
    double max_ms;          /* of a run */
    double per_second;      /* samples; 0: not asked for */
    double memory_bytes;    /* a run may take; 0: not told */
    int batch_lo, batch_hi; /* that are usual for it */
} hn_purpose;

typedef struct hn_symptom {
    const char *kind, *sign, *remedies;
} hn_symptom;

const hn_does *hn_does_of(hn_does_id id);
const hn_typical *hn_typical_of(const char *device);  /* NULL: there is none */
const hn_purpose *hn_purpose_at(int i);               /* NULL: there are no more */
const hn_purpose *hn_purpose_named(const char *name); /* NULL: there is none */
const hn_symptom *hn_symptom_at(int i);               /* NULL: there are no more */

#endif
