/* recipe_serve.h: descriptors of cuDNN's older calls at the worker, created for one call (recipe.h). */
#pragma once

#include "cudnn_table.h"
#include "remote/libs/far.h"
#include "remote/libs/serve.h"

#define RECIPE_RESULTS_MOST 64

/* A function of the library, or NULL. */
#define FAR_CALL(w, name)                                                                                              \
	((__typeof__(((struct cudnn_table *)0)->name))(w)->library->functions[CUDNN_CALL_##name])

struct recipe_value {
	_Alignas(16) uint8_t bytes[FAR_VALUE_BYTES];
	void *at; /* NULL: there is none */
};

/* True if the library is NVIDIA's; otherwise none of this is served. */
bool far_is_served(void);
/*
 * Creates a descriptor from its recipe, valid until recipe_drop(). NULL: none, or it cannot be created and the call is
 * refused.
 */
void *recipe_take(struct forward_work *w, unsigned int type);
void recipe_take_value(struct forward_work *w, struct recipe_value *ret);
/* As forward_ready(), and every recipe was valid; recipe_refuse(): otherwise the handler's value. */
bool recipe_ready(struct forward_work *w);
int recipe_refuse(struct forward_work *w);
/* Destroys the descriptors of this thread's call. */
void recipe_drop(struct forward_work *w);
