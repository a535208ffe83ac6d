/*
 * xid.h: the meaning of the error numbers that devices report.
 *
 * NVIDIA's list is public ("Xid Errors", docs.nvidia.com/deploy/xid-errors). This table says for each number, in a few
 * words, what happened and who has to act.
 */
#pragma once

#include <stdint.h>

enum xid_cause {
	XID_PROGRAM, /* what a program did: the tenant's */
	XID_DEVICE,  /* the hardware, the driver or its firmware: the operator's */
	XID_AFTER,   /* follows from another one */
	XID_GONE,    /* the device cannot be reached any more */
};

struct xid {
	uint32_t number;
	enum xid_cause cause;
	const char *text;
};

/* Never NULL: a number that is not in the table is the device's. */
const struct xid *xid_find(uint32_t number);

/* A CUresult after which a context answers nothing else. */
struct context_error {
	uint32_t error;
	enum xid_cause cause;
	uint32_t xid; /* the number that usually goes with it; 0: none */
	const char *name;
};

/* Never NULL. */
const struct context_error *context_error_find(uint32_t error);
