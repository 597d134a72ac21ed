/* Where the time of long work goes: seconds of each stage, in the order the stages began.
 *
 *   hn_stages_enter(&s, "calibrate");   ... ends the stage before
 *   hn_stages_enter(&s, "quantize");
 *   hn_stages_enter(&s, NULL);          nothing is going on
 *
 * A stage that is entered again goes on.
 */
#ifndef HN_BASE_STAGES_H
#define HN_BASE_STAGES_H

#include <stdint.h>

#include "hone/hone.h"

enum { HN_MOST_STAGES = 24, HN_STAGE_NAME = 24 };

typedef struct hn_stages {
    int n;
    int now; /* the stage that is going on, counted from 1; 0: none */
    int64_t since, cpu_since;
    char names[HN_MOST_STAGES][HN_STAGE_NAME];
    int64_t ns[HN_MOST_STAGES], cpu_ns[HN_MOST_STAGES];
} hn_stages;

/* What comes when there are HN_MOST_STAGES belongs to the last. Names are cut to their room. */
void hn_stages_enter(hn_stages *s, const char *name);
/* What is told of stage i; its name lies in s. */
hone_stage hn_stages_told(const hn_stages *s, int i);

#endif
