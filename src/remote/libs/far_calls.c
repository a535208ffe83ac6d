/* far_calls.c: calls of cuDNN that go to NVIDIA's library and whose bodies are not generated, in the client (far.h). */
#include "remote/libs/recipe.h"

#include <stdlib.h>
#include <string.h>

size_t far_cudnnGetVersion(void);
size_t far_cudnnGetCudartVersion(void);
size_t far_cudnnGetMaxDeviceVersion(void);
cudnnStatus_t far_cudnnGetProperty(libraryPropertyType type, int *value);
cudnnStatus_t far_cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float dropout,
					    void *states, size_t stateSizeInBytes, unsigned long long seed);
cudnnStatus_t far_cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int32_t pseudoLayer,
					  size_t weightSpaceSize, const void *weightSpace, int32_t linLayerID,
					  cudnnTensorDescriptor_t mDesc, void **mAddr, cudnnTensorDescriptor_t bDesc,
					  void **bAddr);
cudnnStatus_t far_cudnnCTCLoss(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc, const void *probs,
			       const int *hostLabels, const int *hostLabelLengths, const int *hostInputLengths,
			       void *costs, const cudnnTensorDescriptor_t gradientsDesc, void *gradients,
			       cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, void *workspace,
			       size_t workSpaceSizeInBytes);

cudnnStatus_t far_cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc,
					       const cudnnTensorDescriptor_t gradientsDesc, const int *labels,
					       const int *labelLengths, const int *inputLengths,
					       cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc,
					       size_t *sizeInBytes);

/* ---- versions ---- */

static struct far_about about(void)
{
	struct far_about a = { 0 };
	struct twin_call c;

	twin_enter(&c, dnn_library());
	far_begin(&c, CUDNN_CALL_cudnnGetVersion, NULL, TWIN_ASK_ONCE, 0);
	if (twin_send(&c))
		forward_get(&c.f, &a, sizeof(a));
	twin_end(&c);
	return a;
}

size_t far_cudnnGetVersion(void)
{
	return (size_t)about().version;
}

size_t far_cudnnGetCudartVersion(void)
{
	return (size_t)about().cudart_version;
}

size_t far_cudnnGetMaxDeviceVersion(void)
{
	return (size_t)about().device_version;
}

cudnnStatus_t far_cudnnGetProperty(libraryPropertyType type, int *value)
{
	int version = (int)about().version;
	int part = library_property(version / 10000, version / 100 % 100, version % 100, (int)type);

	if (!value)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (part < 0)
		return CUDNN_STATUS_BAD_PARAM;
	*value = part;
	return CUDNN_STATUS_SUCCESS;
}

/* ---- dropout and recurrent networks ---- */

/* NVIDIA's library fills the states; the twin remembers them. */
cudnnStatus_t far_cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float dropout,
					    void *states, size_t stateSizeInBytes, unsigned long long seed)
{
	cudnnHandle_t twin = (cudnnHandle_t)twin_of(handle, FAR_HANDLE);
	cudnnStatus_t status =
		soft_cudnnSetDropoutDescriptor(dropoutDesc, twin, dropout, states, stateSizeInBytes, seed);
	struct twin_call c;

	if (status || !states)
		return status;
	twin_enter(&c, dnn_library());
	if (twin_begin(&c, 0, CUDNN_CALL_cudnnSetDropoutDescriptor, handle, TWIN_RUN, 0)) {
		forward_put(&c.f, &dropout, sizeof(dropout));
		forward_put_address(&c.f, states);
		forward_put(&c.f, &stateSizeInBytes, sizeof(stateSizeInBytes));
		forward_put(&c.f, &seed, sizeof(seed));
		twin_send(&c);
	}
	return (cudnnStatus_t)twin_end(&c);
}

/* One of both tensors: where it is and what it is. */
static void tensor_get(struct twin_call *c, cudnnTensorDescriptor_t descriptor, const void *weights, void **address)
{
	int64_t at = 0, type = 0, dims = 0, word;
	int dim[DNN_TENSOR_DIMS] = { 0 }, stride[DNN_TENSOR_DIMS] = { 0 };

	forward_get(&c->f, &at, sizeof(at));
	forward_get(&c->f, &type, sizeof(type));
	forward_get(&c->f, &dims, sizeof(dims));
	for (int64_t i = 0; i < dims && i < DNN_TENSOR_DIMS; i++) {
		forward_get(&c->f, &word, sizeof(word));
		dim[i] = (int)word;
		forward_get(&c->f, &word, sizeof(word));
		stride[i] = (int)word;
	}
	if (address)
		*address = at < 0 ? NULL : (char *)(uintptr_t)weights + at;
	if (descriptor && dims > 0 && dims <= DNN_TENSOR_DIMS)
		soft_cudnnSetTensorNdDescriptor(descriptor, (cudnnDataType_t)type, (int)dims, dim, stride);
}

cudnnStatus_t far_cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int32_t pseudoLayer,
					  size_t weightSpaceSize, const void *weightSpace, int32_t linLayerID,
					  cudnnTensorDescriptor_t mDesc, void **mAddr, cudnnTensorDescriptor_t bDesc,
					  void **bAddr)
{
	struct twin_call c;

	twin_enter(&c, dnn_library());
	if (twin_begin(&c, 0, CUDNN_CALL_cudnnGetRNNWeightParams, handle, TWIN_ASK_ONCE, 0)) {
		recipe_put(&c, RECIPE_RNN, rnnDesc);
		forward_put(&c.f, &pseudoLayer, sizeof(pseudoLayer));
		forward_put(&c.f, &weightSpaceSize, sizeof(weightSpaceSize));
		forward_put(&c.f, &linLayerID, sizeof(linLayerID));
		if (twin_send(&c)) {
			tensor_get(&c, mDesc, weightSpace, mAddr);
			tensor_get(&c, bDesc, weightSpace, bAddr);
		}
	}
	return (cudnnStatus_t)twin_end(&c);
}

/* ---- CTC with labels in the program's memory ---- */

static void put_ints(struct twin_call *c, const int *list, int64_t count)
{
	forward_put(&c->f, &count, sizeof(count));
	forward_put(&c->f, list, (size_t)count * sizeof(*list));
}

/* The labels of all images, as the program has them. */
struct labels {
	const int *length, *steps, *label;
	int64_t images, count;
};

static cudnnStatus_t labels_find(struct labels *l, cudnnTensorDescriptor_t probs, const int *label, const int *length,
				 const int *steps)
{
	int dims = 0, dim[DNN_TENSOR_DIMS] = { 0 }, stride[DNN_TENSOR_DIMS];
	cudnnDataType_t type;

	if (!label || !length || !steps)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	if (soft_cudnnGetTensorNdDescriptor(probs, DNN_TENSOR_DIMS, &type, &dims, dim, stride) || dims != 3)
		return CUDNN_STATUS_BAD_PARAM;
	*l = (struct labels){ .length = length, .steps = steps, .label = label, .images = dim[1] };
	for (int64_t i = 0; i < l->images; i++) {
		if (length[i] < 0)
			return CUDNN_STATUS_BAD_PARAM;
		l->count += length[i];
	}
	return l->images > RECIPE_SEQUENCES_MOST || l->count > RECIPE_SEQUENCES_MOST ? CUDNN_STATUS_NOT_SUPPORTED
										     : CUDNN_STATUS_SUCCESS;
}

static size_t labels_room(const struct labels *l)
{
	return (size_t)(2 * l->images + l->count) * sizeof(int) + 64;
}

static void labels_put(struct twin_call *c, const struct labels *l)
{
	put_ints(c, l->length, l->images);
	put_ints(c, l->steps, l->images);
	put_ints(c, l->label, l->count);
}

cudnnStatus_t far_cudnnCTCLoss(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc, const void *probs,
			       const int *hostLabels, const int *hostLabelLengths, const int *hostInputLengths,
			       void *costs, const cudnnTensorDescriptor_t gradientsDesc, void *gradients,
			       cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc, void *workspace,
			       size_t workSpaceSizeInBytes)
{
	struct labels l;
	cudnnStatus_t status = labels_find(&l, probsDesc, hostLabels, hostLabelLengths, hostInputLengths);
	struct twin_call c;

	if (status)
		return status;
	dnn_rehearse(true);
	status = soft_cudnnCTCLoss((cudnnHandle_t)twin_of(handle, FAR_HANDLE), probsDesc, probs, hostLabels,
				   hostLabelLengths, hostInputLengths, costs, gradientsDesc, gradients, algo,
				   ctcLossDesc, workspace, workSpaceSizeInBytes);
	dnn_rehearse(false);
	twin_enter(&c, dnn_library());
	if (twin_begin(&c, 0, CUDNN_CALL_cudnnCTCLoss, handle, status ? TWIN_ASK : TWIN_RUN, labels_room(&l))) {
		recipe_put(&c, RECIPE_TENSOR, probsDesc);
		recipe_put(&c, RECIPE_TENSOR, gradientsDesc);
		labels_put(&c, &l);
		forward_put(&c.f, &algo, sizeof(algo));
		recipe_put(&c, RECIPE_CTC, ctcLossDesc);
		forward_put_address(&c.f, probs);
		forward_put_address(&c.f, costs);
		forward_put_address(&c.f, gradients);
		forward_put_address(&c.f, workspace);
		forward_put(&c.f, &workSpaceSizeInBytes, sizeof(workSpaceSizeInBytes));
		twin_send(&c);
	}
	return (cudnnStatus_t)twin_end(&c);
}

cudnnStatus_t far_cudnnGetCTCLossWorkspaceSize(cudnnHandle_t handle, const cudnnTensorDescriptor_t probsDesc,
					       const cudnnTensorDescriptor_t gradientsDesc, const int *labels,
					       const int *labelLengths, const int *inputLengths,
					       cudnnCTCLossAlgo_t algo, cudnnCTCLossDescriptor_t ctcLossDesc,
					       size_t *sizeInBytes)
{
	struct labels l;
	cudnnStatus_t status = labels_find(&l, probsDesc, labels, labelLengths, inputLengths);
	struct twin_call c;

	if (status || !sizeInBytes)
		return status ? status : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	twin_enter(&c, dnn_library());
	if (twin_begin(&c, 0, CUDNN_CALL_cudnnGetCTCLossWorkspaceSize, handle, TWIN_ASK, labels_room(&l))) {
		recipe_put(&c, RECIPE_TENSOR, probsDesc);
		recipe_put(&c, RECIPE_TENSOR, gradientsDesc);
		labels_put(&c, &l);
		forward_put(&c.f, &algo, sizeof(algo));
		recipe_put(&c, RECIPE_CTC, ctcLossDesc);
		if (twin_send(&c))
			twin_get(&c, sizeInBytes, sizeof(*sizeInBytes));
	}
	return (cudnnStatus_t)twin_end(&c);
}
