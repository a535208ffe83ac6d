/* status.h: names of cuBLAS's statuses, and the parts of its version. */
#pragma once

#include "cublas_table.h"

const char *blas_status_name(cublasStatus_t status);
const char *blas_status_text(cublasStatus_t status);
/* A part of a version (130002: 13.0.2), as cublasGetProperty() and similar calls return it. */
cublasStatus_t blas_property(int version, libraryPropertyType type, int *ret);
