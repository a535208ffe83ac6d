/*
 * calls.c: cuDNN's older calls that compute: convolutions, pools, activations, softmax, batch normalisation, dropout
 * and operations of tensors.
 *
 * There is one algorithm of each convolution, whose number is that of an algorithm that NVIDIA's library calls
 * deterministic; the others' numbers do the same. None needs a workspace.
 */
#include "libs/cudnn/older.h"

#include <float.h>
#include <string.h>

#define SCALARS                                                                                                        \
	{                                                                                                              \
		1, 1, 0, 0, DBL_MAX, 0, 0, 1                                                                           \
	}

static bool tensor_at(cudnnTensorDescriptor_t d, const void *at, struct dnn_tensor *ret)
{
	if (!at || !dnn_tensor_of(d, ret))
		return false;
	ret->at = (uint64_t)(uintptr_t)at;
	return true;
}

static bool filter_at(cudnnFilterDescriptor_t d, const void *at, struct dnn_tensor *ret)
{
	if (!at || !dnn_filter_of(d, ret))
		return false;
	ret->at = (uint64_t)(uintptr_t)at;
	return true;
}

/* A handle, and scalars that are there. */
static cudnnStatus_t begin(cudnnHandle_t handle, const void *alpha, const void *beta)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	return alpha && beta ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
}

static cudnnStatus_t finish(cudnnHandle_t handle, cudnnStatus_t status, struct dnn_work *w)
{
	return status ? status : dnn_launch(handle, w);
}

static cudnnStatus_t strange(const char *call)
{
	return dnn_fail(CUDNN_STATUS_BAD_PARAM, "%s: a descriptor that is none or is not set, or no address", call);
}

/* ---- convolutions ---- */

static cudnnStatus_t convolve(cudnnHandle_t handle, enum dnn_kernel kernel, const void *alpha, const void *beta,
			      cudnnTensorDescriptor_t xDesc, const void *x, cudnnFilterDescriptor_t wDesc,
			      const void *w, cudnnConvolutionDescriptor_t convDesc, cudnnTensorDescriptor_t yDesc,
			      const void *y)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	struct dnn_tensor t[3];
	struct dnn_conv c;
	struct dnn_work work;

	if (status)
		return status;
	if (!tensor_at(xDesc, x, &t[0]) || !filter_at(wDesc, w, &t[1]) || !tensor_at(yDesc, y, &t[2]) ||
	    !dnn_conv_of(convDesc, &c))
		return strange("a convolution");
	status = lower_conv(&work, kernel, &c, &t[0], &t[1], &t[2], dnn_scalar(alpha, t[0].type),
			    dnn_scalar(beta, t[0].type));
	return finish(handle, status, &work);
}

cudnnStatus_t soft_cudnnConvolutionForward(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xDesc,
					   const void *x, const cudnnFilterDescriptor_t wDesc, const void *w,
					   const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionFwdAlgo_t algo,
					   void *workSpace, size_t workSpaceSizeInBytes, const void *beta,
					   const cudnnTensorDescriptor_t yDesc, void *y)
{
	return convolve(handle, DNN_CONV_FORWARD, alpha, beta, xDesc, x, wDesc, w, convDesc, yDesc, y);
}

cudnnStatus_t soft_cudnnConvolutionBackwardData(cudnnHandle_t handle, const void *alpha,
						const cudnnFilterDescriptor_t wDesc, const void *w,
						const cudnnTensorDescriptor_t dyDesc, const void *dy,
						const cudnnConvolutionDescriptor_t convDesc,
						cudnnConvolutionBwdDataAlgo_t algo, void *workSpace,
						size_t workSpaceSizeInBytes, const void *beta,
						const cudnnTensorDescriptor_t dxDesc, void *dx)
{
	return convolve(handle, DNN_CONV_DATA, alpha, beta, dxDesc, dx, wDesc, w, convDesc, dyDesc, dy);
}

cudnnStatus_t soft_cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void *alpha,
						  const cudnnTensorDescriptor_t xDesc, const void *x,
						  const cudnnTensorDescriptor_t dyDesc, const void *dy,
						  const cudnnConvolutionDescriptor_t convDesc,
						  cudnnConvolutionBwdFilterAlgo_t algo, void *workSpace,
						  size_t workSpaceSizeInBytes, const void *beta,
						  const cudnnFilterDescriptor_t dwDesc, void *dw)
{
	return convolve(handle, DNN_CONV_FILTER, alpha, beta, xDesc, x, dwDesc, dw, convDesc, dyDesc, dy);
}

cudnnStatus_t soft_cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void *alpha,
						const cudnnTensorDescriptor_t dyDesc, const void *dy, const void *beta,
						const cudnnTensorDescriptor_t dbDesc, void *db)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	struct dnn_tensor y, b;
	struct dnn_work work;

	if (status)
		return status;
	if (!tensor_at(dyDesc, dy, &y) || !tensor_at(dbDesc, db, &b))
		return strange("cudnnConvolutionBackwardBias");
	status = lower_reduce(&work, CUDNN_REDUCE_TENSOR_ADD, &y, &b, dnn_scalar(alpha, y.type),
			      dnn_scalar(beta, y.type));
	return finish(handle, status, &work);
}

cudnnStatus_t soft_cudnnConvolutionBiasActivationForward(
	cudnnHandle_t handle, const void *alpha1, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnConvolutionDescriptor_t convDesc,
	cudnnConvolutionFwdAlgo_t algo, void *workSpace, size_t workSpaceSizeInBytes, const void *alpha2,
	const cudnnTensorDescriptor_t zDesc, const void *z, const cudnnTensorDescriptor_t biasDesc, const void *bias,
	const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t yDesc, void *y)
{
	cudnnStatus_t status = begin(handle, alpha1, alpha2);
	double scalar[8] = SCALARS, add[8] = SCALARS;
	struct dnn_tensor t[5];
	struct dnn_conv c;
	struct dnn_work work;
	unsigned int mode;

	if (status)
		return status;
	if (!tensor_at(xDesc, x, &t[0]) || !filter_at(wDesc, w, &t[1]) || !tensor_at(yDesc, y, &t[2]) ||
	    !tensor_at(zDesc, z, &t[3]) || !tensor_at(biasDesc, bias, &t[4]) || !dnn_conv_of(convDesc, &c) ||
	    !older_activation(activationDesc, false, &mode, scalar))
		return strange("cudnnConvolutionBiasActivationForward");
	/* y = z, so that the convolution is added to it; then the bias, then the function */
	if (z != y) {
		status = lower_pointwise(&work, CUDNN_POINTWISE_IDENTITY, &t[3], NULL, NULL, &t[2], add);
		status = finish(handle, status, &work);
		if (status)
			return status;
	}
	status = lower_conv(&work, DNN_CONV_FORWARD, &c, &t[0], &t[1], &t[2], dnn_scalar(alpha1, t[0].type),
			    dnn_scalar(alpha2, t[0].type));
	status = finish(handle, status, &work);
	if (!status)
		status = finish(handle, lower_pointwise(&work, CUDNN_POINTWISE_ADD, &t[2], &t[4], NULL, &t[2], add),
				&work);
	if (!status && mode != CUDNN_POINTWISE_IDENTITY)
		status = finish(handle, lower_pointwise(&work, mode, &t[2], NULL, NULL, &t[2], scalar), &work);
	return status;
}

/* What is told of the only algorithm. */
#define ALGORITHMS(name, algorithm, performance, x_type, x_name, w_type, w_name, y_type, y_name, check)                \
	static cudnnStatus_t list_##name(cudnnHandle_t handle, cudnnStatus_t status, int requested, int *returned,     \
					 performance *results)                                                         \
	{                                                                                                              \
		if (!dnn_handle_good(handle))                                                                          \
			return CUDNN_STATUS_NOT_INITIALIZED;                                                           \
		if (requested < 1 || !returned || !results)                                                            \
			return CUDNN_STATUS_BAD_PARAM;                                                                 \
		if (status)                                                                                            \
			return status;                                                                                 \
		*returned = 1;                                                                                         \
		*results = (performance){ .algo = algorithm, .time = -1, .determinism = CUDNN_DETERMINISTIC };         \
		return CUDNN_STATUS_SUCCESS;                                                                           \
	}                                                                                                              \
	cudnnStatus_t soft_cudnnGetConvolution##name##AlgorithmMaxCount(cudnnHandle_t handle, int *count)              \
	{                                                                                                              \
		if (!dnn_handle_good(handle))                                                                          \
			return CUDNN_STATUS_NOT_INITIALIZED;                                                           \
		if (!count)                                                                                            \
			return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;                                                    \
		*count = 1;                                                                                            \
		return CUDNN_STATUS_SUCCESS;                                                                           \
	}                                                                                                              \
	cudnnStatus_t soft_cudnnGetConvolution##name##Algorithm_v7(                                                    \
		cudnnHandle_t handle, const x_type x_name, const w_type w_name, const cudnnConvolutionDescriptor_t c,  \
		const y_type y_name, const int requested, int *returned, performance *results)                         \
	{                                                                                                              \
		return list_##name(handle, check, requested, returned, results);                                       \
	}                                                                                                              \
	cudnnStatus_t soft_cudnnFindConvolution##name##Algorithm(                                                      \
		cudnnHandle_t handle, const x_type x_name, const w_type w_name, const cudnnConvolutionDescriptor_t c,  \
		const y_type y_name, const int requested, int *returned, performance *results)                         \
	{                                                                                                              \
		return list_##name(handle, check, requested, returned, results);                                       \
	}                                                                                                              \
	cudnnStatus_t soft_cudnnFindConvolution##name##AlgorithmEx(                                                    \
		cudnnHandle_t handle, const x_type x_name, const void *at_0, const w_type w_name, const void *at_1,    \
		const cudnnConvolutionDescriptor_t c, const y_type y_name, void *at_2, const int requested,            \
		int *returned, performance *results, void *space, size_t bytes)                                        \
	{                                                                                                              \
		return list_##name(handle, check, requested, returned, results);                                       \
	}

/* Whether there is such a convolution. */
static cudnnStatus_t conv_try(cudnnTensorDescriptor_t xDesc, cudnnFilterDescriptor_t wDesc,
			      cudnnConvolutionDescriptor_t convDesc, cudnnTensorDescriptor_t yDesc)
{
	struct dnn_tensor x, w, y;
	struct dnn_conv c;
	struct dnn_work work;

	if (!dnn_tensor_of(xDesc, &x) || !dnn_filter_of(wDesc, &w) || !dnn_tensor_of(yDesc, &y) ||
	    !dnn_conv_of(convDesc, &c))
		return strange("a convolution");
	return lower_conv(&work, DNN_CONV_FORWARD, &c, &x, &w, &y, 1, 0);
}

/* clang-format off */
ALGORITHMS(Forward, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, cudnnConvolutionFwdAlgoPerf_t,
	   cudnnTensorDescriptor_t, x, cudnnFilterDescriptor_t, w, cudnnTensorDescriptor_t, y, conv_try(x, w, c, y))
ALGORITHMS(BackwardData, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, cudnnConvolutionBwdDataAlgoPerf_t,
	   cudnnFilterDescriptor_t, w, cudnnTensorDescriptor_t, dy, cudnnTensorDescriptor_t, dx, conv_try(dx, w, c, dy))
ALGORITHMS(BackwardFilter, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, cudnnConvolutionBwdFilterAlgoPerf_t,
	   cudnnTensorDescriptor_t, x, cudnnTensorDescriptor_t, dy, cudnnFilterDescriptor_t, dw, conv_try(x, dw, c, dy))
/* clang-format on */

static cudnnStatus_t no_workspace(cudnnHandle_t handle, cudnnStatus_t status, size_t *bytes)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!bytes)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (!status)
		*bytes = 0;
	return status;
}

cudnnStatus_t soft_cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
							   const cudnnFilterDescriptor_t wDesc,
							   const cudnnConvolutionDescriptor_t convDesc,
							   const cudnnTensorDescriptor_t yDesc,
							   cudnnConvolutionFwdAlgo_t algo, size_t *sizeInBytes)
{
	return no_workspace(handle, conv_try(xDesc, wDesc, convDesc, yDesc), sizeInBytes);
}

cudnnStatus_t soft_cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle,
								const cudnnFilterDescriptor_t wDesc,
								const cudnnTensorDescriptor_t dyDesc,
								const cudnnConvolutionDescriptor_t convDesc,
								const cudnnTensorDescriptor_t dxDesc,
								cudnnConvolutionBwdDataAlgo_t algo, size_t *sizeInBytes)
{
	return no_workspace(handle, conv_try(dxDesc, wDesc, convDesc, dyDesc), sizeInBytes);
}

cudnnStatus_t soft_cudnnGetConvolutionBackwardFilterWorkspaceSize(
	cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t dyDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t gradDesc,
	cudnnConvolutionBwdFilterAlgo_t algo, size_t *sizeInBytes)
{
	return no_workspace(handle, conv_try(xDesc, gradDesc, convDesc, dyDesc), sizeInBytes);
}

/* ---- pools, activations, softmax ---- */

cudnnStatus_t soft_cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc,
				       const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x,
				       const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	struct dnn_tensor tx, ty;
	struct dnn_pool p;
	struct dnn_work work;

	if (status)
		return status;
	if (!tensor_at(xDesc, x, &tx) || !tensor_at(yDesc, y, &ty) || !dnn_pool_of(poolingDesc, &p))
		return strange("cudnnPoolingForward");
	status = lower_pool(&work, &p, &tx, &ty, NULL, NULL, NULL, dnn_scalar(alpha, tx.type),
			    dnn_scalar(beta, tx.type));
	return finish(handle, status, &work);
}

cudnnStatus_t soft_cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc,
					const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y,
					const cudnnTensorDescriptor_t dyDesc, const void *dy,
					const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
					const cudnnTensorDescriptor_t dxDesc, void *dx)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	struct dnn_tensor tx, tdy, tdx;
	struct dnn_pool p;
	struct dnn_work work;

	if (status)
		return status;
	if (!tensor_at(xDesc, x, &tx) || !tensor_at(dyDesc, dy, &tdy) || !tensor_at(dxDesc, dx, &tdx) ||
	    !dnn_pool_of(poolingDesc, &p))
		return strange("cudnnPoolingBackward");
	status = lower_pool(&work, &p, &tx, NULL, &tdx, &tdy, NULL, dnn_scalar(alpha, tx.type),
			    dnn_scalar(beta, tx.type));
	return finish(handle, status, &work);
}

cudnnStatus_t soft_cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc,
					  const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x,
					  const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	double scalar[8] = SCALARS;
	struct dnn_tensor tx, ty;
	struct dnn_work work;
	unsigned int mode;

	if (status)
		return status;
	if (!tensor_at(xDesc, x, &tx) || !tensor_at(yDesc, y, &ty) ||
	    !older_activation(activationDesc, false, &mode, scalar))
		return strange("cudnnActivationForward");
	scalar[POINT_BLEND] = dnn_scalar(beta, tx.type);
	scalar[POINT_SCALE] = dnn_scalar(alpha, tx.type);
	return finish(handle, lower_pointwise(&work, mode, &tx, NULL, NULL, &ty, scalar), &work);
}

cudnnStatus_t soft_cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc,
					   const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y,
					   const cudnnTensorDescriptor_t dyDesc, const void *dy,
					   const cudnnTensorDescriptor_t xDesc, const void *x, const void *beta,
					   const cudnnTensorDescriptor_t dxDesc, void *dx)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	double scalar[8] = SCALARS;
	struct dnn_tensor tx, tdy, tdx;
	struct dnn_work work;
	unsigned int mode;
	bool value, good;

	if (status)
		return status;
	if (!tensor_at(dyDesc, dy, &tdy) || !tensor_at(dxDesc, dx, &tdx) ||
	    !older_activation(activationDesc, true, &mode, scalar))
		return strange("cudnnActivationBackward");
	/* of what was computed in place the value alone is left */
	value = y && (!x || x == y) && mode != CUDNN_POINTWISE_SWISH_BWD;
	good = value ? tensor_at(yDesc, y, &tx) : tensor_at(xDesc, x, &tx);
	if (!good)
		return strange("cudnnActivationBackward");
	scalar[POINT_BLEND] = dnn_scalar(beta, tdx.type);
	scalar[POINT_SCALE] = dnn_scalar(alpha, tdx.type);
	status = mode == CUDNN_POINTWISE_IDENTITY ? lower_pointwise(&work, mode, &tdy, NULL, NULL, &tdx, scalar)
						  : lower_pointwise(&work, mode, &tx, &tdy, NULL, &tdx, scalar);
	work.flag = value;
	return finish(handle, status, &work);
}

static bool softmax_axes(cudnnSoftmaxMode_t mode, cudnnSoftmaxAlgorithm_t algo, uint8_t *ret)
{
	*ret = mode == CUDNN_SOFTMAX_MODE_CHANNEL ? 1u << 1 : ((1u << DNN_DIMS) - 1) & ~1u;
	return (unsigned int)mode <= CUDNN_SOFTMAX_MODE_CHANNEL && (unsigned int)algo <= CUDNN_SOFTMAX_LOG;
}

cudnnStatus_t soft_cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode,
				       const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x,
				       const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	struct dnn_tensor tx, ty;
	struct dnn_work work;
	uint8_t axes;

	if (status)
		return status;
	if (!tensor_at(xDesc, x, &tx) || !tensor_at(yDesc, y, &ty) || !softmax_axes(mode, algo, &axes))
		return strange("cudnnSoftmaxForward");
	status = lower_softmax(&work, axes, algo == CUDNN_SOFTMAX_LOG, &tx, &ty, NULL, NULL, dnn_scalar(alpha, tx.type),
			       dnn_scalar(beta, tx.type));
	return finish(handle, status, &work);
}

cudnnStatus_t soft_cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode,
					const void *alpha, const cudnnTensorDescriptor_t yDesc, const void *y,
					const cudnnTensorDescriptor_t dyDesc, const void *dy, const void *beta,
					const cudnnTensorDescriptor_t dxDesc, void *dx)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	struct dnn_tensor ty, tdy, tdx;
	struct dnn_work work;
	uint8_t axes;

	if (status)
		return status;
	if (!tensor_at(yDesc, y, &ty) || !tensor_at(dyDesc, dy, &tdy) || !tensor_at(dxDesc, dx, &tdx) ||
	    !softmax_axes(mode, algo, &axes))
		return strange("cudnnSoftmaxBackward");
	status = lower_softmax(&work, axes, algo == CUDNN_SOFTMAX_LOG, NULL, &ty, &tdy, &tdx,
			       dnn_scalar(alpha, ty.type), dnn_scalar(beta, ty.type));
	return finish(handle, status, &work);
}

/* ---- batch normalisation ---- */

static uint8_t batch_axes(cudnnBatchNormMode_t mode)
{
	return mode == CUDNN_BATCHNORM_PER_ACTIVATION ? 1u : ((1u << DNN_DIMS) - 1) & ~(1u << 1);
}

/* A tensor with the shape of a descriptor, or none. */
static struct dnn_tensor like(const struct dnn_tensor *t, const void *at)
{
	struct dnn_tensor copy = *t;

	copy.at = (uint64_t)(uintptr_t)at;
	return at ? copy : (struct dnn_tensor){ 0 };
}

cudnnStatus_t soft_cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derivedBnDesc,
						 const cudnnTensorDescriptor_t xDesc, cudnnBatchNormMode_t mode)
{
	struct dnn_tensor x;
	int dim[DNN_TENSOR_DIMS];
	cudnnDataType_t type;

	if (!dnn_tensor_of(xDesc, &x) || (unsigned int)mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT)
		return CUDNN_STATUS_BAD_PARAM;
	for (int i = 0; i < x.rank; i++)
		dim[i] = i == 0 || (i > 1 && mode != CUDNN_BATCHNORM_PER_ACTIVATION) ? 1 : (int)x.dim[i];
	type = x.type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
	return soft_cudnnSetTensorNdDescriptorEx(derivedBnDesc, CUDNN_TENSOR_NCHW, type, x.rank, dim);
}

cudnnStatus_t soft_cudnnBatchNormalizationForwardInference(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc, void *y,
	const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias,
	const void *estimatedMean, const void *estimatedVariance, double epsilon)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	struct dnn_norm n = { .mode = DNN_NORM_VARIANCE, .axes = batch_axes(mode), .epsilon = epsilon };
	struct dnn_tensor shape;
	struct dnn_work work;

	if (status)
		return status;
	if (!tensor_at(xDesc, x, &n.x) || !tensor_at(yDesc, y, &n.y) ||
	    !dnn_tensor_of(bnScaleBiasMeanVarDesc, &shape) || !bnScale || !bnBias || !estimatedMean ||
	    !estimatedVariance || (unsigned int)mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT || !(epsilon >= 0))
		return strange("cudnnBatchNormalizationForwardInference");
	n.scale = like(&shape, bnScale);
	n.bias = like(&shape, bnBias);
	n.mean = like(&shape, estimatedMean);
	n.inverse = like(&shape, estimatedVariance);
	n.alpha = dnn_scalar(alpha, n.x.type);
	n.beta = dnn_scalar(beta, n.x.type);
	return finish(handle, lower_norm(&work, &n), &work);
}

cudnnStatus_t soft_cudnnBatchNormalizationForwardTrainingEx(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void *alpha, const void *beta,
	const cudnnTensorDescriptor_t xDesc, const void *xData, const cudnnTensorDescriptor_t zDesc, const void *zData,
	const cudnnTensorDescriptor_t yDesc, void *yData, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc,
	const void *bnScale, const void *bnBias, double exponentialAverageFactor, void *resultRunningMean,
	void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance,
	cudnnActivationDescriptor_t activationDesc, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace,
	size_t reserveSpaceSizeInBytes)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	struct dnn_norm n = { .mode = DNN_NORM_COMPUTE,
			      .axes = batch_axes(mode),
			      .epsilon = epsilon,
			      .factor = exponentialAverageFactor };
	double scalar[8] = SCALARS, add[8] = SCALARS;
	struct dnn_tensor shape, z;
	struct dnn_work work;
	unsigned int function;

	if (status)
		return status;
	if (!tensor_at(xDesc, xData, &n.x) || !tensor_at(yDesc, yData, &n.y) ||
	    !dnn_tensor_of(bnScaleBiasMeanVarDesc, &shape) || !bnScale || !bnBias ||
	    !resultRunningMean != !resultRunningVariance || !resultSaveMean != !resultSaveInvVariance ||
	    (unsigned int)mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT || !(epsilon >= 0) ||
	    (unsigned int)bnOps > CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION ||
	    (bnOps != CUDNN_BATCHNORM_OPS_BN && !older_activation(activationDesc, false, &function, scalar)) ||
	    (bnOps == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION && !tensor_at(zDesc, zData, &z)))
		return strange("cudnnBatchNormalizationForwardTraining");
	n.scale = like(&shape, bnScale);
	n.bias = like(&shape, bnBias);
	n.mean = like(&shape, resultSaveMean);
	n.inverse = like(&shape, resultSaveInvVariance);
	n.run_mean = n.new_mean = like(&shape, resultRunningMean);
	n.run_variance = n.new_variance = like(&shape, resultRunningVariance);
	n.alpha = dnn_scalar(alpha, n.x.type);
	n.beta = dnn_scalar(beta, n.x.type);
	status = finish(handle, lower_norm(&work, &n), &work);
	if (!status && bnOps == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION)
		status = finish(handle, lower_pointwise(&work, CUDNN_POINTWISE_ADD, &n.y, &z, NULL, &n.y, add), &work);
	if (!status && bnOps != CUDNN_BATCHNORM_OPS_BN)
		status = finish(handle, lower_pointwise(&work, function, &n.y, NULL, NULL, &n.y, scalar), &work);
	return status;
}

cudnnStatus_t soft_cudnnBatchNormalizationForwardTraining(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t yDesc, void *y,
	const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias,
	double exponentialAverageFactor, void *resultRunningMean, void *resultRunningVariance, double epsilon,
	void *resultSaveMean, void *resultSaveInvVariance)
{
	return soft_cudnnBatchNormalizationForwardTrainingEx(
		handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, xDesc, x, NULL, NULL, yDesc, y,
		bnScaleBiasMeanVarDesc, bnScale, bnBias, exponentialAverageFactor, resultRunningMean,
		resultRunningVariance, epsilon, resultSaveMean, resultSaveInvVariance, NULL, NULL, 0, NULL, 0);
}

cudnnStatus_t soft_cudnnBatchNormalizationBackwardEx(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const void *alphaDataDiff,
	const void *betaDataDiff, const void *alphaParamDiff, const void *betaParamDiff,
	const cudnnTensorDescriptor_t xDesc, const void *xData, const cudnnTensorDescriptor_t yDesc, const void *yData,
	const cudnnTensorDescriptor_t dyDesc, const void *dyData, const cudnnTensorDescriptor_t dzDesc, void *dzData,
	const cudnnTensorDescriptor_t dxDesc, void *dxData, const cudnnTensorDescriptor_t dBnScaleBiasDesc,
	const void *bnScaleData, const void *bnBiasData, void *dBnScaleData, void *dBnBiasData, double epsilon,
	const void *savedMean, const void *savedInvVariance, cudnnActivationDescriptor_t activationDesc,
	void *workSpace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)
{
	cudnnStatus_t status = begin(handle, alphaDataDiff, betaDataDiff);
	struct dnn_norm n = { .mode = savedInvVariance ? DNN_NORM_GIVEN : DNN_NORM_COMPUTE,
			      .axes = batch_axes(mode),
			      .epsilon = epsilon };
	double scalar[8] = SCALARS;
	struct dnn_tensor shape, y, dz;
	struct dnn_work work[2];
	unsigned int function;
	int count = 0;

	if (!status)
		status = begin(handle, alphaParamDiff, betaParamDiff);
	if (status)
		return status;
	if (!tensor_at(xDesc, xData, &n.x) || !tensor_at(dyDesc, dyData, &n.y) || !tensor_at(dxDesc, dxData, &n.dx) ||
	    !dnn_tensor_of(dBnScaleBiasDesc, &shape) || !bnScaleData || !dBnScaleData || !dBnBiasData ||
	    !savedMean != !savedInvVariance || (unsigned int)mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT ||
	    !(epsilon >= 0) || (unsigned int)bnOps > CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION)
		return strange("cudnnBatchNormalizationBackward");
	n.alpha = dnn_scalar(alphaDataDiff, n.x.type);
	n.beta = dnn_scalar(betaDataDiff, n.x.type);
	n.weight_alpha = dnn_scalar(alphaParamDiff, n.x.type);
	n.weight_beta = dnn_scalar(betaParamDiff, n.x.type);
	if (bnOps != CUDNN_BATCHNORM_OPS_BN) {
		/* the function's gradient goes where the sum's goes, or into dx, which the rest reads before it writes
		 */
		if (!tensor_at(yDesc, yData, &y) || !older_activation(activationDesc, true, &function, scalar) ||
		    (bnOps == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION && !tensor_at(dzDesc, dzData, &dz)) ||
		    (bnOps == CUDNN_BATCHNORM_OPS_BN_ACTIVATION && n.beta != 0))
			return strange("cudnnBatchNormalizationBackwardEx");
		if (bnOps == CUDNN_BATCHNORM_OPS_BN_ACTIVATION)
			dz = n.dx;
		status = lower_pointwise(work, function, &y, &n.y, NULL, &dz, scalar);
		work->flag = 1;
		status = finish(handle, status, work);
		n.y = dz;
	}
	n.scale = like(&shape, bnScaleData);
	n.mean = like(&shape, savedMean);
	n.inverse = like(&shape, savedInvVariance);
	n.dscale = like(&shape, dBnScaleData);
	n.dbias = like(&shape, dBnBiasData);
	if (!status)
		status = lower_norm_back(work, &count, &n);
	for (int i = 0; i < count && !status; i++)
		status = dnn_launch(handle, &work[i]);
	return status;
}

cudnnStatus_t soft_cudnnBatchNormalizationBackward(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alphaDataDiff, const void *betaDataDiff,
	const void *alphaParamDiff, const void *betaParamDiff, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t dxDesc, void *dx,
	const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void *bnScale, void *dBnScaleResult, void *dBnBiasResult,
	double epsilon, const void *savedMean, const void *savedInvVariance)
{
	return soft_cudnnBatchNormalizationBackwardEx(
		handle, mode, CUDNN_BATCHNORM_OPS_BN, alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff, xDesc,
		x, NULL, NULL, dyDesc, dy, NULL, NULL, dxDesc, dx, dBnScaleBiasDesc, bnScale, NULL, dBnScaleResult,
		dBnBiasResult, epsilon, savedMean, savedInvVariance, NULL, NULL, 0, NULL, 0);
}

cudnnStatus_t soft_cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc,
	const cudnnTensorDescriptor_t zDesc, const cudnnTensorDescriptor_t yDesc,
	const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const cudnnActivationDescriptor_t activationDesc,
	size_t *sizeInBytes)
{
	return no_workspace(handle, CUDNN_STATUS_SUCCESS, sizeInBytes);
}

cudnnStatus_t soft_cudnnGetBatchNormalizationBackwardExWorkspaceSize(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc,
	const cudnnTensorDescriptor_t yDesc, const cudnnTensorDescriptor_t dyDesc, const cudnnTensorDescriptor_t dzDesc,
	const cudnnTensorDescriptor_t dxDesc, const cudnnTensorDescriptor_t dBnScaleBiasDesc,
	const cudnnActivationDescriptor_t activationDesc, size_t *sizeInBytes)
{
	return no_workspace(handle, CUDNN_STATUS_SUCCESS, sizeInBytes);
}

cudnnStatus_t soft_cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
	const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t xDesc, size_t *sizeInBytes)
{
	return no_workspace(handle, CUDNN_STATUS_SUCCESS, sizeInBytes);
}

/* ---- operations of tensors ---- */

cudnnStatus_t soft_cudnnAddTensor(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t aDesc,
				  const void *A, const void *beta, const cudnnTensorDescriptor_t cDesc, void *C)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	double scalar[8] = SCALARS;
	struct dnn_tensor a, c;
	struct dnn_work work;

	if (status)
		return status;
	if (!tensor_at(aDesc, A, &a) || !tensor_at(cDesc, C, &c))
		return strange("cudnnAddTensor");
	scalar[POINT_ALPHA1] = dnn_scalar(alpha, c.type);
	scalar[POINT_BLEND] = dnn_scalar(beta, c.type);
	return finish(handle, lower_pointwise(&work, CUDNN_POINTWISE_IDENTITY, &a, NULL, NULL, &c, scalar), &work);
}

cudnnStatus_t soft_cudnnTransformTensor(cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t xDesc,
					const void *x, const void *beta, const cudnnTensorDescriptor_t yDesc, void *y)
{
	return soft_cudnnAddTensor(handle, alpha, xDesc, x, beta, yDesc, y);
}

cudnnStatus_t soft_cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void *y,
				    const void *alpha)
{
	float zero[2] = { 0 };

	return soft_cudnnAddTensor(handle, alpha, yDesc, y, zero, yDesc, y);
}

cudnnStatus_t soft_cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void *y,
				  const void *valuePtr)
{
	cudnnStatus_t status = begin(handle, valuePtr, valuePtr);
	double scalar[8] = SCALARS;
	struct dnn_tensor t;
	struct dnn_work work;

	if (status)
		return status;
	if (!tensor_at(yDesc, y, &t))
		return strange("cudnnSetTensor");
	dnn_read_value(&scalar[POINT_LOW], t.type, valuePtr); /* in the tensor's own type */
	return finish(handle, lower_pointwise(&work, DNN_POINT_FILL, NULL, NULL, NULL, &t, scalar), &work);
}

cudnnStatus_t soft_cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t opTensorDesc, const void *alpha1,
				 const cudnnTensorDescriptor_t aDesc, const void *A, const void *alpha2,
				 const cudnnTensorDescriptor_t bDesc, const void *B, const void *beta,
				 const cudnnTensorDescriptor_t cDesc, void *C)
{
	static const unsigned int modes[] = {
		[CUDNN_OP_TENSOR_ADD] = CUDNN_POINTWISE_ADD,   [CUDNN_OP_TENSOR_MUL] = CUDNN_POINTWISE_MUL,
		[CUDNN_OP_TENSOR_MIN] = CUDNN_POINTWISE_MIN,   [CUDNN_OP_TENSOR_MAX] = CUDNN_POINTWISE_MAX,
		[CUDNN_OP_TENSOR_SQRT] = CUDNN_POINTWISE_SQRT, [CUDNN_OP_TENSOR_NOT] = CUDNN_POINTWISE_SUB,
	};
	cudnnStatus_t status = begin(handle, alpha1, beta);
	double scalar[8] = SCALARS;
	struct dnn_tensor a, b = { .by_value = true, .value = 1 }, c;
	cudnnOpTensorOp_t op;
	struct dnn_work work;
	bool two;

	if (status)
		return status;
	if (!older_op(opTensorDesc, &op) || !tensor_at(aDesc, A, &a) || !tensor_at(cDesc, C, &c))
		return strange("cudnnOpTensor");
	two = op <= CUDNN_OP_TENSOR_MAX;
	if (two && (!alpha2 || !tensor_at(bDesc, B, &b)))
		return strange("cudnnOpTensor");
	scalar[POINT_ALPHA1] = dnn_scalar(alpha1, c.type);
	scalar[POINT_ALPHA2] = two ? dnn_scalar(alpha2, c.type) : 1;
	scalar[POINT_BLEND] = dnn_scalar(beta, c.type);
	/* "not" is 1 - a */
	status = op == CUDNN_OP_TENSOR_NOT ? lower_pointwise(&work, modes[op], &b, &a, NULL, &c, scalar)
					   : lower_pointwise(&work, modes[op], &a, two ? &b : NULL, NULL, &c, scalar);
	if (op == CUDNN_OP_TENSOR_NOT) {
		work.scalar[POINT_ALPHA1] = 1;
		work.scalar[POINT_ALPHA2] = scalar[POINT_ALPHA1];
	}
	return finish(handle, status, &work);
}

static cudnnStatus_t reduction_try(cudnnReduceTensorDescriptor_t reduceTensorDesc, cudnnTensorDescriptor_t aDesc,
				   cudnnTensorDescriptor_t cDesc)
{
	struct dnn_tensor a, c;
	cudnnReduceTensorOp_t op;
	struct dnn_work work;
	bool indices;

	if (!older_reduction(reduceTensorDesc, &op, &indices) || !dnn_tensor_of(aDesc, &a) || !dnn_tensor_of(cDesc, &c))
		return strange("a reduction");
	if (indices)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "indices of a reduction");
	return lower_reduce(&work, op, &a, &c, 1, 0);
}

cudnnStatus_t soft_cudnnGetReductionIndicesSize(cudnnHandle_t handle,
						const cudnnReduceTensorDescriptor_t reduceTensorDesc,
						const cudnnTensorDescriptor_t aDesc,
						const cudnnTensorDescriptor_t cDesc, size_t *sizeInBytes)
{
	return no_workspace(handle, reduction_try(reduceTensorDesc, aDesc, cDesc), sizeInBytes);
}

cudnnStatus_t soft_cudnnGetReductionWorkspaceSize(cudnnHandle_t handle,
						  const cudnnReduceTensorDescriptor_t reduceTensorDesc,
						  const cudnnTensorDescriptor_t aDesc,
						  const cudnnTensorDescriptor_t cDesc, size_t *sizeInBytes)
{
	return no_workspace(handle, reduction_try(reduceTensorDesc, aDesc, cDesc), sizeInBytes);
}

cudnnStatus_t soft_cudnnReduceTensor(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduceTensorDesc,
				     void *indices, size_t indicesSizeInBytes, void *workspace,
				     size_t workspaceSizeInBytes, const void *alpha,
				     const cudnnTensorDescriptor_t aDesc, const void *A, const void *beta,
				     const cudnnTensorDescriptor_t cDesc, void *C)
{
	cudnnStatus_t status = begin(handle, alpha, beta);
	cudnnReduceTensorOp_t op;
	struct dnn_tensor a, c;
	struct dnn_work work;
	bool with_indices;

	if (!status)
		status = reduction_try(reduceTensorDesc, aDesc, cDesc);
	if (status)
		return status;
	if (!older_reduction(reduceTensorDesc, &op, &with_indices) || !tensor_at(aDesc, A, &a) ||
	    !tensor_at(cDesc, C, &c))
		return strange("cudnnReduceTensor");
	status = lower_reduce(&work, op, &a, &c, dnn_scalar(alpha, c.type), dnn_scalar(beta, c.type));
	return finish(handle, status, &work);
}

/* ---- dropout ---- */

cudnnStatus_t soft_cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t xdesc, size_t *sizeInBytes)
{
	struct dnn_tensor x;

	if (!dnn_tensor_of(xdesc, &x) || !sizeInBytes)
		return CUDNN_STATUS_BAD_PARAM;
	*sizeInBytes = 1;
	for (int i = 0; i < x.rank; i++)
		*sizeInBytes *= (size_t)x.dim[i];
	return CUDNN_STATUS_SUCCESS;
}

/* What is kept stands in the reserve: 1 for each element, or 0. */
static bool reserve_at(const struct dnn_tensor *x, void *reserve, size_t bytes, struct dnn_tensor *ret)
{
	size_t all = 1;

	*ret = *x;
	ret->type = CUDNN_DATA_UINT8;
	ret->at = (uint64_t)(uintptr_t)reserve;
	dnn_tensor_pack(ret);
	for (int i = 0; i < x->rank; i++)
		all *= (size_t)x->dim[i];
	return reserve && bytes >= all;
}

cudnnStatus_t soft_cudnnDropoutForward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc,
				       const cudnnTensorDescriptor_t xdesc, const void *x,
				       const cudnnTensorDescriptor_t ydesc, void *y, void *reserveSpace,
				       size_t reserveSpaceSizeInBytes)
{
	double keep, scalar[8] = SCALARS;
	struct dnn_tensor tx, ty, mask, seed = { .by_value = true }, offset = { .by_value = true };
	struct dnn_work work;
	int64_t seed_word, offset_word;
	cudnnStatus_t status;

	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!tensor_at(xdesc, x, &tx) || !tensor_at(ydesc, y, &ty) ||
	    !older_dropout(dropoutDesc, true, &keep, &seed_word, &offset_word))
		return strange("cudnnDropoutForward");
	if (!reserve_at(&tx, reserveSpace, reserveSpaceSizeInBytes, &mask))
		return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
	seed.value = (double)seed_word;
	offset.value = (double)offset_word;
	status = finish(handle, lower_random(&work, &mask, &seed, &offset, keep, 1), &work);
	scalar[POINT_ALPHA1] = keep > 0 ? 1 / keep : 0;
	if (!status)
		status = finish(handle, lower_pointwise(&work, CUDNN_POINTWISE_MUL, &tx, &mask, NULL, &ty, scalar),
				&work);
	return status;
}

cudnnStatus_t soft_cudnnDropoutBackward(cudnnHandle_t handle, const cudnnDropoutDescriptor_t dropoutDesc,
					const cudnnTensorDescriptor_t dydesc, const void *dy,
					const cudnnTensorDescriptor_t dxdesc, void *dx, void *reserveSpace,
					size_t reserveSpaceSizeInBytes)
{
	double keep, scalar[8] = SCALARS;
	struct dnn_tensor tdy, tdx, mask;
	struct dnn_work work;
	int64_t seed, offset;

	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!tensor_at(dydesc, dy, &tdy) || !tensor_at(dxdesc, dx, &tdx) ||
	    !older_dropout(dropoutDesc, false, &keep, &seed, &offset))
		return strange("cudnnDropoutBackward");
	if (!reserve_at(&tdy, reserveSpace, reserveSpaceSizeInBytes, &mask))
		return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
	scalar[POINT_ALPHA1] = keep > 0 ? 1 / keep : 0;
	return finish(handle, lower_pointwise(&work, CUDNN_POINTWISE_MUL, &tdy, &mask, NULL, &tdx, scalar), &work);
}
