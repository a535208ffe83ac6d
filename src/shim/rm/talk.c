/* talk.c: see talk.h. */
#include "shim/rm/talk.h"

#include "base/clock.h"
#include "core/attach.h"
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

/* Of the first welcome; written before `ready`, then never again. */
static uint8_t uuids[WIRE_MAX_DEVICES][16];
static uint32_t uuid_count;
static _Atomic bool ready;

bool talk_ready(void)
{
	/* Acquire: pairs with the release in get_ready(). */
	return atomic_load_explicit(&ready, memory_order_acquire);
}

bool talk_device(const uint8_t *uuid, uint32_t *ret_device)
{
	for (uint32_t d = 0; talk_ready() && d < uuid_count; d++)
		if (!memcmp(uuids[d], uuid, sizeof uuids[d])) {
			*ret_device = d;
			return true;
		}
	return false;
}

static void get_ready(void)
{
	const struct wire_welcome *w = attach_welcome();

	uuid_count = w->device_count < WIRE_MAX_DEVICES ? w->device_count : WIRE_MAX_DEVICES;
	for (uint32_t d = 0; d < uuid_count; d++)
		memcpy(uuids[d], w->device[d].uuid, sizeof uuids[d]);
	atomic_store_explicit(&ready, true, memory_order_release);
}

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
		if (!talk_ready()) {
			int r = attach_open();

			note(r);
			if (!r)
				get_ready();
		}
		if (talk_ready() && !atomic_load_explicit(&lost, memory_order_relaxed))
			send_lines();
		if (atomic_exchange_explicit(&asked, false, memory_order_relaxed) ||
		    atomic_load_explicit(&lost, memory_order_relaxed))
			ping();
		thread_wait(&bell, heard, talk_ready() && !talk_lost() ? UINT64_MAX : RETRY_NS, false);
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
	atomic_store(&ready, false);
}
