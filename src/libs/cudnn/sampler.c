/*
 * sampler.c: cuDNN's spatial transformer: grids of places that an affine map gives, and images sampled there. The
 * kernels are in sampler_run.c.
 *
 * A grid is packed: for each image, row and column of the result two numbers, first that along the row. -1 and 1 are
 * the middles of the first and last element.
 */
#include "libs/cudnn/object.h"
#include "libs/cudnn/older.h"
#include "libs/cudnn/sampler.h"

#include <string.h>

enum { TRANSFORMER = 0x6d746f42 };

struct cudnnSpatialTransformerStruct {
	uint32_t kind;
	bool is_set;
	cudnnDataType_t type;
	int64_t dim[4]; /* images, channels, rows and columns of the result */
};

OBJECT(SpatialTransformerDescriptor, TRANSFORMER, d)

cudnnStatus_t soft_cudnnSetSpatialTransformerNdDescriptor(cudnnSpatialTransformerDescriptor_t stDesc,
							  cudnnSamplerType_t samplerType, cudnnDataType_t dataType,
							  const int nbDims, const int *dimA)
{
	if (!IS(stDesc, TRANSFORMER) || !dimA || samplerType != CUDNN_SAMPLER_BILINEAR)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a spatial transformer of sampler %d", (int)samplerType);
	if (nbDims != 4)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a spatial transformer of %d dimensions, not 4", nbDims);
	if (dataType != CUDNN_DATA_FLOAT && dataType != CUDNN_DATA_DOUBLE && dataType != CUDNN_DATA_HALF &&
	    dataType != CUDNN_DATA_BFLOAT16)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a spatial transformer of type %d",
				(int)dataType);
	for (int i = 0; i < 4; i++)
		if (dimA[i] < 1)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "dimension %d of a spatial transformer is %d", i,
					dimA[i]);
	stDesc->type = dataType;
	for (int i = 0; i < 4; i++)
		stDesc->dim[i] = dimA[i];
	stDesc->is_set = true;
	return CUDNN_STATUS_SUCCESS;
}

bool older_transformer(cudnnSpatialTransformerDescriptor_t d, cudnnDataType_t *ret_type, int64_t ret_dim[4])
{
	if (!IS(d, TRANSFORMER) || !d->is_set)
		return false;
	*ret_type = d->type;
	memcpy(ret_dim, d->dim, sizeof(d->dim));
	return true;
}

static cudnnStatus_t check(cudnnHandle_t handle, const struct cudnnSpatialTransformerStruct *d, bool there)
{
	int64_t all = 1;

	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!IS(d, TRANSFORMER) || !d->is_set)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a spatial transformer that is none or is not set");
	if (!there)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	for (int i = 0; i < 4; i++)
		if (__builtin_mul_overflow(all, d->dim[i], &all) || all > DNN_SIZE_MOST)
			return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a spatial transformer over 2^40 numbers");
	return CUDNN_STATUS_SUCCESS;
}

static struct dnn_operand packed(const struct cudnnSpatialTransformerStruct *d, const void *at)
{
	return (struct dnn_operand){ .at = (uint64_t)(uintptr_t)at, .type = (uint8_t)d->type };
}

/* ---- grids ---- */

static cudnnStatus_t grid(cudnnHandle_t handle, const struct cudnnSpatialTransformerStruct *d, bool back,
			  const void *theta, const void *places)
{
	cudnnStatus_t status = check(handle, d, theta && places);
	struct dnn_work work = { .kernel = DNN_GRID, .mode = back };

	if (status)
		return status;
	work.dim[0] = d->dim[0];
	work.dim[1] = work.dim[2] = 1;
	work.dim[3] = d->dim[2];
	work.dim[4] = d->dim[3];
	work.axes = (uint8_t)(back ? 1u << 3 | 1u << 4 : 1u << 4);
	work.operand[SAMPLE_GRID] = packed(d, places);
	work.operand[SAMPLE_THETA] = packed(d, theta);
	return dnn_launch(handle, &work);
}

cudnnStatus_t soft_cudnnSpatialTfGridGeneratorForward(cudnnHandle_t handle,
						      const cudnnSpatialTransformerDescriptor_t stDesc,
						      const void *theta, void *grid_)
{
	return grid(handle, stDesc, false, theta, grid_);
}

cudnnStatus_t soft_cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t handle,
						       const cudnnSpatialTransformerDescriptor_t stDesc,
						       const void *dgrid, void *dtheta)
{
	return grid(handle, stDesc, true, dtheta, dgrid);
}

/* ---- samples ---- */

static cudnnStatus_t image_of(const struct cudnnSpatialTransformerStruct *d, cudnnTensorDescriptor_t desc,
			      const void *at, struct dnn_tensor *ret)
{
	if (!dnn_tensor_of(desc, ret) || ret->rank != 4 || ret->type != d->type || ret->dim[0] != d->dim[0] ||
	    ret->dim[1] != d->dim[1])
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"a tensor of a spatial transformer with other images, channels or type than its own");
	ret->at = (uint64_t)(uintptr_t)at;
	return dnn_tensor_check(ret);
}

static struct dnn_operand operand_of(const struct dnn_tensor *t)
{
	return (struct dnn_operand){ .at = t->at,
				     .type = t->type,
				     .stride = { t->stride[0], t->stride[1], 0, t->stride[2], t->stride[3] } };
}

/* What all kernels of samples are told: x is read or its gradient written; y likewise. */
static cudnnStatus_t sample_work(const struct cudnnSpatialTransformerStruct *d, const struct dnn_tensor *x,
				 const struct dnn_tensor *y, const void *places, struct dnn_work *work)
{
	if (y->dim[2] != d->dim[2] || y->dim[3] != d->dim[3])
		return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
				"the result of a spatial transformer has %lld rows and %lld columns, not its own",
				(long long)y->dim[2], (long long)y->dim[3]);
	*work = (struct dnn_work){ .kernel = DNN_SAMPLE,
				   .dim = { d->dim[0], d->dim[1], 1, d->dim[2], d->dim[3] },
				   .axes = 1u << 3 | 1u << 4,
				   .more = { (uint64_t)x->dim[2], (uint64_t)x->dim[3] } };
	work->operand[SAMPLE_X] = operand_of(x);
	work->operand[SAMPLE_Y] = operand_of(y);
	work->operand[SAMPLE_GRID] = packed(d, places);
	return CUDNN_STATUS_SUCCESS;
}

static void blend_set(const struct cudnnSpatialTransformerStruct *d, struct dnn_work *work, const void *alpha,
		      const void *beta)
{
	work->scalar[BLEND_ALPHA] = dnn_scalar(alpha, d->type);
	work->scalar[BLEND_BETA] = dnn_scalar(beta, d->type);
}

cudnnStatus_t soft_cudnnSpatialTfSamplerForward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t stDesc,
						const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x,
						const void *grid_, const void *beta, cudnnTensorDescriptor_t yDesc,
						void *y)
{
	cudnnStatus_t status = check(handle, stDesc, x && grid_ && y && alpha && beta);
	struct dnn_tensor tx, ty;
	struct dnn_work work;

	if (!status)
		status = image_of(stDesc, xDesc, x, &tx);
	if (!status)
		status = image_of(stDesc, yDesc, y, &ty);
	if (!status)
		status = sample_work(stDesc, &tx, &ty, grid_, &work);
	if (status)
		return status;
	blend_set(stDesc, &work, alpha, beta);
	return dnn_launch(handle, &work);
}

cudnnStatus_t soft_cudnnSpatialTfSamplerBackward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t stDesc,
						 const void *alpha, const cudnnTensorDescriptor_t xDesc, const void *x,
						 const void *beta, const cudnnTensorDescriptor_t dxDesc, void *dx,
						 const void *alphaDgrid, const cudnnTensorDescriptor_t dyDesc,
						 const void *dy, const void *grid_, const void *betaDgrid, void *dgrid)
{
	cudnnStatus_t status =
		check(handle, stDesc, x && dy && grid_ && dx && dgrid && alpha && beta && alphaDgrid && betaDgrid);
	struct dnn_tensor tx, tdx, tdy;
	struct dnn_work work[2];

	if (!status)
		status = image_of(stDesc, xDesc, x, &tx);
	if (!status)
		status = image_of(stDesc, dxDesc, dx, &tdx);
	if (!status)
		status = image_of(stDesc, dyDesc, dy, &tdy);
	if (!status && (tx.dim[2] != tdx.dim[2] || tx.dim[3] != tdx.dim[3]))
		status = dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
				  "a gradient of a spatial transformer's input that is not of its shape");
	if (!status)
		status = sample_work(stDesc, &tx, &tdy, grid_, &work[0]);
	if (!status)
		status = sample_work(stDesc, &tdx, &tdy, grid_, &work[1]);
	if (status)
		return status;
	/* the grid's first: dx may take the place of x */
	work[0].kernel = DNN_SAMPLE_GRID;
	work[0].axes = 1u << 1 | 1u << 4;
	work[0].operand[SAMPLE_DGRID] = packed(stDesc, dgrid);
	blend_set(stDesc, &work[0], alphaDgrid, betaDgrid);
	work[1].kernel = DNN_SAMPLE_DATA;
	blend_set(stDesc, &work[1], alpha, beta);
	status = dnn_launch(handle, &work[0]);
	return status ? status : dnn_launch(handle, &work[1]);
}
