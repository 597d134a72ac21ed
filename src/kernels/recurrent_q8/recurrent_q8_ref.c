#define RECURRENT_Q8
#define ROW hn_recurrent_q8_ref
#include "kernels/recurrent_f32/recurrent_f32_ref_body.h"
