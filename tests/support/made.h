/* Models made of descriptions. Memory is scratch_mem's; the test fails if something is wrong. */
#ifndef TESTS_SUPPORT_MADE_H
#define TESTS_SUPPORT_MADE_H

#include "make/make.h"

/* The model of an architecture, or of a text; settings may be NULL. Its types are inferred. */
hn_model *made_architecture(const char *name, const char *settings);
hn_model *made_text(const char *text, const char *settings);
/* Making it must fail with this status and a message that holds the part. */
void made_fails(const char *text, const char *settings, hone_status status, const char *part);

/* Elements of the constants that training changes: all floats but scalars and running statistics. */
int64_t made_params(const hn_model *m);
/* Multiply-accumulates, N being 1 and S 128. */
int64_t made_macs(hn_model *m);
/* The type of the output as "f32[N, 10]". */
const char *made_output(const hn_model *m);
/* The architecture with these settings has all three. */
void made_counts(const char *name, const char *settings, int64_t params, int64_t macs,
                 const char *output);

#endif
