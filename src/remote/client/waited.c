/* waited.c: see waited.h. */
#include "remote/client/waited.h"

#include "remote/client/call.h"
#include "remote/client/captures.h"
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

/* The one that the call is about: what it names, or the current one. */
static uint64_t context_meant(const struct client_call *c)
{
	return c->context ? c->context : context_now(c->thread);
}

void waited_note(const struct client_call *c, uint64_t stream)
{
	if (c->result != CUDA_SUCCESS || !c->session || !c->thread)
		return;
	c->thread->waited = (struct waited){
		.session = c->session,
		.sent = c->answer.sent,
		.stream = stream,
		.context = context_meant(c),
		.whole = stream == ID_STREAM_LEGACY &&
			 !atomic_load_explicit(&c->session->apart, memory_order_relaxed),
	};
}

void waited_note_context(const struct client_call *c)
{
	waited_note(c, ID_STREAM_LEGACY);
	if (c->result == CUDA_SUCCESS && c->session && c->thread)
		c->thread->waited.whole = true;
}

/* The stream's session, or that of the current context. */
static struct session *session_of(const struct client_call *c)
{
	struct context *context;

	if (!c->session && context_current(c->thread, &context) == CUDA_SUCCESS)
		return context->session;
	return c->session;
}

/*
 * This thread's last wait, when it was for something of the call's context and nothing has been sent since. `more`: but
 * for so many requests that change nothing.
 */
static const struct waited *last_wait(const struct client_call *c, uint64_t more)
{
	const struct waited *w = &c->thread->waited;
	struct session *s = session_of(c);
	bool good = s && w->session == s && link_sent(&s->link) == w->sent + more && context_meant(c) == w->context &&
		    !start_waits && !link_lost(&s->link) && !atomic_load_explicit(&s->faulted, memory_order_relaxed);

	return good ? w : NULL;
}

bool waited_still(const struct client_call *c, uint64_t stream)
{
	const struct waited *w = last_wait(c, 0);

	return w && ((w->whole && !captures_any()) || w->stream == stream);
}

bool waited_still_context(const struct client_call *c)
{
	const struct waited *w = last_wait(c, 0);

	return w && w->whole && !captures_any();
}

bool waited_but_freed(const struct client_call *c, uint64_t stream)
{
	const struct waited *w = c->thread->waited.freed ? last_wait(c, c->thread->waited.freed) : NULL;

	return w && w->stream == stream;
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
		*w = (struct waited){ .session = w->session,
				      .sent = w->sent + w->freed + 1,
				      .stream = w->stream,
				      .context = w->context };
}
