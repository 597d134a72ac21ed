#include "hone/hone.h"

const char *hone_version(void) { return HN_VERSION; }
