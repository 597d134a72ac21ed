/* Instruction sets, as bundles that come together in real CPUs:
 *   portable < avx2 < {avxvnni, avx512 < avx512vbmi < avx512vnni < amx}
 *   portable < neon < neondot < neoni8mm
 * Some CPUs with avx512vnni have no avx512vbmi; a row that wants both names both.
 * A set of them is a mask of bits; portable is no bit at all. Detected once; HONE_ISA=name, or
 * hn_isa_limit, allows that bundle and what it implies, and nothing else.
 */
#ifndef HN_BASE_ISA_H
#define HN_BASE_ISA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef uint32_t hn_isa;

enum {
    HN_ISA_PORTABLE = 0,
#define HN_ISA_ROW(name, bit, text, ...) HN_ISA_##name = 1 << (bit),
#include "base/isa.def"
#undef HN_ISA_ROW
};

/* What this CPU has, and the system lets it use. */
hn_isa hn_isa_detected(void);
/* What this CPU has and HONE_ISA allows. An unknown name in HONE_ISA is a warning in the log. */
hn_isa hn_isa_available(void);
/* What of `have` the bundle of that name allows. HONE_E_ARG lists the names there are. */
hone_status hn_isa_limit(hn_isa have, const char *name, hn_isa *out, hn_error *err);
/* The strongest bundle of a set: "avx512"; "portable" for the empty set. */
const char *hn_isa_name(hn_isa set);

/* Facts of a bundle that plans are made by; isa.def says what they mean. */
typedef struct hn_isa_facts {
    int vector_floats;
    double short_rate, near_rate, tile_rate;
    bool likes_7_bits;
} hn_isa_facts;

/* Those of the strongest bundle of a set. */
const hn_isa_facts *hn_isa_facts_of(hn_isa set);

#endif
