/* errors.h: names and descriptions of the driver API's errors, in our own words. NULL: no such error. Any thread. */
#pragma once

#include "cuda_types.h"

const char *cuda_error_name(CUresult code);
const char *cuda_error_text(CUresult code);
