/* Status propagation: one line of text, written once where the trouble is seen, given context on
 * the way up. */
#ifndef HN_BASE_ERROR_H
#define HN_BASE_ERROR_H

#include <assert.h>

#include "hone/hone.h"

typedef hone_error hn_error;

/* Writes the message (if err is not NULL) and returns code. */
hone_status hn_fail(hn_error *err, hone_status code, const char *format, ...) HONE_PRINTF(3, 4);

/* Puts "<text>: " in front of the message already in err: the file, the node, the function a caller
 * knows about. */
void hn_error_context(hn_error *err, const char *format, ...) HONE_PRINTF(2, 3);

/* Replaces control characters: a message stays one line whatever names a hostile file brought
 * along. */
void hn_one_line(char *text);

#define HN_FAIL(err, code, ...) hn_fail((err), (code), __VA_ARGS__)

#define HN_TRY(call)                                  \
    do {                                              \
        hone_status hn_status_ = (call);              \
        if (hn_status_ != HONE_OK) return hn_status_; \
    } while (0)

#define HN_CHECK(err, cond, code, ...)                           \
    do {                                                         \
        if (!(cond)) return hn_fail((err), (code), __VA_ARGS__); \
    } while (0)

/* For functions that end in one clean-up path: `status` is the function's own variable, `fail` its
 * label. */
#define HN_TRY_GOTO(call)                 \
    do {                                  \
        status = (call);                  \
        if (status != HONE_OK) goto fail; \
    } while (0)

#define HN_CHECK_GOTO(err, cond, code, ...)               \
    do {                                                  \
        if (!(cond)) {                                    \
            status = hn_fail((err), (code), __VA_ARGS__); \
            goto fail;                                    \
        }                                                 \
    } while (0)

#define HN_NOMEM(err) hn_fail((err), HONE_E_NOMEM, "out of memory")

#endif
