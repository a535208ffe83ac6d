/* cases.c: tier T3's library between a program that behaves like a driver and a model of the resource manager. */
#include "program.h"

#include <pthread.h>

static bool sliced(unsigned int d, unsigned int e)
{
	return atomic_load(&turn(d, e)->flags) & WIRE_TURN_SLICED;
}

/* A side with a compute group whose slices are proven. */
static struct side begin(struct group *ret, uint32_t channels)
{
	struct side s;

	if (!model_shared()->branch)
		model_plays(535);
	s = side_new(0);
	*ret = group_new(&s, 1, channels);
	ok(page_open());
	ok(within(30000, sliced(0, WIRE_COMPUTE)));
	return s;
}

/* ... with work in flight behind an open gate, in a turn without end. */
static struct side begin_gated(struct group *ret, uint32_t channels)
{
	struct side s = begin(ret, channels);
	struct wire_turn *t = turn(0, WIRE_COMPUTE);

	atomic_store(&t->bound_ns, 4 * MS);
	atomic_store(&t->guarantee_ppm, 300000);
	atomic_store(&t->busy_since_ns, clock_now_ns());
	gate_set(t, WIRE_GATED | WIRE_OPEN);
	ok(within(30000, slice_of(&s, ret) == 3000)); /* so it has looked */
	return s;
}

/* Calls through the library do what calls to the manager do, to the byte and to errno. */
static void untouched(void)
{
	struct model *m = model_shared();
	struct side s;
	struct group g;
	uint32_t before;
	int fd;

	model_plays(550);
	s = side_new(0);
	g = group_new(&s, 1, 2);
	m->refuse[0] = (struct model_refusal){ .command = RM_GROUP_BIND, .status = -ENODEV };
	for (uint32_t command = 0xa06c0100; command < 0xa06c0108; command++)
		for (uint32_t size = 0; size < 12; size += 4) {
			uint8_t p[2][16] = { { 1, 2, 3 }, { 1, 2, 3 } };
			struct rm_control c[2];
			int r[2], e[2];

			/* What changes what the other sees. */
			if (command == RM_GROUP_SCHEDULE || command == RM_GROUP_GET_SLICE ||
			    command == RM_GROUP_SET_SLICE)
				continue;
			for (int i = 0; i < 2; i++) {
				c[i] = (struct rm_control){
					.client = s.client,
					.object = g.handle,
					.command = command,
					.parameters = (uintptr_t)p[i],
					.parameters_size = size,
					.status = 77,
				};
				errno = 99;
				r[i] = i ? model_ioctl(s.fd, RM_REQUEST(RM_ESC_CONTROL, 32), &c[i])
					 : ioctl(s.fd, RM_REQUEST(RM_ESC_CONTROL, 32), &c[i]);
				e[i] = errno;
			}
			tap_ok(r[0] == r[1] && e[0] == e[1] && c[0].status == c[1].status && !memcmp(p[0], p[1], 16),
			       "control %x with %u bytes: as without", command, size);
		}
	errno = 0;
	is(ioctl(s.fd, RM_REQUEST(0x99, 8), NULL), -1);
	is(errno, EINVAL);
	is(ioctl(-1, RM_REQUEST(RM_ESC_CONTROL, 32), NULL), -1);
	is(errno, EBADF);
	is(ioctl(-1, RM_REQUEST(RM_ESC_FREE, 16), (void *)16), -1);
	is(errno, EBADF);
	is(ioctl(-1, RM_REQUEST(RM_ESC_TRANSFER, 16), (void *)16), -1);
	is(errno, EBADF);
	is(ioctl(-1, RM_REQUEST(RM_ESC_ALLOC, 48), (void *)16), -1);
	is(errno, EBADF);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	is(ioctl(fd, 0x5401 /* TCGETS */, &before), -1);
	is(errno, ENOTTY);
	is(ioctl(fd, RM_REQUEST(RM_ESC_ALLOC, 48), &s), -1);
	is(errno, ENOTTY);
	close(fd);
	errno = 1234;
	is(rm_gone(s.fd, s.client, g.channels[0]), RM_OK);
	is(errno, 1234);
	is(rm_gone(s.fd, s.client, g.channels[0]), RM_OBJECT_NOT_FOUND);
	close(s.fd);
}

static void *one_thread(void *arg)
{
	struct side *s = arg;

	for (int i = 0; i < 50; i++) {
		struct group g = group_new(s, 1, 2);

		rm_gone(s->fd, s->client, g.handle);
	}
	return NULL;
}

/* Several clients, groups, engines, devices and threads: the right groups get the right slices. */
static void discovery(void)
{
	struct side a, b, strange;
	struct group ga, gb, copy, video, far;
	pthread_t threads[4];
	struct side sides[4];

	a = begin(&ga, 2);
	b = side_new(1);
	strange = side_new(7); /* not in the grant */
	gb = group_new(&b, 1, 3);
	copy = group_new(&a, 10, 1);
	video = group_new(&a, 0x13, 1);
	far = group_new(&strange, 1, 1);
	ok(within(30000, sliced(1, WIRE_COMPUTE)));
	ok(within(30000, sliced(0, WIRE_COPY)));
	ok(!sliced(1, WIRE_COPY));
	atomic_store(&turn(0, WIRE_COMPUTE)->guarantee_ppm, 250000);
	atomic_store(&turn(1, WIRE_COMPUTE)->guarantee_ppm, 750000);
	for (int d = 0; d < 2; d++)
		gate_set(turn(d, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	ok(within(30000, slice_of(&a, &ga) == 2500));
	ok(within(30000, slice_of(&b, &gb) == 7500));
	is(slice_of(&a, &copy), 1024);
	is(slice_of(&a, &video), 1024);
	is(slice_of(&strange, &far), 1024);
	for (int i = 0; i < 4; i++) {
		sides[i] = side_new(i % 2);
		pthread_create(&threads[i], NULL, one_thread, &sides[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		is(rm_gone(sides[i].fd, sides[i].client, sides[i].client), RM_OK);
		close(sides[i].fd);
	}
	/* All of them came and went, and what is left is as it was. */
	ok(within(30000, slice_of(&a, &ga) == 2500 && slice_of(&b, &gb) == 7500));
	ok(sliced(0, WIRE_COMPUTE) && sliced(1, WIRE_COMPUTE));
	/* Two groups of a process halve the tenant's slice. */
	gb = group_new(&a, 1, 1);
	ok(within(30000, slice_of(&a, &ga) == 1250 && slice_of(&a, &gb) == 1250));
	/* No limit any more: the program's own come back. */
	gate_set(turn(0, WIRE_COMPUTE), WIRE_OPEN);
	ok(within(30000, slice_of(&a, &ga) == 1024 && slice_of(&a, &gb) == 1024));
	close(a.fd);
	close(b.fd);
	close(strange.fd);
}

/* Every known layout of every branch is followed. TEST_BRANCH, TEST_BYTES. */
static void branch(void)
{
	struct group g;
	struct side s;

	alloc_bytes = (uint32_t)atoi(getenv("TEST_BYTES"));
	model_plays((uint32_t)atoi(getenv("TEST_BRANCH")));
	s = begin_gated(&g, 2);
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED);
	ok(within(30000, off_of(&s, &g) == 2));
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_of(&s, &g) == 0));
	close(s.fd);
}

/* A layout that nobody knows is left alone. The model plays a branch that it knows, but says another. */
static void unknown(void)
{
	struct model *m = model_shared();
	struct group g;
	struct side s;

	model_plays(535);
	m->version_branch = (uint32_t)atoi(getenv("TEST_BRANCH"));
	s = side_new(0);
	g = group_new(&s, 1, 1);
	usleep(300000);
	is(slice_of(&s, &g), 1024);
	is(atomic_load(&m->sets), 0);
	is(off_in_all(), 0);
	close(s.fd);
}

/* What refuses ends tier T3, and everything is as the program had it. TEST_REFUSE, TEST_STATUS, TEST_AFTER. */
static void refused(void)
{
	struct model *m = model_shared();
	uint32_t command = (uint32_t)strtoul(getenv("TEST_REFUSE"), NULL, 0);
	struct group g;
	struct side s;

	model_plays(570);
	m->refuse[0] = (struct model_refusal){ .command = command,
					       .status = (int32_t)strtol(getenv("TEST_STATUS"), NULL, 0),
					       .after = (uint32_t)atoi(getenv("TEST_AFTER")) };
	if (command == RM_SUBDEVICE_DISABLE)
		m->refuse[1] = (struct model_refusal){ .command = RM_GROUP_SCHEDULE,
						       .status = RM_NOT_SUPPORTED,
						       .after = 1 }; /* the program's own */
	if (!command)
		atomic_store(&m->lies, 1);
	s = side_new(0);
	g = group_new(&s, 1, 3);
	ok(page_open());
	atomic_store(&turn(0, WIRE_COMPUTE)->guarantee_ppm, 500000);
	atomic_store(&turn(0, WIRE_COMPUTE)->busy_since_ns, clock_now_ns());
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	ok(within(3000, atomic_load(&m->gets) || atomic_load(&m->calls) > 10));
	usleep(200000);
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED);
	usleep(200000);
	ok(!sliced(0, WIRE_COMPUTE));
	is(off_in_all(), 0);
	/* One that refuses after a while can refuse the way back, and a liar's slice is not known. */
	if (command && (command != RM_GROUP_SET_SLICE || !atoi(getenv("TEST_AFTER"))))
		is(slice_of(&s, &g), 1024);
	close(s.fd);
}

/* The first way of switching is refused, the second is not. */
static void other_way(void)
{
	struct model *m = model_shared();
	struct group g;
	struct side s;

	model_plays((uint32_t)atoi(getenv("TEST_BRANCH")));
	m->refuse[0] = (struct model_refusal){ .command = RM_SUBDEVICE_DISABLE, .status = RM_NOT_SUPPORTED };
	s = begin_gated(&g, 2);
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED);
	ok(within(30000, off_of(&s, &g) == 2));
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_of(&s, &g) == 0));
	ok(atomic_load(&m->preempts) > 0);
	ok(sliced(0, WIRE_COMPUTE));
	close(s.fd);
}

/* Slices follow the terms, and the program's own wish does not stand against them. */
static void weights(void)
{
	struct group g;
	struct side s = begin_gated(&g, 1);
	struct wire_turn *t = turn(0, WIRE_COMPUTE);
	static const struct {
		uint32_t class_1, ppm, weight, us;
	} cases[] = {
		{ 2, 10000, 0, 200 },	{ 2, 500000, 0, 5000 }, { 2, 1000000, 0, 10000 },  { 2, 0, 100, 1024 },
		{ 2, 0, 300, 3072 },	{ 3, 500000, 0, 200 },	{ 1, 100000, 0, 1000000 }, { 0, 0, 0, 1024 },
		{ 2, 1234, 5000, 200 }, { 2, 0, 10000, 10000 },
	};
	struct rm_slice own = { .us = 2048 };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		atomic_store(&t->class_1, cases[i].class_1);
		atomic_store(&t->guarantee_ppm, cases[i].ppm);
		atomic_store(&t->weight, cases[i].weight);
		tap_ok(within(30000, slice_of(&s, &g) == cases[i].us), "class %u, %u ppm, weight %u: %u us",
		       cases[i].class_1, cases[i].ppm, cases[i].weight, cases[i].us);
	}
	atomic_store(&t->guarantee_ppm, 400000);
	ok(within(30000, slice_of(&s, &g) == 4000));
	is(rm_ask(s.fd, s.client, g.handle, RM_GROUP_SET_SLICE, &own, sizeof own), RM_OK);
	ok(within(30000, slice_of(&s, &g) == 4000));
	gate_set(t, WIRE_OPEN);
	ok(within(30000, slice_of(&s, &g) == 2048));
	close(s.fd);
}

/* Off behind a closed gate, on when it opens; not for work that ends by itself, nor where there is none. */
static void gate(void)
{
	struct group g, more;
	struct side s = begin_gated(&g, 100);
	struct wire_turn *t = turn(0, WIRE_COMPUTE);
	uint32_t offs;

	for (int i = 0; i < 5; i++) {
		gate_set(t, WIRE_GATED);
		ok(within(30000, off_of(&s, &g) == 100));
		gate_set(t, WIRE_GATED | WIRE_OPEN);
		ok(within(30000, off_of(&s, &g) == 0));
	}
	/* Noted when they are on again; two are one where the gate closed before a call that was late was repeated. */
	ok(within(30000, atomic_load(&t->cuts) > 0));
	ok(atomic_load(&t->cuts) <= 5);
	ok(atomic_load(&t->cut_ns) > 0);
	/* Nothing in flight. */
	atomic_store(&t->busy_since_ns, 0);
	offs = atomic_load(&model_shared()->offs);
	gate_set(t, WIRE_GATED);
	usleep(50000);
	is(atomic_load(&model_shared()->offs), offs);
	gate_set(t, WIRE_GATED | WIRE_OPEN);
	usleep(20000);
	/* A channel and a group that are made while all is off are off as well; one that is freed is in nobody's way.
	 */
	atomic_store(&t->busy_since_ns, clock_now_ns());
	gate_set(t, WIRE_GATED);
	ok(within(30000, off_of(&s, &g) == 100));
	g.channels[100] = rm_new(s.fd, s.client, g.handle, 0xc86f, NULL);
	g.count = 101;
	ok(within(30000, off_of(&s, &g) == 101));
	is(rm_gone(s.fd, s.client, g.channels[0]), RM_OK);
	more = group_new(&s, 1, 2);
	ok(within(30000, off_of(&s, &more) == 2));
	is(rm_gone(s.fd, s.client, more.handle), RM_OK);
	/* A free that is refused leaves the channel ours to switch on. */
	model_shared()->refuse[0].status = 0x40;
	__atomic_store_n(&model_shared()->refuse[0].command, RM_ESC_FREE, __ATOMIC_RELEASE);
	is(rm_gone(s.fd, s.client, g.channels[1]), 0x40);
	__atomic_store_n(&model_shared()->refuse[0].command, 0, __ATOMIC_RELEASE);
	gate_set(t, WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_in_all() == 0));
	ok(sliced(0, WIRE_COMPUTE));
	close(s.fd);
}

static _Atomic int churning;

static void *churn(void *arg)
{
	struct side *s = arg;
	struct group g = group_new(s, 1, 0);

	while (atomic_load(&churning)) {
		uint32_t c = rm_new(s->fd, s->client, g.handle, 0xc56f, NULL);

		rm_gone(s->fd, s->client, c);
		usleep(50); /* the real calls take longer */
	}
	return NULL;
}

/* Channels that come and go at any moment are no refusal, and leave nothing off. */
static void coming_and_going(void)
{
	struct group g;
	struct side s = begin_gated(&g, 2);
	pthread_t thread;

	atomic_store(&churning, 1);
	pthread_create(&thread, NULL, churn, &s);
	for (int i = 0; i < 100; i++) {
		gate_set(turn(0, WIRE_COMPUTE), i % 2 ? WIRE_GATED | WIRE_OPEN : WIRE_GATED);
		usleep(3000);
	}
	atomic_store(&churning, 0);
	pthread_join(thread, NULL);
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_in_all() == 0));
	ok(sliced(0, WIRE_COMPUTE));
	ok(atomic_load(&turn(0, WIRE_COMPUTE)->cuts) > 3);
	close(s.fd);
}

struct leaver {
	const struct side *side;
	uint32_t handle;
};

static void *leave_one(void *arg)
{
	struct leaver *l = arg;

	rm_gone(l->side->fd, l->side->client, l->handle);
	return NULL;
}

/* Another thread frees an object, and gets no processor before it comes back with that. */
static pthread_t leaves(struct leaver *l)
{
	pthread_t thread;

	atomic_store(&model_shared()->away_us, 400000);
	pthread_create(&thread, NULL, leave_one, l);
	ok(within(30000, !model_find(l->side->client, l->handle)));
	return thread;
}

static void left(pthread_t thread)
{
	pthread_join(thread, NULL);
	atomic_store(&model_shared()->away_us, 0);
}

/* What the manager has freed, while the thread that asked for it has not yet said so, is no refusal. */
static void late(void)
{
	struct group g, more;
	struct side s = begin_gated(&g, 3);
	struct leaver l = { &s, g.channels[1] };
	pthread_t thread = leaves(&l);

	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED);
	left(thread);
	ok(within(30000, off_of(&s, &g) == 2));
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_of(&s, &g) == 0));
	ok(sliced(0, WIRE_COMPUTE));

	more = group_new(&s, 1, 0);
	ok(within(30000, slice_of(&s, &g) == 1500 && slice_of(&s, &more) == 1500));
	l.handle = more.handle;
	thread = leaves(&l);
	atomic_store(&turn(0, WIRE_COMPUTE)->guarantee_ppm, 500000);
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	left(thread);
	ok(within(30000, slice_of(&s, &g) == 5000));
	ok(sliced(0, WIRE_COMPUTE));
	close(s.fd);
}

/* Calls that take long delay nobody but the switching. */
static void slow(void)
{
	struct group g;
	struct side s = begin_gated(&g, 4);
	uint64_t began, worst = 0;

	atomic_store(&model_shared()->delay_us, 20000);
	for (int i = 0; i < 200; i++) {
		uint32_t gone;

		gate_set(turn(0, WIRE_COMPUTE), i % 8 < 4 ? WIRE_GATED : WIRE_GATED | WIRE_OPEN);
		began = clock_now_ns();
		gone = rm_new(s.fd, s.client, s.device, 0x3e, NULL);
		rm_gone(s.fd, s.client, gone);
		if (clock_now_ns() - began > worst)
			worst = clock_now_ns() - began;
		usleep(1000);
	}
	printf("# the longest allocation and free beside slow controls: %llu us\n", (unsigned long long)worst / 1000);
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_in_all() == 0));
	atomic_store(&model_shared()->delay_us, 0);
	ok(sliced(0, WIRE_COMPUTE));
	close(s.fd);
}

/* meted dies, comes back, and is stopped: nobody stays off because of it. */
static void meted(void)
{
	struct group g;
	struct side s = begin_gated(&g, 2);
	struct wire_turn *t = turn(0, WIRE_COMPUTE);

	gate_set(t, WIRE_GATED);
	ok(within(30000, off_of(&s, &g) == 2));
	usleep(600000); /* it answers: so it may stay closed */
	is(off_of(&s, &g), 2);
	keeper("kill");
	ok(within(3000, off_of(&s, &g) == 0));
	usleep(100000);
	is(off_of(&s, &g), 0);
	keeper("start");
	ok(within(30000, off_of(&s, &g) == 2));
	gate_set(t, WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_of(&s, &g) == 0));
	gate_set(t, WIRE_GATED);
	ok(within(30000, off_of(&s, &g) == 2));
	keeper("stop");
	ok(within(3000, off_of(&s, &g) == 0));
	usleep(100000);
	is(off_of(&s, &g), 0);
	keeper("cont");
	ok(within(30000, off_of(&s, &g) == 2));
	gate_set(t, WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_of(&s, &g) == 0));
	close(s.fd);
}

/* A process ends with its gate closed: nothing of it is left off. The model keeps the objects: nobody closes for it. */
static void leave(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		struct group g;
		struct side s = begin_gated(&g, 3);

		gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED);
		ok(within(30000, off_of(&s, &g) == 3));
		exit(tap_failed ? 1 : 0);
	}
	tap_count = 4; /* the child's */
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ok(atomic_load(&model_shared()->ons) > 0);
	is(off_in_all(), 0);
}

/* A child touches nothing of its parent's, and can have channels of its own; the parent goes on. */
static void forks(void)
{
	struct group g;
	struct side s = begin_gated(&g, 2);
	struct wire_turn *t = turn(0, WIRE_COMPUTE);
	struct wire_page *parents = page;
	int status;
	pid_t pid;

	gate_set(t, WIRE_GATED);
	ok(within(30000, off_of(&s, &g) == 2));
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct group own;
		struct side mine;
		bool good;

		usleep(50000);
		mine = side_new(0);
		own = group_new(&mine, 1, 1);
		good = page_open() && within(30000, sliced(0, WIRE_COMPUTE));
		atomic_store(&turn(0, WIRE_COMPUTE)->guarantee_ppm, 200000);
		gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
		good &= within(30000, slice_of(&mine, &own) == 2000);
		_exit(good && off_of(&s, &g) == 2 ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	is(atomic_load(&model_shared()->foreign), 0);
	is(off_of(&s, &g), 2);
	page = parents;
	gate_set(t, WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_of(&s, &g) == 0));
	close(s.fd);
}

/* The library's thread has done what there was to do: a slice that is set is read back after that. */
static bool quiet(void)
{
	uint32_t calls = 0;

	for (int i = 0; i < 50 * (int)patience(); i++) {
		uint32_t now = atomic_load(&model_shared()->calls);

		if (i && now == calls)
			return true;
		calls = now;
		usleep(100000);
	}
	return false;
}

/* A file at this number, the lowest one that is free but for what other threads open for a moment. */
static int open_at(int fd)
{
	int at = -1;

	for (int tries = 0; tries < 500 && at != fd; tries++) {
		if (at >= 0) {
			close(at);
			usleep(10000);
		}
		at = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	return at;
}

/* The program closes the descriptor, and something else gets its number: it is left alone. */
static void closed(void)
{
	struct group g;
	struct side s = begin_gated(&g, 2);
	uint32_t calls;
	int other;

	ok(quiet());
	close(s.fd);
	other = open_at(s.fd);
	is(other, s.fd);
	calls = atomic_load(&model_shared()->calls);
	atomic_store(&turn(0, WIRE_COMPUTE)->guarantee_ppm, 600000);
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED);
	usleep(100000);
	is(atomic_load(&model_shared()->calls), calls);
	s = side_new(0);
	g = group_new(&s, 1, 2);
	ok(within(30000, off_of(&s, &g) == 2));
	gate_set(turn(0, WIRE_COMPUTE), WIRE_GATED | WIRE_OPEN);
	ok(within(30000, off_of(&s, &g) == 0));
	close(other);
	close(s.fd);
}

/* Not asked for: nothing is ever touched. */
static void off_by_default(void)
{
	struct side s;
	struct group g;

	model_plays(535);
	s = side_new(0);
	g = group_new(&s, 1, 2);
	usleep(200000);
	is(slice_of(&s, &g), 1024);
	is(atomic_load(&model_shared()->sets), 0);
	is(atomic_load(&model_shared()->gets), 0);
	close(s.fd);
}

/* Under a real meted: for every line of input, the slice as it stands. */
static void serve(void)
{
	struct side s;
	struct group g;
	char line[16];

	model_plays(550);
	s = side_new(0);
	g = group_new(&s, 1, 2);
	while (fgets(line, sizeof line, stdin)) {
		printf("%llu\n", (unsigned long long)slice_of(&s, &g));
		fflush(stdout);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "untouched", untouched },
		      { "discovery", discovery },
		      { "branch", branch },
		      { "unknown", unknown },
		      { "refused", refused },
		      { "other-way", other_way },
		      { "weights", weights },
		      { "gate", gate },
		      { "slow", slow },
		      { "meted", meted },
		      { "leave", leave },
		      { "forks", forks },
		      { "closed", closed },
		      { "churn", coming_and_going },
		      { "serve", serve },
		      { "off", off_by_default },
		      { "late", late } };

	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			printf("1..%d\n", tap_count);
			return tap_failed ? 1 : 0;
		}
	return 2;
}
