/*
 * older.h: the contents of descriptors of cuDNN's older calls, from tensor.c for calls.c. False: not such a descriptor.
 */
#pragma once

#include "libs/cudnn/dnn.h"

/* A pointwise mode, and the scalars that it needs. */
bool older_activation(cudnnActivationDescriptor_t d, bool back, unsigned int *ret_mode, double scalar[8]);
bool older_op(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t *ret);
bool older_reduction(cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t *ret, bool *ret_indices);
/* The program's settings. */
bool older_dropout_said(cudnnDropoutDescriptor_t d, float *ret_rate, void **ret_states, unsigned long long *ret_seed);
bool older_is_dropout(cudnnDropoutDescriptor_t d);
/* `next`: the next use of the descriptor gets other numbers. */
bool older_dropout(cudnnDropoutDescriptor_t d, bool next, double *ret_keep, int64_t *ret_seed, int64_t *ret_offset);
/* From sampler.c. */
bool older_transformer(cudnnSpatialTransformerDescriptor_t d, cudnnDataType_t *ret_type, int64_t ret_dim[4]);
