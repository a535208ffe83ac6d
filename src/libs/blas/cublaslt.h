/* cublaslt.h: what the files of cuBLASLt share. */
#pragma once

#include <stdint.h>

#define CUBLASLT_ALGORITHM UINT64_C(0x6d6574650001) /* in an algorithm's first word: it is of this library */
