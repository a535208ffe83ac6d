/* native.h: functions of libraries that run as kernels (wire/soft_native.h). */
#pragma once

#include "cuda_soft.h"
#include "wire/soft_native.h"

/* The table of wire/soft_native.h; NULL: another id. */
const void *native_table(const CUuuid *id);
/* The registered function; NULL: there is none with this number. */
soft_native_function native_find(uint32_t number);
