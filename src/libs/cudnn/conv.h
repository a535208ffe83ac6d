/* conv.h: shared by the files of convolutions and products. */
#pragma once

#include "libs/cudnn/run.h"

/* C = alpha * A B + beta * C by rows; `turned`: A or B is stored transposed. */
void product_f(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
	       const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void product_d(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
	       int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
/* True if the memory of an operand of these dimensions is accessible. False: the launch has failed with a fault. */
bool operand_reach(struct soft_native *n, const struct dnn_operand *o, const int64_t dim[DNN_DIMS], bool write);
bool dims_good(const int64_t dim[DNN_DIMS]);
