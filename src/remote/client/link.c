/*
 * link.c: see link.h.
 *
 * Two locks: `writing`, held from link_begin() to link_send() and never while a reply is waited for; and `lock`, held
 * for some instructions by those who ask, wait and read. The reader holds neither while it looks into the ring.
 */
#include "remote/client/link.h"
#include "remote/client/link_counts.h"
#include "remote/client/link_host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROOM_NS 1000000u    /* between two looks at the replies while there is no room for requests */
#define ALIVE_NS 200000000u /* how long a program that never waits may go without asking whether the worker lives */
#define PAUSE_NS 10000000u  /* between two looks at what is wanted while nobody reads */
#define COMMAND_FILE "/proc/self/comm"

/* A session that moves has a worker that has not taken it up yet: should it end, the next one is asked. */
static uint32_t tentative;
static uint64_t asked_all; /* requests of this process that were to be answered */

static void futex_private(uint32_t *word, bool wake, uint32_t value, uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
	int saved = errno;

	syscall(SYS_futex, word, wake ? FUTEX_WAKE_PRIVATE : FUTEX_WAIT_PRIVATE, value, ns ? &t : NULL, NULL, 0);
	errno = saved;
}

static void waiter_wake(struct link_waiter *w)
{
	/* Behind the store the waiter may be gone: waking an address where nobody sleeps does no harm. */
	__atomic_store_n(&w->bell, 1, __ATOMIC_RELEASE);
	futex_private(&w->bell, true, 1, 0);
}

static uint64_t now_coarse_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ----------------------------------------------------------------------------------------------------- the end --- */

bool link_lost(const struct link *link)
{
	return __atomic_load_n(&link->lost, __ATOMIC_ACQUIRE);
}

/* Everybody who waits finds out. */
static void lose(struct link *link, const char *why)
{
	struct link_waiter *w;

	if (__atomic_exchange_n(&link->lost, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_lock(&link->lock);
	while ((w = link->first)) {
		link->first = w->next;
		w->queued = false;
		waiter_wake(w);
	}
	link->last = NULL;
	pthread_mutex_unlock(&link->lock);
	link_host_wake(link);
	if (link->handlers->lost && !__atomic_load_n(&tentative, __ATOMIC_ACQUIRE))
		link->handlers->lost(link->arg, why);
}

bool link_alive(struct link *link)
{
	struct ring_doorbell *bell = &link->wall.bell.bell;

	if (!link_lost(link) && !bell->alive(bell))
		lose(link, "the worker is gone");
	return !link_lost(link);
}

static void lose_by(struct link *link, int error)
{
	if (error == -EPROTO)
		lose(link, "the worker sent what makes no sense");
	else
		lose(link, "the worker is gone");
}

/* ----------------------------------------------------------------------------------------------------- reading --- */

/* A private copy of the message at `at`. NULL: no memory. */
static void *copy_message(struct link_answer *answer, const void *at, size_t size)
{
	void *room = answer->room;

	answer->longer = NULL;
	if (size > sizeof(answer->room)) {
		room = answer->longer = malloc(size);
		if (!room)
			return NULL;
	}
	memcpy(room, at, size);
	return room;
}

/* Takes a copied message apart. False: it is malformed. */
static bool take_apart(struct link_answer *answer, const uint8_t *message, size_t size)
{
	size_t used = sizeof(answer->head);

	if (size < used)
		return false;
	memcpy(&answer->head, message, used);
	memset(&answer->payload, 0, sizeof(answer->payload));
	if (answer->head.size != size || answer->head.flags & ~CALL_PAYLOAD)
		return false;
	if (answer->head.flags & CALL_PAYLOAD) {
		if (size - used < sizeof(answer->payload))
			return false;
		memcpy(&answer->payload, message + used, sizeof(answer->payload));
		used += sizeof(answer->payload);
	}
	answer->body = message + used;
	answer->bytes = size - used;
	return true;
}

static struct link_answer *answer_unlist(struct link *link, uint32_t ticket)
{
	struct link_answer **at, *found;

	for (at = &link->answers; *at; at = &(*at)->next)
		if ((*at)->ticket == ticket) {
			found = *at;
			*at = found->next;
			return found;
		}
	return NULL;
}

static void waiter_unlist(struct link *link, struct link_waiter *w)
{
	struct link_waiter **at, *before = NULL;

	for (at = &link->first; *at; before = *at, at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			if (link->last == w)
				link->last = before;
			w->queued = false;
			return;
		}
}

/* False: nobody asked, or it is malformed. The message may still be changed by the other side: it is copied once. */
static bool deliver(struct link *link, uint32_t ticket, const void *at, size_t size)
{
	struct link_answer *answer;
	struct link_waiter *w;
	const uint8_t *message;
	bool good;

	pthread_mutex_lock(&link->lock);
	answer = answer_unlist(link, ticket);
	pthread_mutex_unlock(&link->lock);
	if (!answer)
		return false;
	message = copy_message(answer, at, size);
	good = message && take_apart(answer, message, size) && answer->head.ticket == ticket;
	pthread_mutex_lock(&link->lock);
	w = answer->waiter;
	if (w && w->queued)
		waiter_unlist(link, w);
	else
		w = NULL;
	/* From here on the answer is its thread's, and may be gone; a waiter that sleeps is there until it is woken. */
	__atomic_store_n(&answer->done, good ? 1 : 2, __ATOMIC_RELEASE);
	if (w)
		waiter_wake(w);
	pthread_mutex_unlock(&link->lock);
	return good;
}

static bool notice(struct link *link, const void *at, size_t size)
{
	const struct link_handlers *h = link->handlers;
	struct link_answer copy;
	const uint8_t *message = copy_message(&copy, at, size);
	uint64_t serial;
	char text[256];
	bool good = message && take_apart(&copy, message, size) && !copy.head.ticket;

	LINK_COUNT(link->counts->notices, 1);
	switch (good ? copy.head.call : 0) {
	case CALL_NOTICE_RETIRED:
		good = copy.bytes == sizeof(serial);
		if (good && h->retired) {
			memcpy(&serial, copy.body, sizeof(serial));
			h->retired(link->arg, serial);
		}
		break;
	case CALL_NOTICE_MIRROR:
		if (h->mirror)
			h->mirror(link->arg, &copy.payload);
		break;
	case CALL_NOTICE_OUTPUT:
		good = copy.bytes >= sizeof(serial);
		if (good)
			memcpy(&serial, copy.body, sizeof(serial));
		if (good && h->output && serial <= copy.bytes - sizeof(serial))
			h->output(link->arg, (const char *)copy.body + sizeof(serial), serial);
		break;
	case CALL_NOTICE_HOST:
		good = link_host_queue(link, copy.body, copy.bytes);
		break;
	case CALL_NOTICE_LOST:
		size = copy.bytes < sizeof(text) - 1 ? copy.bytes : sizeof(text) - 1;
		memcpy(text, copy.body, size);
		text[size] = 0;
		lose(link, text);
		break;
	default:
		good = false;
	}
	free(copy.longer);
	return good;
}

/* One message, waited for `ns`. Value: 1; 0 none; below 0 the line is lost. */
static int read_one(struct link *link, uint64_t ns)
{
	struct ring_end *ring = &link->wall.replies;
	const void *at;
	uint32_t ticket;
	size_t size;
	bool good;
	int r = ring_next(ring, &at, &size, ns);

	if (r > 0) {
		LINK_COUNT(link->counts->reply_bytes, size);
		ticket = 0;
		good = size >= sizeof(struct call_reply);
		if (good) {
			memcpy(&ticket, (const uint8_t *)at + offsetof(struct call_reply, ticket), sizeof(ticket));
			good = ticket ? deliver(link, ticket, at, size) : notice(link, at, size);
		}
		ring_release(ring);
		r = good ? 1 : -EPROTO;
	}
	if (r < 0)
		lose_by(link, r);
	return r;
}

/* The longest waiting thread becomes the reader, or nobody is. */
static void reader_leave(struct link *link)
{
	struct link_waiter *w;

	pthread_mutex_lock(&link->lock);
	w = link->first;
	if (w) {
		link->first = w->next;
		if (!link->first)
			link->last = NULL;
		w->queued = false;
		w->reads = true;
		waiter_wake(w);
	} else {
		link->reading = false;
	}
	pthread_mutex_unlock(&link->lock);
}

/* What is waited for: a reply, or a word that somebody changes. */
struct wanted {
	struct link_answer *answer;
	const uint32_t *word;
	uint32_t value;
	uint64_t look_ns; /* how long one sleep may be */
};

static bool wanted_there(const struct wanted *w)
{
	return __atomic_load_n(w->word, __ATOMIC_ACQUIRE) != w->value;
}

static bool is_paused(const struct link *link)
{
	return __atomic_load_n(&link->paused, __ATOMIC_ACQUIRE);
}

/* Sleeps until the reader has brought what is wanted, or hands its place over. Value: this thread is the reader. */
static bool become_reader(struct link *link, const struct wanted *wanted)
{
	struct link_waiter self = { .for_word = !wanted->answer };

	pthread_mutex_lock(&link->lock);
	if (wanted_there(wanted) || link_lost(link) || !link->reading) {
		bool free_place = !link->reading && !wanted_there(wanted) && !link_lost(link) && !is_paused(link);

		link->reading |= free_place;
		pthread_mutex_unlock(&link->lock);
		return free_place;
	}
	self.queued = true;
	if (link->last)
		link->last->next = &self;
	else
		link->first = &self;
	link->last = &self;
	if (wanted->answer)
		wanted->answer->waiter = &self;
	pthread_mutex_unlock(&link->lock);
	while (!__atomic_load_n(&self.bell, __ATOMIC_ACQUIRE)) {
		futex_private(&self.bell, false, 0, wanted->look_ns == RING_FOREVER ? 0 : wanted->look_ns);
		if (wanted->look_ns != RING_FOREVER)
			break;
	}
	/* Under the lock: whoever rings the bell does it holding it, and `self` ends here. */
	pthread_mutex_lock(&link->lock);
	if (self.queued)
		waiter_unlist(link, &self);
	if (wanted->answer)
		wanted->answer->waiter = NULL;
	pthread_mutex_unlock(&link->lock);
	return self.reads;
}

static void wait_for(struct link *link, const struct wanted *wanted)
{
	while (!wanted_there(wanted) && !link_lost(link)) {
		if (is_paused(link))
			futex_private(&link->paused, false, 1, PAUSE_NS);
		if (!become_reader(link, wanted))
			continue;
		while (!wanted_there(wanted) && !link_lost(link) && !is_paused(link))
			read_one(link, wanted->look_ns);
		reader_leave(link);
	}
}

/* A reply that was on its way while the thread waited for an earlier one costs no round trip of its own. */
static void count_wait(struct link *link, const struct link_answer *answer)
{
	static __thread uint64_t last; /* asked_all at the end of this thread's last wait */

	if (answer->asked > last) {
		__atomic_fetch_add(&link->counts->round_trips, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&link->counts->waits[link_counted(answer->head.call)], 1, __ATOMIC_RELAXED);
	}
	last = __atomic_load_n(&asked_all, __ATOMIC_RELAXED);
}

int link_wait(struct link *link, struct link_answer *answer)
{
	struct wanted wanted = { .answer = answer, .word = &answer->done, .look_ns = RING_FOREVER };

	if (!answer->ticket)
		return -EPIPE;
	wait_for(link, &wanted);
	if (__atomic_load_n(&answer->done, __ATOMIC_ACQUIRE) == 1)
		count_wait(link, answer);
	if (__atomic_load_n(&answer->done, __ATOMIC_ACQUIRE))
		return answer->done == 1 ? 0 : -EPIPE;
	/* Lost; but whoever reads may just be delivering it. */
	pthread_mutex_lock(&link->lock);
	bool listed = answer_unlist(link, answer->ticket);

	pthread_mutex_unlock(&link->lock);
	if (listed)
		return -EPIPE;
	while (!__atomic_load_n(&answer->done, __ATOMIC_ACQUIRE))
		syscall(SYS_sched_yield);
	return answer->done == 1 ? 0 : -EPIPE;
}

int link_until(struct link *link, const uint32_t *word, uint32_t value, uint64_t look_ns)
{
	struct wanted wanted = { .word = word, .value = value, .look_ns = look_ns };

	wait_for(link, &wanted);
	return wanted_there(&wanted) ? 0 : -EPIPE;
}

void link_changed(struct link *link)
{
	struct link_waiter *w, *next;

	pthread_mutex_lock(&link->lock);
	for (w = link->first; w; w = next) {
		next = w->next;
		if (!w->for_word)
			continue;
		waiter_unlist(link, w);
		waiter_wake(w);
	}
	pthread_mutex_unlock(&link->lock);
}

void link_stir(struct link *link)
{
	pthread_mutex_lock(&link->lock);
	if (link->reading || link_lost(link) || is_paused(link)) {
		pthread_mutex_unlock(&link->lock);
		return;
	}
	link->reading = true;
	pthread_mutex_unlock(&link->lock);
	while (read_one(link, 0) > 0)
		;
	reader_leave(link);
}

bool link_poll(struct link *link, struct link_answer *answer)
{
	if (!__atomic_load_n(&answer->done, __ATOMIC_ACQUIRE))
		link_stir(link);
	return __atomic_load_n(&answer->done, __ATOMIC_ACQUIRE) || link_lost(link);
}

void link_done(struct link_answer *answer)
{
	free(answer->longer);
	answer->longer = NULL;
}

/* ----------------------------------------------------------------------------------------------------- writing --- */

/* A program that only sends learns of the worker's end as well. */
static bool alive_locked(struct link *link)
{
	uint64_t now = now_coarse_ns();

	if (now - link->alive_ns < ALIVE_NS)
		return true;
	link->alive_ns = now;
	return link->wall.bell.bell.alive(&link->wall.bell.bell);
}

/*
 * Room in the ring. While there is none, replies are read if nobody else does: the worker may be waiting for room for
 * them.
 */
static int room_locked(struct link *link, size_t bytes, void **ret)
{
	int r = ring_begin_within(&link->wall.requests, bytes, 0, ret);

	while (!r) {
		link_stir(link);
		if (link_lost(link))
			return -EPIPE;
		r = ring_begin_within(&link->wall.requests, bytes, ROOM_NS, ret);
		if (!r && !alive_locked(link))
			return -EPIPE;
	}
	return r > 0 ? 0 : r;
}

void *link_begin(struct link *link, size_t bytes, struct link_answer *answer)
{
	void *room = NULL;
	int r;

	if (answer) {
		answer->ticket = answer->done = 0;
		answer->longer = NULL;
	}
	if (link_lost(link) || bytes > link_longest(link))
		return NULL;
	pthread_mutex_lock(&link->writing);
	r = alive_locked(link) ? room_locked(link, bytes, &room) : -EPIPE;
	if (r < 0) {
		pthread_mutex_unlock(&link->writing);
		lose_by(link, r);
		return NULL;
	}
	link->asked = answer;
	if (!answer)
		return room;
	link->ticket += link->ticket == UINT32_MAX ? 2 : 1;
	answer->ticket = link->ticket;
	answer->waiter = NULL;
	pthread_mutex_lock(&link->lock);
	answer->next = link->answers;
	link->answers = answer;
	pthread_mutex_unlock(&link->lock);
	return room;
}

uint64_t link_serial(struct link *link, uint64_t payload_bytes)
{
	LINK_COUNT(link->counts->payloads, 1);
	LINK_COUNT(link->counts->payload_bytes, payload_bytes);
	return ++link->serial;
}

static void count_locked(struct link *link, size_t bytes)
{
	LINK_COUNT(link->counts->requests, 1);
	LINK_COUNT(link->counts->request_bytes, bytes);
	__atomic_store_n(&link->sent, link->sent + 1, __ATOMIC_RELAXED);
	if (!link->asked)
		return;
	link->asked->sent = link->sent;
	link->asked->asked = __atomic_add_fetch(&asked_all, 1, __ATOMIC_RELAXED);
}

void link_send(struct link *link, size_t bytes)
{
	if (bytes) {
		count_locked(link, bytes);
		ring_commit_quiet(&link->wall.requests, bytes);
	} else if (link->asked) {
		pthread_mutex_lock(&link->lock);
		answer_unlist(link, link->asked->ticket);
		pthread_mutex_unlock(&link->lock);
		link->asked->ticket = 0;
	}
	pthread_mutex_unlock(&link->writing);
	if (bytes)
		ring_wake(&link->wall.requests);
}

uint64_t link_sent(const struct link *link)
{
	return __atomic_load_n(&link->sent, __ATOMIC_RELAXED);
}

size_t link_longest(const struct link *link)
{
	return ring_longest(link->wall.welcome.ring_bytes) & ~(size_t)(CALL_ALIGN - 1);
}

/* -------------------------------------------------------------------------------------------- beginning and end --- */

static void read_command(char *to, size_t size)
{
	long fd = syscall(SYS_openat, AT_FDCWD, COMMAND_FILE, O_RDONLY | O_CLOEXEC), n;

	if (fd < 0)
		return;
	n = syscall(SYS_read, (int)fd, to, size - 1);
	if (n > 0 && to[n - 1] == '\n')
		to[n - 1] = 0;
	syscall(SYS_close, (int)fd);
}

int link_open(struct link *link, const char *path, uint32_t fingerprint, const char *name, unsigned int timeout_ms,
	      const struct link_handlers *handlers, void *arg)
{
	struct wall_hello hello = {
		.magic = WALL_MAGIC, .version = WALL_VERSION, .fingerprint = fingerprint, .flags = WALL_MOVES
	};
	int saved = errno, r;

	memset(link, 0, sizeof(*link));
	hello.pid = (int32_t)syscall(SYS_getpid);
	read_command(hello.command, sizeof(hello.command));
	if (name && strlen(name) < sizeof(hello.name))
		memcpy(hello.name, name, strlen(name));
	else if (name)
		return -ENAMETOOLONG;
	pthread_mutex_init(&link->writing, NULL);
	pthread_mutex_init(&link->lock, NULL);
	link->handlers = handlers;
	link->arg = arg;
	r = wall_connect(&link->wall, path, &hello, timeout_ms);
	if (r)
		link->lost = 1;
	link->counts = r ? &link->own_counts : link_counts_open(&link->own_counts);
	errno = saved;
	return r;
}

static bool is_read(struct link *link)
{
	bool reading;

	pthread_mutex_lock(&link->lock);
	__atomic_store_n(&link->paused, 1, __ATOMIC_RELEASE);
	reading = link->reading;
	pthread_mutex_unlock(&link->lock);
	return reading;
}

static void unpause(struct link *link)
{
	__atomic_store_n(&link->paused, 0, __ATOMIC_RELEASE);
	futex_private(&link->paused, true, INT_MAX, 0);
}

int link_leave(struct link *link)
{
	int r;

	/* The service thread lets go of it when its look is over. */
	while (is_read(link))
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = ROOM_NS }, NULL);
	r = wall_leave(&link->wall);
	if (__atomic_exchange_n(&tentative, 0, __ATOMIC_ACQ_REL))
		__atomic_store_n(&link->lost, 0, __ATOMIC_RELEASE);
	if (r)
		unpause(link);
	return r;
}

static struct wall_hello hello_again(const struct link *link, uint32_t fingerprint, uint64_t bytes)
{
	struct wall_hello hello = { .magic = WALL_MAGIC,
				    .version = WALL_VERSION,
				    .fingerprint = fingerprint,
				    .flags = WALL_BRINGS | WALL_MOVES };

	hello.pid = (int32_t)syscall(SYS_getpid);
	read_command(hello.command, sizeof(hello.command));
	hello.brings.base = link->wall.welcome.base;
	hello.brings.bytes = bytes;
	return hello;
}

int link_join(struct link *link, struct wall *next, const char *path, uint32_t fingerprint, unsigned int timeout_ms)
{
	struct wall_hello hello = hello_again(link, fingerprint, 0);

	return wall_join(next, &link->wall, path, &hello, timeout_ms);
}

void link_turn(struct link *link, struct wall *other, uint64_t *serial, bool trial)
{
	uint64_t was = link->serial;

	while (is_read(link))
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = ROOM_NS }, NULL);
	wall_exchange(&link->wall, other);
	link->serial = *serial;
	*serial = was;
	link->alive_ns = 0;
	if (__atomic_exchange_n(&tentative, trial, __ATOMIC_ACQ_REL))
		__atomic_store_n(&link->lost, 0, __ATOMIC_RELEASE);
	unpause(link);
}

int link_return(struct link *link, const char *path, uint32_t fingerprint, uint64_t bytes, unsigned int timeout_ms)
{
	struct wall_hello hello;
	int saved = errno, r;

	if (!path) {
		__atomic_store_n(&tentative, 0, __ATOMIC_RELEASE);
		link_host_wake(link);
		return 0;
	}
	hello = hello_again(link, fingerprint, bytes);
	r = wall_return(&link->wall, path, &hello, timeout_ms);
	if (!r) {
		__atomic_store_n(&tentative, 1, __ATOMIC_RELEASE);
		link->serial = 0;
		link->alive_ns = 0;
		unpause(link);
	}
	errno = saved;
	return r;
}

void link_give_up(struct link *link, const char *why)
{
	lose(link, why);
	unpause(link);
}

void link_close(struct link *link)
{
	link_host_end(link);
	__atomic_store_n(&link->lost, 1, __ATOMIC_RELEASE);
	wall_close(&link->wall);
	link_counts_close(link->counts, &link->own_counts);
	link->counts = &link->own_counts;
}

void link_abandon(struct link *link)
{
	__atomic_store_n(&link->lost, 1, __ATOMIC_RELEASE);
	wall_abandon(&link->wall);
	link_counts_close(link->counts, &link->own_counts);
	link->counts = &link->own_counts;
	link->host = NULL;
}

void link_read_counts(const struct link *link, struct link_counts *ret)
{
	*ret = *link->counts;
}
