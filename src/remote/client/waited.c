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
			(struct waited){ c->session, c->answer.sent, 0, stream, context_now(c->thread) };
}

/* The stream's session, or that of the current context. */
static struct session *session_of(const struct client_call *c)
{
	struct context *context;

	if (!c->session && context_current(c->thread, &context) == CUDA_SUCCESS)
		return context->session;
	return c->session;
}

/* `more`: requests that have been sent since the wait and change nothing. */
static bool is_done(const struct client_call *c, uint64_t stream, uint64_t more)
{
	const struct waited *w = &c->thread->waited;
	struct session *s = session_of(c);

	return s && w->session == s && w->stream == stream && link_sent(&s->link) == w->sent + more &&
	       context_now(c->thread) == w->context && !start_waits && !link_lost(&s->link) &&
	       !atomic_load_explicit(&s->faulted, memory_order_relaxed);
}

bool waited_still(const struct client_call *c, uint64_t stream)
{
	return is_done(c, stream, 0);
}

bool waited_but_freed(const struct client_call *c, uint64_t stream)
{
	return c->thread->waited.freed && is_done(c, stream, c->thread->waited.freed);
}

/* What another thread has sent meanwhile makes the numbers differ, now and from now on. */
void waited_freed(const struct client_call *c)
{
	struct waited *w = &c->thread->waited;

	if (c->result == CUDA_SUCCESS && w->session == c->session &&
	    link_sent(&c->session->link) == w->sent + w->freed + 1)
		w->freed++;
}

void waited_sent(const struct client_call *c)
{
	struct waited *w = &c->thread->waited;

	if (c->result == CUDA_SUCCESS && w->session == c->session)
		*w = (struct waited){ w->session, w->sent + w->freed + 1, 0, w->stream, w->context };
}
