/* names_library.h: see names_library.c. */
#pragma once

#include <stddef.h>

/* Finds driver and NVML, allocates memory and prints what each call returned. */
__attribute__((visibility("default"))) void names_use(size_t bytes);
