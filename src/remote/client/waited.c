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

void waited_asked(const struct client_call *c, uint64_t stream)
{
	waited_note(c, stream);
	if (c->result == CUDA_SUCCESS && c->session && c->thread) {
		c->thread->waited.asked = true;
		c->thread->waited.whole = false;
	}
}

/* The stream's session, or that of the current context. */
static struct session *session_of(const struct client_call *c)
{
	struct context *context;

	if (!c->session && context_current(c->thread, &context) == CUDA_SUCCESS)
		return context->session;
	return c->session;
}

/* This thread's last wait, when it was for something of the call's context and nothing has got work to do since. */
static const struct waited *last_wait(const struct client_call *c)
{
	const struct waited *w = &c->thread->waited;
	struct session *s = session_of(c);
	bool good = s && w->session == s && link_sent(&s->link) == w->sent + w->idle &&
		    context_meant(c) == w->context && !start_waits &&
		    !atomic_load_explicit(&s->faulted, memory_order_relaxed) && link_alive(&s->link);

	return good ? w : NULL;
}

/* Nothing is left to be done by a wait either. */
static bool is_final(const struct waited *w)
{
	return !w->idle && !w->asked;
}

bool waited_done(const struct client_call *c, uint64_t stream)
{
	const struct waited *w = last_wait(c);

	return w && ((w->whole && !captures_any()) || w->stream == stream);
}

bool waited_still(const struct client_call *c, uint64_t stream)
{
	return waited_done(c, stream) && is_final(&c->thread->waited);
}

bool waited_still_context(const struct client_call *c)
{
	const struct waited *w = last_wait(c);

	return w && is_final(w) && w->whole && !captures_any();
}

/* What another thread has sent meanwhile makes the numbers differ, now and from now on. */
void waited_idle(const struct client_call *c)
{
	struct waited *w = c->result == CUDA_SUCCESS ? &c->thread->waited : NULL;

	if (w && w->session == c->session &&
	    link_sent(&c->session->link) == w->sent + w->idle + 1)
		w->idle++;
}

/* Of the other streams something may be left to be done by a wait: they are waited for when that is asked. */
void waited_sent(const struct client_call *c, uint64_t stream)
{
	struct waited *w = c->result == CUDA_SUCCESS ? &c->thread->waited : NULL;

	if (w && w->session == c->session)
		*w = (struct waited){ .session = w->session,
				      .sent = w->sent + w->idle + 1,
				      .stream = stream,
				      .context = w->context };
}
