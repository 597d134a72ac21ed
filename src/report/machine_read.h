/* A machine as `hone machine` described it: the object of --json, which -o writes to a file.
 *
 * The text may come from anywhere. What a probe always finds must be there, and every number must be
 * one that a probe can find; the first thing that is not names its key. What a probe may not find
 * (a limit, a GPU) is unknown where it is absent. Keys that this version does not know are left
 * alone. */
#ifndef HN_REPORT_MACHINE_READ_H
#define HN_REPORT_MACHINE_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "hone/hone.h"

/* All of hone_machine but `size` and `owner`, in the arena. name: of the file, for messages. */
hone_status hn_machine_read(hone_machine *m, const char *name, const char *text, hn_arena *arena,
                            hn_error *err);

#endif
