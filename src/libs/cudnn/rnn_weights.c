/* rnn_weights.c: see rnn.h. The layout of the weights, and the calls that ask for it. */
#include "libs/cudnn/rnn.h"

static const int gates_of[] = { [CUDNN_RNN_RELU] = 1, [CUDNN_RNN_TANH] = 1, [CUDNN_LSTM] = 4, [CUDNN_GRU] = 3 };

int rnn_gates(const struct cudnnRNNStruct *d)
{
	return gates_of[d->mode];
}

int rnn_directions(const struct cudnnRNNStruct *d)
{
	return d->direction == CUDNN_BIDIRECTIONAL ? 2 : 1;
}

int64_t rnn_input(const struct cudnnRNNStruct *d, int layer)
{
	return layer ? (int64_t)d->hidden * rnn_directions(d) : d->input_size;
}

/* Whether a layer's matrices have at most so many elements; no product of the sizes is too large to be counted. */
static bool is_small(const struct cudnnRNNStruct *d, int layer, int64_t most)
{
	return (int64_t)gates_of[d->mode] * d->hidden <= most / (rnn_input(d, layer) + d->hidden);
}

/* Elements of a layer's matrices in one direction: those of the input, and the recurrent ones. */
static int64_t matrices_of(const struct cudnnRNNStruct *d, int layer)
{
	return (int64_t)gates_of[d->mode] * d->hidden * (rnn_input(d, layer) + d->hidden);
}

bool rnn_has_bias(const struct cudnnRNNStruct *d, bool recurrent)
{
	return d->bias == CUDNN_RNN_DOUBLE_BIAS ||
	       d->bias == (recurrent ? CUDNN_RNN_SINGLE_REC_BIAS : CUDNN_RNN_SINGLE_INP_BIAS);
}

static int64_t biases_of(const struct cudnnRNNStruct *d)
{
	return (int64_t)gates_of[d->mode] * d->hidden * (rnn_has_bias(d, false) + rnn_has_bias(d, true));
}

int64_t rnn_matrices_at(const struct cudnnRNNStruct *d, int pseudo)
{
	int64_t at = 0;

	for (int i = 0; i < pseudo; i++)
		at += matrices_of(d, i / rnn_directions(d));
	return at;
}

int64_t rnn_biases_at(const struct cudnnRNNStruct *d, int pseudo)
{
	return rnn_matrices_at(d, d->layers * rnn_directions(d)) + pseudo * biases_of(d);
}

int64_t rnn_weights_bytes(const struct cudnnRNNStruct *d)
{
	return rnn_biases_at(d, d->layers * rnn_directions(d)) * dnn_type_bytes(d->type);
}

cudnnStatus_t rnn_check(cudnnHandle_t handle, cudnnRNNDescriptor_t d)
{
	if (!dnn_handle_good(handle))
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!IS(d, RNN) || !d->is_set)
		return dnn_fail(CUDNN_STATUS_BAD_PARAM,
				"a descriptor of a recurrent network that is none or is not set");
	if (d->clip != CUDNN_RNN_CLIP_NONE)
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "recurrent networks whose cells are clipped");
	if (!is_small(d, 1, DNN_SIZE_MOST / (2 * RNN_LAYERS_MOST)) || !is_small(d, 0, DNN_SIZE_MOST / 4))
		return dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a recurrent network with more than 2^40 weights");
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
					      size_t *weightSpaceSize)
{
	cudnnStatus_t status = rnn_check(handle, rnnDesc);

	if (status)
		return status;
	if (!weightSpaceSize)
		return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
	*weightSpaceSize = (size_t)rnn_weights_bytes(rnnDesc);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t tensor_tell(cudnnTensorDescriptor_t to, cudnnDataType_t type, int64_t rows, int64_t columns)
{
	const int dim[] = { 1, (int)rows, (int)columns }, stride[] = { (int)(rows * columns), (int)columns, 1 };

	return to ? soft_cudnnSetTensorNdDescriptor(to, type, 3, dim, stride) : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t soft_cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int32_t pseudoLayer,
					   size_t weightSpaceSize, const void *weightSpace, int32_t linLayerID,
					   cudnnTensorDescriptor_t mDesc, void **mAddr, cudnnTensorDescriptor_t bDesc,
					   void **bAddr)
{
	cudnnStatus_t status = rnn_check(handle, rnnDesc);
	const struct cudnnRNNStruct *d = rnnDesc;
	int gates = status ? 0 : gates_of[d->mode];
	int64_t input, matrix, bias, each;
	bool recurrent;

	if (status)
		return status;
	if (pseudoLayer < 0 || pseudoLayer >= d->layers * rnn_directions(d) || linLayerID < 0 ||
	    linLayerID >= 2 * gates || weightSpaceSize < (size_t)rnn_weights_bytes(d))
		return dnn_fail(CUDNN_STATUS_BAD_PARAM, "weights %d of layer %d in %zu bytes", linLayerID, pseudoLayer,
				weightSpaceSize);
	recurrent = linLayerID >= gates;
	each = dnn_type_bytes(d->type);
	input = rnn_input(d, pseudoLayer / rnn_directions(d));
	matrix = rnn_matrices_at(d, pseudoLayer) + (recurrent ? gates * d->hidden * input : 0) +
		 (linLayerID % gates) * (int64_t)d->hidden * (recurrent ? d->hidden : input);
	bias = rnn_biases_at(d, pseudoLayer) + (linLayerID % gates) * (int64_t)d->hidden +
	       (recurrent && rnn_has_bias(d, false) ? (int64_t)gates * d->hidden : 0);
	GIVE(mAddr, (char *)(uintptr_t)weightSpace + matrix * each);
	GIVE(bAddr, rnn_has_bias(d, recurrent) ? (char *)(uintptr_t)weightSpace + bias * each : NULL);
	status = tensor_tell(mDesc, d->type, d->hidden, recurrent ? d->hidden : input);
	if (!status && rnn_has_bias(d, recurrent))
		status = tensor_tell(bDesc, d->type, d->hidden, 1);
	return status;
}
