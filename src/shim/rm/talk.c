/* talk.c: see talk.h. */
#include "shim/rm/talk.h"

#include "base/clock.h"
#include "shim/attach.h"
#include "shim/rm/thread.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINES 8u
#define PING_EVERY_NS 50000000u
#define RETRY_NS 100000000u

/* Filled by the worker, emptied by the talker. */
static struct {
	uint32_t device;
	char text[200];
} lines[LINES];
static _Atomic uint32_t lines_put, lines_sent;
static _Atomic uint32_t bell; /* a futex */
static _Atomic bool asked;
static uint64_t asked_ns; /* the worker's */
static _Atomic uint64_t news_ns;
static _Atomic bool lost;

static void wake(void)
{
	atomic_fetch_add_explicit(&bell, 1, memory_order_release);
	syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void note(int r)
{
	if (r >= 0)
		atomic_store_explicit(&news_ns, clock_now_ns(), memory_order_relaxed);
	atomic_store_explicit(&lost, r < 0, memory_order_release);
}

static void send_lines(void)
{
	uint32_t at = atomic_load_explicit(&lines_sent, memory_order_relaxed);
	/* Acquire: pairs with the release in talk_event(). */
	uint32_t put = atomic_load_explicit(&lines_put, memory_order_acquire);

	for (; at != put; at++)
		attach_event(lines[at % LINES].device, "%s", lines[at % LINES].text);
	atomic_store_explicit(&lines_sent, at, memory_order_release);
}

static void ping(void)
{
	struct wire_info ask = { .head = { .type = WIRE_INFO, .size = sizeof ask } };
	struct wire_info_is is;

	note(attach_ask(&ask, &is, sizeof is, 0));
}

static void *talk(void *unused)
{
	uint32_t heard = atomic_load_explicit(&bell, memory_order_acquire);

	for (;;) {
		if (!attach_page())
			note(attach_open());
		if (attach_page() && !atomic_load_explicit(&lost, memory_order_relaxed))
			send_lines();
		if (atomic_exchange_explicit(&asked, false, memory_order_relaxed) ||
		    atomic_load_explicit(&lost, memory_order_relaxed))
			ping();
		thread_wait(&bell, heard, attach_page() && !talk_lost() ? UINT64_MAX : RETRY_NS, false);
		heard = atomic_load_explicit(&bell, memory_order_acquire);
	}
	return unused;
}

bool talk_start(void)
{
	return thread_start(talk);
}

void talk_event(uint32_t device, const char *fmt, ...)
{
	uint32_t at = atomic_load_explicit(&lines_put, memory_order_relaxed);
	va_list ap;

	if (at - atomic_load_explicit(&lines_sent, memory_order_acquire) >= LINES)
		return;
	lines[at % LINES].device = device;
	va_start(ap, fmt);
	vsnprintf(lines[at % LINES].text, sizeof lines[at % LINES].text, fmt, ap);
	va_end(ap);
	atomic_store_explicit(&lines_put, at + 1, memory_order_release);
	wake();
}

void talk_ping(uint64_t now_ns)
{
	if (now_ns < asked_ns + PING_EVERY_NS)
		return;
	asked_ns = now_ns;
	atomic_store_explicit(&asked, true, memory_order_relaxed);
	wake();
}

uint64_t talk_news_ns(void)
{
	return atomic_load_explicit(&news_ns, memory_order_relaxed);
}

bool talk_lost(void)
{
	return atomic_load_explicit(&lost, memory_order_acquire);
}

void talk_reset(void)
{
	attach_forget(false);
	atomic_store(&lines_sent, 0);
	atomic_store(&lines_put, 0);
	atomic_store(&news_ns, 0);
	atomic_store(&lost, false);
}
