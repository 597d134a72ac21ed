/* Advice: from what is known of a model and of a machine to a plan. Nothing is measured here: the
 * same facts give the same plan everywhere.
 *
 *     counts of the model, or its measured steps  --+
 *     limits of the machine it is meant for  -------+-->  time of a run, and what binds it
 *     what is wanted  ------------------------------+         |
 *     the tree of the device (strategy.def)  -----------------+-->  remedies, in the tree's order
 *
 * The time of a step is the least that its roof allows, divided by the share of the roof that it
 * reaches: measured where the model ran on the machine that is planned for, else what is typical.
 * A remedy changes arithmetic, bytes, precision or overhead, and so the roof. Remedies are taken in
 * the order of the tree, the gentlest first, each on top of those before it, until what is wanted
 * is met.
 */
#ifndef HN_ADVISE_ADVICE_H
#define HN_ADVISE_ADVICE_H

#include "advise/counts.h"
#include "advise/strategy.h"

/* The machine that the model is meant for. */
typedef struct hn_advice_machine {
    const hone_machine *limits; /* peaks, bandwidths, caches */
    const char *name;
    bool typical;       /* figures of a class of devices, not measured */
    bool here;          /* the profile is of this machine */
    const char *isa;    /* the strongest instruction set that runs may use; NULL: any */
    int threads, cores; /* that a run uses; that it may use. 0: not known */
    double memory_bytes, file_bytes; /* there are; 0: not known */
    double copy_gb;                  /* 10^9 bytes per second to its own memory; 0: it has none */
    double overhead_us, reach;       /* of steps that were not measured */
    bool fuses;                      /* elementwise nodes are computed with those before them */
} hn_advice_machine;

typedef struct hn_advice_facts {
    const hn_target *target;
    const hn_purpose *use; /* NULL: not told */
    const hn_counts *counts;
    const hone_profile *profile; /* of a run on this machine; NULL: there was none */
    hn_advice_machine on;
    double run_bytes;  /* that a run takes, as planned; 0: not known */
    double outside_ms; /* of a batch, around inference; negative: not known */
    double inside_ms;  /* inference of that batch */
    /* What is wanted. 0: nothing of the kind; max_drop: negative. */
    double max_ms, per_second, max_file, max_memory, max_drop;
    bool relative; /* max_drop is a share of the value */
    double requests_per_day, machine_price;
    bool data; /* there are samples */
    /* Words for commands, as a shell takes them. */
    const char *model, *output, *samples;
} hn_advice_facts;

/* The machine of typical figures; limits lie in the arena. */
hone_status hn_advice_typical(hn_advice_machine *on, const hn_typical *t, hn_arena *arena,
                              hn_error *err);

/* All of the advice but size and owner, in the arena. */
hone_status hn_advise(hone_advice *out, const hn_advice_facts *f, hn_arena *arena, hn_error *err);

#endif
