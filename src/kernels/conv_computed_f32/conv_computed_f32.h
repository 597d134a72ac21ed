/* conv_computed_f32: a convolution whose weights are computed while the model runs, such as the
 * template of a tracker. The problem, its operands and its error are those of conv_f32, except that
 * no operand is constant: rows that want packed weights pack them into scratch on every run. */
#ifndef HN_KERNELS_CONV_COMPUTED_F32_H
#define HN_KERNELS_CONV_COMPUTED_F32_H

#include "kernels/conv_f32/conv_f32.h"

extern const hn_family hn_conv_computed_f32_family;

#endif
