/*
 * segment_time_test.c: the timeline in the segment, when somebody dies or is stopped in the middle of a change.
 */
#include "base/clock.h"
#include "base/tap.h"
#include "softdev/segment.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct timeline mine, seen;

static void attach(struct segment_place *p)
{
	char why[200] = "";

	if (segment_attach(SEGMENT_DRIVER, p, why, sizeof why)) {
		printf("Bail out! %s\n", why);
		exit(1);
	}
}

/* A child holds the lock, and stops or dies; continued, its change must be refused, and the next one not. */
static pid_t child_start(bool dies)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct segment_place p;
		struct segment_change c;

		attach(&p);
		segment_change_begin(&p, 0, &mine, &c);
		timeline_add(&mine, 4711);
		raise(dies ? SIGKILL : SIGSTOP);
		if (segment_change_commit(&p, &c))
			_exit(2);
		segment_change_begin(&p, 0, &mine, &c);
		for (uint32_t i = 0; i < mine.count; i++)
			if (mine.context[i].owner == 4711)
				_exit(3);
		_exit(segment_change_commit(&p, &c) ? 0 : 4);
	}
	waitpid(pid, NULL, dies ? 0 : WUNTRACED);
	return pid;
}

/* One change. Value: how long it took. */
static uint64_t change(struct segment_place *p, uint64_t owner)
{
	uint64_t at = clock_now_ns();
	struct segment_change c;

	do {
		segment_change_begin(p, 0, &mine, &c);
		timeline_advance(&mine, clock_now_ns());
		timeline_add(&mine, owner);
	} while (!segment_change_commit(p, &c));
	return clock_now_ns() - at;
}

int main(void)
{
	char dir[] = "/tmp/mete-time-XXXXXX", command[100];
	struct segment_place p, q;
	struct segment_time *time;
	uint64_t took;
	int status = 0;
	pid_t child;

	if (!mkdtemp(dir))
		return 1;
	setenv("METE_SOFT_DIR", dir, 1);
	setenv("METE_SOFT_DEVICES", "1", 1);
	setenv("METE_SOFT_MEMORY", "16M", 1);
	attach(&p);
	tap_begin();
	time = &p.segment->time[0];

	child_start(true);
	took = change(&p, 1);
	tap_ok(took < 2000000000u, "behind a dead one: %.1f ms", (double)took / 1e6);
	ok(segment_time_read(p.segment, 0, &seen));
	is(seen.count, 1);
	is(seen.context[0].owner, 1);

	child = child_start(false);
	took = change(&p, 2);
	tap_ok(took < 2000000000u, "behind a stopped one: %.1f ms", (double)took / 1e6);
	kill(child, SIGCONT);
	waitpid(child, &status, 0);
	tap_ok(WIFEXITED(status) && !WEXITSTATUS(status), "it goes on, and its change does not count (%d)",
	       WEXITSTATUS(status));
	ok(segment_time_read(p.segment, 0, &seen));
	is(seen.count, 2);
	is(seen.context[1].owner, 2);

	/* a copy that somebody living writes to is nobody else's, until that one is dead */
	attach(&q);
	for (uint32_t i = 0; i < SEGMENT_TIMES; i++)
		if (i != atomic_load(&time->current) % SEGMENT_TIMES) {
			bool used = false;

			atomic_store(&time->writer[i], q.word);
			for (int k = 0; k < 20; k++) {
				change(&p, 3);
				used |= atomic_load(&time->current) % SEGMENT_TIMES == i;
			}
			ok(!used);
			segment_detach(&q);
			for (int k = 0; k < 20; k++) {
				change(&p, 3);
				used |= atomic_load(&time->current) % SEGMENT_TIMES == i;
			}
			ok(used);
			is(atomic_load(&time->writer[i]), 0);
			break;
		}

	/* contexts of the dead go */
	ok(segment_time_read(p.segment, 0, &seen) && seen.count > 40);
	ok(segment_time_reap(&p, 0, &mine) > 40);
	ok(segment_time_read(p.segment, 0, &seen));
	is(seen.count, 0);
	segment_detach(&p);
	snprintf(command, sizeof command, "rm -rf %s", dir);
	ok(system(command) == 0);
	return tap_end();
}
