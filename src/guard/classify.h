/*
 * classify.h: judges a call of NVIDIA's kernel interface for a tenant. Pure.
 *
 * Every front end of the guard uses it: number, size and bytes of a call go in; a verdict, a charge, a refund and the
 * required rewriting come out. It reads no memory but its arguments, and is compiled into the kernel's programs (bpf/)
 * as well as into tests and a fuzzer.
 *
 * A call may carry a pointer to more data (`nested`). Then guard_classify() says how many bytes to read from where, and
 * guard_classify_nested() judges those. Both are called twice: for the program's arguments before the call, to refuse,
 * and for the kernel's copy, to account. The program can change the former at any time, the latter never.
 *
 * Anything unknown is refused: a number, a size, a function of the heap, a class of object. Unknown controls are not
 * refused: there are some hundreds, and those that matter are known.
 */
#pragma once

#include <stdint.h>

#define GUARD_ARGUMENT_BYTES 184u
#define GUARD_NESTED_BYTES 120u

struct guard_call {
	uint32_t number, size; /* _IOC_NR and _IOC_SIZE; the letter is ignored, as the driver ignores it */
	/* The argument as far as it was read: size bytes; the rest is ignored. Aligned for access by words. */
	uint8_t bytes[GUARD_ARGUMENT_BYTES] __attribute__((aligned(8)));
};

/* The rights of a tenant. */
struct guard_terms {
	uint32_t branch;	/* the driver's: 535 of 535.104.05 */
	uint32_t flags;		/* GUARD_MAY_... */
	uint64_t slice_most_us; /* the longest time slice that the tenant may give its channel groups */
};

#define GUARD_MAY_EXPORT 1u /* memory as descriptors, to and from others: it is then charged to nobody */
#define GUARD_ANSWERED 2u   /* the data is the manager's answer: its sizes are those that were allocated */

enum guard_reason {
	GUARD_FINE,
	GUARD_UNKNOWN_CALL,
	GUARD_UNKNOWN_SIZE,
	GUARD_UNKNOWN_BRANCH,
	GUARD_TRANSFER, /* the call within a call */
	GUARD_ESCAPE,	/* a call that reaches beyond the caller's own objects */
	GUARD_CLASS,	/* an object that names memory by address */
	GUARD_HEAP,	/* a function of the heap whose charge is not known */
	GUARD_SCHEDULING,
	GUARD_SLICE, /* a longer time slice than the tenant has */
	GUARD_EXPORT,
	GUARD_ABSURD,	  /* a size that no device has */
	GUARD_QUOTA,	  /* this and the following are set by the front end */
	GUARD_FOREIGN,	  /* another tenant's object, or one whose creation the guard has not seen */
	GUARD_DEVICE,	  /* not a device of this tenant */
	GUARD_FULL,	  /* the guard's tables are full */
	GUARD_CHANGED,	  /* what the kernel copied differs from what was judged */
	GUARD_UNREADABLE, /* the argument cannot be read */
	GUARD_COMPAT,	  /* a call of a 32-bit program */
	GUARD_OVER,	  /* the tenant's grant has ended */
	GUARD_GROUPS,	  /* more channel groups than the tenant may have */
	GUARD_SERIALIZED, /* parameters in a message that this version does not unpack */
	GUARD_UNKNOWN_CLASS,
	GUARD_ADDRESS, /* memory at an address of the program's choice */
	GUARD_REASONS
};

enum guard_effect {
	GUARD_NOTHING,
	GUARD_PARENT,  /* an object that may have memory below it: a client, a device */
	GUARD_MEMORY,  /* takes `bytes` */
	GUARD_FREE,    /* frees `object` and everything below it */
	GUARD_DUP,     /* creates another name for source_object */
	GUARD_GROUP,   /* a channel group */
	GUARD_CHANNEL, /* a channel: outside a group it is a group of its own (guard_channel) */
};

enum guard_nested { GUARD_NONE, GUARD_NESTED_MEMORY, GUARD_NESTED_SLICE, GUARD_NESTED_PROPERTY, GUARD_NESTED_FB_INFO };

struct guard_plan {
	uint32_t reason; /* GUARD_FINE: the call may pass */
	uint8_t effect, nested;
	uint8_t status_at; /* offset of the manager's answer in the argument; 255: none */
	uint8_t object_at; /* ... of the handle of a new object */
	uint32_t client, parent, object, class;
	uint32_t source_client, source_object;
	uint32_t nested_bytes;
	uint32_t taken;	  /* 1: the argument contains the allocated size after the call: classify that */
	uint64_t pointer; /* to the nested data; 0: none */
	uint64_t bytes;	  /* the charge, in the driver's granules */
};

#define GUARD_NO_PLACE 255u

#ifdef __bpf__ /* there every function is private to the program */
#define GUARD_API static __attribute__((unused))
#else
#define GUARD_API
#endif

GUARD_API void guard_classify(const struct guard_call *call, const struct guard_terms *terms, struct guard_plan *ret);
/* Judges the data read from plan->pointer; `nested` has GUARD_NESTED_BYTES, zeros where nothing was read. */
GUARD_API void guard_classify_nested(struct guard_plan *plan, const struct guard_terms *terms, const uint8_t *nested);
/* Resolves a GUARD_CHANNEL when it is known whether `parent` is a group. */
GUARD_API void guard_channel(struct guard_plan *plan, _Bool in_group);
/* The charge of `size` bytes with these attributes; UINT64_MAX: more than any device has. */
GUARD_API uint64_t guard_charge(uint64_t size, uint32_t attr, uint32_t attr2);
/*
 * Rewrites a reply of memory information for a tenant with this quota, of which `used` is taken. False: it is
 * unchanged. Never more than the device has.
 */
GUARD_API _Bool guard_rewrite(uint32_t index, uint32_t *data_kib, uint64_t quota, uint64_t used);
#ifndef __bpf__
/* English, for a log. */
const char *guard_reason_text(uint32_t reason);
#endif
