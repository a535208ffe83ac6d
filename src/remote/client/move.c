/* move.c: see move.h. The thread, and the order of what is done. */
#include "remote/client/move.h"

#include "cuda_remote.h"
#include "remote/client/captures.h"
#include "remote/client/context.h"
#include "remote/client/gate.h"
#include "remote/client/move_store.h"
#include "remote/client/parked.h"
#include "remote/client/textures.h"
#include "remote/client/thread.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIGSET_BYTES 8u /* the kernel's */
#define CONNECT_MS 3600000u
#define JOIN_MS 30000u /* for another server's worker */
#define JOIN_TRIES 16u
#define PAUSE_NS 50000000u /* between two tries to find a worker */
#define QUICK_NS 1000000u
#define QUICK_TRIES 8u
#define DISK_NAPS 20u /* before a disk is asked again that has answered an error */
#define DISK_NAP_NS 500000000u
#define TRIES 64u /* of workers that cannot take it up */
#define OPEN_NAP_NS 1000000u /* while the program only begins its sessions */
#define LOOK_S 2  /* between two looks at what would keep the session here */
#define TOLD_BYTES (UINT64_C(8) << 20)

static struct {
	uint32_t ends, ended; /* futexes: the thread is to end; it has */
	uint32_t told;	      /* what keeps the session here, as its worker was told */
	bool runs;
} threads[SESSIONS];

static char ways[SESSIONS][WALL_WHERE_BYTES]; /* by which sessions have come, where it was another than at first */

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void nap(uint64_t ns)
{
	syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = (long)ns }, NULL);
}

/* ---- messages ---- */

struct call_request move_head(uint16_t call, uint64_t context)
{
	const struct thread *t = thread_get();

	return (struct call_request){ .call = call, .thread = t ? t->number : 1, .context = context };
}

bool move_begin(struct move *m, const void *message, size_t bytes, struct link_answer *answer)
{
	struct link *link = &m->session->link;
	struct call_request *to = link_begin(link, bytes, answer);

	if (!to)
		return false;
	memcpy(to, message, bytes);
	to->size = (uint32_t)bytes;
	to->flags = CALL_WAITS;
	to->ticket = answer->ticket;
	link_send(link, bytes);
	return true;
}

/* What an earlier call of the program has done wrong is the program's to hear, but not what goes wrong in the worker
 * that takes the session up. */
static void note_deferred(struct move *m, int32_t error)
{
	if (!m->taken_up)
		atomic_store_explicit(&m->session->owed, error, memory_order_relaxed);
	else if (m->wrong == CUDA_SUCCESS)
		m->wrong = (CUresult)error;
}

CUresult move_answer(struct move *m, struct link_answer *answer)
{
	if (link_wait(&m->session->link, answer) < 0)
		return CLIENT_LOST;
	if (answer->head.deferred)
		note_deferred(m, answer->head.deferred);
	return (CUresult)answer->head.result;
}

CUresult move_ask(struct move *m, const void *message, size_t bytes, struct link_answer *answer)
{
	return move_begin(m, message, bytes, answer) ? move_answer(m, answer) : CLIENT_LOST;
}

CUresult move_request(struct move *m, uint16_t call, uint64_t context, const void *body, size_t bytes,
		      struct link_answer *answer)
{
	struct {
		struct call_request head;
		uint8_t body[MOVE_BLOCKS_MOST * sizeof(struct move_block) + sizeof(struct move_names) +
			     MOVE_NAMES_MOST * sizeof(uint64_t)];
	} message = { .head = move_head(call, context) };

	if (bytes)
		memcpy(message.body, body, bytes);
	return move_ask(m, &message, sizeof(message.head) + remote_padded(bytes), answer);
}

bool move_say(struct move *m, enum worker_phase phase, bool wait)
{
	struct move_said said = { .phase = phase,
				  .serial = m->serial,
				  .stay = m->stay,
				  .count = m->count,
				  .done = m->done,
				  .total = m->total + m->aside };
	struct link_answer answer;
	CUresult r;

	if (!wait && m->done < m->told + TOLD_BYTES && m->done > m->told)
		return true;
	m->told = m->done;
	r = move_request(m, CALL_MOVE_SAY, 0, &said, sizeof(said), &answer);
	link_done(&answer);
	return r == CUDA_SUCCESS;
}

bool move_stays(struct move *m, enum worker_stay stay, uint32_t count)
{
	m->stay = stay;
	m->count = count;
	return false;
}

void move_enter(uint64_t context)
{
	struct thread *t = thread_get();

	if (!t)
		return;
	t->contexts[0] = context;
	t->depth = context ? 1 : 0;
}

/* ---- leaving ---- */

/* What a wait of ours is about that did not end in time: its answer comes some day. */
static struct link_answer *late;

static bool comes_in_time(struct move *m, struct link_answer *answer)
{
	while (!link_poll(&m->session->link, answer)) {
		if (now_ns() >= m->until_ns)
			return false;
		nap(200000);
	}
	return !link_lost(&m->session->link);
}

/* All that a context has been given has ended. */
static bool rest(struct move *m, uint64_t id)
{
	struct link *link = &m->session->link;
	struct link_answer *answer = late ? late : malloc(sizeof(*answer));
	struct call_request *to;
	bool good;

	if (!answer)
		return move_stays(m, WORKER_STAY_HOST, 0);
	if (late && !comes_in_time(m, late))
		return move_stays(m, WORKER_STAY_DRAIN, 0);
	late = answer;
	to = link_begin(link, sizeof(*to), answer);
	if (!to)
		return false;
	*to = (struct call_request){ .size = sizeof(*to),
				     .call = CUDA_CALL_cuCtxSynchronize,
				     .flags = CALL_WAITS,
				     .ticket = answer->ticket,
				     .thread = thread_get()->number,
				     .context = id };
	link_send(link, sizeof(*to));
	if (!comes_in_time(m, answer))
		return move_stays(m, WORKER_STAY_DRAIN, 0);
	link_wait(link, answer);
	good = !answer->head.result && !answer->head.deferred;
	if (answer->head.deferred)
		atomic_store_explicit(&m->session->owed, answer->head.deferred, memory_order_relaxed);
	link_done(answer);
	free(answer);
	late = NULL;
	return good || move_stays(m, WORKER_STAY_FAULT, 0);
}

static bool all_rest(struct move *m)
{
	for (unsigned int i = 0; i < m->context_count; i++)
		if (!rest(m, m->context[i]))
			return false;
	return true;
}

static bool is_asked(const struct move *m)
{
	const struct wall_area *area = (const void *)m->session->link.wall.control;
	uint32_t wish = __atomic_load_n(&area->wish, __ATOMIC_ACQUIRE);

	return WALL_WISH_DRAIN(wish) && WALL_WISH_SERIAL(wish) == m->serial;
}

/* Everything is at rest and here. False: it stays as it was. */
static bool come_to_rest(struct move *m)
{
	if (!gate_wait(m->until_ns))
		return move_stays(m, WORKER_STAY_DRAIN, 0);
	if (session_count != 1)
		return move_stays(m, WORKER_STAY_DEVICES, session_count);
	if (captures_any())
		return move_stays(m, WORKER_STAY_CAPTURE, 0);
	if (atomic_load_explicit(&m->session->faulted, memory_order_relaxed) ||
	    atomic_load_explicit(&m->session->owed, memory_order_relaxed))
		return move_stays(m, WORKER_STAY_FAULT, 0);
	parked_let_go();
	return move_objects_look(m) && move_memory_look(m) && move_memory_fits(m) && all_rest(m) &&
	       move_images_out(m) && move_memory_out(m) && move_arrays_out(m) && is_asked(m);
}

static bool leave(struct move *m)
{
	if (!come_to_rest(m) || !move_say(m, WORKER_LEFT, true))
		return false;
	return !link_leave(&m->session->link) || move_stays(m, WORKER_STAY_CLOSED, 0);
}

/* ---- returning ---- */

/*
 * All that has been copied in is there. The copies stand in the contexts' legacy streams, for which neither another
 * context's work waits, nor that of streams that were made not to, as unified.c's are.
 */
static CUresult settle(struct move *m)
{
	CUresult r = CUDA_SUCCESS;

	for (unsigned int i = 0; r == CUDA_SUCCESS && i < m->context_count; i++) {
		struct link_answer answer;

		r = move_request(m, CUDA_CALL_cuCtxSynchronize, m->context[i], NULL, 0, &answer);
		link_done(&answer);
	}
	return r;
}

/* Copies wait for no answer of their own: one that has failed is heard of by a later answer, the last of which is
 * settle()'s. */
static CUresult make_again(struct move *m)
{
	CUresult r, sent;

	m->done = 0;
	m->wrong = CUDA_SUCCESS;
	if (!move_say(m, WORKER_RETURNING, true))
		return CLIENT_LOST;
	r = move_contexts_again(m);
	if (r == CUDA_SUCCESS)
		r = move_memory_in(m);
	if (r == CUDA_SUCCESS)
		r = move_objects_again(m);
	sent = move_caught_up(m); /* of a worker that failed no answer is waited for when it is left */
	if (r == CUDA_SUCCESS)
		r = sent;
	if (r == CUDA_SUCCESS)
		r = settle(m);
	return r == CUDA_SUCCESS ? m->wrong : r;
}

/* One worker takes it up. */
static CUresult take_up(struct move *m)
{
	CUresult r;

	m->taken_up = true;
	r = make_again(m);
	m->taken_up = false;
	if (r == CUDA_SUCCESS && !move_say(m, WORKER_SETTLED, true))
		r = CLIENT_LOST;
	if (r == CUDA_SUCCESS)
		textures_settle(m->session);
	return r;
}

static void come_back(struct move *m)
{
	struct session *s = m->session;
	unsigned int failed = 0, sent_away = 0;
	char why[320];

	while (failed < TRIES) {
		CUresult e;
		int r;

		store_tell();
		r = link_return(&s->link, s->path, CUDA_REMOTE_FINGERPRINT, m->total + m->aside, CONNECT_MS);
		if (r == WALL_REFUSED || r == WALL_WRONG_VERSION || r == WALL_BAD) {
			link_give_up(&s->link, s->link.wall.refused);
			return;
		}
		if (r) {
			/* meted is away, or has no worker to give; or it is another device's workers now, at once. */
			nap(r == WALL_AWAY && sent_away++ < QUICK_TRIES ? QUICK_NS : PAUSE_NS);
			continue;
		}
		arena_left(&s->arena);
		e = take_up(m);
		if (e == CUDA_ERROR_OPERATING_SYSTEM) {
			/* Of the disk. The program waits: there is nothing right that it could be told. */
			link_leave(&s->link);
			for (unsigned int i = 0; i < DISK_NAPS; i++)
				nap(DISK_NAP_NS);
			continue;
		}
		if (e == CUDA_SUCCESS) {
			link_return(&s->link, NULL, 0, 0, 0);
			return;
		}
		failed++;
		link_leave(&s->link);
		snprintf(why, sizeof(why), "no worker could take its session up again (CUDA error %d)", (int)e);
		nap(PAUSE_NS);
	}
	link_give_up(&s->link, why);
}

/* ---- to another server ---- */

const char *move_server(const struct move *m)
{
	return *m->where == '/' ? "the other server" : m->where;
}

bool move_refused(struct move *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(m->why, sizeof(m->why), fmt, ap);
	va_end(ap);
	return move_stays(m, WORKER_STAY_SERVER, 0);
}

static void say_why(struct move *m)
{
	struct move_why why = { .text = "" };
	struct link_answer answer;

	memcpy(why.text, m->why, sizeof(why.text));
	if (m->stay != WORKER_STAY_SERVER)
		return;
	move_request(m, CALL_MOVE_WHY, 0, &why, sizeof(why), &answer);
	link_done(&answer);
}

/* While the program works on: what it waits for is no longer than it has to be. */
static bool join(struct move *m, struct wall *next)
{
	struct session *s = m->session;
	const char *path = *m->where == '/' ? m->where : s->path;
	int r = WALL_AWAY;

	/* A worker in which the addresses of the session are taken says so; another one's own memory lies elsewhere. */
	for (unsigned int i = 0; r == WALL_AWAY && i < JOIN_TRIES; i++)
		r = link_join(&s->link, next, path, CUDA_REMOTE_FINGERPRINT, JOIN_MS);
	if (!r)
		return true;
	if (r > 0 && *next->refused)
		return move_refused(m, "%s: %s", move_server(m), next->refused);
	return move_refused(m, "%s: %s", move_server(m), r > 0 ? "it takes no session" : "nobody answers there");
}

/* From now on the session is where it has come by this way, and shares its memory or not as is the case there. */
static void keep_way(struct move *m)
{
	struct session *s = m->session;

	s->coherent = s->link.wall.welcome.flags & WALL_COHERENT;
	if (*m->where != '/')
		return;
	memcpy(ways[s->index], m->where, sizeof(ways[s->index]));
	s->path = ways[s->index];
}

/*
 * Pinned memory that lies in both at once, as behind a wall, would be two memories there; kernels may hold its address.
 */
static bool can_be_parted(struct move *m, const struct wall *other)
{
	uint32_t count = 0;

	if (!m->session->coherent || other->welcome.flags & WALL_COHERENT)
		return true;
	for (size_t i = 0; i < m->ranges; i++)
		count += m->range[i].kind == RANGE_HOST ||
			 (m->range[i].kind == RANGE_REGISTERED && m->range[i].other != m->range[i].begin);
	return !count || move_stays(m, WORKER_STAY_SHARED, count);
}

/* Whether the next worker has lost its meted, without which it is given no memory. */
static bool has_lost_meted(struct move *m)
{
	struct link_answer answer;
	uint64_t reached = 1;
	CUresult r = move_request(m, CALL_MOVE_METED, 0, NULL, 0, &answer);

	if (r == CUDA_SUCCESS && answer.bytes >= sizeof(reached))
		memcpy(&reached, answer.body, sizeof(reached));
	link_done(&answer);
	return !reached;
}

/* The next worker has everything, or the one before goes on. */
static CUresult change(struct move *m, struct wall *other)
{
	struct session *s = m->session;
	uint64_t serial = 0;
	CUresult r;

	if (!move_say(m, WORKER_LEFT, true))
		return CLIENT_LOST;
	link_turn(&s->link, other, &serial, true);
	arena_left(&s->arena);
	r = move_is_alike(m) ? take_up(m) : CUDA_ERROR_NOT_SUPPORTED;
	if (r == CUDA_SUCCESS) {
		link_return(&s->link, NULL, 0, 0, 0);
		keep_way(m);
		return r;
	}
	if (r == CUDA_ERROR_OUT_OF_MEMORY && has_lost_meted(m))
		move_refused(m,
			     "%s: its meted was lost on the way, and nobody else gives memory there: move once more "
			     "when `mete ps` answers there",
			     move_server(m));
	link_turn(&s->link, other, &serial, false);
	arena_left(&s->arena);
	/* What went wrong there is nothing that its program has done; here nothing had (come_to_rest()). */
	atomic_store_explicit(&s->faulted, 0, memory_order_relaxed);
	return r;
}

/*
 * What the driver of one worker has put where the program's memory lies, that of another one has not: it is tried
 * anew, while calls wait. *ret_parted: there is no other worker any more.
 */
static bool change_all(struct move *m, struct wall *other, bool *ret_parted)
{
	CUresult r = change(m, other);

	for (unsigned int i = 0; r == CUDA_ERROR_INVALID_ADDRESS_SPACE && !m->stay && i < JOIN_TRIES; i++) {
		wall_part(other);
		*ret_parted = !join(m, other);
		if (*ret_parted)
			return false;
		r = change(m, other);
	}
	if (r == CUDA_SUCCESS || m->stay == WORKER_STAY_SERVER)
		return r == CUDA_SUCCESS;
	if (r == CLIENT_LOST)
		return move_refused(m, "%s: it was lost on the way", move_server(m));
	return move_refused(m, "%s: its worker could not take the session up (CUDA error %d)", move_server(m), (int)r);
}

static bool go_far(struct move *m)
{
	struct wall other;
	bool gone, parted = false;

	if (session_count != 1)
		return move_stays(m, WORKER_STAY_DEVICES, session_count);
	if (!join(m, &other))
		return false;
	gate_close();
	m->until_ns += now_ns() - m->began_ns; /* work may take as long as it was said */
	gone = come_to_rest(m) && can_be_parted(m, &other) && change_all(m, &other, &parted);
	/* The other one of the two, whichever it is. */
	if (!parted)
		wall_part(&other);
	return gone;
}

/* ---- both ---- */

static bool go_near(struct move *m)
{
	gate_close();
	if (!leave(m))
		return false;
	come_back(m);
	return true;
}

static void go(struct session *s, uint32_t wish)
{
	struct move m = { .session = s,
			  .serial = WALL_WISH_SERIAL(wish),
			  .began_ns = now_ns(),
			  .until_ns = now_ns() + UINT64_C(1000000000) * WALL_WISH_DRAIN(wish) };
	const struct wall_area *area = (const void *)s->link.wall.control;

	memcpy(m.where, area->where, sizeof(m.where) - 1);
	move_say(&m, WORKER_LEAVING, true);
	if (!(*m.where ? go_far(&m) : go_near(&m)) && !link_lost(&s->link)) {
		say_why(&m);
		move_say(&m, is_asked(&m) ? WORKER_STAYS : WORKER_SETTLED, true);
	}
	move_enter(0);
	gate_open();
	move_ahead_free(&m);
	move_objects_free(&m);
	move_memory_free(&m);
}

/* ---- what would keep it ---- */

/* For people to read, before anybody asks it to move. */
static void tell_pins(struct session *s, uint32_t serial)
{
	uint32_t *told = &threads[s->index].told, pins;
	struct move m = { .session = s, .serial = serial };

	if (!move_objects_pinned(&m))
		move_memory_look(&m);
	pins = m.stay >= WORKER_STAY_ARRAY ? (m.count < UINT16_MAX ? m.count : UINT16_MAX) << 16 | m.stay : 0;
	if (pins != *told) {
		if (!pins)
			m.stay = WORKER_STAY_NOTHING;
		m.done = m.total = 0;
		move_say(&m, WORKER_SETTLED, true);
		*told = pins;
	}
	move_objects_free(&m);
	move_memory_free(&m);
}

/* ---- the thread ---- */

static void *wait_for_wishes(void *arg)
{
	struct session *s = arg;
	uint32_t seen = 0, *ended = &threads[s->index].ended;

	pthread_detach(pthread_self());
	gate_exempt();
	while (!__atomic_load_n(&threads[s->index].ends, __ATOMIC_ACQUIRE) && !link_lost(&s->link)) {
		struct wall_area *area = (void *)s->link.wall.control;
		/* Acquire: pairs with the worker's store (worker/move.c). */
		uint32_t wish = __atomic_load_n(&area->wish, __ATOMIC_ACQUIRE);

		if (s->index >= __atomic_load_n(&session_count, __ATOMIC_ACQUIRE)) {
			nap(OPEN_NAP_NS);
			continue;
		}
		if (wish == seen) {
			const struct timespec look = { .tv_sec = LOOK_S };
			long r = syscall(SYS_futex, &area->wish, FUTEX_WAIT, seen, &look, NULL, 0);

			if (r < 0 && errno == ETIMEDOUT)
				tell_pins(s, WALL_WISH_SERIAL(seen));
			continue;
		}
		seen = wish;
		if (WALL_WISH_DRAIN(wish))
			go(s, wish);
		/* Another worker knows nothing of it. */
		if (s->link.wall.control != (void *)area)
			seen = threads[s->index].told = 0;
	}
	__atomic_store_n(ended, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, ended, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	return NULL;
}

void move_start(struct session *s)
{
	uint64_t all = ~UINT64_C(0), old = 0;
	int saved = errno;
	pthread_t thread;

	if (!(s->link.wall.welcome.flags & WALL_MOVES))
		return;
	memset(&threads[s->index], 0, sizeof(threads[s->index]));
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &old, SIGSET_BYTES);
	threads[s->index].runs = !pthread_create(&thread, NULL, wait_for_wishes, s);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, SIGSET_BYTES);
	errno = saved;
}

void move_stop(struct session *s)
{
	struct wall_area *area = (void *)s->link.wall.control;
	uint32_t *ended = &threads[s->index].ended;

	if (!threads[s->index].runs)
		return;
	__atomic_store_n(&threads[s->index].ends, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(ended, __ATOMIC_ACQUIRE)) {
		syscall(SYS_futex, &area->wish, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
		syscall(SYS_futex, ended, FUTEX_WAIT_PRIVATE, 0, &(struct timespec){ .tv_nsec = 1000000 }, NULL, 0);
	}
	threads[s->index].runs = false;
}

void move_forget(void)
{
	memset(threads, 0, sizeof(threads));
	late = NULL;
	store_forget();
}
