/*
 * xid.h: the meaning of the error numbers that devices report.
 *
 * NVIDIA's list is public ("Xid Errors", docs.nvidia.com/deploy/xid-errors). This table says for each number, in a few
 * words, what happened and who has to act.
 */
#pragma once

#include <stdint.h>

enum xid_cause {
	XID_PROGRAM, /* a program's fault: the tenant's */
	XID_DEVICE,  /* a fault of the hardware, the driver or its firmware: the operator's */
	XID_AFTER,   /* a consequence of another error */
	XID_GONE,    /* the device cannot be reached any more */
};

struct xid {
	uint32_t number;
	enum xid_cause cause;
	const char *text;
};

/* Never NULL: an unknown number counts as the device's fault. */
const struct xid *xid_find(uint32_t number);

/* A CUresult that makes a context return the same error to every later call. */
struct context_error {
	uint32_t error;
	enum xid_cause cause;
	uint32_t xid; /* the number that usually accompanies it; 0: none */
	const char *name;
};

/* Never NULL. */
const struct context_error *context_error_find(uint32_t error);
