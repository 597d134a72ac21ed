#include "train/named.h"

#include <stdio.h>
#include <string.h>

hone_status hn_named_find(const char *what, const char *name, int n, const char *(*name_of)(int i),
                          int *at, hn_error *err) {
    char names[300] = "";
    size_t used = 0;
    for (*at = 0; *at < n; ++*at)
        if (strcmp(name_of(*at), name) == 0) return HONE_OK;
    for (int i = 0; i < n && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                                 name_of(i));
    return HN_FAIL(err, HONE_E_ARG, "there is no %s '%.100s', expected one of %s", what, name,
                   names);
}
