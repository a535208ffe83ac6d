/* ring_wait.c: see ring_wait.h. Part of the injected client too: it needs libc alone, and leaves errno as it was. */
#include "ring/ring_wait.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_LEAST_NS 2000u
#define SPIN_MOST_NS 20000u
#define TRIAL_WAITS 8u
#define INTERVAL_LEAST 32u
#define INTERVAL_MOST 4096u
#define SPIN_LOOKS 32u /* between two looks at the clock */
#define LOOKS 8u /* at the position, between two times that the processor is offered to others */

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

/* On one processor the other side runs only when this one does not. */
static bool alone_on_processor(void)
{
	cpu_set_t set;
	int n = 0, saved = errno;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set)) {
		errno = saved;
		return false;
	}
	for (unsigned int i = 0; i < CPU_SETSIZE; i++)
		n += !!CPU_ISSET(i, &set);
	return n == 1;
}

void ring_wait_init(struct ring_end *end)
{
	end->spin.never = alone_on_processor();
	end->spin.interval = end->spin.count = INTERVAL_LEAST;
}

/* ---- whether to spin first ---- */

static void spin_change(struct ring_spin *s, bool on, uint64_t mean_ns)
{
	s->interval = s->on == on ? s->interval * 2 : INTERVAL_LEAST;
	if (s->interval > INTERVAL_MOST)
		s->interval = INTERVAL_MOST;
	if (s->on != on)
		s->mean_ns = mean_ns;
	s->on = on;
	s->trial = false;
	s->count = s->interval;
}

static void trial_wait(struct ring_spin *s, uint64_t took)
{
	uint64_t mean, spun, slept;

	s->trial_ns += took;
	/* No good: the rest of it is spared. */
	if (s->trial_ns > TRIAL_WAITS * s->mean_ns) {
		spin_change(s, s->on, 0);
		return;
	}
	if (--s->count)
		return;
	mean = s->trial_ns / TRIAL_WAITS;
	spun = s->on ? s->mean_ns : mean;
	slept = s->on ? mean : s->mean_ns;
	spin_change(s, spun < slept / 4 * 3, mean);
}

static void spin_learn(struct ring_spin *s, uint64_t took)
{
	if (took > RING_LONG_WAIT_NS)
		took = RING_LONG_WAIT_NS;
	if (s->trial) {
		trial_wait(s, took);
		return;
	}
	s->mean_ns = s->mean_ns ? s->mean_ns - s->mean_ns / 8 + took / 8 : took;
	if (s->on && s->mean_ns > RING_LONG_WAIT_NS / 2)
		spin_change(s, false, RING_LONG_WAIT_NS);
	else if (--s->count == 0) {
		s->trial = true;
		s->trial_ns = 0;
		s->count = TRIAL_WAITS;
	}
}

/* ---- looking ---- */

static bool moved(const uint64_t *position, uint64_t seen)
{
	return __atomic_load_n(position, __ATOMIC_RELAXED) != seen;
}

/* The beginning of a wait: for as long as it helps. */
static bool spin_first(const struct ring_spin *s, const uint64_t *position, uint64_t seen, uint64_t ns)
{
	uint64_t most = SPIN_MOST_NS, until;

	if (s->on && s->mean_ns < SPIN_MOST_NS / 8)
		most = s->mean_ns * 8 < SPIN_LEAST_NS ? SPIN_LEAST_NS : s->mean_ns * 8;
	until = s->since + (ns < most ? ns : most);
	while (now_ns() < until)
		for (unsigned int i = 0; i < SPIN_LOOKS; i++) {
			if (moved(position, seen))
				return true;
			pause_briefly();
		}
	return false;
}

/* About the time that it was forecast for. Whoever else wants the processor meanwhile has it. */
static bool look_for(struct ring_end *end, uint64_t until, const uint64_t *position, uint64_t seen)
{
	uint64_t now = now_ns(), then;

	while (now < until) {
		for (unsigned int i = 0; i < LOOKS; i++) {
			if (moved(position, seen))
				return true;
			pause_briefly();
		}
		then = now_ns();
		sched_yield();
		now = now_ns();
		if (now - then > FORECAST_CROWDED_NS) {
			forecast_crowded(&end->forecast);
			sequel_crowded(&end->sequel, now);
			end->window.until_ns = 0;
			break;
		}
	}
	return moved(position, seen);
}

static bool window_open(struct ring_end *end, uint64_t now)
{
	uint64_t took = now - end->spin.since;

	if (!end->window.until_ns || took < end->window.from_ns)
		return false;
	if (end->timed)
		forecast_woke(&end->forecast, took - end->window.from_ns);
	end->timed = false;
	return took < end->window.until_ns;
}

bool ring_wait_expect(struct ring_end *end)
{
	return sequel_cause(&end->sequel, now_ns());
}

/* For what follows something that others have told of. */
static bool look_for_sequel(struct ring_end *end, uint64_t now, const uint64_t *position, uint64_t seen)
{
	struct forecast_window w = sequel_window(&end->sequel, now);
	bool came;

	if (!w.until_ns || now < w.from_ns)
		return false;
	came = look_for(end, w.until_ns, position, seen);
	sequel_looked(&end->sequel, now_ns() - now);
	end->asleep = false;
	return came;
}

/* A wait begins: what the forecast says of it. */
static void open_window(struct ring_end *end, bool reader)
{
	struct forecast_window w = reader ? forecast_begin(&end->forecast) : (struct forecast_window){ 0 };

	end->window = reader && end->ahead.due ? forecast_earlier(&end->forecast, w, end->ahead.ns) : w;
	end->early = end->window.from_ns != w.from_ns;
	end->asleep = end->timed = false;
}

bool ring_wait_spin(struct ring_end *end, const uint64_t *position, uint64_t seen, uint64_t ns)
{
	struct ring_spin *s = &end->spin;
	bool reader = position == &end->shared->written;
	uint64_t now, soon;

	if (s->never)
		return false;
	now = now_ns();
	if (!s->since) {
		s->since = now;
		open_window(end, reader);
		if (s->on != s->trial)
			return spin_first(s, position, seen, ns);
		soon = reader ? forecast_soon(&end->forecast) : 0;
		if (soon && look_for(end, now + (soon < ns ? soon : ns), position, seen))
			return true;
		now = now_ns();
	}
	if (reader && look_for_sequel(end, now, position, seen))
		return true;
	if (!window_open(end, now))
		return false;
	if (end->early)
		end->ahead.due(end->ahead.arg);
	end->early = false;
	end->asleep = false;
	return look_for(end, s->since + end->window.until_ns, position, seen);
}

uint64_t ring_wait_nap_ns(struct ring_end *end)
{
	uint64_t now = now_ns(), took = now - end->spin.since, nap = RING_FOREVER;
	struct forecast_window w = sequel_window(&end->sequel, now);

	end->asleep = true;
	end->timed = end->spin.since && took < end->window.from_ns;
	if (end->timed)
		nap = end->window.from_ns - took;
	if (w.until_ns && now < w.from_ns && w.from_ns - now < nap) {
		end->timed = false;
		nap = w.from_ns - now;
	}
	return nap;
}

void ring_wait_came(struct ring_end *end)
{
	uint64_t took;

	if (sequel_open(&end->sequel))
		sequel_follows(&end->sequel, now_ns(), end->spin.since && end->asleep);
	if (!end->spin.since)
		return;
	took = now_ns() - end->spin.since;
	end->spin.since = 0;
	spin_learn(&end->spin, took);
	forecast_end(&end->forecast, took, end->asleep);
}

void ring_wait_given_up(struct ring_end *end)
{
	end->spin.since = 0;
}

/* ---- sleeping ---- */

uint32_t ring_wait_raise(uint32_t *word)
{
	uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), new;

	do {
		new = ((old & ~RING_WAITS) + 2u) | RING_WAITS;
	} while (!__atomic_compare_exchange_n(word, &old, new, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	return new;
}

struct ring_wait ring_wait_begin(const uint64_t *position, uint32_t *word, uint64_t ns)
{
	uint64_t until = ns == RING_FOREVER ? 0 : now_ns() + ns;

	return (struct ring_wait){ .position = position, .word = word, .ns = ns, .until = until };
}

/*
 * A sleep that a timer is to end exactly; a program's own thread gets its timers' slack back. Where the slack may not
 * be read (a relay's or a worker's filter of calls) the thread has seen to it already.
 */
static void wait_exactly(struct ring_end *end, uint32_t *word, uint32_t value, uint64_t ns)
{
	int saved = errno;
	long slack = syscall(SYS_prctl, PR_GET_TIMERSLACK, 0, 0, 0, 0);

	if (slack > 1)
		syscall(SYS_prctl, PR_SET_TIMERSLACK, 1, 0, 0, 0);
	end->bell->wait(end->bell, word, value, ns);
	if (slack > 1)
		syscall(SYS_prctl, PR_SET_TIMERSLACK, slack, 0, 0, 0);
	errno = saved;
}

/* When the position is still what who waits has seen. */
static void sleep_once(struct ring_end *end, const struct ring_wait *w, uint64_t most)
{
	uint64_t nap = ring_wait_nap_ns(end);
	uint32_t value = ring_wait_raise(w->word);

	if (__atomic_load_n(w->position, __ATOMIC_SEQ_CST) == w->seen && !ring_closed(end)) {
		if (nap < most)
			wait_exactly(end, w->word, value, nap);
		else
			end->bell->wait(end->bell, w->word, value, most);
	}
	/* A bit that nobody cleared would cost the other side a call at its next message. */
	__atomic_compare_exchange_n(w->word, &value, value & ~RING_WAITS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

int ring_wait_once(struct ring_end *end, struct ring_wait *w, uint64_t seen)
{
	uint64_t now, most = RING_PATIENCE_NS;

	w->seen = seen;
	if (ring_wait_spin(end, w->position, seen, w->ns))
		return 1;
	now = now_ns();
	if (w->until) {
		if (now >= w->until)
			return 0;
		if (w->until - now < most)
			most = w->until - now;
	}
	sleep_once(end, w, most);
	now = now_ns();
	/* Of the end, not of this wait: who waits in shorter pieces asks as often. */
	if (now - end->asked < RING_PATIENCE_NS)
		return 1;
	end->asked = now;
	return end->bell->alive(end->bell) ? 1 : -EPIPE;
}
