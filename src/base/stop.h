/* A word that tells work under way to end. Whoever computes for long looks at it now and then and
 * leaves early; what was being computed is then worth nothing, and the caller, who looks too before
 * using it, fails with HONE_E_LIMIT. */
#ifndef HN_BASE_STOP_H
#define HN_BASE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Twice the number of runs under way, and 1 more when they are to end. All of one word, so that a
 * stop is never left over for a run that begins later. */
typedef _Atomic uint32_t hn_stop;

static inline bool hn_stopped(const hn_stop *s) {
    return s != NULL && (atomic_load_explicit(s, memory_order_relaxed) & 1) != 0;
}

static inline void hn_stop_enter(hn_stop *s) { atomic_fetch_add(s, 2); }

/* With the last run the wish to end is gone, too. */
static inline void hn_stop_leave(hn_stop *s) {
    uint32_t now = atomic_load(s), next;
    do {
        next = now - 2;
        if (next == 1) next = 0;
    } while (!atomic_compare_exchange_weak(s, &now, next));
}

/* The runs under way are to end; nothing if there are none. Safe in signal handlers. */
static inline void hn_stop_ask(hn_stop *s) {
    uint32_t now = atomic_load(s);
    while (now != 0 && !atomic_compare_exchange_weak(s, &now, now | 1)) {
    }
}

#endif
