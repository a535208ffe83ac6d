/*
 * move_variables.c: the variables of modules and libraries of a session that moves: their bytes are kept by name, and
 * put into those of the new worker's modules. Their addresses may be others there, which nobody has been told: a
 * program that has asked for one stays (move_objects.c).
 */
#include "remote/client/move.h"

#include "remote/client/call.h"
#include "remote/client/thread.h"
#include "remote/code.h"

#include <stdlib.h>
#include <string.h>

/* A part on its way: the request, and the name and bytes behind it. */
struct part {
	struct call_request head;
	struct move_variable variable;
	uint8_t rest[CODE_NAME_MOST + 16 + MOVE_VARIABLE_BYTES];
};

/* ---- out ---- */

static CUresult ask_part(struct move *m, uint16_t call, const struct move_kept_variable *v, uint64_t at, uint64_t bytes,
			 struct link_answer *answer)
{
	struct remote_writer w;
	struct part *p = calloc(1, sizeof(*p));
	CUresult r;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	w = (struct remote_writer){ .data = p->rest, .capacity = sizeof(p->rest) };
	p->head = (struct call_request){ .call = call, .thread = thread_get()->number, .context = v->context };
	p->variable = (struct move_variable){ .owner = v->owner, .at = at, .bytes = bytes };
	remote_put_string(&w, v->name);
	if (call == CALL_MOVE_VARIABLE_IN)
		remote_put(&w, v->data + at, bytes);
	r = w.bad ? CUDA_ERROR_INVALID_VALUE
		  : move_ask(m, p, sizeof(p->head) + sizeof(p->variable) + remote_padded(w.used), answer);
	free(p);
	return r;
}

static CUresult through(struct move *m, struct move_kept_variable *v, uint16_t call)
{
	CUresult r = CUDA_SUCCESS;

	for (uint64_t at = 0, bytes; r == CUDA_SUCCESS && at < v->bytes; at += bytes) {
		struct link_answer answer = { .longer = NULL };

		bytes = v->bytes - at < MOVE_VARIABLE_BYTES ? v->bytes - at : MOVE_VARIABLE_BYTES;
		r = ask_part(m, call, v, at, bytes, &answer);
		if (r == CUDA_SUCCESS && call == CALL_MOVE_VARIABLE && answer.bytes < bytes)
			r = CLIENT_LOST;
		else if (r == CUDA_SUCCESS && call == CALL_MOVE_VARIABLE)
			memcpy(v->data + at, answer.body, bytes);
		link_done(&answer);
	}
	return r;
}

static struct move_kept_variable *keep(struct move *m, uint64_t owner, uint64_t context, const char *name,
				       uint64_t bytes)
{
	const size_t length = strlen(name) + 1;
	struct move_kept_variable *v = malloc(sizeof(*v) + length + bytes);

	if (!v)
		return NULL;
	*v = (struct move_kept_variable){ .owner = owner, .context = context, .bytes = bytes };
	v->name = (char *)v->data + bytes;
	memcpy(v->name, name, length);
	v->next = m->variables;
	m->variables = v;
	return v;
}

static bool keep_all(struct move *m, uint64_t owner, uint64_t context, struct remote_reader *in)
{
	while (in->used < in->size) {
		struct move_kept_variable *v;
		const char *name;
		uint64_t bytes;

		remote_get(in, &bytes, sizeof(bytes));
		name = remote_take_string(in);
		if (in->bad || !name || bytes > CODE_IMAGE_MOST)
			return false;
		v = keep(m, owner, context, name, bytes);
		if (!v)
			return move_stays(m, WORKER_STAY_HOST, 0);
		if (through(m, v, CALL_MOVE_VARIABLE) != CUDA_SUCCESS)
			return move_stays(m, WORKER_STAY_FAULT, 0);
	}
	return true;
}

bool move_variables_out(struct move *m, const struct code_load *load, uint64_t context)
{
	struct move_variables ask = { .owner = load->id, .whole = load->whole };
	struct link_answer answer;
	struct remote_reader in;
	bool good = false;
	CUresult r;

	memcpy(ask.hash, load->hash, sizeof(ask.hash));
	r = move_request(m, CALL_MOVE_VARIABLES, context, &ask, sizeof(ask), &answer);
	if (r == CUDA_SUCCESS) {
		in = (struct remote_reader){ .data = answer.body, .size = answer.bytes };
		good = keep_all(m, load->id, context, &in);
	} else {
		move_stays(m, WORKER_STAY_VARIABLE, 1);
	}
	link_done(&answer);
	return good;
}

/* ---- in ---- */

CUresult move_variables_in(struct move *m)
{
	CUresult r = CUDA_SUCCESS;

	for (struct move_kept_variable *v = m->variables; v && r == CUDA_SUCCESS; v = v->next)
		r = through(m, v, CALL_MOVE_VARIABLE_IN);
	return r;
}

void move_variables_free(struct move *m)
{
	while (m->variables) {
		struct move_kept_variable *v = m->variables;

		m->variables = v->next;
		free(v);
	}
}
