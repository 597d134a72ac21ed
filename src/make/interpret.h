/* Carries out the lines of a description. */
#ifndef HN_MAKE_INTERPRET_H
#define HN_MAKE_INTERPRET_H

#include "make/layer.h"
#include "make/settings.h"

/* The most lines that are carried out, those of blocks and repetitions counted each time; how deep
 * blocks may call others; and the most letters of a name. */
#define HN_MAKE_STEPS 100000
#define HN_MAKE_CALLS 16
#define HN_MAKE_NAME 200

/* Makes the layers of `d` one after the other. `common` has the blocks that every description may
 * use. m->flow is what the last layer made. */
hone_status hn_interpret(hn_maker *m, const hn_description *d, const hn_description *common,
                         const hn_settings *s, hn_arena *arena, hn_error *err);

#endif
