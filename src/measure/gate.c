#include "measure/gate.h"

#include <math.h>

#define ROUNDING 1e-12 /* of the larger of gate and reference: a few thousand roundings of f64 */

double hn_gate_drop(double reference, double max_drop, bool relative) {
    return max_drop * (relative ? fabs(reference) : 1);
}

double hn_gate_bound(double reference, double max_drop, bool relative, bool lower_better) {
    double drop = hn_gate_drop(reference, max_drop, relative);
    return lower_better ? reference + drop : reference - drop;
}

double hn_gate_margin(double value, double reference, double max_drop, bool relative,
                      bool lower_better) {
    double bound = hn_gate_bound(reference, max_drop, relative, lower_better);
    double margin = lower_better ? bound - value : value - bound;
    double rounding = ROUNDING * fmax(fabs(bound), fabs(reference));
    return margin < 0 && margin >= -rounding ? 0 : margin;
}
