#include "advise/strategy.h"

#include <stdio.h>
#include <string.h>

#define HN_DEVICE(name, bits, pruning, layout, precision)
#define HN_REMEDY(device, name, by, condition, gain)
#define HN_TROUBLE(device, sign, remedy)

#undef HN_DEVICE
#define HN_DEVICE(name, bits, pruning, layout, precision) {#name, bits, pruning, layout, precision},
static const hn_target devices[] = {
#include "advise/strategy.def"
};
#undef HN_DEVICE
#define HN_DEVICE(name, bits, pruning, layout, precision)

#undef HN_REMEDY
#define HN_REMEDY(device, name, by, condition, gain) {#device, name, HN_BY_##by, condition, gain},
static const hn_remedy remedies[] = {
#include "advise/strategy.def"
};
#undef HN_REMEDY
#define HN_REMEDY(device, name, by, condition, gain)

#undef HN_TROUBLE
#define HN_TROUBLE(device, sign, remedy) {#device, sign, remedy},
static const hn_trouble troubles[] = {
#include "advise/strategy.def"
};
#undef HN_DEVICE
#undef HN_REMEDY
#undef HN_TROUBLE

#define COUNT(table) ((int)(sizeof table / sizeof *table))

const hn_target *hn_target_at(int i) { return i < COUNT(devices) ? &devices[i] : NULL; }

const hn_target *hn_target_named(const char *name) {
    for (int i = 0; i < COUNT(devices); i++)
        if (strcmp(devices[i].name, name) == 0) return &devices[i];
    return NULL;
}

const hn_remedy *hn_remedy_at(const char *device, int i) {
    for (int k = 0; k < COUNT(remedies); k++)
        if (strcmp(remedies[k].device, device) == 0 && i-- == 0) return &remedies[k];
    return NULL;
}

const hn_remedy *hn_remedy_named(const char *device, const char *name) {
    const hn_remedy *r;
    for (int i = 0; (r = hn_remedy_at(device, i)) != NULL; i++)
        if (strcmp(r->name, name) == 0) return r;
    return NULL;
}

const hn_trouble *hn_trouble_of(const char *device) {
    for (int i = 0; i < COUNT(troubles); i++)
        if (strcmp(troubles[i].device, device) == 0) return &troubles[i];
    return NULL;
}

const char *hn_devices_text(char *text, size_t bytes) {
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < COUNT(devices) && used < bytes; i++)
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", devices[i].name);
    return text;
}

const char *hn_remedies_text(const char *device, char *text, size_t bytes) {
    const hn_remedy *r;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; (r = hn_remedy_at(device, i)) != NULL && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", r->name);
    return text;
}
