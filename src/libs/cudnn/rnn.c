/* rnn.c: the descriptors of cuDNN's recurrent networks and of their sequences. */
#include "libs/cudnn/older.h"
#include "libs/cudnn/rnn.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

OBJECT(RNNDescriptor, RNN, d)

static bool is_data_type(cudnnDataType_t type)
{
	return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
	       type == CUDNN_DATA_BFLOAT16;
}

cudnnStatus_t soft_cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t algo, cudnnRNNMode_t cellMode,
					    cudnnRNNBiasMode_t biasMode, cudnnDirectionMode_t dirMode,
					    cudnnRNNInputMode_t inputMode, cudnnDataType_t dataType,
					    cudnnDataType_t mathPrec, cudnnMathType_t mathType, int32_t inputSize,
					    int32_t hiddenSize, int32_t projSize, int32_t numLayers,
					    cudnnDropoutDescriptor_t dropoutDesc, uint32_t auxFlags)
{
	if (!IS(rnnDesc, RNN) || (unsigned int)algo >= CUDNN_RNN_ALGO_COUNT || (unsigned int)cellMode > CUDNN_GRU ||
	    (unsigned int)biasMode > CUDNN_RNN_SINGLE_REC_BIAS || (unsigned int)dirMode > CUDNN_BIDIRECTIONAL ||
	    (unsigned int)inputMode > CUDNN_SKIP_INPUT || inputSize < 1 || hiddenSize < 1 || numLayers < 1 ||
	    numLayers > RNN_LAYERS_MOST || projSize < 0 || projSize > hiddenSize ||
	    (dropoutDesc && !older_is_dropout(dropoutDesc)))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"a recurrent network of %d layers, input %d, hidden %d, projection %d", numLayers,
				inputSize, hiddenSize, projSize);
	if (!is_data_type(dataType))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a recurrent network of type %d", (int)dataType);
	if (projSize && projSize != hiddenSize)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "recurrent networks with a projection of %d", projSize);
	if (inputMode == CUDNN_SKIP_INPUT)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
				"recurrent networks whose first layer takes its input as it is");
	*rnnDesc = (struct cudnnRNNStruct){ .kind = RNN,
					    .is_set = true,
					    .algorithm = algo,
					    .mode = cellMode,
					    .bias = biasMode,
					    .direction = dirMode,
					    .input = inputMode,
					    .type = dataType,
					    .precision = mathPrec,
					    .math = mathType,
					    .input_size = inputSize,
					    .hidden = hiddenSize,
					    .projected = projSize,
					    .layers = numLayers,
					    .dropout = dropoutDesc,
					    .flags = auxFlags };
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t *algo,
					    cudnnRNNMode_t *cellMode, cudnnRNNBiasMode_t *biasMode,
					    cudnnDirectionMode_t *dirMode, cudnnRNNInputMode_t *inputMode,
					    cudnnDataType_t *dataType, cudnnDataType_t *mathPrec,
					    cudnnMathType_t *mathType, int32_t *inputSize, int32_t *hiddenSize,
					    int32_t *projSize, int32_t *numLayers,
					    cudnnDropoutDescriptor_t *dropoutDesc, uint32_t *auxFlags)
{
	if (!IS(rnnDesc, RNN) || !rnnDesc->is_set)
		return CUDNN_STATUS_BAD_PARAM;
	GIVE(algo, rnnDesc->algorithm);
	GIVE(cellMode, rnnDesc->mode);
	GIVE(biasMode, rnnDesc->bias);
	GIVE(dirMode, rnnDesc->direction);
	GIVE(inputMode, rnnDesc->input);
	GIVE(dataType, rnnDesc->type);
	GIVE(mathPrec, rnnDesc->precision);
	GIVE(mathType, rnnDesc->math);
	GIVE(inputSize, rnnDesc->input_size);
	GIVE(hiddenSize, rnnDesc->hidden);
	GIVE(projSize, rnnDesc->projected);
	GIVE(numLayers, rnnDesc->layers);
	GIVE(dropoutDesc, rnnDesc->dropout);
	GIVE(auxFlags, rnnDesc->flags);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnRNNSetClip_v9(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode, double lclip,
				      double rclip)
{
	if (!IS(rnnDesc, RNN) || (unsigned int)clipMode > CUDNN_RNN_CLIP_MINMAX ||
	    (clipMode == CUDNN_RNN_CLIP_MINMAX && !(lclip <= rclip)))
		return CUDNN_STATUS_BAD_PARAM;
	rnnDesc->clip = clipMode;
	rnnDesc->clip_low = lclip;
	rnnDesc->clip_high = rclip;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnRNNSetClip_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t clipMode,
				      cudnnNanPropagation_t clipNanOpt, double lclip, double rclip)
{
	cudnnStatus_t status = soft_cudnnRNNSetClip_v9(rnnDesc, clipMode, lclip, rclip);

	if (!status)
		rnnDesc->clip_nan = clipNanOpt;
	return status;
}

cudnnStatus_t soft_cudnnRNNGetClip_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t *clipMode,
				      cudnnNanPropagation_t *clipNanOpt, double *lclip, double *rclip)
{
	if (!IS(rnnDesc, RNN) || !clipMode)
		return CUDNN_STATUS_BAD_PARAM;
	*clipMode = rnnDesc->clip;
	GIVE(clipNanOpt, rnnDesc->clip_nan);
	GIVE(lclip, rnnDesc->clip_low);
	GIVE(rclip, rnnDesc->clip_high);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnRNNGetClip_v9(cudnnRNNDescriptor_t rnnDesc, cudnnRNNClipMode_t *clipMode, double *lclip,
				      double *rclip)
{
	return soft_cudnnRNNGetClip_v8(rnnDesc, clipMode, NULL, lclip, rclip);
}

/* The kernel that steps are made for is made already. */
cudnnStatus_t soft_cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int miniBatch)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	return IS(rnnDesc, RNN) && rnnDesc->is_set && miniBatch > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
}

OBJECT_WITH(RNNDataDescriptor, RNN_DATA, d, , free(d->length))

static cudnnStatus_t lengths_check(cudnnRNNDataLayout_t layout, int steps, int images, const int *length,
				   bool *ret_even)
{
	bool packed = layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;

	*ret_even = true;
	for (int i = 0; i < images; i++) {
		if (length[i] < packed || length[i] > steps)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a sequence of %d steps, of at most %d", length[i],
					steps);
		if (packed && i && length[i] > length[i - 1])
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "packed sequences that do not begin with the longest");
		*ret_even = *ret_even && length[i] == steps;
	}
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc, cudnnDataType_t dataType,
					     cudnnRNNDataLayout_t layout, int maxSeqLength, int batchSize,
					     int vectorSize, const int *seqLengthArray, void *paddingFill)
{
	cudnnStatus_t status;
	int32_t *length;
	bool even;

	if (!IS(rnnDataDesc, RNN_DATA) || (unsigned int)layout > CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED ||
	    maxSeqLength < 1 || batchSize < 1 || vectorSize < 1 || !seqLengthArray)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "sequences of %d steps, %d of them, each step of %d numbers",
				maxSeqLength, batchSize, vectorSize);
	if (!is_data_type(dataType))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "sequences of type %d", (int)dataType);
	status = lengths_check(layout, maxSeqLength, batchSize, seqLengthArray, &even);
	if (status)
		return status;
	length = malloc((size_t)batchSize * sizeof(*length));
	if (!length)
		return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
	memcpy(length, seqLengthArray, (size_t)batchSize * sizeof(*length));
	free(rnnDataDesc->length);
	*rnnDataDesc = (struct cudnnRNNDataStruct){ .kind = RNN_DATA,
						    .type = dataType,
						    .layout = layout,
						    .steps = maxSeqLength,
						    .images = batchSize,
						    .wide = vectorSize,
						    .length = length,
						    .has_fill = paddingFill != NULL,
						    .even = even };
	if (paddingFill)
		dnn_read_value(&rnnDataDesc->fill, dataType, paddingFill);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc, cudnnDataType_t *dataType,
					     cudnnRNNDataLayout_t *layout, int *maxSeqLength, int *batchSize,
					     int *vectorSize, int arrayLengthRequested, int *seqLengthArray,
					     void *paddingFill)
{
	float narrow;

	if (!IS(rnnDataDesc, RNN_DATA) || !rnnDataDesc->length || arrayLengthRequested < 0 ||
	    (arrayLengthRequested && !seqLengthArray))
		return CUDNN_STATUS_BAD_PARAM;
	GIVE(dataType, rnnDataDesc->type);
	GIVE(layout, rnnDataDesc->layout);
	GIVE(maxSeqLength, rnnDataDesc->steps);
	GIVE(batchSize, rnnDataDesc->images);
	GIVE(vectorSize, rnnDataDesc->wide);
	for (int i = 0; i < arrayLengthRequested && i < rnnDataDesc->images; i++)
		seqLengthArray[i] = rnnDataDesc->length[i];
	narrow = (float)rnnDataDesc->fill;
	if (paddingFill && rnnDataDesc->has_fill && rnnDataDesc->type == CUDNN_DATA_DOUBLE)
		memcpy(paddingFill, &rnnDataDesc->fill, sizeof(double));
	else if (paddingFill && rnnDataDesc->has_fill && rnnDataDesc->type == CUDNN_DATA_FLOAT)
		memcpy(paddingFill, &narrow, sizeof(narrow));
	return CUDNN_STATUS_SUCCESS;
}
