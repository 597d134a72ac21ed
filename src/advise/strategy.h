/* The tables of strategy.def: devices, what is tried on each, and what is expected of it. */
#ifndef HN_ADVISE_STRATEGY_H
#define HN_ADVISE_STRATEGY_H

#include <stddef.h>

typedef struct hn_target {
    const char *name;
    int bits;
    const char *pruning, *layout, *precision;
} hn_target;

typedef enum hn_remedy_by { HN_BY_ENGINE, HN_BY_SEARCH, HN_BY_PEOPLE } hn_remedy_by;

typedef struct hn_remedy {
    const char *device, *name;
    hn_remedy_by by;
    const char *condition; /* "": always */
    const char *gain;      /* people are told to expect; "": none is told */
} hn_remedy;

typedef struct hn_trouble {
    const char *device, *sign, *remedy;
} hn_trouble;

const hn_target *hn_target_at(int i);                     /* NULL: there are no more */
const hn_target *hn_target_named(const char *name);       /* NULL: there is none */
const hn_remedy *hn_remedy_at(const char *device, int i); /* in order; NULL: there are no more */
const hn_remedy *hn_remedy_named(const char *device, const char *name);
const hn_trouble *hn_trouble_of(const char *device);
/* "cpu, embedded_mcu ...": all devices. Returns text. */
const char *hn_devices_text(char *text, size_t bytes);
/* "threads, fast kernels, ...": what the guides try on a device, in order. Returns text. */
const char *hn_remedies_text(const char *device, char *text, size_t bytes);

#endif
