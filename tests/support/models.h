/* The models of tests/models, and what the tests of the API check again and again. */
#ifndef TESTS_SUPPORT_MODELS_H
#define TESTS_SUPPORT_MODELS_H

#include "hone/hone.h"

#define MODEL(name) HN_SOURCE_DIR "/tests/models/" name ".onnx"
#define DIGITS HN_SOURCE_DIR "/models/digits_cnn.onnx"

/* Fails the test with the message if the call did. */
#define ASSERT_OK(call, err)                                           \
    do {                                                               \
        hone_status status_ = (call);                                  \
        if (status_ != HONE_OK) fail_msg("%s: %s", #call, (err).text); \
    } while (0)
/* The call must fail with this status and a message that holds the text. */
#define ASSERT_FAILS(call, err, wanted, part)                                      \
    do {                                                                           \
        hone_status status_ = (call);                                              \
        if (status_ != (wanted) || (err).status != (wanted))                       \
            fail_msg("%s: %s, expected %s", #call, hone_status_name(status_),      \
                     hone_status_name(wanted));                                    \
        if (strstr((err).text, (part)) == NULL)                                    \
            fail_msg("%s: \"%s\" does not say \"%s\"", #call, (err).text, (part)); \
    } while (0)

#endif
