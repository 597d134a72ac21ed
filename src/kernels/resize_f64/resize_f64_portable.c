#include "kernels/resize_f64/resize_f64_body.h"
