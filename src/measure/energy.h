/* Energy the CPU packages take, as the kernel's power capping interface reports it (RAPL on x86).
 *
 * Each package has a counter of microjoules that starts again at its range, every ten minutes or
 * so under load. Read below a `root`, "" for the machine's own, so that tests can bring a tree of
 * their own. Often only the superuser may read it, and virtual machines have none.
 */
#ifndef HN_MEASURE_ENERGY_H
#define HN_MEASURE_ENERGY_H

#include "hone/hone.h"

void hn_energy_read(const char *root, hone_energy *out);
double hn_energy_between(const hone_energy *from, const hone_energy *to);

#endif
