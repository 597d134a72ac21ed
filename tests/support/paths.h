/* Where tests find the models and data that are not part of the repository. */
#ifndef HN_TESTS_PATHS_H
#define HN_TESTS_PATHS_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* HONE_ASSETS, or ../shared/assets beside the source; NULL when there is no such folder. */
static inline const char *test_assets(void) {
    static char path[4096];
    const char *env = getenv("HONE_ASSETS");
    snprintf(path, sizeof path, "%s", env != NULL ? env : HN_SOURCE_DIR "/../shared/assets");
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode) ? path : NULL;
}

#endif
