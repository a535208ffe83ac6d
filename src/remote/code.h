/*
 * code.h: messages about code: images, what is in them, launches. The same on both sides; see ring/call.h for the rest.
 *
 * An image travels once per session, as a bundle (image.h) in pieces that nobody waits for, and is known by its SHA-256
 * from then on. What an earlier session of the same tenant has sent may be there still: the first reply says so, and it
 * need not travel at all. Loading names the hash; when the worker has no such image (any more) it says so, and the
 * client sends the pieces and asks again. The answer tells what is in the image: so names, attributes and parameters
 * cost no round trip later.
 */
#pragma once

#include "remote/sha256.h"
#include "ring/call.h"

#include <stdint.h>

enum code_call {
	CALL_CODE_PIECE = CALL_IMAGE, /* struct code_piece and its bytes, padded; nobody waits */
	CALL_CODE_TELL, /* struct code_ask, a name; answered with struct code_told and what follows it */
	CALL_CODE_LIST, /* struct code_ask; answered with struct code_loaded and what is told */
	CALL_CODE_GLOBAL, /* struct code_ask, a name; answered with struct code_global */
	CALL_CODE_LINK, /* struct code_link, struct code_option each; answered with struct code_loaded and logs */
	CALL_CODE_LINK_READ, /* struct code_link: `at`; answered with bytes of the linked image, padded */
	CALL_CODE_HELD, /* answered with the hashes of images that need not be sent; in the snapshot */
};

#define CODE_PIECE_BYTES (24u << 10)
#define CODE_IMAGE_MOST (UINT64_C(2) << 30)
#define CODE_NAME_MOST 4096u
#define CODE_HELD_MOST 64u

struct code_piece {
	uint8_t hash[SHA256_BYTES];
	uint64_t whole; /* bytes of the bundle */
	uint64_t at, bytes; /* pieces come in order */
};

/* An option of the JIT compiler. Logs travel as the size of the buffer, and come back as text. */
struct code_option {
	uint32_t option, unused;
	uint64_t value;
};

#define CODE_OPTIONS_MOST 64u
#define CODE_LOG_MOST (16u << 10)

/* cuModuleLoadDataEx, cuLibraryLoadData (which stand for all that load): this, then struct code_option each. */
struct code_load {
	uint64_t id; /* of the module or library */
	uint8_t hash[SHA256_BYTES];
	uint64_t whole;
	uint32_t options, library_options; /* library options: those that are passed on */
};

/*
 * What is answered, also when the call failed (the reply's result is then success, the call's own is here): this, the
 * values of all options as uint64_t, the text of the information log, of the error log (each a string, if asked for),
 * then functions.
 */
struct code_loaded {
	int32_t result; /* CUresult */
	uint32_t missing; /* 1: no such image here; nothing was done */
	uint32_t options, logs; /* of logs: bit 0 the information log, bit 1 the error log */
	uint32_t told, count; /* functions that follow; functions in all, CODE_COUNT_UNKNOWN if nobody knows */
	uint64_t bytes; /* of what was linked */
	uint64_t variables; /* 1: it has variables of the device, or nobody knows */
};

#define CODE_COUNT_UNKNOWN UINT32_MAX
/* Of larger images only what the program asks for by name is told. */
#define CODE_TOLD_MOST 64u

#define CODE_ATTRIBUTES 16u /* CU_FUNC_ATTRIBUTE_MAX at most */
#define CODE_DEVICES_MOST 16u
#define CODE_PARAMS_MOST 4096u

/*
 * One function or kernel: this, its name (a string), its parameters (struct code_param), then for each device the
 * attributes that could be had.
 */
struct code_told {
	uint64_t id;
	uint32_t params; /* CODE_COUNT_UNKNOWN: the driver does not say */
	uint32_t devices; /* of a function: 1, its own */
};

struct code_param {
	uint32_t offset, bytes;
};

struct code_attributes {
	uint32_t known, unused; /* bit by attribute */
	int32_t value[CODE_ATTRIBUTES];
};

/*
 * What is asked for. TELL: a module's function or a library's kernel by name; a kernel's function in the current
 * context, without a name. LIST: a module's functions or a library's kernels from the `from`-th on, as many as fit.
 * GLOBAL: a variable of a module, or of a library in the current context.
 */
struct code_ask {
	uint64_t owner; /* id */
	uint32_t from;
	uint32_t itself; /* TELL: of this function or kernel. GLOBAL: as cuLibraryGetManaged does */
};

enum code_link_step { CODE_LINK_CREATE, CODE_LINK_ADD, CODE_LINK_COMPLETE };

/*
 * A step of linking. What is added is named by its hash, as images are; a name and options follow. The logs are those
 * of the whole link, and come with each answer.
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
	uint64_t managed; /* a module's variable that the program reaches, too; workers of older releases do not say */
};

/* A launch: this, the parameters packed as the kernel has them, struct code_launch_attribute each. */
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

/* Events in the value travel as ids in their place. */
struct code_launch_attribute {
	uint32_t id, unused;
	uint8_t value[64];
};
