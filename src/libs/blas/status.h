/* status.h: what cuBLAS's statuses are called. */
#pragma once

#include "cublas_table.h"

const char *blas_status_name(cublasStatus_t status);
const char *blas_status_text(cublasStatus_t status);
