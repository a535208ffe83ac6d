/* jit.h: reads options of the JIT compiler from requests, and writes the driver's results to answers. */
#pragma once

#include "remote/code.h"
#include "remote/worker/worker.h"

/* All zero at first. */
struct jit {
	unsigned int options;
	CUjit_option option[CODE_OPTIONS_MOST];
	void *value[CODE_OPTIONS_MOST];
	char *log[2]; /* owned: information, error */
	unsigned int log_size[2];
};

/* Value: 0, -EPROTO, -EMSGSIZE: no memory. jit_deinit() must follow in any case. */
int jit_read(struct work *work, struct jit *j, uint32_t count);
/* The logs that jit_write() writes, as in struct code_loaded. */
uint32_t jit_logs(const struct jit *j);
/* Writes all values, then the logs. */
void jit_write(struct work *work, const struct jit *j);
void jit_deinit(struct jit *j);
