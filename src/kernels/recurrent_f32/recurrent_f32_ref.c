#define ROW hn_recurrent_f32_ref
#include "kernels/recurrent_f32/recurrent_f32_ref_body.h"
