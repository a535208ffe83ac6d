/* news.c: see news.h. */
#include "connect/kubernetes/news.h"

#include "base/clock.h"
#include "connect/kubernetes/agent.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#define SECOND 1000000000ull
#define PAUSE (SECOND / 2)
#define WITHIN_S 10
#define PATIENCE (5 * SECOND) /* beyond that */
#define UNKNOWN_PAUSE (60 * SECOND) /* a meted that does not know the request may be upgraded */

bool news_waits(const struct news *n)
{
	return n->waits && *n->seen;
}

static void hang_up(struct news *n, uint64_t pause_ns)
{
	if (n->control.fd >= 0)
		loop_leave(&n->agent->loop, &n->watch);
	control_close(&n->control);
	n->waits = false;
	*n->seen = 0;
	n->next_ns = clock_now_ns() + pause_ns;
}

static int ask(struct news *n, struct fault *f)
{
	json_t *request = json_pack("{s:s s:i}", "op", "changes", "within_s", *n->seen ? WITHIN_S : 0);
	int r;

	if (*n->seen)
		json_object_set_new(request, "seen", json_string(n->seen));
	r = control_send(&n->control, request, f);
	n->waits = !r;
	n->until_ns = clock_now_ns() + WITHIN_S * SECOND + PATIENCE;
	return r;
}

/* Asks again before the agent has looked: what changes until then is told, too. */
static int take(struct news *n, json_t *answer, struct fault *f)
{
	bool changed = json_is_true(json_object_get(answer, "changed"));

	snprintf(n->seen, sizeof(n->seen), "%s", device_text(answer, "seen"));
	if (changed)
		agent_refresh_soon(n->agent);
	return *n->seen ? ask(n, f) : -EPROTO;
}

static void ready(struct watch *w, uint32_t events)
{
	struct news *n = w->owner;
	struct fault f;
	json_t *answer = NULL;
	char code[64] = "";
	int r = control_receive(&n->control, &answer, code, &f);

	if (r == -EAGAIN)
		return;
	n->waits = false;
	if (!r)
		r = take(n, answer, &f);
	json_decref(answer);
	if (!r)
		return;
	hang_up(n, r == CONTROL_REFUSED ? UNKNOWN_PAUSE : PAUSE);
	agent_refresh_soon(n->agent);
}

static void connect_meted(struct news *n)
{
	struct fault f;

	n->next_ns = clock_now_ns() + PAUSE;
	n->control = CONTROL_CLOSED;
	if (control_begin(&n->control, CONTROL_FIND, &f)) {
		n->control = CONTROL_CLOSED;
		return;
	}
	n->watch = (struct watch){ .fd = n->control.fd, .ready = ready, .owner = n };
	if (loop_add(&n->agent->loop, &n->watch, EPOLLIN) || ask(n, &f))
		hang_up(n, PAUSE);
}

void news_tend(struct news *n)
{
	uint64_t now = clock_now_ns();

	if (n->control.fd >= 0 && n->waits && now > n->until_ns) {
		hang_up(n, PAUSE);
		agent_refresh_soon(n->agent);
	}
	if (n->control.fd < 0 && now >= n->next_ns)
		connect_meted(n);
}

void news_end(struct news *n)
{
	if (n->control.fd >= 0)
		hang_up(n, 0);
}
