/* capture_tail.c: see capture_tail.h. */
#include "softdev/capture_tail.h"

#include <stdlib.h>

struct captures captures = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct capture_tail *capture_tail_find_locked(const struct handle *owner)
{
	for (struct capture_tail *t = captures.tails; t; t = t->next)
		if (t->owner == owner && t->generation == owner->generation)
			return t;
	return NULL;
}

struct capture_tail *capture_tail_new_locked(struct capture *c, struct handle *owner)
{
	struct capture_tail *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->capture = c;
	t->owner = owner;
	t->generation = owner->generation;
	t->next = captures.tails;
	captures.tails = t;
	return t;
}

bool capture_tail_add(struct capture_tail *t, struct node *n, const CUgraphEdgeData *data)
{
	CUgraphEdgeData *more_data;
	struct node **more;

	for (size_t i = 0; i < t->count; i++)
		if (t->node[i] == n)
			return true;
	more = reallocarray(t->node, t->count + 1, sizeof(*more));
	if (!more)
		return false;
	t->node = more;
	more_data = reallocarray(t->data, t->count + 1, sizeof(*more_data));
	if (!more_data)
		return false;
	t->data = more_data;
	t->data[t->count] = data ? *data : (CUgraphEdgeData){ 0 };
	t->node[t->count++] = n;
	return true;
}

bool capture_tail_join(struct capture_tail *t, const struct capture_tail *other)
{
	for (size_t i = 0; i < other->count; i++)
		if (!capture_tail_add(t, other->node[i], &other->data[i]))
			return false;
	return true;
}

bool capture_tail_set(struct capture_tail *t, struct node *n)
{
	t->count = 0;
	return capture_tail_add(t, n, NULL);
}

struct needs capture_tail_needs(const struct capture_tail *t)
{
	return (struct needs){ (CUgraphNode const *)t->node, t->data, t->count };
}

void capture_tail_free(struct capture_tail *t)
{
	free(t->node);
	free(t->data);
	free(t);
}

void capture_tails_drop_locked(const struct capture *c)
{
	struct capture_tail **at = &captures.tails;

	while (*at) {
		struct capture_tail *t = *at;

		if (t->capture != c) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		capture_tail_free(t);
	}
}

CUresult capture_tail_recording_locked(struct stream *s, struct capture_tail **ret)
{
	*ret = capture_tail_find_locked(&s->head);
	if (!*ret)
		return CUDA_ERROR_ILLEGAL_STATE;
	return (*ret)->capture->spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

bool capture_tail_in_context(const struct capture_tail *t, const struct context *c, bool blocking)
{
	const struct stream *s = t->owner;

	return s->head.type == HANDLE_STREAM && s->head.live && s->head.generation == t->generation &&
	       s->context == c && !(blocking && s->flags & CU_STREAM_NON_BLOCKING);
}
