/* jit.h: options of the JIT compiler: sent as values, logs as the size of their buffer; and the values returned. */
#pragma once

#include "remote/client/call.h"
#include "remote/code.h"

struct jit {
	unsigned int count; /* as given by the program */
	CUjit_option *option;
	void **value;
	struct code_option sent[CODE_OPTIONS_MOST];
	unsigned int place[CODE_OPTIONS_MOST]; /* of each sent option: its index in option[] */
	unsigned int sent_count;
	void *log[2]; /* the program's buffers: information, error */
	size_t log_bytes[2];
};

/* Converts count, option and value to what is sent. Value: CUresult. */
CUresult jit_read(struct jit *j);
size_t jit_room(const struct jit *j);
void jit_put(struct client_call *c, const struct jit *j);
/* Copies the values, and the logs that `logs` lists, from an answer to the program's buffers. */
bool jit_take(struct client_call *c, struct jit *j, uint32_t logs);
