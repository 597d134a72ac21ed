/* One-node tests of operators, written as text.
 *
 *     OP_RUN("Add", .in = {"f32[2, 1]{1, 2}", "f32[2]{10, 20}"},
 *            .out = {"f32[2, 2]{11 21 12 22}"});
 *     OP_RUN("Mod", .in = {"s8[1]{5}", "s8[1]{0}"}, .error = "division by zero");
 *     OP_INFER("Concat", .attrs = "axis=0", .in = {"f32[n, 3]", "f32[2, 3]"},
 *              .out = {"f32[n + 2, 3]"});
 *
 * A tensor is `type[dims]{contents}`.
 *   type      a short name (f32, s64, u4, bool)
 *   [dims]    left out: the rank is not known. A dim is a number, a symbol, min(a, b),
 *             max(a, b), floor(a/b) or a sum of products of these, or
 *             `?`: a size nobody knows (expected: some symbol made up by inference), `?<=6`: one
 *             that is at most 6
 *   {...}     left out: the contents are not known (expected: not compared). Numbers, for OP_INFER
 *             also dims, separated by commas or spaces; `{7 ...}` repeats the last to the end,
 *             `{3 ..}` counts on from it. Expected `{?}`: the contents must not be known.
 * A NULL or "" tensor is an absent input, or an output that is not wanted.
 *
 * Attributes are `name=value` separated by spaces; a value is 3, 0.5, 'text', [1, 2], [0.5, 1.5],
 * ['a', 'b'] or a tensor.
 *
 * OP_RUN runs the node as the executor does, and besides comparing the outputs checks that they are
 * the same bits with several threads, that every allocation may fail, and that nothing leaks.
 */
#ifndef HN_TESTS_SUPPORT_OP_TEST_H
#define HN_TESTS_SUPPORT_OP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "ops/op.h"

#define OP_TEST_MAX 16 /* inputs, outputs */

typedef struct op_case {
    const char *op; /* "Add", "com.microsoft.Gelu" */
    const char *attrs;
    const char *in[OP_TEST_MAX];
    const char *out[OP_TEST_MAX];
    /* Floats: |found - wanted| <= tolerance * max(1, |wanted|); 0 means 1e-6, and what one rounding
     * costs in a narrower type. Integers are compared exactly. */
    double tolerance;
    const char *error; /* the operator must fail, with a message that holds this */
} op_case;

#define OP_INFER(...) op_test_infer(&(op_case){__VA_ARGS__}, __FILE__, __LINE__)
#define OP_RUN(...) op_test_run(&(op_case){__VA_ARGS__}, __FILE__, __LINE__)

void op_test_infer(const op_case *c, const char *file, int line);
void op_test_run(const op_case *c, const char *file, int line);

#endif
