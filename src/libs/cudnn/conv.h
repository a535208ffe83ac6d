/* conv.h: shared by the files of convolutions and products. */
#pragma once

#include "libs/cudnn/run.h"

/* C = alpha * A B + beta * C by rows; `turned`: A or B is stored transposed. */
void product_f(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
	       const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
void product_d(bool turned_a, bool turned_b, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
	       int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
/*
 * C = A B by rows. `number`: B is the same in all calls of a thread with this number (product_number()), so that it is
 * put into a fast layout once; there are `times` of them.
 */
void product_kept_f(uint64_t number, int64_t times, bool turned_b, int64_t m, int64_t n, int64_t k, const float *a,
		    int64_t lda, const float *b, int64_t ldb, float *c, int64_t ldc);
void product_kept_d(uint64_t number, int64_t times, bool turned_b, int64_t m, int64_t n, int64_t k, const double *a,
		    int64_t lda, const double *b, int64_t ldb, double *c, int64_t ldc);
/* So many of the rows of a product are computed before the device is told. */
int64_t product_rows(int64_t rows, int64_t columns, int64_t inner);
/* A number that no B has had; never 0. */
uint64_t product_number(void);
/* True if the memory of an operand of these dimensions is accessible. False: the launch has failed with a fault. */
bool operand_reach(struct soft_native *n, const struct dnn_operand *o, const int64_t dim[DNN_DIMS], bool write);
bool dims_good(const int64_t dim[DNN_DIMS]);
