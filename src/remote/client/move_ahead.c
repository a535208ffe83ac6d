/*
 * move_ahead.c: requests of which nothing but success is looked at, sent one behind another. See move.h.
 *
 * The worker takes them in their order. What it may put aside for later requests (a load, a wait, a context, a
 * stream's end: worker_yield()) is asked by move_ask(), behind move_caught_up().
 */
#include "remote/client/move.h"

#include "remote/client/call.h"

#include <stdlib.h>
#include <string.h>

#define MOVE_AHEAD 64u

struct move_ahead {
	struct link_answer sent[MOVE_AHEAD];
	unsigned int first, count;
	CUresult result; /* the first that failed */
};

/* The answer of the oldest one. */
static void catch_up(struct move *m)
{
	struct move_ahead *a = m->ahead;
	struct link_answer *answer = &a->sent[a->first];
	CUresult r = move_answer(m, answer);

	link_done(answer);
	a->first = (a->first + 1) % MOVE_AHEAD;
	a->count--;
	if (a->result == CUDA_SUCCESS)
		a->result = r;
}

CUresult move_send(struct move *m, const void *message, size_t bytes)
{
	struct move_ahead *a = m->ahead;

	if (!a)
		a = m->ahead = calloc(1, sizeof(*a));
	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (a->count == MOVE_AHEAD)
		catch_up(m);
	if (a->result != CUDA_SUCCESS)
		return a->result;
	if (!move_begin(m, message, bytes, &a->sent[(a->first + a->count) % MOVE_AHEAD]))
		return a->result = CLIENT_LOST;
	a->count++;
	return CUDA_SUCCESS;
}

CUresult move_caught_up(struct move *m)
{
	struct move_ahead *a = m->ahead;
	CUresult r;

	if (!a)
		return CUDA_SUCCESS;
	while (a->count)
		catch_up(m);
	r = a->result;
	a->result = CUDA_SUCCESS;
	return r;
}

void move_ahead_free(struct move *m)
{
	free(m->ahead);
	m->ahead = NULL;
}
