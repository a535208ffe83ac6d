/*
 * ctc.c: cuDNN's CTC loss: descriptors and calls. The kernel is in ctc_run.c; what it computes on the way is in the
 * program's workspace.
 *
 * Labels and lengths are the program's memory with cudnnCTCLoss(), and the device's with cudnnCTCLoss_v8().
 */
#include "libs/cudnn/object.h"
#include "libs/cudnn/older.h"

#include <stdlib.h>
#include <string.h>

enum { CTC = 0x6d746f41 };

#define LABEL_MOST 256
#define ALIGNMENT 256

struct cudnnCTCLossStruct {
	uint32_t kind;
	cudnnDataType_t type;
	cudnnLossNormalizationMode_t normalised;
	cudnnNanPropagation_t nan;
	cudnnCTCGradMode_t outside;
	int longest;
};

OBJECT_WITH(CTCLossDescriptor, CTC, d, (*ret)->longest = LABEL_MOST - 1, )

static cudnnStatus_t set(cudnnCTCLossDescriptor_t d, cudnnDataType_t type, cudnnLossNormalizationMode_t normalised,
			 cudnnNanPropagation_t nan, cudnnCTCGradMode_t outside, int longest)
{
	if (!IS(d, CTC) || (unsigned int)normalised > CUDNN_LOSS_NORMALIZATION_SOFTMAX ||
	    (unsigned int)outside > CUDNN_CTC_SKIP_OOB_GRADIENTS || longest < 0 || longest > LABEL_MOST)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a CTC loss with labels of at most %d", longest);
	if (type != CUDNN_DATA_FLOAT)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a CTC loss of type %d: float only", (int)type);
	d->type = type;
	d->normalised = normalised;
	d->nan = nan;
	d->outside = outside;
	d->longest = longest;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnSetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType)
{
	return set(ctcLossDesc, compType, CUDNN_LOSS_NORMALIZATION_NONE, CUDNN_NOT_PROPAGATE_NAN,
		   CUDNN_CTC_ZERO_OOB_GRADIENTS, LABEL_MOST - 1);
}

cudnnStatus_t soft_cudnnSetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType,
					       cudnnLossNormalizationMode_t normMode, cudnnNanPropagation_t gradMode)
{
	return set(ctcLossDesc, compType, normMode, gradMode, CUDNN_CTC_ZERO_OOB_GRADIENTS, LABEL_MOST - 1);
}

cudnnStatus_t soft_cudnnSetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType,
						cudnnLossNormalizationMode_t normMode, cudnnNanPropagation_t gradMode,
						int maxLabelLength)
{
	return set(ctcLossDesc, compType, normMode, gradMode, CUDNN_CTC_ZERO_OOB_GRADIENTS, maxLabelLength);
}

cudnnStatus_t soft_cudnnSetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t compType,
						cudnnLossNormalizationMode_t normMode, cudnnCTCGradMode_t ctcGradMode,
						int maxLabelLength)
{
	return set(ctcLossDesc, compType, normMode, CUDNN_NOT_PROPAGATE_NAN, ctcGradMode, maxLabelLength);
}

cudnnStatus_t soft_cudnnGetCTCLossDescriptor_v8(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType,
						cudnnLossNormalizationMode_t *normMode, cudnnNanPropagation_t *gradMode,
						int *maxLabelLength)
{
	if (!IS(ctcLossDesc, CTC))
		return CUDNN_STATUS_BAD_PARAM;
	GIVE(compType, ctcLossDesc->type);
	GIVE(normMode, ctcLossDesc->normalised);
	GIVE(gradMode, ctcLossDesc->nan);
	GIVE(maxLabelLength, ctcLossDesc->longest);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetCTCLossDescriptor_v9(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType,
						cudnnLossNormalizationMode_t *normMode, cudnnCTCGradMode_t *ctcGradMode,
						int *maxLabelLength)
{
	cudnnStatus_t status = soft_cudnnGetCTCLossDescriptor_v8(ctcLossDesc, compType, normMode, NULL, maxLabelLength);

	if (!status)
		GIVE(ctcGradMode, ctcLossDesc->outside);
	return status;
}

cudnnStatus_t soft_cudnnGetCTCLossDescriptorEx(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType,
					       cudnnLossNormalizationMode_t *normMode, cudnnNanPropagation_t *gradMode)
{
	return soft_cudnnGetCTCLossDescriptor_v8(ctcLossDesc, compType, normMode, gradMode, NULL);
}

cudnnStatus_t soft_cudnnGetCTCLossDescriptor(cudnnCTCLossDescriptor_t ctcLossDesc, cudnnDataType_t *compType)
{
	return soft_cudnnGetCTCLossDescriptor_v8(ctcLossDesc, compType, NULL, NULL, NULL);
}

/* ---- calls ---- */

/* Places in the workspace: lengths and labels of the program's memory, and sums of paths. */
struct loss {
	struct dnn_tensor probs, gradients;
	bool has_gradients;
	int64_t longest, labels; /* labels of all images, where the program's memory has them */
	int64_t paths_at, label_lengths_at, input_lengths_at, labels_at, workspace;
};

static int64_t room(struct loss *l, int64_t bytes)
{
	int64_t at = l->workspace;

	l->workspace += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return at;
}

/* `host`: lengths of labels in the program's memory, or NULL. */
static cudnnStatus_t loss_begin(struct loss *l, cudnnHandle_t handle, cudnnCTCLossDescriptor_t d,
				cudnnTensorDescriptor_t probs, cudnnTensorDescriptor_t gradients, const int *host)
{
	*l = (struct loss){ 0 };
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!IS(d, CTC) || !dnn_tensor_of(probs, &l->probs) || l->probs.rank != 3)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"a CTC loss without its descriptor, or without (steps, images, labels)");
	l->has_gradients = dnn_tensor_of(gradients, &l->gradients);
	if (l->probs.type != CUDNN_DATA_FLOAT || (l->has_gradients && l->gradients.type != CUDNN_DATA_FLOAT))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "a CTC loss: float only");
	if (l->probs.dim[2] > DNN_CTC_NUMBERS_MOST)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a CTC loss with %lld labels: at most 2^22",
				(long long)l->probs.dim[2]);
	for (int i = 0; l->has_gradients && i < 3; i++)
		if (l->gradients.rank != 3 || l->gradients.dim[i] != l->probs.dim[i])
			return dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
					"gradients of a CTC loss of another shape");
	l->longest = host ? 0 : d->longest;
	for (int64_t i = 0; host && i < l->probs.dim[1]; i++) {
		if (host[i] < 0 || host[i] > LABEL_MOST)
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "a label of %d: at most %d", host[i], LABEL_MOST);
		l->longest = host[i] > l->longest ? host[i] : l->longest;
		l->labels += host[i];
	}
	if (l->probs.dim[0] * l->probs.dim[1] > DNN_SIZE_MOST / (2 * l->longest + 1))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a CTC loss over 2^40 numbers");
	l->paths_at = room(l, l->probs.dim[0] * l->probs.dim[1] * (2 * l->longest + 1) * 8);
	if (!host)
		return CUDNN_STATUS_SUCCESS;
	l->label_lengths_at = room(l, 4 * l->probs.dim[1]);
	l->input_lengths_at = room(l, 4 * l->probs.dim[1]);
	l->labels_at = room(l, 4 * l->labels);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetCTCLossWorkspaceSize_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo,
						   cudnnCTCLossDescriptor_t ctcLossDesc,
						   const cudnnTensorDescriptor_t probsDesc,
						   const cudnnTensorDescriptor_t gradientsDesc, size_t *sizeInBytes)
{
	struct loss l;
	cudnnStatus_t status = loss_begin(&l, handle, ctcLossDesc, probsDesc, gradientsDesc, NULL);

	if (!status && !sizeInBytes)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (!status)
		*sizeInBytes = (size_t)l.workspace;
	return status;
}

cudnnStatus_t soft_cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc,
						const cudnnTensorDescriptor_t gradientsDesc, const int *labels,
						const int *labelLengths, const int *inputLengths,
						cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc,
						size_t *sizeInBytes)
{
	struct loss l;
	cudnnStatus_t status;

	if (!labelLengths || !sizeInBytes)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	status = loss_begin(&l, handle, ctcLossDesc, probsDesc, gradientsDesc, labelLengths);
	if (!status)
		*sizeInBytes = (size_t)l.workspace;
	return status;
}

static cudnnStatus_t words_put(cudnnHandle_t handle, uint64_t at, const int *from, int64_t count)
{
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	for (int64_t i = 0; i < count && !status; i += DNN_WORDS_MOST) {
		int64_t some = count - i < DNN_WORDS_MOST ? count - i : DNN_WORDS_MOST;
		struct dnn_work work = { .kernel = DNN_WORDS,
					 .dim = { 1, 1, 1, 1, 1 },
					 .more = { at + 4 * (uint64_t)i, (uint64_t)some } };

		memcpy(work.words, from + i, 4 * (size_t)some);
		status = dnn_launch(handle, &work);
	}
	return status;
}

static void operand(struct dnn_operand *o, uint64_t at, const struct dnn_tensor *t)
{
	*o = (struct dnn_operand){ .at = at, .type = CUDNN_DATA_FLOAT };
	for (int i = 0; i < 3; i++)
		o->stride[2 + i] = t->stride[i];
}

static cudnnStatus_t loss_launch(const struct loss *l, cudnnHandle_t handle, const struct cudnnCTCLossStruct *d,
				 const void *probs, uint64_t labels, uint64_t label_lengths, uint64_t input_lengths,
				 void *costs, void *gradients, void *workspace)
{
	struct dnn_work work = { .kernel = DNN_CTC,
				 .mode = d->normalised == CUDNN_LOSS_NORMALIZATION_SOFTMAX,
				 .axes = 1 << 2 | 1 << 4,
				 .flag = d->outside == CUDNN_CTC_SKIP_OOB_GRADIENTS,
				 .dim = { 1, 1, l->probs.dim[0], l->probs.dim[1], l->probs.dim[2] },
				 .scalar = { d->nan == CUDNN_PROPAGATE_NAN },
				 .more = { (uint64_t)l->longest } };

	operand(&work.operand[CTC_PROBS], (uint64_t)(uintptr_t)probs, &l->probs);
	if (l->has_gradients && gradients)
		operand(&work.operand[CTC_GRADIENTS], (uint64_t)(uintptr_t)gradients, &l->gradients);
	work.operand[CTC_COSTS].at = (uint64_t)(uintptr_t)costs;
	work.operand[CTC_LABELS].at = labels;
	work.operand[CTC_LABEL_LENGTHS].at = label_lengths;
	work.operand[CTC_INPUT_LENGTHS].at = input_lengths;
	work.operand[CTC_PATHS].at = (uint64_t)(uintptr_t)workspace + (uint64_t)l->paths_at;
	return dnn_launch(handle, &work);
}

cudnnStatus_t soft_cudnnCTCLoss_v8(cudnnHandle_t handle, cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc,
				   const cudnnTensorDescriptor_t probsDesc, const void *probs, const int *labels,
				   const int *labelLengths, const int *inputLengths, void *costs,
				   const cudnnTensorDescriptor_t gradientsDesc, void *gradients,
				   size_t workSpaceSizeInBytes, void *workspace)
{
	struct loss l;
	cudnnStatus_t status = loss_begin(&l, handle, ctcLossDesc, probsDesc, gradientsDesc, NULL);

	if (status)
		return status;
	if (!probs || !labels || !labelLengths || !inputLengths || !costs || !workspace)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (workSpaceSizeInBytes < (size_t)l.workspace)
		return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
	return loss_launch(&l, handle, ctcLossDesc, probs, (uint64_t)(uintptr_t)labels,
			   (uint64_t)(uintptr_t)labelLengths, (uint64_t)(uintptr_t)inputLengths, costs, gradients,
			   workspace);
}

cudnnStatus_t soft_cudnnCTCLoss(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc, const void *probs,
				const int *hostLabels, const int *hostLabelLengths, const int *hostInputLengths,
				void *costs, const cudnnTensorDescriptor_t gradientsDesc, void *gradients,
				cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, void *workspace,
				size_t workSpaceSizeInBytes)
{
	uint64_t at = (uint64_t)(uintptr_t)workspace;
	struct loss l;
	cudnnStatus_t status;

	if (!probs || !hostLabels || !hostLabelLengths || !hostInputLengths || !costs || !workspace)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	status = loss_begin(&l, handle, ctcLossDesc, probsDesc, gradientsDesc, hostLabelLengths);
	if (status)
		return status;
	if (workSpaceSizeInBytes < (size_t)l.workspace)
		return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
	for (int64_t i = 0; i < l.labels; i++)
		if (hostLabels[i] < 1 || hostLabels[i] >= l.probs.dim[2])
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "label %d of %lld", hostLabels[i],
					(long long)l.probs.dim[2]);
	for (int64_t i = 0; i < l.probs.dim[1]; i++)
		if (hostInputLengths[i] < 0 || hostInputLengths[i] > l.probs.dim[0])
			return dnn_fail(CUDNN_STATUS_BAD_PARAM, "an input of %d steps, of %lld", hostInputLengths[i],
					(long long)l.probs.dim[0]);
	status = words_put(handle, at + (uint64_t)l.label_lengths_at, hostLabelLengths, l.probs.dim[1]);
	if (!status)
		status = words_put(handle, at + (uint64_t)l.input_lengths_at, hostInputLengths, l.probs.dim[1]);
	if (!status)
		status = words_put(handle, at + (uint64_t)l.labels_at, hostLabels, l.labels);
	if (status)
		return status;
	return loss_launch(&l, handle, ctcLossDesc, probs, at + (uint64_t)l.labels_at,
			   at + (uint64_t)l.label_lengths_at, at + (uint64_t)l.input_lengths_at, costs, gradients,
			   workspace);
}
