/*
 * rnn.h: the descriptors of cuDNN's recurrent networks, and the layout of their weights.
 *
 * The weights are one array: for each layer and direction (a pseudo layer) the gates' matrices of the input, then the
 * recurrent ones. The biases of all pseudo layers follow, in the same order.
 */
#pragma once

#include "libs/cudnn/object.h"

enum { RNN = 0x6d746f31, RNN_DATA };

#define RNN_LAYERS_MOST 1024

struct cudnnRNNStruct {
	uint32_t kind;
	bool is_set, clips;
	cudnnRNNAlgo_t algorithm;
	cudnnRNNMode_t mode;
	cudnnRNNBiasMode_t bias;
	cudnnDirectionMode_t direction;
	cudnnRNNInputMode_t input;
	cudnnDataType_t type, precision;
	cudnnMathType_t math;
	int32_t input_size, hidden, projected, layers;
	cudnnDropoutDescriptor_t dropout;
	uint32_t flags;
	cudnnRNNClipMode_t clip;
	cudnnNanPropagation_t clip_nan;
	double clip_low, clip_high;
};

struct cudnnRNNDataStruct {
	uint32_t kind;
	cudnnDataType_t type;
	cudnnRNNDataLayout_t layout;
	int32_t steps, images, wide;
	int32_t *length;
	double fill;
	bool has_fill, even; /* all images have all steps */
};

int rnn_gates(const struct cudnnRNNStruct *d);
int rnn_directions(const struct cudnnRNNStruct *d);
/* The elements of an input of the layer. */
int64_t rnn_input(const struct cudnnRNNStruct *d, int layer);
bool rnn_has_bias(const struct cudnnRNNStruct *d, bool recurrent);

/* Where the matrices and the biases of a pseudo layer begin, in elements. Behind the last matrices are the biases. */
int64_t rnn_matrices_at(const struct cudnnRNNStruct *d, int pseudo);
int64_t rnn_biases_at(const struct cudnnRNNStruct *d, int pseudo);
int64_t rnn_weights_bytes(const struct cudnnRNNStruct *d);

/* Refuses a handle or a descriptor that is not one, is not set, or describes a network that cannot be computed. */
cudnnStatus_t rnn_check(cudnnHandle_t handle, cudnnRNNDescriptor_t d);
