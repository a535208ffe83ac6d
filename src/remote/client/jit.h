/* jit.h: options of the JIT compiler: sent as values, logs as the size of their buffer; what comes back of them. */
#pragma once

#include "remote/client/call.h"
#include "remote/code.h"

struct jit {
	unsigned int count; /* as the program gives them */
	CUjit_option *option;
	void **value;
	struct code_option sent[CODE_OPTIONS_MOST];
	unsigned int place[CODE_OPTIONS_MOST]; /* of the options sent: in option[] */
	unsigned int sent_count;
	void *log[2]; /* the program's buffers: information, error */
	size_t log_bytes[2];
};

/* Of count, option and value makes what is sent. CUresult. */
CUresult jit_read(struct jit *j);
size_t jit_room(const struct jit *j);
void jit_put(struct client_call *c, const struct jit *j);
/* Values, and the logs that `logs` says are there, out of an answer into where the program wants them. */
bool jit_take(struct client_call *c, struct jit *j, uint32_t logs);
