#include "measure/energy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ZONES "/sys/class/powercap"

static bool first_word(const char *root, int zone, const char *file, char word[32]) {
    char path[4096];
    if (snprintf(path, sizeof path, "%s" ZONES "/intel-rapl:%d/%s", root, zone, file) >=
        (int)sizeof path)
        return false;
    FILE *f = fopen(path, "re");
    if (f == NULL) return false;
    bool found = fscanf(f, "%31s", word) == 1;
    fclose(f);
    return found;
}

static bool counter(const char *root, int zone, const char *file, int64_t *v) {
    char word[32], end;
    long long x;
    if (!first_word(root, zone, file, word) || sscanf(word, "%18lld%c", &x, &end) != 1 || x < 0)
        return false;
    *v = x;
    return true;
}

void hn_energy_read(const char *root, hone_energy *out) {
    char name[32];
    *out = (hone_energy){.size = sizeof *out};
    /* A zone may also be the whole platform, `psys`, which holds the packages once more. */
    for (int i = 0; i < HONE_ENERGY_PACKAGES && first_word(root, i, "name", name); i++) {
        int k = out->n;
        if (strncmp(name, "package", 7) == 0 && counter(root, i, "energy_uj", &out->uj[k]) &&
            counter(root, i, "max_energy_range_uj", &out->range_uj[k]))
            out->n++;
    }
}

double hn_energy_between(const hone_energy *from, const hone_energy *to) {
    double uj = 0;
    if (from->n == 0 || from->n != to->n) return NAN;
    for (int i = 0; i < from->n; i++) {
        double d = (double)(to->uj[i] - from->uj[i]);
        uj += d < 0 ? d + (double)to->range_uj[i] : d;
    }
    return uj * 1e-6;
}
