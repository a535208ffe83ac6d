/*
 * recipe.h: descriptors of cuDNN's older calls on their way to NVIDIA's library, in the client (far.h).
 *
 * A recipe is what a descriptor says, in words: whether there is one and it is set, then its settings, in the order in
 * which recipe_serve.c makes a descriptor of them. Its twin has checked them when the program set them.
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
};

enum recipe_state { RECIPE_NONE, RECIPE_UNSET, RECIPE_SET };

#define RECIPE_RESULTS_MOST 64 /* elements of an array that is given out */
#define RECIPE_SEQUENCES_MOST (1 << 20)

/* Is the server's library NVIDIA's? `object`: a handle; NULL: where the current context is. */
bool dnn_far(const void *object);
/* The same of a descriptor of the backend: one that was made as such. */
bool dnn_far_descriptor(const void *descriptor);
const struct forward_library *dnn_library(void);
/* Of this thread: the twin's kernels go nowhere, as those of a call that goes to the library itself. */
void dnn_rehearse(bool rehearse);

/* As twin_begin(); `object` NULL: the call is about none. */
bool far_begin(struct twin_call *c, unsigned int call, const void *object, enum twin_way way, size_t bytes);
/* Bytes that a message needs for it, beyond those that every message has. */
size_t recipe_room(unsigned int type, const void *descriptor);
void recipe_put(struct twin_call *c, unsigned int type, const void *descriptor);
/* A factor in the program's memory: double where the tensor is, else float. */
void recipe_put_scale(struct twin_call *c, const void *value, const void *tensor);
/* One element of the tensor's type. */
void recipe_put_element(struct twin_call *c, const void *value, const void *tensor);
/* The next of what is given out: `*filled` elements, of which `room` fit. */
void recipe_get_list(struct twin_call *c, void *list, int room, const int *filled, size_t each);
