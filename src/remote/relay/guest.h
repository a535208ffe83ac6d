/* guest.h: the process of one session on the server; see broker.h. Only server.c includes it. */
#pragma once

#include "remote/relay/line.h"

struct guest_config {
	int connection, broker; /* descriptors, owned by the guest */
	enum relay_trust trust; /* according to the preface; already permitted */
	struct tls *tls;	/* NULL: plain */
	bool ucx;
	unsigned int patience_ms;
	uint32_t uid, gid;
	struct relay_count *count; /* shared with the server's process */
};

/* Runs in the child after fork(). Never returns. */
_Noreturn void guest_run(const struct guest_config *config);
