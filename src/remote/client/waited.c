/* waited.c: see waited.h. */
#include "remote/client/waited.h"

#include "remote/client/call.h"
#include "remote/client/context.h"
#include "remote/client/session.h"
#include "remote/client/start.h"
#include "remote/client/thread.h"

/* What streams without a name of their own belong to. */
static uint64_t context_now(struct thread *t)
{
	struct context *context;

	return context_current(t, &context) == CUDA_SUCCESS ? context->handle : 0;
}

void waited_note(const struct client_call *c, uint64_t stream)
{
	if (c->result == CUDA_SUCCESS && c->session && c->thread)
		c->thread->waited =
			(struct waited){ c->session, c->answer.sent, stream, context_now(c->thread) };
}

bool waited_still(const struct client_call *c, uint64_t stream)
{
	const struct waited *w = &c->thread->waited;
	struct session *s = c->session;
	struct context *context;

	if (!s && context_current(c->thread, &context) == CUDA_SUCCESS)
		s = context->session;
	return s && w->session == s && w->stream == stream && link_sent(&s->link) == w->sent &&
	       context_now(c->thread) == w->context && !start_waits && !link_lost(&s->link) &&
	       !atomic_load_explicit(&s->faulted, memory_order_relaxed);
}
