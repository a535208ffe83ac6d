/*
 * recipe.h: descriptors of cuDNN's older calls for NVIDIA's library, in the client (far.h).
 *
 * A recipe is the contents of a descriptor, in words: whether there is one and it is set, then its settings, in the
 * order in which recipe_serve.c creates a descriptor from them. Its twin has checked them when the program set them.
 */
#pragma once

#include "libs/cudnn/dnn.h"
#include "remote/libs/far.h"
#include "remote/libs/twin.h"

enum recipe_type {
	RECIPE_TENSOR = 1,
	RECIPE_FILTER,
	RECIPE_CONVOLUTION,
	RECIPE_POOLING,
	RECIPE_ACTIVATION,
	RECIPE_OP_TENSOR,
	RECIPE_REDUCTION,
	RECIPE_DROPOUT,
	RECIPE_CTC,
	RECIPE_RNN,
	RECIPE_RNN_DATA,
	RECIPE_TRANSFORMER,
};

enum recipe_state { RECIPE_NONE, RECIPE_UNSET, RECIPE_SET };

#define RECIPE_RESULTS_MOST 64 /* elements of an array in the results */
#define RECIPE_SEQUENCES_MOST (1 << 20)

/* True if the server's library is NVIDIA's. `object`: a handle; NULL: the server of the current context. */
bool dnn_far(const void *object);
/* The same for a backend descriptor: true if it was created for NVIDIA's library. */
bool dnn_far_descriptor(const void *descriptor);
const struct forward_library *dnn_library(void);
/* For this thread: suppresses the twin's kernels, as for a call that the library itself executes. */
void dnn_rehearse(bool rehearse);

/* As twin_begin(); `object` NULL: the call names none. */
bool far_begin(struct twin_call *c, unsigned int call, const void *object, enum twin_way way, size_t bytes);
/* The bytes that a message needs for it, beyond those of every message. */
size_t recipe_room(unsigned int type, const void *descriptor);
void recipe_put(struct twin_call *c, unsigned int type, const void *descriptor);
/* Puts a factor in host memory: double if the tensor is, otherwise float. */
void recipe_put_scale(struct twin_call *c, const void *value, const void *tensor);
/* Puts one element of the tensor's type. */
void recipe_put_element(struct twin_call *c, const void *value, const void *tensor);
/* Takes the next result: `*filled` elements, of which `room` fit. */
void recipe_get_list(struct twin_call *c, void *list, int room, const int *filled, size_t each);
