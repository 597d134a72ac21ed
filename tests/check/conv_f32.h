/* The cases of conv_f32, for families that take the same problems. */
#ifndef CHECK_CONV_F32_H
#define CHECK_CONV_F32_H

#include "check.h"

void check_conv_f32_cases(check_list *list);
void check_conv_f32_magnitude(void *problem);

#endif
