/* Whole models, written in the text form (ir/text.h), inferred and run.
 *
 *     hn_model *m = model_inferred("m (float[n] x) => (float[k] y) {"
 *                                  "  y = Concat <axis: int = 0> (x, x) }");
 *     assert_string_equal(type_of(m, "y"), "f32[2*n]");
 *     model_runs(m, TEXTS("float[1] {3}"), TEXTS("float[2] {3, 3}"));
 *
 * A header that does not name an opset means the newest. All memory comes from model_mem, and
 * model_teardown fails the test when some is left.
 */
#ifndef HN_TESTS_SUPPORT_TEXT_MODEL_H
#define HN_TESTS_SUPPORT_TEXT_MODEL_H

#include "base/rng.h"
#include "ops/eval.h"
#include "ops/infer.h"

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

extern hn_allocator model_mem;

int model_setup(void **state);
/* Destroys the models made since and checks for leaks. */
int model_teardown(void **state);

/* Reads the text; the nodes are still in the semantics of its opset. */
hn_model *model_read(const char *text);
/* Reads and infers; before, every allocation of inference has failed once. */
hn_model *model_inferred(const char *text);
/* Inference must fail with a message that holds this. */
void model_infer_fails(const char *text, const char *message);

/* One tensor, as in "float[2] {1, 2}". The caller releases it. */
hn_tensor *tensor_of(const char *text);
/* One of the value's type, whose shape is fixed, with numbers from -1 to 1. */
hn_tensor *random_tensor_of(const hn_value *v, hn_rng *rng);
/* Runs the model: inputs in order, NULL-ended ("" is an input that is not given). Outputs must be
 * what `wanted` says, bit for bit ("" is not compared). Every allocation has failed once. */
void model_runs(hn_model *m, const char *const *inputs, const char *const *wanted);
void model_run_fails(hn_model *m, const char *const *inputs, const char *message);

/* The value of that name in any graph of the model; and its type as "f32[n, 3]". */
hn_value *value_of(hn_model *m, const char *name);
const char *type_of(hn_model *m, const char *name);
/* Its known contents, as "{1, n + 2}"; "?" when they are not known. */
const char *known_of(hn_model *m, const char *name);

#endif
