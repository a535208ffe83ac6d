/*
 * far.h: cuDNN whose library at the server is NVIDIA's own: what both halves agree on.
 *
 * Where it is mete's, the client finds the kernels of a call (twin_dnn.c). NVIDIA's library finds its own, so there
 * each call travels as it is. A descriptor of the backend is a list of attributes in the client until it is finalized;
 * then it goes to the worker whole, and is an object there. Descriptors of the older calls stay in the client: each
 * call takes with it what they say (recipe.h). Work is sent unanswered; waited for are finalizing and questions.
 *
 * The requests have the numbers of the calls that they come from:
 *
 *	cudnnGetVersion             answered with struct far_about
 *	cudnnBackendFinalize        id, type of descriptor, attributes; a plan's is answered with struct far_plan
 *	                            and its tensors. With FAR_TRIAL it is asked alone whether a descriptor may be so
 *	cudnnBackendGetAttribute    struct far_question, ids of descriptors that get the answer
 *	cudnnBackendExecute         id of the plan, attributes of the variant pack
 *	cudnnBackendDestroyDescriptor
 *
 * Attributes are their number, and of each a struct far_attribute and the elements: ids of descriptors and handles,
 * addresses; of the addresses of a variant pack struct far_pointer. Of a plan's text the client sends the hash alone:
 * NVIDIA's library reads no text that it has not written itself in this session.
 */
#pragma once

#include <stdint.h>

#define FAR_HANDLE 1u /* types of objects: a handle, a backend descriptor */
#define FAR_DESCRIPTOR 2u
#define FAR_TRIAL (INT64_C(1) << 32) /* with a type: the descriptor is created and filled, and not kept */
#define FAR_ATTRIBUTES_MOST 64u
#define FAR_ELEMENTS_MOST 4096u
#define FAR_RESULTS_MOST 512 /* descriptors of one answer */
#define FAR_PIECE (16u << 10) /* bytes of one answer */
#define FAR_VALUE_BYTES 16u

struct far_about {
	int64_t far; /* 0: the library is mete's own, or there is none */
	int64_t version, cudart_version, device_version;
};

struct far_attribute {
	int32_t name, type;
	int64_t count;
};

/* An entry of a variant pack: a device address, or a number of the program. */
struct far_pointer {
	uint64_t is_value, at;
	uint8_t value[FAR_VALUE_BYTES];
};

struct far_text {
	uint64_t bytes, hash;
};

struct far_question {
	int32_t name, type;
	int64_t requested; /* number of elements; for descriptors, as many ids follow */
	int64_t from;	   /* of a text: offset of the first requested byte */
};

struct far_answer {
	int64_t count, given; /* the number that exist, and the number that follow */
};

/* A tensor of a plan by its id. */
struct far_value {
	int64_t id;
	uint32_t bytes;	   /* size of the number that the program passes instead of an address; 0: an address */
	uint32_t inside; /* the program passes nothing: it is virtual, or a constant */
};

/* Precedes a plan's tensors. */
struct far_plan {
	int64_t workspace; /* bytes */
	uint64_t values;
};

static inline uint64_t far_text_hash(const void *text, uint64_t bytes)
{
	const uint8_t *b = (const uint8_t *)text;
	uint64_t hash = UINT64_C(14695981039346656037);

	for (uint64_t i = 0; i < bytes; i++)
		hash = (hash ^ b[i]) * UINT64_C(1099511628211);
	return hash;
}
