/* jit.c: see jit.h. */
#include "remote/client/jit.h"

#include <string.h>

static size_t size_option(const struct jit *j, CUjit_option which)
{
	for (unsigned int i = 0; i < j->count; i++)
		if (j->option[i] == which)
			return (unsigned int)(uintptr_t)j->value[i];
	return 0;
}

static void option_send(struct jit *j, unsigned int place, uint64_t value)
{
	j->sent[j->sent_count] = (struct code_option){ .option = (uint32_t)j->option[place], .value = value };
	j->place[j->sent_count++] = place;
}

static size_t log_most(size_t bytes)
{
	return bytes > CODE_LOG_MOST ? CODE_LOG_MOST : bytes;
}

/* A buffer without a size, or a size without a buffer, is nothing that could be filled. */
static void log_send(struct jit *j, unsigned int place, unsigned int which, CUjit_option size)
{
	size_t bytes = size_option(j, size);

	if (!j->value[place] || !bytes || j->log[which])
		return;
	j->log[which] = j->value[place];
	j->log_bytes[which] = bytes;
	option_send(j, place, log_most(bytes));
}

static bool has_log(const struct jit *j, CUjit_option buffer)
{
	for (unsigned int i = 0; i < j->count; i++)
		if (j->option[i] == buffer)
			return j->value[i];
	return false;
}

CUresult jit_read(struct jit *j)
{
	if (j->count && (!j->option || !j->value))
		return CUDA_ERROR_INVALID_VALUE;
	if (j->count > CODE_OPTIONS_MOST)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < j->count; i++) {
		switch (j->option[i]) {
		case CU_JIT_INFO_LOG_BUFFER:
			log_send(j, i, 0, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
			break;
		case CU_JIT_ERROR_LOG_BUFFER:
			log_send(j, i, 1, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
			break;
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			if (has_log(j, j->option[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ? CU_JIT_INFO_LOG_BUFFER
											  : CU_JIT_ERROR_LOG_BUFFER))
				option_send(j, i, log_most((unsigned int)(uintptr_t)j->value[i]));
			break;
		case CU_JIT_GLOBAL_SYMBOL_NAMES:
		case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
		case CU_JIT_REFERENCED_KERNEL_NAMES:
		case CU_JIT_REFERENCED_VARIABLE_NAMES:
			return CUDA_ERROR_NOT_SUPPORTED; /* lists of addresses of this process */
		default:
			option_send(j, i, (uint64_t)(uintptr_t)j->value[i]);
			break;
		}
	}
	return CUDA_SUCCESS;
}

/* What the driver gave back in the options' values. */
static void values_take(struct jit *j, const uint64_t *value)
{
	for (unsigned int i = 0; i < j->sent_count; i++)
		switch ((CUjit_option)j->sent[i].option) {
		case CU_JIT_THREADS_PER_BLOCK:
		case CU_JIT_WALL_TIME:
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			j->value[j->place[i]] = (void *)(uintptr_t)value[i];
			break;
		default:
			break;
		}
}

static void log_take(struct jit *j, unsigned int which, const char *text)
{
	size_t bytes = strlen(text);

	if (!j->log[which])
		return;
	if (bytes >= j->log_bytes[which])
		bytes = j->log_bytes[which] - 1;
	memcpy(j->log[which], text, bytes);
	((char *)j->log[which])[bytes] = 0;
}

size_t jit_room(const struct jit *j)
{
	return sizeof(j->sent);
}

void jit_put(struct client_call *c, const struct jit *j)
{
	for (unsigned int i = 0; i < j->sent_count; i++)
		remote_put(&c->out, &j->sent[i], sizeof(j->sent[i]));
}

bool jit_take(struct client_call *c, struct jit *j, uint32_t logs)
{
	const uint64_t *value = remote_take(&c->in, j->sent_count * sizeof(*value));
	const char *log[2] = { "", "" };

	for (unsigned int i = 0; i < 2; i++)
		if (logs & 1u << i)
			log[i] = remote_take_string(&c->in);
	if (c->in.bad)
		return false;
	values_take(j, value);
	log_take(j, 0, log[0]);
	log_take(j, 1, log[1]);
	return true;
}
