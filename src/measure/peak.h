/* What a core does at best: arithmetic fed from registers, and memory read, written and copied.
 *
 * The loops are assembler, so that what is timed is what is written. They need nothing but an
 * instruction set; who calls them brings threads, memory and a clock. The kernel check program
 * measures against them too.
 */
#ifndef HN_MEASURE_PEAK_H
#define HN_MEASURE_PEAK_H

#include "base/isa.h"

typedef struct hn_peak {
    const char *precision;   /* "f32", "bf16", "f16", "int8" */
    const char *instruction; /* "vfmadd231ps zmm" */
    hn_isa isa;
    double ops; /* per round; a multiply-add is two */
    void (*loop)(int64_t rounds);
} hn_peak;

/* By precision, weakest instruction set first. */
extern const hn_peak hn_peaks[];
extern const int hn_n_peaks;

/* Operations of this core at this moment in 1e9/s, at a precision, with these instruction sets and
 * what they imply, within some 10 us; 0: unknown. */
double hn_peak_now(const char *precision, hn_isa isa);

/* How fast this core is at this moment, within some 10 us: f32 products with an operand from the
 * nearest cache, in a unit of its own. They keep both the arithmetic and the loads of a core busy,
 * so that whatever shares it, another process or the core's other hardware thread, shows. */
double hn_peak_probe(hn_isa isa);

typedef enum hn_stream {
    HN_STREAM_READ,
    HN_STREAM_WRITE,
    HN_STREAM_COPY,
    HN_STREAM_COUNT_
} hn_stream;

/* Goes over `bytes` (a multiple of 1024) of memory once: reads or writes all, or copies the first
 * half to the second. Aligned to 64. */
void hn_stream_run(hn_stream kind, hn_isa isa, void *memory, size_t bytes);

#endif
