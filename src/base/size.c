#include "base/size.h"

bool hn_dims_count(const int64_t *dims, int rank, int64_t *count) {
    int64_t n = 1;
    bool zero = false, fits = true;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) return false;
        if (dims[i] == 0)
            zero = true;
        else if (fits)
            fits = hn_i64_mul(n, dims[i], &n);
    }
    if (!zero && !fits) return false;
    *count = zero ? 0 : n;
    return true;
}

bool hn_packed_bytes(int64_t count, int bits, size_t *bytes) {
    if (count < 0 || bits <= 0) return false;
    size_t n = (size_t)count;
    if (bits >= 8) return hn_size_mul(n, (size_t)bits / 8, bytes) && *bytes <= (size_t)INT64_MAX;
    size_t per_byte = 8 / (size_t)bits;
    *bytes = n / per_byte + (n % per_byte != 0);
    return true;
}
