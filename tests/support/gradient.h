/* Gradients against finite differences, in double, through the plain executor.
 *
 *     gradient_agrees("m (double[2,3] x, double[3,4] w) => (double[2,4] y) { y = MatMul (x, w) }");
 *
 * The loss is a random sum of all outputs. It is differentiated by every input of doubles, or of
 * floats for operators that take no doubles; others hold integers. Differences are those of the
 * graph as it is written. An input whose name begins with "p" is positive, with "u" between -0.9 and 0.9,
 * with "t" from few numbers, so that there are ties; integers are below 3 ("i"), or axes, sizes and
 * the like that the text gives as constants. Elements of the others are apart from each other and
 * from whole numbers, so that no difference reaches over an edge.
 */
#ifndef TESTS_SUPPORT_GRADIENT_H
#define TESTS_SUPPORT_GRADIENT_H

void gradient_agrees(const char *text);
/* Differentiating fails with a message that holds this. */
void gradient_refused(const char *text, const char *message);

/* Differentiates with the first, the second, ... allocation failing, until all succeed. */
void gradient_survives(const char *text);

#endif
