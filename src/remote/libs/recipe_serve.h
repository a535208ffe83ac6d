/* recipe_serve.h: descriptors of cuDNN's older calls at the worker, made for one call (recipe.h). */
#pragma once

#include "cudnn_table.h"
#include "remote/libs/far.h"
#include "remote/libs/serve.h"

#define RECIPE_RESULTS_MOST 64

/* A call of the library, or NULL. */
#define FAR_CALL(w, name)                                                                                              \
	((__typeof__(((struct cudnn_table *)0)->name))(w)->library->functions[CUDNN_CALL_##name])

struct recipe_value {
	_Alignas(16) uint8_t bytes[FAR_VALUE_BYTES];
	void *at; /* NULL: there is none */
};

/* Is the library NVIDIA's? Else nothing of this is served. */
bool far_is_served(void);
/* A descriptor by its recipe, until recipe_drop(); NULL: none, or it cannot be made and the call is refused. */
void *recipe_take(struct forward_work *w, unsigned int type);
void recipe_take_value(struct forward_work *w, struct recipe_value *ret);
/* As forward_ready(), and every recipe was good; else what a handler answers. */
bool recipe_ready(struct forward_work *w);
int recipe_refuse(struct forward_work *w);
/* The descriptors of this thread's call end. */
void recipe_drop(struct forward_work *w);
