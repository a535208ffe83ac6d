/*
 * far_making.h: creates descriptors of NVIDIA's cuDNN from the attributes that a client sends, at the worker.
 *
 * A descriptor's contents decide what the library reads. The worker therefore records for each descriptor which tensors
 * it refers to and which of them are numbers; a handle or descriptor exists as long as another one refers to it.
 */
#pragma once

#include "remote/libs/far_values.h"
#include "remote/libs/recipe_serve.h"

/* A descriptor. */
struct far_made {
	struct forward_named named;
	int type;
	uint64_t context; /* id of the context of its handles; 0: it has none */
	struct far_values values;
};

/*
 * The attributes that a message has named: a repeated attribute could mean one thing to the worker and another to the
 * library.
 */
struct far_names {
	uint64_t count;
	int32_t name[FAR_ATTRIBUTES_MOST];
};

/* A descriptor that is being created, and the meaning of its attributes. */
struct far_making {
	struct forward_work *w;
	void *descriptor;
	int type;
	cudnnStatus_t status;
	struct far_values values;
	struct forward_held *held; /* keeps referenced objects alive */
	uint64_t context;
	/* of a tensor */
	bool is_value, inside, vectors;
	int64_t id, elements;
	uint32_t each; /* size of an element */
	bool bad;      /* ambiguous, or no memory */
	struct far_names had;
};

/* The size of an attribute's element; 0: it is not a plain number. */
size_t far_type_bytes(int type);
/* Reads the next attribute of the message, without its elements. False: malformed or repeated. */
bool far_attribute_take(struct forward_work *w, struct far_names *had, struct far_attribute *a);
/* True if the context of this id exists, or the id is 0. */
bool far_stands(struct forward_work *w, uint64_t context);

/* `descriptor` was created by the library. False: no memory; the descriptor was destroyed. */
bool far_making_begin(struct far_making *m);
/* Records that the descriptor refers to an object of this existing context. */
void far_refer(struct far_making *m, struct forward_held *held, uint64_t context);
/* Assigns the id. */
int far_making_keep(struct far_making *m, uint64_t id);
/* Destroys it. */
int far_making_end(struct far_making *m);

/* Handles cudnnBackendFinalize. */
int far_finalize(struct forward_work *w);
