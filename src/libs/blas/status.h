/* status.h: what cuBLAS's statuses are called, and the parts of its version. */
#pragma once

#include "cublas_table.h"

const char *blas_status_name(cublasStatus_t status);
const char *blas_status_text(cublasStatus_t status);
/* A part of a version (130002: 13.0.2), as cublasGetProperty() and its like tell it. */
cublasStatus_t blas_property(int version, libraryPropertyType type, int *ret);
