/*
 * backend.h: descriptors of cuDNN's backend, and the execution of a graph of operations.
 *
 * A descriptor is a list of attributes as the program has set them. It holds references to the descriptors in them: a
 * program may destroy a tensor's descriptor as soon as an operation has it. The steps of a graph are determined when it
 * is finalized, and are the same for its engine, configuration and plan.
 */
#pragma once

#include "libs/cudnn/dnn.h"

struct attribute {
	struct attribute *next;
	cudnnBackendAttributeName_t name;
	cudnnBackendAttributeType_t type;
	int64_t count;
	char data[]; /* descriptors as pointers with a reference */
};

struct graph;

struct descriptor {
	uint64_t magic;
	unsigned int holders;
	cudnnBackendDescriptorType_t type;
	bool final;
	struct attribute *attributes;
	struct graph *graph; /* of a graph, and of descriptors made from it; with a reference */
};

/* ---- backend.c ---- */

/* True if this version of cuDNN has such descriptors, and they have such an attribute with elements of this type. */
bool descriptor_type_known(int type);
bool attribute_known(int descriptor, int name, int type);
/* A descriptor of this type that is finalized, or NULL. */
struct descriptor *descriptor_find(const void *given, cudnnBackendDescriptorType_t type);
const struct attribute *attribute_find(const struct descriptor *d, int name);
/* The only element as a number; `otherwise` if there is none. */
int64_t attribute_number(const struct descriptor *d, int name, int64_t otherwise);
double attribute_real(const struct descriptor *d, int name, double otherwise);
/* The descriptor at `index`, or NULL. */
struct descriptor *attribute_descriptor(const struct descriptor *d, int name, int64_t index);
/* At most `most` numbers. Value: the number that exist. */
int64_t attribute_list(const struct descriptor *d, int name, int64_t *ret, int64_t most);
/* Of an element; 0: no such type. */
size_t attribute_type_bytes(cudnnBackendAttributeType_t type);
void descriptor_hold(struct descriptor *d);
void descriptor_let(struct descriptor *d);

/* ---- graph.c ---- */

/* The steps of operations that are finalized. */
cudnnStatus_t graph_make(struct descriptor *const *operations, int64_t count, struct graph **ret);
void graph_hold(struct graph *g);
void graph_let(struct graph *g);
int64_t graph_workspace(const struct graph *g);
/* The operation at `index` in the order of execution, or NULL. */
struct descriptor *graph_step(const struct graph *g, int64_t index);
/* Enqueues with the addresses of a variant pack. */
cudnnStatus_t graph_execute(cudnnHandle_t handle, const struct graph *g, const struct descriptor *pack);

/* ---- attention.c ---- */

cudnnStatus_t attention_check(const struct descriptor *d);
/*
 * Expands operations: attention to products and softmax, cumulative lengths to differences, ragged tensors to copies;
 * most stay as they are. *ret holds references.
 */
cudnnStatus_t operations_expand(struct descriptor *const *operations, int64_t count, struct descriptor ***ret,
				int64_t *ret_count);

/* ---- serial.c ---- */

/* Writes at most `room` bytes. Value: the size of the whole text, including the final 0. */
int64_t serial_write(const struct graph *g, char *to, int64_t room);
cudnnStatus_t serial_read(const char *from, int64_t bytes, struct graph **ret);

/* ---- operation.c ---- */

/* Fills a tensor from its descriptor; the caller sets the address. */
cudnnStatus_t operation_tensor(const struct descriptor *d, struct dnn_tensor *ret);
/* The attributes of an operation that are tensors: the k-th one, 0 behind the last; whether it is a result. */
int operation_port(cudnnBackendDescriptorType_t type, int k, bool *ret_result);
bool operation_known(cudnnBackendDescriptorType_t type);

#define OPERATION_WORKS 4

/* Finds a tensor of an operation and its address; false: there is none. */
struct operation_tensors {
	bool (*find)(const struct operation_tensors *from, const struct descriptor *tensor, struct dnn_tensor *ret);
	const void *about;
};

/* The kernels of an operation. */
cudnnStatus_t operation_lower(const struct descriptor *operation, const struct operation_tensors *tensors,
			      struct dnn_work work[OPERATION_WORKS], int *ret_count);
