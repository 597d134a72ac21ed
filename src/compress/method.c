#include "compress/method.h"

#include <string.h>

static const hn_method methods[] = {
#define HN_METHOD(name, stage, needs_data, help) \
    {#name, HN_STAGE_##stage, needs_data, help, hn_method_##name},
#include "compress/methods.def"
#undef HN_METHOD
    {0},
};

int hn_method_count(void) { return (int)(sizeof methods / sizeof methods[0]) - 1; }

const hn_method *hn_method_at(int i) { return &methods[i]; }

const hn_method *hn_method_named(const char *name) {
    for (const hn_method *m = methods; m->name != NULL; m++)
        if (strcmp(m->name, name) == 0) return m;
    return NULL;
}
