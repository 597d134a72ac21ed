/* cos(pi t) and sin(pi t) for abs(t) <= 1/2, within 4e-16 of the true value: Taylor series, whose
 * coefficients are pi^k / k!. They use only operations that IEEE rounds exactly, so the bits are
 * the same on every machine, and no branches, so that compilers make vectors of loops over them. */
#ifndef HN_OPS_COSINE_H
#define HN_OPS_COSINE_H

static inline double hn_cos_pi(double t) {
    double z = t * t, p = 0x1.838d8f4321800p-40;
    p = p * z + -0x1.52ae4120fde27p-34;
    p = p * z + 0x1.ef6e308d6d1c4p-29;
    p = p * z + -0x1.2a0c591af8314p-23;
    p = p * z + 0x1.20c62c2f2d7f5p-18;
    p = p * z + -0x1.b6e24f44b128fp-14;
    p = p * z + 0x1.f9d38a3763cc3p-10;
    p = p * z + -0x1.a6d1f2a204a8cp-6;
    p = p * z + 0x1.e1f506891babbp-3;
    p = p * z + -0x1.55d3c7e3cbffap+0;
    p = p * z + 0x1.03c1f081b5ac4p+2;
    p = p * z + -0x1.3bd3cc9be45dep+2;
    p = p * z + 0x1.0000000000000p+0;
    return p;
}

static inline double hn_sin_pi(double t) {
    double z = t * t, p = 0x1.859c594ba4573p-43;
    p = p * z + -0x1.7215f879e1ac9p-37;
    p = p * z + 0x1.2877020d52cf0p-31;
    p = p * z + -0x1.8a404211f9547p-26;
    p = p * z + 0x1.aaec32af93359p-21;
    p = p * z + -0x1.6fadb9f155744p-16;
    p = p * z + 0x1.e8f434d018d63p-12;
    p = p * z + -0x1.e3074fde8871fp-8;
    p = p * z + 0x1.50783487ee782p-4;
    p = p * z + -0x1.32d2cce62bd86p-1;
    p = p * z + 0x1.466bc6775aae2p+1;
    p = p * z + -0x1.4abbce625be53p+2;
    p = p * z + 0x1.921fb54442d18p+1;
    return t * p;
}

#endif
