/*
 * code.h: messages about code: images, their contents, launches. The same on both sides; see ring/call.h for the rest.
 *
 * An image is sent once per session, as a bundle (image.h) in pieces that need no answer, and is identified by its
 * SHA-256 from then on. An image that an earlier session of the same tenant has sent may still be there: the first
 * reply lists those, and they need not be sent at all. A load names the hash. If the worker does not have the image
 * (any more), it says so, and the client sends the pieces and asks again. The answer describes the contents of the
 * image, so that names, attributes and parameters cost no later round trip.
 */
#pragma once

#include "remote/sha256.h"
#include "ring/call.h"

#include <stdint.h>

enum code_call {
	CALL_CODE_PIECE = CALL_IMAGE, /* struct code_piece and its bytes, padded; without an answer */
	CALL_CODE_TELL, /* struct code_ask, a name; answered with struct code_told and its data */
	CALL_CODE_LIST, /* struct code_ask; answered with struct code_loaded and descriptions */
	CALL_CODE_GLOBAL, /* struct code_ask, a name; answered with struct code_global */
	CALL_CODE_LINK, /* struct code_link, then a list of struct code_option; answered with struct code_loaded and
			 * logs */
	CALL_CODE_LINK_READ, /* struct code_link: `at`; answered with bytes of the linked image, padded */
	CALL_CODE_HELD, /* answered with the hashes of images that need not be sent; in the snapshot */
};

#define CODE_PIECE_BYTES (24u << 10)
#define CODE_IMAGE_MOST (UINT64_C(2) << 30)
#define CODE_NAME_MOST 4096u
#define CODE_HELD_MOST 64u

struct code_piece {
	uint8_t hash[SHA256_BYTES];
	uint64_t whole; /* size of the bundle */
	uint64_t at, bytes; /* pieces come in order */
};

/* An option of the JIT compiler. A log is sent as the size of its buffer, and returned as text. */
struct code_option {
	uint32_t option, unused;
	uint64_t value;
};

#define CODE_OPTIONS_MOST 64u
#define CODE_LOG_MOST (16u << 10)

/*
 * cuModuleLoadDataEx and cuLibraryLoadData, which represent all loading calls: this, then a list of struct code_option.
 */
struct code_load {
	uint64_t id; /* of the module or library */
	uint8_t hash[SHA256_BYTES];
	uint64_t whole;
	uint32_t options, library_options; /* of which library options: those that are passed on */
};

/*
 * The answer, also to a call that failed (the reply's result is then success, and the call's own result is here): this,
 * the values of all options as uint64_t, the text of the information log and of the error log (each a string, if
 * requested), then functions.
 */
struct code_loaded {
	int32_t result; /* CUresult */
	uint32_t missing; /* 1: the worker has no such image; nothing was done */
	uint32_t options, logs; /* of logs: bit 0 the information log, bit 1 the error log */
	uint32_t told, count; /* number of functions that follow; number in all, CODE_COUNT_UNKNOWN if not known */
	uint64_t bytes; /* of a linked image */
	uint64_t variables; /* 1: it has device variables, or this is not known */
};

#define CODE_COUNT_UNKNOWN UINT32_MAX
/* Of larger images, only functions that the program requests by name are described. */
#define CODE_TOLD_MOST 64u

#define CODE_ATTRIBUTES 16u /* CU_FUNC_ATTRIBUTE_MAX at most */
#define CODE_DEVICES_MOST 16u
#define CODE_PARAMS_MOST 4096u

/*
 * One function or kernel: this, its name (a string), its parameters (struct code_param), then for each device the
 * available attributes.
 */
struct code_told {
	uint64_t id;
	uint32_t params; /* CODE_COUNT_UNKNOWN: the driver does not report it */
	uint32_t devices; /* of a function: 1, its own */
};

struct code_param {
	uint32_t offset, bytes;
};

struct code_attributes {
	uint32_t known, unused; /* one bit per attribute */
	int32_t value[CODE_ATTRIBUTES];
};

/*
 * A query. TELL: a module's function or a library's kernel by name; a kernel's function in the current context, without
 * a name. LIST: a module's functions or a library's kernels from the `from`-th on, as many as fit. GLOBAL: a variable
 * of a module, or of a library in the current context.
 */
struct code_ask {
	uint64_t owner; /* id */
	uint32_t from;
	uint32_t itself; /* TELL: describes this function or kernel. GLOBAL: as cuLibraryGetManaged does */
};

enum code_link_step { CODE_LINK_CREATE, CODE_LINK_ADD, CODE_LINK_COMPLETE };

/*
 * A step of linking. Input is named by its hash, as images are; a name and options follow. Each answer contains the
 * logs of the whole link.
 */
struct code_link {
	uint64_t id;
	uint32_t step, type; /* enum code_link_step; ADD: CUjitInputType */
	uint32_t options, unused;
	uint64_t at; /* READ */
	uint8_t hash[SHA256_BYTES];
	uint64_t whole;
};

struct code_global {
	uint64_t address, bytes;
	uint64_t managed; /* a module's variable that the program also reaches; workers of older releases do not
			   * report it */
};

/* A launch: this, the parameters packed as the kernel has them, then a list of struct code_launch_attribute. */
enum code_launch_kind { CODE_LAUNCH_PLAIN, CODE_LAUNCH_COOPERATIVE, CODE_LAUNCH_EX, CODE_LAUNCH_KINDS };

struct code_launch {
	uint64_t function, stream;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	uint32_t kind; /* enum code_launch_kind */
	uint32_t param_bytes;
	uint32_t attributes;
};

#define CODE_LAUNCH_ATTRIBUTES_MOST 32u
#define CODE_PARAM_BYTES_MOST 32764u

/* An event in the value is replaced by its id. */
struct code_launch_attribute {
	uint32_t id, unused;
	uint8_t value[64];
};
