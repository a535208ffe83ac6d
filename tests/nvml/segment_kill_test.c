/*
 * segment_kill_test.c: whatever is killed whenever, the software device's account stays exact.
 *
 * Workers take and give memory, make and drop shared allocations, begin and end kernels, attach and detach, as fast as
 * they can; each is killed with SIGKILL after a random time. In between and at the end NVML's own figures are held
 * against what must be true: never more used than there is; with everybody dead, nothing used and nobody on the device;
 * while one process lives that holds a known amount, exactly that once the others are gone.
 */
#include "base/tap.h"
#include "softdev/segment.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 6
#define KILLS 400 /* with METE_TEST_LONG, else half of them */
#define STEADY_UNITS 4096u

static unsigned int seed;

static unsigned int rnd(unsigned int below)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 8) % below;
}

static void pause_us(unsigned int us)
{
	struct timespec t = { .tv_nsec = us * 1000L };

	nanosleep(&t, NULL);
}

static void attach(struct segment_place *p)
{
	char why[200] = "";
	int r = segment_attach(SEGMENT_DRIVER, p, why, sizeof why);

	if (r) {
		printf("# cannot attach: %s (%d)\n", why, r);
		_exit(3);
	}
}

/* Does everything that changes the segment, for ever. Exit status 2: the account let it take what it may not. */
static void work(struct segment_place *p)
{
	uint64_t held = 0, units, id;
	int fds[8], count = 0;

	for (;;) {
		switch (rnd(8)) {
		case 0:
		case 1:
			units = 1 + rnd(3000);
			if (!segment_charge(p, 0, units))
				held += units;
			break;
		case 2:
			units = held ? 1 + rnd((unsigned int)held) : 0;
			segment_refund(p, 0, units);
			held -= units;
			break;
		case 3:
			if (count < 8) {
				struct segment_wish wish = { SEGMENT_HANDLE, 0, 1 + rnd(200), 4096, false };

				/* Either new memory, or some that this process has charged already. */
				wish.charged = held >= wish.units && rnd(2);
				fds[count] = segment_object_new(p, &wish, &id);
				if (fds[count] >= 0 && wish.charged)
					held -= wish.units;
				count += fds[count] >= 0;
			}
			break;
		case 4:
			if (count)
				close(fds[--count]);
			break;
		case 5:
			segment_context_add(p, 0);
			segment_kernel_begin(p, 0);
			break;
		case 6:
			segment_free_units(p, 0);
			break;
		default:
			if (rnd(20))
				break;
			segment_detach(p);
			held = 0;
			attach(p);
		}
		if (p->segment && atomic_load(&p->segment->device[0].used_units) >
					  p->segment->device[0].config.total_bytes / SEGMENT_UNIT_BYTES)
			_exit(2);
	}
}

static pid_t worker_start(void)
{
	struct segment_place p;
	pid_t pid;

	seed += 7919;
	pid = fork();
	if (pid)
		return pid;
	attach(&p);
	work(&p);
	_exit(0);
}

/* Holds a known amount until its input ends. */
static pid_t steady_start(int *ret_end)
{
	struct segment_place p;
	int ready[2], end[2];
	pid_t pid;
	char c;

	if (pipe(ready) || pipe(end))
		exit(1);
	pid = fork();
	if (!pid) {
		close(end[1]);
		close(ready[0]);
		attach(&p);
		segment_context_add(&p, 0);
		if (segment_charge(&p, 0, STEADY_UNITS))
			_exit(4);
		if (write(ready[1], "r", 1) != 1 || read(end[0], &c, 1) < 0)
			_exit(5);
		_exit(0);
	}
	close(ready[1]);
	close(end[0]);
	if (read(ready[0], &c, 1) != 1)
		exit(1);
	close(ready[0]);
	*ret_end = end[1];
	return pid;
}

static uint64_t used_units(struct segment_place *p)
{
	uint64_t total = p->segment->device[0].config.total_bytes / SEGMENT_UNIT_BYTES;

	return total - segment_free_units(p, 0);
}

/* Files of a segment that somebody deleted: their numbers are passed over. */
static void leftovers(const char *dir)
{
	char path[PATH_MAX];

	for (int i = 1; i < 8; i++) {
		FILE *f;

		snprintf(path, sizeof path, "%s/object-%d", dir, i);
		f = fopen(path, "w");
		ok(f && !fclose(f));
	}
}

static struct timeline timeline;

int main(void)
{
	char dir[] = "/tmp/mete-kill-XXXXXX", path[PATH_MAX];
	int odd_ends = 0, too_much = 0, end, status;
	struct segment_place observer;
	pid_t worker[WORKERS], steady;
	char why[200];

	if (!mkdtemp(dir))
		return 1;
	setenv("METE_SOFT_DIR", dir, 1);
	setenv("METE_SOFT_DEVICES", "1", 1);
	setenv("METE_SOFT_MEMORY", "16M", 1);
	seed = (unsigned int)time(NULL);
	if (getenv("METE_TEST_SEED"))
		seed = (unsigned int)strtoul(getenv("METE_TEST_SEED"), NULL, 0);
	printf("# seed %u (METE_TEST_SEED repeats the choices, not the moments)\n", seed);
	tap_begin();
	if (segment_attach(SEGMENT_OBSERVER, &observer, why, sizeof why)) {
		printf("Bail out! %s\n", why);
		return 1;
	}
	leftovers(dir);
	steady = steady_start(&end);
	for (int i = 0; i < WORKERS; i++)
		worker[i] = worker_start();
	for (int kill_number = 0; kill_number < (getenv("METE_TEST_LONG") ? KILLS : KILLS / 2); kill_number++) {
		int i = (int)rnd(WORKERS);

		pause_us(rnd(4000));
		kill(worker[i], SIGKILL);
		if (waitpid(worker[i], &status, 0) != worker[i] || !WIFSIGNALED(status)) {
			odd_ends++;
			printf("# a worker ended by itself with status %d\n",
			       WIFEXITED(status) ? WEXITSTATUS(status) : -1);
		}
		worker[i] = worker_start();
		too_much += used_units(&observer) > observer.segment->device[0].config.total_bytes / SEGMENT_UNIT_BYTES;
	}
	is(odd_ends, 0);
	is(too_much, 0);
	for (int i = 0; i < WORKERS; i++)
		kill(worker[i], SIGKILL);
	for (int i = 0; i < WORKERS; i++)
		waitpid(worker[i], &status, 0);
	is(used_units(&observer), STEADY_UNITS);
	/* the timeline has lost its dead and nothing of its time */
	ok(segment_time_read(observer.segment, 0, &timeline));
	is(timeline.count, 0);
	ok(timeline.served_ns && timeline.served_ns + timeline.switch_ns <= timeline.now_ns - timeline.began_ns);
	for (uint32_t i = 0; i < SEGMENT_TIMES; i++)
		ok(!atomic_load(&observer.segment->time[0].writer[i]) ||
		   segment_word_dead(&observer, atomic_load(&observer.segment->time[0].writer[i])));
	close(end);
	ok(waitpid(steady, &status, 0) == steady && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	is(used_units(&observer), 0);
	for (uint32_t i = 0; i < atomic_load(&observer.segment->places); i++)
		if (i != observer.index && atomic_load(&observer.segment->process[i].kind))
			tap_ok(0, "place %u is still taken", i);
	for (uint32_t i = 0; i < SEGMENT_MAX_OBJECTS; i++)
		if (atomic_load(&observer.segment->object[i].id))
			tap_ok(0, "shared allocation %u is still there", i);
	printf("# the lock of a dead holder was taken over %u times\n", atomic_load(&observer.segment->recoveries));
	segment_detach(&observer);
	snprintf(path, sizeof path, "rm -rf %s", dir);
	ok(system(path) == 0);
	return tap_end();
}
