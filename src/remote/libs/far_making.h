/*
 * far_making.h: making a descriptor of NVIDIA's cuDNN out of the attributes that a client sends, at the worker.
 *
 * What a descriptor says decides what the library reads, so of each it is kept which tensors are behind it and which
 * of them are numbers, and a handle or descriptor stays as long as another refers to it.
 */
#pragma once

#include "remote/libs/far_values.h"
#include "remote/libs/recipe_serve.h"

/* A descriptor. */
struct far_made {
	struct forward_named named;
	int type;
	uint64_t context; /* id, of the handles behind it; 0: there are none */
	struct far_values values;
};

/* Which attributes a message has had: what is said twice could mean the one to us and the other to the library. */
struct far_names {
	uint64_t count;
	int32_t name[FAR_ATTRIBUTES_MOST];
};

/* What an attribute of a descriptor that is being made means. */
struct far_making {
	struct forward_work *w;
	void *descriptor;
	int type;
	cudnnStatus_t status;
	struct far_values values;
	struct forward_held *held; /* of the descriptor */
	uint64_t context;
	/* of a tensor */
	bool is_value, inside, vectors;
	int64_t id, elements;
	uint32_t each; /* bytes of an element */
	bool bad;      /* it means two things, or there is no memory */
	struct far_names had;
};

/* Bytes of an attribute's element; 0: it is no plain number. */
size_t far_type_bytes(int type);
/* The next attribute of the message, without its elements. False: it is malformed, or said twice. */
bool far_attribute_take(struct forward_work *w, struct far_names *had, struct far_attribute *a);
/* The context of this id is there, or 0. */
bool far_stands(struct forward_work *w, uint64_t context);

/* `descriptor` has been made by the library. False: no memory; it is ended. */
bool far_making_begin(struct far_making *m);
/* What is made refers to an object that lives in this context, which stands. */
void far_refer(struct far_making *m, struct forward_held *held, uint64_t context);
/* It has this id from now on. */
int far_making_keep(struct far_making *m, uint64_t id);
/* It is ended. */
int far_making_end(struct far_making *m);

/* cudnnBackendFinalize. */
int far_finalize(struct forward_work *w);
