/* await.c: see await.h. */
#include "remote/relay/await.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

/* One wait for bytes. */
struct wait {
	struct await *await;
	int fd;
	void *at;
	size_t bytes;
	uint64_t since_ns;
	struct forecast_window window; /* of the forecast, since then */
	bool asleep;
};

int await_init(struct await *a)
{
	*a = (struct await){ .stir = { -1, -1 } };
	return pipe2(a->stir, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
}

void await_deinit(struct await *a)
{
	for (unsigned int i = 0; i < 2; i++)
		if (a->stir[i] >= 0)
			close(a->stir[i]);
	a->stir[0] = a->stir[1] = -1;
}

void await_cause(struct await *a)
{
	/* Partner: sleep_once(), which says that it is going to, then looks for a cause. */
	if (sequel_cause(&a->sequel, clock_now_ns()) && __atomic_exchange_n(&a->sleeps, false, __ATOMIC_SEQ_CST) &&
	    write(a->stir[1], "", 1) < 0 && errno != EAGAIN)
		return; /* then it sleeps until they come */
}

/* Value: as recv(), or -errno; -EAGAIN: nothing is there. */
static ssize_t look(const struct wait *w)
{
	ssize_t n;

	do {
		n = recv(w->fd, w->at, w->bytes, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Looks again and again; whoever else wants the processor has it meanwhile. Value: as look(). */
static ssize_t look_until(struct wait *w, uint64_t until_ns)
{
	uint64_t now = clock_now_ns(), then;
	ssize_t n;

	do {
		n = look(w);
		if (n != -EAGAIN)
			return n;
		then = now;
		sched_yield();
		now = clock_now_ns();
		if (now - then > FORECAST_CROWDED_NS) {
			forecast_crowded(&w->await->forecast);
			sequel_crowded(&w->await->sequel, now);
			w->window.until_ns = 0;
			break;
		}
	} while (now < until_ns);
	return -EAGAIN;
}

/* If it is the time for that. */
static ssize_t look_when_due(struct wait *w)
{
	uint64_t now = clock_now_ns();
	struct forecast_window s = sequel_window(&w->await->sequel, now);
	ssize_t n = -EAGAIN;

	if (s.until_ns && now >= s.from_ns) {
		n = look_until(w, s.until_ns);
		sequel_looked(&w->await->sequel, clock_now_ns() - now);
	} else if (now >= w->since_ns + w->window.from_ns && now < w->since_ns + w->window.until_ns) {
		n = look_until(w, w->since_ns + w->window.until_ns);
	}
	if (n != -EAGAIN)
		w->asleep = false;
	return n;
}

/* Until when to sleep; 0: until they come. *ret_timed: by the forecast. */
static uint64_t wake_at(const struct wait *w, uint64_t now, bool *ret_timed)
{
	struct forecast_window s = sequel_window(&w->await->sequel, now);
	uint64_t at = s.until_ns && s.from_ns > now ? s.from_ns : 0, window = w->since_ns + w->window.from_ns;

	*ret_timed = w->window.until_ns && window > now && (!at || window < at);
	return *ret_timed ? window : at;
}

static void drain(struct await *a)
{
	char bytes[64];

	while (read(a->stir[0], bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes))
		;
}

/* Until they come, somebody stirs, or something may be due. */
static int sleep_once(struct wait *w)
{
	struct pollfd p[2] = { { .fd = w->fd, .events = POLLIN }, { .fd = w->await->stir[0], .events = POLLIN } };
	uint64_t now = clock_now_ns(), until;
	struct timespec t = { 0 };
	bool timed, due;
	int r;

	__atomic_store_n(&w->await->sleeps, true, __ATOMIC_SEQ_CST);
	until = wake_at(w, now, &timed);
	due = sequel_window(&w->await->sequel, now).until_ns && !until;
	if (until)
		t = (struct timespec){ (time_t)((until - now) / 1000000000u), (long)((until - now) % 1000000000u) };
	r = due ? 0 : ppoll(p, 2, until ? &t : NULL, NULL);
	if (r < 0 && errno != EINTR)
		return -errno;
	if (!__atomic_exchange_n(&w->await->sleeps, false, __ATOMIC_SEQ_CST))
		drain(w->await);
	w->asleep = !due;
	now = clock_now_ns();
	if (timed && r == 0)
		forecast_woke(&w->await->forecast, now > until ? now - until : 0);
	return 0;
}

static ssize_t wait_for_bytes(struct wait *w)
{
	uint64_t soon = forecast_soon(&w->await->forecast);
	ssize_t n = -EAGAIN;
	int r;

	w->since_ns = clock_now_ns();
	w->window = forecast_begin(&w->await->forecast);
	if (soon)
		n = look_until(w, w->since_ns + soon);
	while (n == -EAGAIN) {
		n = look_when_due(w);
		if (n != -EAGAIN)
			break;
		r = sleep_once(w);
		if (r < 0)
			return r;
		n = look(w);
	}
	if (n > 0)
		forecast_end(&w->await->forecast, clock_now_ns() - w->since_ns, w->asleep);
	return n;
}

ssize_t await_read(struct await *a, int fd, void *at, size_t bytes)
{
	struct wait w = { .await = a, .fd = fd, .at = at, .bytes = bytes };
	ssize_t n = look(&w);

	if (n == -EAGAIN)
		n = wait_for_bytes(&w);
	if (n > 0 && sequel_open(&a->sequel))
		sequel_follows(&a->sequel, clock_now_ns(), w.asleep);
	return n;
}
