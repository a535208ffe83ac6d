/*
 * dnn.h: cuDNN of the software device: tensors, and the conversion of an operation to a kernel.
 *
 * Both interfaces of cuDNN, the backend's graphs and the older calls, describe an operation by tensors (struct
 * dnn_tensor) and call the functions of lower.c. These check it and write a struct dnn_work, which is a kernel's
 * parameters; run.c executes it. All computation is in float, or in double if a tensor is double or has 64-bit
 * integers.
 *
 * Facts: NVIDIA cuDNN 9 backend and graph API reference; the comments of its headers.
 */
#pragma once

#include "cudnn_soft.h"
#include "libs/common/library.h"

#define DNN_TITLE "cuDNN"
#define DNN_TENSOR_DIMS 8 /* of a tensor, as cuDNN has them */
#define DNN_DIMS 5	  /* of a kernel: dimensions of 1 are dropped, and contiguous ones are merged */
#define DNN_SPATIAL 3
#define DNN_SIZE_MOST (INT64_C(1) << 40)

enum dnn_kernel {
	DNN_CONV_FORWARD,
	DNN_CONV_DATA,
	DNN_CONV_FILTER,
	DNN_MATMUL,
	DNN_POINTWISE,
	DNN_REDUCE,
	DNN_NORM,
	DNN_NORM_DATA,
	DNN_NORM_WEIGHTS,
	DNN_POOL,
	DNN_POOL_BACK,
	DNN_SOFTMAX,
	DNN_SOFTMAX_BACK,
	DNN_RANDOM,
	DNN_BAND,
	DNN_SCORES,
	DNN_RAGGED,
	DNN_PAGED,
	DNN_RNN,
	DNN_RNN_BACK,
	DNN_RNN_TAKE,
	DNN_WORDS,
	DNN_CTC,
	DNN_GRID, /* mode 0: from affine maps; 1: their gradient */
	DNN_SAMPLE,
	DNN_SAMPLE_DATA,
	DNN_SAMPLE_GRID,
	DNN_KERNELS
};

struct dnn_tensor {
	uint64_t at; /* in device memory; 0: there is no such tensor */
	double value;
	bool by_value; /* `value` in place of memory */
	uint8_t type;  /* cudnnDataType_t */
	uint8_t rank;
	int64_t dim[DNN_TENSOR_DIMS], stride[DNN_TENSOR_DIMS];
	/* of a ragged tensor: where each image begins, in elements * ragged_by; `ragged_type` is their type */
	bool is_ragged;
	uint8_t ragged_type;
	uint64_t ragged; /* address */
	int64_t ragged_count, ragged_by;
};

struct dnn_conv {
	uint32_t spatial;
	int64_t groups;
	int64_t pad[DNN_SPATIAL], pad_after[DNN_SPATIAL], stride[DNN_SPATIAL], dilation[DNN_SPATIAL];
	bool flip; /* a convolution, not a cross-correlation */
};

struct dnn_pool {
	uint32_t spatial;
	int mode; /* enum dnn_pool_mode */
	int64_t window[DNN_SPATIAL], pad[DNN_SPATIAL], stride[DNN_SPATIAL];
};

enum dnn_pool_mode { DNN_POOL_MAX, DNN_POOL_MEAN, DNN_POOL_MEAN_INSIDE };

/* ---- a kernel's parameters ---- */

struct dnn_operand {
	uint64_t at; /* 0: not there; of a value the bits of a double */
	int64_t stride[DNN_DIMS];
	uint8_t type;
	uint8_t is_value;
};

struct dnn_conv_work {
	struct dnn_operand x, w, y;
	int64_t w_dim[DNN_DIMS], y_dim[DNN_DIMS];
	int32_t pad[DNN_SPATIAL], stride[DNN_SPATIAL], dilation[DNN_SPATIAL];
	int32_t groups;
	uint8_t flip;
};

struct dnn_pool_work {
	struct dnn_operand x, y, dx, dy, index;
	int64_t y_dim[DNN_DIMS];
	int32_t window[DNN_SPATIAL], pad[DNN_SPATIAL], stride[DNN_SPATIAL];
};

/*
 * One layer of a recurrent network in one direction. dim[]: images, steps, hidden size, gates. Rows of matrices are the
 * steps of all images, in the program's order; all but what the program has are of the type of computing.
 */
struct dnn_rnn_work {
	uint64_t gates, hidden, cell,
		before;	 /* rows: gates, GRU's recurrent part of the new gate, LSTM's cell, previous h */
	uint64_t out, y; /* rows: h for the next layer; what the program gets, or its gradient */
	uint64_t first_h, first_c, last_h, last_c; /* per image: the program's, or 0; in the backward pass their
						    * gradients */
	uint64_t given_c;			   /* backward: the cell before the first step, or 0 */
	uint64_t slopes, slopes_hidden;		   /* backward, rows: gradients of gates, and of `hidden` */
	uint64_t recurrent, bias, bias_recurrent;  /* the program's weights; biases may be 0 */
	uint64_t lengths;			   /* a word for each image; 0: all steps */
	int64_t rows, stride, y_stride;		   /* elements from row to row of out, and of y */
	uint8_t type, y_type, layout, reverse;
};

/* Words to copy to device memory. */
#define DNN_WORDS_MOST 120

#define DNN_OPERANDS 8

struct dnn_work {
	uint32_t number; /* device_launch() sets it */
	uint32_t kernel; /* enum dnn_kernel */
	uint16_t mode;	 /* specific to the kernel */
	uint8_t wide;	 /* computed as double */
	uint8_t axes;	 /* bits: dimensions that the result lacks */
	uint8_t flag;
	uint8_t spare[3];
	int64_t dim[DNN_DIMS]; /* of x; of a product the batch, rows and columns of the result */
	double scalar[8];
	uint64_t more[2];
	union {
		struct dnn_operand operand[DNN_OPERANDS];
		struct dnn_conv_work conv;
		struct dnn_pool_work pool;
		struct dnn_rnn_work rnn;
		int32_t words[DNN_WORDS_MOST]; /* to more[0]; more[1] is their number */
	};
};

_Static_assert(sizeof(struct dnn_work) <= DEVICE_PARAM_BYTES, "a kernel's parameters");

/* Indices of operands and scalars. */
enum { POINT_X, POINT_B, POINT_T, POINT_Y };
enum { POINT_ALPHA1, POINT_ALPHA2, POINT_BLEND, POINT_LOW, POINT_HIGH, POINT_SLOPE, POINT_AXIS, POINT_SCALE };
enum { NORM_X, NORM_Y, NORM_MEAN, NORM_INVERSE, NORM_SCALE, NORM_BIAS, NORM_RUN_MEAN, NORM_RUN_VARIANCE };
enum { NORM_DY = NORM_Y, NORM_DX = NORM_BIAS, NORM_DSCALE = NORM_BIAS, NORM_DBIAS = NORM_RUN_MEAN };
enum { NORM_EPSILON, NORM_FACTOR, NORM_ALPHA, NORM_BETA };
/* After the matrices: the number of rows, columns and inner elements of each product of the batch, if not all count. */
enum { MATMUL_A, MATMUL_B, MATMUL_C, MATMUL_M, MATMUL_N, MATMUL_K };
enum { MATMUL_PADDING, MATMUL_BLEND, MATMUL_FACTOR }; /* the result is multiplied by the factor */
enum { BAND_X, BAND_Y, BAND_VALUE, BAND_LENGTH_Q, BAND_LENGTH_KV, BAND_LEFT, BAND_SHIFT };
enum { SCORES_X, SCORES_Y, SCORES_STATS, SCORES_MAX, SCORES_SUM, SCORES_SINK };
enum { RAGGED_X, RAGGED_Y, RAGGED_OFFSETS }; /* mode 0: X is ragged; 1: Y is */
enum { PAGED_X, PAGED_Y, PAGED_TABLE, PAGED_LENGTH };
/*
 * The dimensions are steps, images and labels; more[0] is the largest number of labels of an image, scalar[0] requests
 * NaN.
 */
enum {
	CTC_PROBS,
	CTC_GRADIENTS,
	CTC_COSTS,
	CTC_LABELS,
	CTC_LABEL_LENGTHS,
	CTC_INPUT_LENGTHS,
	CTC_PATHS, /* steps * (2 * labels + 1) numbers of 64 bits for each image */
	CTC_OPERANDS
};
/* Limit per step: each thread of the device has two such arrays of doubles in host memory. */
#define DNN_CTC_NUMBERS_MOST (INT64_C(1) << 22)
enum { BLEND_ALPHA, BLEND_BETA, SOFT_LOG = 2, RANDOM_KEEP = 0, RANDOM_VALUE = 1, RANDOM_SEED = 2, RANDOM_OFFSET = 3 };

/* Statistics of a normalisation. */
enum dnn_norm_mode {
	DNN_NORM_COMPUTE, /* of x, and returned if there is room for them */
	DNN_NORM_GIVEN,	  /* mean and the inverse deviation */
	DNN_NORM_VARIANCE /* mean and variance */
};

/* Beside cudnnReduceTensorOp_t. */
#define DNN_REDUCE_SQUARES 9

/* Pointwise modes of the older calls beside cudnnPointwiseMode_t. */
#define DNN_POINT_FILL 1201

/* ---- types.c ---- */

/* The size of an element; 0: not a type that kernels support. */
uint32_t dnn_type_bytes(unsigned int type);
bool dnn_type_is_wide(unsigned int type);
/* One element. */
void dnn_read_value(double *ret, unsigned int type, const void *at);

/* ---- handle.c ---- */

bool dnn_handle_good(cudnnHandle_t handle);
/* Enqueues in the handle's stream. */
cudnnStatus_t dnn_launch(cudnnHandle_t handle, struct dnn_work *work);
/* ---- submit.c, and a twin's own in its place ---- */

/* Enqueues the kernel. */
CUresult dnn_submit(const struct device_driver *driver, CUcontext context, cudaStream_t stream, struct dnn_work *work,
		    uint32_t blocks);
/* True if the program has this handle. */
bool dnn_handle_known(const void *handle);

/* Records the reason of a failure for cudnnGetLastErrorString(). Value: the status. */
__attribute__((format(printf, 2, 3))) cudnnStatus_t dnn_fail(cudnnStatus_t status, const char *text, ...);

/* ---- lower.c: an operation's parameters; each status is the call's result ---- */

/* The extent in bytes from the first to the last element. */
int64_t dnn_tensor_bytes(const struct dnn_tensor *t);
/* Sets row-major strides. */
void dnn_tensor_pack(struct dnn_tensor *t);
cudnnStatus_t dnn_tensor_check(const struct dnn_tensor *t);

cudnnStatus_t lower_conv(struct dnn_work *w, enum dnn_kernel kernel, const struct dnn_conv *c,
			 const struct dnn_tensor *x, const struct dnn_tensor *filter, const struct dnn_tensor *y,
			 double alpha, double beta);
/* The dimensions of a convolution's result. */
cudnnStatus_t lower_conv_result(const struct dnn_conv *c, const struct dnn_tensor *x, const struct dnn_tensor *filter,
				int64_t dim[DNN_TENSOR_DIMS]);
/* `counts`: of rows, columns and inner elements, each with one number for a product of the batch; absent ones are NULL.
 */
cudnnStatus_t lower_matmul(struct dnn_work *w, const struct dnn_tensor *a, const struct dnn_tensor *b,
			   const struct dnn_tensor *c, const struct dnn_tensor *const counts[3], double padding);
/* `scalar`: as POINT_ALPHA1 and the following define. x, b and t may be absent. */
cudnnStatus_t lower_pointwise(struct dnn_work *w, unsigned int mode, const struct dnn_tensor *x,
			      const struct dnn_tensor *b, const struct dnn_tensor *t, const struct dnn_tensor *y,
			      const double scalar[8]);
cudnnStatus_t lower_reduce(struct dnn_work *w, cudnnReduceTensorOp_t op, const struct dnn_tensor *x,
			   const struct dnn_tensor *y, double alpha, double beta);

struct dnn_norm {
	struct dnn_tensor x, y, mean, inverse, scale, bias; /* y is dy where there is a gradient */
	struct dnn_tensor run_mean, run_variance, new_mean, new_variance;
	struct dnn_tensor dx, dscale, dbias;
	enum dnn_norm_mode mode;
	bool root; /* no mean is subtracted */
	uint8_t axes;
	double epsilon, factor, alpha, beta, weight_alpha, weight_beta;
};

cudnnStatus_t lower_norm(struct dnn_work *w, const struct dnn_norm *n);
/* At most two kernels, the weights' first: dx may overlap dy. */
cudnnStatus_t lower_norm_back(struct dnn_work w[2], int *ret_count, const struct dnn_norm *n);
/* The dimension of a kernel that a tensor's dimension is, where images and channels come first. */
int lower_axis(const struct dnn_tensor *t, int axis);
/* dx and dy are used only for the gradient; `index` may be absent. */
cudnnStatus_t lower_pool(struct dnn_work *w, const struct dnn_pool *p, const struct dnn_tensor *x,
			 const struct dnn_tensor *y, const struct dnn_tensor *dx, const struct dnn_tensor *dy,
			 const struct dnn_tensor *index, double alpha, double beta);
/* dx and dy are used only for the gradient. `axes`: the dimensions of the sum. */
cudnnStatus_t lower_softmax(struct dnn_work *w, uint8_t axes, bool logarithm, const struct dnn_tensor *x,
			    const struct dnn_tensor *y, const struct dnn_tensor *dy, const struct dnn_tensor *dx,
			    double alpha, double beta);
/* y is `value` where a random number is below `keep`, else 0. `seed` and `offset` may be in device memory. */
cudnnStatus_t lower_random(struct dnn_work *w, const struct dnn_tensor *y, const struct dnn_tensor *seed,
			   const struct dnn_tensor *offset, double keep, double value);

/*
 * Tensors of any dimensions as operands o: their dimensions are those of `whole`, or 1. The first tensor's strides
 * decide about the order of dimensions; `keep`: they stay as they are, and the last is the kernel's last.
 */
cudnnStatus_t lower_shape(struct dnn_work *w, struct dnn_operand *const o[], const struct dnn_tensor *const t[],
			  int tensors, const struct dnn_tensor *whole, const struct dnn_tensor *result, bool keep);

/* ---- scores_lower.c: what attention has beside products and pointwise functions ---- */

/*
 * y is x where the comparison holds, else `value`. Of row r and column c it compares r + kv - q + shift with c, or,
 * where there is `left`, c + left - kv + q with r; lengths q and kv are numbers of each image, or absent. With
 * CUDNN_POINTWISE_LOGICAL_AND r is compared with q and c with kv.
 */
struct dnn_band {
	unsigned int mode; /* cudnnPointwiseMode_t */
	const struct dnn_tensor *x, *y, *value, *length_q, *length_kv, *left, *shift;
};

cudnnStatus_t lower_band(struct dnn_work *w, const struct dnn_band *b);

/* A softmax over the last dimension; all but x and y may be absent. `two`: the statistics' logarithm is that of 2. */
struct dnn_scores {
	const struct dnn_tensor *x, *y, *stats, *max, *sum, *sink;
	bool two;
};

cudnnStatus_t lower_scores(struct dnn_work *w, const struct dnn_scores *s);
/* A copy of the ragged one of two tensors to or from one that is not. Elements that no image has are 0. */
cudnnStatus_t lower_ragged(struct dnn_work *w, const struct dnn_tensor *x, const struct dnn_tensor *y);
/* y (images, heads, rows, columns, or the last two the other way round) from pages (pages, heads, rows, columns). */
cudnnStatus_t lower_paged(struct dnn_work *w, const struct dnn_tensor *pages, const struct dnn_tensor *table,
			  const struct dnn_tensor *length, const struct dnn_tensor *y);

/* ---- run.c: where kernels arrive ---- */

void dnn_run(struct soft_native *n);

/* ---- tensor.c: descriptors of the older calls ---- */

/* The contents of a descriptor of the older calls; false: not a descriptor, or not set. */
bool dnn_tensor_of(cudnnTensorDescriptor_t descriptor, struct dnn_tensor *ret);
bool dnn_filter_of(cudnnFilterDescriptor_t descriptor, struct dnn_tensor *ret);
bool dnn_conv_of(cudnnConvolutionDescriptor_t descriptor, struct dnn_conv *ret);
bool dnn_pool_of(cudnnPoolingDescriptor_t descriptor, struct dnn_pool *ret);
/* A scalar in host memory: double for double tensors, float for others. */
double dnn_scalar(const void *at, unsigned int type);
