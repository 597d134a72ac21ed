/* Cases of conv_computed_f32: those of conv_f32. */
#include "kernels/conv_computed_f32/conv_computed_f32.h"

#include "conv_f32.h"

const check_family check_conv_computed_f32 = {.family = &hn_conv_computed_f32_family,
                                              .cases = check_conv_f32_cases,
                                              .magnitude = check_conv_f32_magnitude};
