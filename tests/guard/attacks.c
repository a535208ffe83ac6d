/* attacks.c: ways that were looked for with the guard's source at hand. */
#include "ground.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A client that names an object of its own, to come, as what it is below: then all would be below that object. */
static int body_client_parent(void)
{
	uint32_t below = 0x77;
	struct session s = { .fd = node(CONTROL) };
	uint32_t device = 2;
	int r = rm_alloc(s.fd, 0, below, &s.client, 0x41, NULL);

	if (r)
		return r == -EPERM ? 0 : 2; /* refused is well too */
	if (rm_alloc(s.fd, s.client, s.client, &device, 0x80, NULL) ||
	    rm_alloc(s.fd, s.client, s.client, &below, 0x2080, NULL) || grab(&s, MIB(8), MIB(4096)) != MIB(512))
		return 3;
	if (rm_free(s.fd, s.client, below))
		return 4;
	return grab(&s, MIB(8), MIB(512)) || truth().used != MIB(512) ? 5 : 0;
}

/* What is below an object that is below the one that is freed comes back as well, in whatever order it is looked at. */
static int body_depths(void)
{
	struct session s;

	for (int i = 0; i < 3; i++) {
		uint32_t device = 2, subdevice = 3, o;
		int n = 0;

		if (session_open(&s))
			return 2;
		for (struct memory_parameters m = { .size = MIB(8) };
		     o = 0, !rm_alloc(s.fd, s.client, subdevice, &o, 0x40, &m); n++)
			;
		if (n != 64)
			return 3;
		if (rm_free(s.fd, s.client, device) || truth().used)
			return 4;
		if (rm_alloc(s.fd, s.client, s.client, &device, 0x80, NULL) || grab(&s, MIB(8), MIB(4096)) != MIB(512))
			return 5;
		close(s.fd);
	}
	return 0;
}

static struct session shared;
static _Atomic bool stop;

static void *free_device(void *unused)
{
	while (!stop)
		rm_free(shared.fd, shared.client, 2);
	return unused;
}

/*
 * A device is freed, and made again with memory below while what was below the old one is still being given back.
 */
static int body_made_again(void)
{
	pthread_t t;

	if (session_open(&shared) || pthread_create(&t, NULL, free_device, NULL))
		return 2;
	/* A supervisor makes one call after the other. */
	for (int i = 0; i < (front_notify ? 200 : 4000); i++) {
		uint32_t device = 2;

		rm_alloc(shared.fd, shared.client, shared.client, &device, 0x80, NULL);
		for (uint32_t o = 0x100; o < 0x104; o++) {
			uint32_t name = o;

			rm_memory(shared.fd, shared.client, &name, MIB(64));
		}
	}
	stop = true;
	pthread_join(t, NULL);
	rm_alloc(shared.fd, shared.client, shared.client, &(uint32_t){ 2 }, 0x80, NULL);
	grab(&shared, MIB(16), MIB(4096));
	return truth().used > MIB(512) ? 3 : 0;
}

static void *make_groups(void *made)
{
	uint32_t o;

	for (int i = 0; i < 4; i++) {
		o = 0;
		if (!rm_alloc(shared.fd, shared.client, 2, &o, 0xa06c, NULL))
			atomic_fetch_add((_Atomic int *)made, 1);
	}
	return NULL;
}

/* Many threads ask for the last channel group at once. */
static int body_groups(void)
{
	static _Atomic int made;
	pthread_t t[32];

	if (session_open(&shared))
		return 2;
	for (int i = 0; i < 32; i++)
		if (pthread_create(&t[i], NULL, make_groups, &made))
			return 3;
	for (int i = 0; i < 32; i++)
		pthread_join(t[i], NULL);
	return made == 3 ? 0 : 4;
}

/* A child that begins its life in another cgroup. */
static int body_clone_into(void)
{
	struct clone_args a = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	int fd = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY), status;
	pid_t p;

	a.cgroup = (uint64_t)fd;
	p = (pid_t)syscall(SYS_clone3, &a, sizeof a);
	if (p < 0)
		return 2;
	if (!p)
		_exit(body_grab());
	waitpid(p, &status, 0);
	return status ? 3 : 0;
}

static void *grab_alone(void *result)
{
	/* The first thread has ended; the kernel shows it as a zombie until this one has as well. */
	usleep(100000);
	enter("");
	_exit(*(int *)result = body_grab());
}

/* The first thread ends, and another goes on. */
static int body_leader_ends(void)
{
	static int result;
	pthread_t t;

	if (pthread_create(&t, NULL, grab_alone, &result))
		return 2;
	pthread_exit(NULL);
}

/* Classes of the published list that are memory, but not of the usual class. */
static int body_classes(void)
{
	static const uint32_t refused[] = { 0x3f, 0x81, 0x82, 0x83, 0xc2, 0xe0, 0xf3, 0xf8, 0xf9, 0xfb };
	struct memory_parameters m = { .size = MIB(1024) };
	struct session s;
	uint32_t o;

	if (session_open(&s))
		return 2;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		o = 0;
		if (rm_alloc(s.fd, s.client, 2, &o, refused[i], &m) != -EPERM)
			return (int)(10 + i);
	}
	/* Extended memory is charged like any. */
	o = 0;
	return rm_alloc(s.fd, s.client, 2, &o, 0x42, &m) == NO_MEMORY ? 0 : 3;
}

/*
 * The manager refuses a call on the wrong kind of node by its value alone: the status stays as the program has put it,
 * which says that it was done.
 */
static int body_wrong_node(void)
{
	struct memory_parameters small = { .size = MIB(1) };
	uint32_t o = 0x500, heap[46] = { 0, 2, 3 };
	int device = node(0);
	struct session s;
	struct alloc again = { .parent = 2, .object = o, .class = 0x40, .parameters = (uintptr_t)&small };

	if (session_open(&s) || device < 0 || ioctl(device, REQUEST(201, 4), &s.fd) ||
	    rm_memory(s.fd, s.client, &o, MIB(448)))
		return 2;
	again.client = heap[0] = s.client;
	heap[11] = o;
	if (rm_free(device, s.client, o) != -EINVAL || rm_free(device, s.client, s.client) != -EINVAL ||
	    ioctl(device, REQUEST(0x4a, sizeof heap), heap) != -1)
		return 3;
	if (grab(&s, MIB(32), MIB(4096)) != MIB(64) || truth().used != MIB(512))
		return 4;
	/* Memory of the same name must not take the place of what is there. */
	if (rm_free(s.fd, s.client, o) || rm_memory(s.fd, s.client, &o, MIB(256)) ||
	    ioctl(device, REQUEST(0x2b, sizeof again), &again) != -1)
		return 5;
	return grab(&s, MIB(64), MIB(4096)) != MIB(192) || truth().used != MIB(512) ? 6 : 0;
}

#define CALLERS 64

static void *take_one(void *name)
{
	uint32_t o = (uint32_t)(uintptr_t)name;

	return rm_memory(shared.fd, shared.client, &o, MIB(4)) ? NULL : (void *)(uintptr_t)o;
}

/*
 * More calls at once than the kernel tells the end of: names that the driver made up, and one that something has. What
 * they got has second names when its file goes.
 */
static int body_untold(void)
{
	uint32_t kept = 0x500, second;
	struct session other;
	pthread_t t[CALLERS];
	void *made[CALLERS];

	if (session_open(&shared) || session_open(&other) || rm_memory(shared.fd, shared.client, &kept, MIB(256)))
		return 2;
	for (uintptr_t i = 0; i < CALLERS; i++)
		if (pthread_create(&t[i], NULL, take_one, (void *)(i & 1 ? (uintptr_t)kept : 0)))
			return 3;
	for (int i = 0; i < CALLERS; i++)
		pthread_join(t[i], &made[i]);
	if (truth().used != MIB(256) + CALLERS / 2 * MIB(4))
		return 4;
	for (int i = 0; i < CALLERS; i++)
		if (made[i]) {
			second = 0;
			rm_dup(other.fd, other.client, &second, shared.client, (uint32_t)(uintptr_t)made[i]);
		}
	second = 0;
	rm_dup(other.fd, other.client, &second, shared.client, kept);
	close(shared.fd);
	grab(&other, MIB(16), MIB(4096));
	return truth().peak > MIB(512) ? 5 : 0;
}

static int victim[2], goes_on[2];

/* Its objects can have second names, whatever others have called in the name of its client. */
static int body_victim(void)
{
	struct session s, other;
	uint32_t o = 0, second = 0;
	char x;

	if (session_open(&s) || session_open(&other) || rm_alloc(s.fd, s.client, 2, &o, 0x79, NULL) ||
	    write(victim[1], &s.client, sizeof s.client) != sizeof s.client || read(goes_on[0], &x, 1) != 1)
		return 2;
	return rm_dup(other.fd, other.client, &second, s.client, o) ? 3 : 0;
}

static uint32_t victims_client;

static void *name_other(void *unused)
{
	for (int i = 0; i < 20; i++) {
		uint32_t o = 0;

		rm_memory(shared.fd, victims_client, &o, MIB(1));
	}
	return unused;
}

/* Calls whose end nobody tells, with another tenant's client. */
static int body_names_other(void)
{
	pthread_t t[CALLERS];

	if (session_open(&shared) || read(victim[0], &victims_client, sizeof victims_client) != sizeof victims_client)
		return 2;
	for (int i = 0; i < CALLERS; i++)
		if (pthread_create(&t[i], NULL, i & 1 ? name_other : take_one, NULL))
			return 3;
	for (int i = 0; i < CALLERS; i++)
		pthread_join(t[i], NULL);
	return 0;
}

static void neighbour(bool killed)
{
	int status, r;
	pid_t p;

	if (pipe(victim) || pipe(goes_on))
		exit(1);
	p = fork();
	if (!p) {
		enter("c");
		_exit(body_victim());
	}
	r = as("d", body_names_other);
	if (write(goes_on[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	ok((!r || (killed && r == -SIGKILL)) && !status,
	   "calls in the name of another tenant's client do nothing to that (%d, %x)", r, status);
}

/* A child of nobody's begins its life in a tenant's cgroup, and leaves it. */
static void born_inside(void)
{
	struct clone_args a = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	int status;
	pid_t p;

	a.cgroup = (uint64_t)open("/sys/fs/cgroup/c", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	p = (pid_t)syscall(SYS_clone3, &a, sizeof a);
	if (!p) {
		enter("");
		_exit(body_grab());
	}
	waitpid(p, &status, 0);
	close((int)a.cgroup);
	ok(p > 0 && !status, "a child of nobody's that is born in a tenant's cgroup, and leaves it (%x)", status);
}

static int go[2];

static void *exec_elsewhere(void *unused)
{
	char x;

	if (read(go[0], &x, 1) != 1)
		return unused;
	enter("");
	execl("/cases", "cases", "--grab", "256", NULL);
	return unused;
}

/* A thread that was there before the cgroup was a tenant's becomes the whole process in another cgroup. */
static int body_exec_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, exec_elsewhere, NULL) || write(hold_fds[1], "x", 1) != 1)
		return 2;
	pthread_join(t, NULL);
	return 3;
}

static void exec_thread(void)
{
	const char *path = "/sys/fs/cgroup/early4";
	int status;
	pid_t p;
	char x;

	if (pipe(hold_fds) || pipe(go))
		exit(1);
	mkdir(path, 0755);
	p = fork();
	if (!p) {
		enter("early4");
		_exit(body_exec_thread());
	}
	if (read(hold_fds[0], &x, 1) != 1)
		exit(1);
	run((const char *[]){ "/mete-guard", "set", path, "--memory", "256M", NULL });
	if (write(go[1], "x", 1) != 1)
		exit(1);
	waitpid(p, &status, 0);
	ok(!status, "a thread that was there before its cgroup was a tenant's leaves it and becomes the process (%x)",
	   status);
	run((const char *[]){ "/mete-guard", "drop", path, NULL });
}

/* A process whose first thread had ended is gone a moment later. */
static void gone(void)
{
	for (int i = 0; i < 200 && truth().used; i++)
		usleep(10000);
}

static void one(int (*body)(void), const char *what)
{
	int r = as("c", body);

	ok(!r, "%s (%d)", what, r);
	gone();
}

/*
 * Behind a call that takes its time wait: a free of memory, a call that gives its name to more memory, and one that
 * makes a second name. The second name is of the later memory, whatever the first look at it was of.
 */
static struct session swapped, second; /* whose is the second name */
static int swaps[4];

static void *swap_step(void *which)
{
	intptr_t i = (intptr_t)which;
	uint32_t o = i == 0 ? 0x501 : i == 3 ? 0x502 : 0x500;

	usleep((unsigned int)i * 500);
	if (i == 1)
		swaps[i] = rm_free(swapped.fd, swapped.client, o);
	else if (i == 3)
		swaps[i] = rm_dup(second.fd, second.client, &o, swapped.client, 0x500);
	else
		swaps[i] = rm_memory(swapped.fd, swapped.client, &o, i ? MIB(400) : MIB(1));
	return NULL;
}

static int swap(bool away)
{
	pthread_t t[4];
	uint32_t o;

	if (session_open(&swapped))
		return 2;
	second = swapped;
	if (away && session_open(&second))
		return 2;
	for (int n = 0; n < 100; n++) {
		o = 0x500;
		if (rm_memory(swapped.fd, swapped.client, &o, MIB(1)))
			return 3;
		for (intptr_t i = 0; i < 4; i++)
			if (pthread_create(&t[i], NULL, swap_step, (void *)i))
				return 4;
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
		rm_free(swapped.fd, swapped.client, 0x500);
		if (!swaps[3] && truth().used > MIB(400)) {
			if (away)
				close(swapped.fd);
			grab(&second, MIB(8), MIB(4096));
			return truth().used > MIB(512) ? 9 : 0;
		}
		rm_free(second.fd, second.client, 0x502);
		rm_free(swapped.fd, swapped.client, 0x501);
	}
	return 8;
}

static int body_swap(void)
{
	return swap(false);
}

/* The second name is of another client, on another file, and the first file is closed. */
static int body_swap_away(void)
{
	return swap(true);
}

/*
 * The same with a group: behind a call that takes its time wait its free, a call that gives its name to a device, and
 * one that makes a channel below that name. The driver makes a group for the channel.
 */
#define GROUP 0x600u
#define CHANNEL 0x601u

static void *group_step(void *which)
{
	intptr_t i = (intptr_t)which;
	uint32_t o = i == 0 ? 0x501 : i == 3 ? CHANNEL : GROUP;

	usleep((unsigned int)i * 500);
	if (i == 0)
		swaps[i] = rm_memory(swapped.fd, swapped.client, &o, MIB(1));
	else if (i == 1)
		swaps[i] = rm_free(swapped.fd, swapped.client, GROUP);
	else
		swaps[i] = rm_alloc(swapped.fd, swapped.client, i == 2 ? swapped.client : GROUP, &o,
				    i == 2 ? 0x80 : 0xc56f, NULL);
	return NULL;
}

/* Three groups are the tenant's, of which the channel has one. 0: so it is. */
static int groups_left(void)
{
	uint32_t o;
	int left = 0;

	for (; left < 8 && (o = 0, !rm_alloc(swapped.fd, swapped.client, 2, &o, 0xa06c, NULL)); left++)
		;
	return left == 2 ? 0 : 20 + left;
}

/* Which call the driver takes first is its own: each time, whichever it was, the channel must be counted. */
static int body_swap_group(void)
{
	pthread_t t[4];
	uint32_t o;
	int made = 0, r;

	for (int n = 0; n < 40; n++) {
		o = GROUP;
		if (session_open(&swapped) || rm_alloc(swapped.fd, swapped.client, 2, &o, 0xa06c, NULL))
			return 3;
		for (intptr_t i = 0; i < 4; i++)
			if (pthread_create(&t[i], NULL, group_step, (void *)i))
				return 4;
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
		/* Something has the channel's name: it was not made below the group, and did not go with it. */
		o = CHANNEL;
		if (!swaps[1] && !swaps[2] && !swaps[3] && rm_alloc(swapped.fd, swapped.client, 2, &o, 0x3e, NULL)) {
			made++;
			r = groups_left();
			if (r)
				return r;
		}
		close(swapped.fd);
	}
	return made ? 0 : 8;
}

/* Under load the order may not come about (8). */
void case_swaps(void)
{
	/* Where the programs are traced, a call that was not shown to them ends its process. */
	bool killed = traced();
	int r;

	truth_reset(true);
	r = as("c", body_swap);
	ok(!r || (killed && r == -SIGKILL),
	   "a second name of memory that got its name while the call waited stays charged (%d)", r);
	gone();
	r = as("c", body_swap_away);
	ok(!r || (killed && r == -SIGKILL), "... also when it is another file's, and the first is closed (%d)", r);
	gone();
	r = as("c", body_swap_group);
	ok(!r || (killed && r == -SIGKILL),
	   "a channel below a device that got its group's name while the call waited counts (%d)", r);
	truth_reset(false);
	clean("swaps");
}

void case_attacks(void)
{
	bool killed = traced(), late = !kernel_from(6, 9);
	int r;

	one(body_client_parent, "a client that says what it is below gives nothing back with that");
	one(body_made_again, "a device that is made again while the old one is given back");
	one(body_depths, "memory two objects below the one that is freed");
	truth_reset(true);
	/* Where the programs are traced, a call that was not shown to them ends its process. */
	r = as("c", body_groups);
	ok(!r || (killed && r == -SIGKILL), "32 threads ask for the last channel group at once (%d)", r);
	gone();
	truth_reset(true);
	r = as("c", body_untold);
	ok(!r || (killed && r == -SIGKILL), "calls whose end nobody tells: never over the quota (%d)", r);
	gone();
	neighbour(killed);
	truth_reset(false);
	gone();
	one(body_wrong_node, "calls on the wrong kind of node, which say that they were done");
	/* Before Linux 6.9 a supervisor reaches no descriptor of a process whose first thread has ended. */
	r = as("c", body_leader_ends);
	ok(front_notify && late ? r == 2 : !r, "the first thread ends and another goes on, in another cgroup (%d)", r);
	gone();
	one(body_classes, "classes of memory that are not the usual one");
	if (!front_notify) {
		one(body_clone_into, "a child that is born in another cgroup");
		born_inside();
		exec_thread();
	}
	clean("attacks");
}
