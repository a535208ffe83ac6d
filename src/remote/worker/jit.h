/* jit.h: options of the JIT compiler, read from requests; what the driver makes of them, written into answers. */
#pragma once

#include "remote/code.h"
#include "remote/worker/worker.h"

/* Zero at first. */
struct jit {
	unsigned int options;
	CUjit_option option[CODE_OPTIONS_MOST];
	void *value[CODE_OPTIONS_MOST];
	char *log[2]; /* owned: information, error */
	unsigned int log_size[2];
};

/* 0, -EPROTO, -EMSGSIZE: no memory. jit_deinit() in any case. */
int jit_read(struct work *work, struct jit *j, uint32_t count);
/* Which logs jit_write() writes, as struct code_loaded has it. */
uint32_t jit_logs(const struct jit *j);
/* All values, then the logs. */
void jit_write(struct work *work, const struct jit *j);
void jit_deinit(struct jit *j);
