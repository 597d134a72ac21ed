#include "ops/scalar.h"

double hn_exp(double x) {
    if (x != x) return x;
    if (x > 710) return INFINITY;
    if (x < -746) return 0;
    /* The high part of ln 2 has 11 zero bits at its end: its product with k is exact. */
    const double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;
    double k = rint(x * M_LOG2E), r = x - k * ln2_high - k * ln2_low, sum = 1;
    for (int i = 14; i > 0; i--) sum = 1 + sum * r / i;
    return ldexp(sum, (int)k);
}
