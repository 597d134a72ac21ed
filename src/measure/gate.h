/* Gates: whether a model is good enough, decided in one place.
 *
 * A gate lies max_drop below a reference, or above it where lower numbers are better; relative, that
 * is a share of the reference. A goal is a reference with max_drop 0. A number passes when it is at
 * least as good as the gate. What is worse by rounding alone passes too: 0.95 less 0.01 is not
 * exactly 0.94.
 */
#ifndef HN_MEASURE_GATE_H
#define HN_MEASURE_GATE_H

#include <stdbool.h>

/* What may be lost at most, and where the gate lies then. */
double hn_gate_drop(double reference, double max_drop, bool relative);
double hn_gate_bound(double reference, double max_drop, bool relative, bool lower_better);
/* By how much a value passes; negative or NaN: it does not. */
double hn_gate_margin(double value, double reference, double max_drop, bool relative,
                      bool lower_better);

#endif
