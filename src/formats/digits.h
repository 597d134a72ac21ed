/* The embedded dataset `synthetic:digits`: handwritten-style digits drawn on demand. */
#ifndef HN_FORMATS_DIGITS_H
#define HN_FORMATS_DIGITS_H

#include <stdint.h>

#define HN_DIGITS_SIDE 28
#define HN_DIGITS_CLASSES 10

/* Draws sample `index` (>= 0) of the dataset named by `seed`: rows top to bottom, 0 black paper to
 * 255 full ink, and its label 0..9. A pure function of seed and index: the same bytes on every
 * machine, in any order, from any thread. Samples 10k to 10k+9 hold each class once, in an order
 * that changes with k, so the classes of a prefix differ by at most one. Costs about 15 us, no
 * allocation. */
void hn_digits_sample(uint64_t seed, int64_t index, uint8_t image[HN_DIGITS_SIDE * HN_DIGITS_SIDE],
                      int *label);

#endif
