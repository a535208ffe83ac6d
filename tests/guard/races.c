/* races.c: parameters that another thread changes meanwhile, objects freed twice, many tenants and files at once. */
#include "ground.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct race {
	_Atomic bool stop;
	_Atomic uint64_t tries, wins; /* shared between processes */
	struct memory_parameters m;
	struct alloc a;
};

static struct race *race;
static int race_kind;
static uint64_t race_tries;

static void flip(void)
{
	static struct memory_parameters other = { .size = MIB(4096) };

	switch (race_kind) {
	case 0: /* the size */
		*(volatile uint64_t *)&race->m.size = MIB(4096);
		*(volatile uint64_t *)&race->m.size = MIB(1);
		break;
	case 1: /* the class */
		*(volatile uint32_t *)&race->a.class = 0x40;
		*(volatile uint32_t *)&race->a.class = 0x3e;
		break;
	default: /* the pointer */
		*(volatile uint64_t *)&race->a.parameters = (uintptr_t)&other;
		*(volatile uint64_t *)&race->a.parameters = (uintptr_t)&race->m;
		break;
	}
}

static void *flipper(void *unused)
{
	while (!race->stop)
		flip();
	return unused;
}

/* Tries until it is killed, or enough have been made. 0: never more than the quota, to its own knowledge. */
static int body_race(void)
{
	struct session s;
	pthread_t t;

	if (session_open(&s) || pthread_create(&t, NULL, flipper, NULL))
		return 2;
	while (race->tries < race_tries) {
		race->a = (struct alloc){ .client = s.client,
					  .parent = 2,
					  .class = race_kind == 1 ? 0x3e : 0x40,
					  .parameters = (uintptr_t)&race->m };
		race->m.size = race_kind == 1 ? MIB(4096) : MIB(1);
		race->tries++;
		if (ioctl(s.fd, REQUEST(0x2b, sizeof race->a), &race->a) || race->a.status || !race->a.object)
			continue;
		/* Here the program runs with what it got. */
		if (truth().used > MIB(512))
			race->wins++;
		rm_free(s.fd, s.client, race->a.object);
	}
	race->stop = true;
	pthread_join(t, NULL);
	return 0;
}

static void race_all(int kind, const char *what, uint64_t tries, uint64_t limit_ns)
{
	uint64_t until = now_ns() + limit_ns, killed = 0, left = 0;
	int r = -1;

	race = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	race_kind = kind;
	race_tries = tries;
	while (race->tries < tries && now_ns() < until) {
		race->stop = false;
		r = as("c", body_race);
		killed += r == -SIGKILL;
		if (r != -SIGKILL && r)
			break;
		left += truth().used != 0;
	}
	ok(race->tries >= tries && !race->wins && !left && (r == 0 || r == -SIGKILL),
	   "%s: %llu tries, %llu times ended for it, 0 bytes over for the program (%llu), 0 left (%llu)", what,
	   (unsigned long long)race->tries, (unsigned long long)killed, (unsigned long long)race->wins,
	   (unsigned long long)left);
	munmap(race, 4096);
	clean(what);
}

void case_race(void)
{
	/* A supervisor judges its own copy: there is nothing to win, and a call takes many times as long. */
	race_all(0, "a thread races the size", front_notify ? 5000 : 100000, 400000000000u);
}

void case_race_class(void)
{
	race_all(1, "a thread races the class", 10000, 400000000000u);
}

void case_race_pointer(void)
{
	race_all(2, "a thread races the pointer", 10000, 400000000000u);
}

static _Atomic unsigned int left_over;
static struct session crowd_session;

/*
 * Takes and frees as fast as it can. More than the quota, by a call that the guard ended the process for, lasts until
 * it is dead: who lives on with it has won.
 */
static void *crowd_one(void *unused)
{
	for (int i = 0; i < 3000 && !left_over; i++) {
		uint32_t o = 0;

		if (rm_memory(crowd_session.fd, crowd_session.client, &o, MIB(64)))
			continue;
		for (int k = 0; truth().used > MIB(512); k++) {
			if (k == 100)
				left_over++;
			if (k == 100)
				break;
			usleep(5000);
		}
		rm_free(crowd_session.fd, crowd_session.client, o);
	}
	return unused;
}

static int body_crowd(void)
{
	pthread_t t[24];

	if (session_open(&crowd_session))
		return 2;
	for (int i = 0; i < 24; i++)
		if (pthread_create(&t[i], NULL, crowd_one, NULL))
			return 3;
	for (int i = 0; i < 24; i++)
		pthread_join(t[i], NULL);
	return left_over ? 4 : 0;
}

/* More tasks on a processor than it can run: where the kernel preempts itself, the guard's programs are left out. */
void case_crowd(void)
{
	int r = as("c", body_crowd);

	ok(!r || r == -SIGKILL, "24 threads that preempt each other in the guard: never over the quota%s (%d)",
	   r == -SIGKILL ? ", or ended for it" : "", r);
	for (int i = 0; i < 200 && truth().used; i++)
		usleep(10000);
	ok(!truth().used, "... and nothing is left");
}

/* A sibling writes into the process while it calls. */
static int body_sibling(void)
{
	struct memory_parameters *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t me = getpid(), writer;
	struct session s;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (session_open(&s))
		return 2;
	writer = fork();
	if (!writer) {
		uint64_t sizes[2] = { MIB(4096), MIB(1) };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0;; i++) {
			struct iovec from = { &sizes[i & 1], 8 }, to = { &m->size, 8 };

			process_vm_writev(me, &from, 1, &to, 1, 0);
		}
	}
	for (int i = 0; i < 3000; i++) {
		uint32_t o = 0;

		m->size = MIB(1);
		if (!rm_alloc(s.fd, s.client, 2, &o, 0x40, m)) {
			if (truth().used > MIB(512))
				return 3;
			rm_free(s.fd, s.client, o);
		}
	}
	kill(writer, SIGKILL);
	return 0;
}

/* A sibling stops it with ptrace at the entry of the call, and changes the size when the guard may have read it. */
void case_sibling(void)
{
	int r = 0, killed = 0;

	for (int i = 0; i < 5 && (!r || r == -SIGKILL); i++) {
		r = as("c", body_sibling);
		killed += r == -SIGKILL;
	}
	ok(!r || r == -SIGKILL, "a sibling that writes into the process (%d of 5 ended for it)", killed);
	for (int i = 0; i < 200 && truth().used; i++)
		usleep(10000);
	clean("sibling");
}

static uint32_t shared_object;
static struct session shared_session;

static void *free_twice(void *unused)
{
	for (int i = 0; i < 3000; i++) {
		rm_free(shared_session.fd, shared_session.client, shared_object);
		sched_yield();
	}
	return unused;
}

/* Threads free and make the same name: never more free than is free. */
static int body_names(void)
{
	pthread_t t[2];

	if (session_open(&shared_session))
		return 2;
	shared_object = 0x7777;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, free_twice, NULL);
	for (int i = 0; i < 6000; i++) {
		uint32_t o = shared_object, d = 0;

		rm_memory(shared_session.fd, shared_session.client, &o, MIB(64));
		if (i % 3 == 0 &&
		    !rm_dup(shared_session.fd, shared_session.client, &d, shared_session.client, shared_object))
			rm_free(shared_session.fd, shared_session.client, d);
		if (truth().used > MIB(512))
			return 3;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	grab(&shared_session, MIB(64), MIB(65536));
	return truth().used > MIB(512) ? 4 : 0;
}

void case_names(void)
{
	int r = as("d", body_names);

	ok(!r, "threads free and take the same name at once: never over the quota (%d)", r);
	ok(!truth().used, "... and nothing is left");
}

static void *many_take(void *unused)
{
	uint32_t o = 0;
	uint64_t slice;

	rm_memory(shared_session.fd, shared_session.client, &o, MIB(4));
	/* What the call before left is looked at by the next. */
	rm_control(shared_session.fd, shared_session.client, 2, 0xa06c0104, &slice, 8);
	return unused;
}

/* More threads inside the driver at once than the kernel watches for their return. */
static int body_many(void)
{
	pthread_t t[64];

	if (session_open(&shared_session))
		return 2;
	for (int i = 0; i < 64; i++)
		if (pthread_create(&t[i], NULL, many_take, NULL))
			return 3;
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
	if (truth().used != MIB(256))
		return 4;
	/* The threads are gone, and what they took is not. */
	return expect(grab(&shared_session, MIB(4), MIB(65536)), 256);
}

static int body_many_files(void)
{
	struct session s;

	if (session_open(&s))
		return 2;
	grab(&s, MIB(1), MIB(4));
	pause();
	return 0;
}

void case_many(void)
{
	pid_t pids[120];
	int r, most = front_notify ? 24 : 120; /* a supervisor each */

	truth_reset(true);
	r = as("c", body_many);
	truth_reset(false);
	ok(!r, "64 threads in the driver at once: the quota is exact (%d)", r);
	clean("many threads");
	for (int i = 0; i < most; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			enter("a");
			_exit(body_many_files());
		}
	}
	usleep(500000);
	for (int i = 0; i < most; i++)
		kill(pids[i], SIGKILL);
	for (int i = 0; i < most; i++)
		waitpid(pids[i], NULL, 0);
	clean("many processes killed at once");
}
