#include "hone/hone.h"

#define TEXT(number) #number
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *hone_version(void) {
    return VERSION(HONE_VERSION_MAJOR, HONE_VERSION_MINOR, HONE_VERSION_PATCH);
}

int hone_version_number(void) { return HONE_VERSION_NUMBER; }
