/*
 * room.c: begins a test when the processors have room for it: room [--behind FILE] FOLDER TESTS COMMAND... is meson's
 * wrapper of each test of a run of ./check.
 *
 * TESTS of them run at once in any case. Most tests wait for a good part of their time, for others' processes or for a
 * time of meted's: where the processors were idle for a third of the last second, one more begins, one each second. So
 * the processors are used, and tests that measure time are not crowded where there is no room. What runs at a lower
 * priority leaves room. FOLDER is the run's own, with locks that end with who holds them. Its file "used" has a row for
 * each test: its processor time and its time, in seconds, and its command (dear.py --rows reads it).
 *
 * --behind: as long as FILE is there, a test begins at the lowest priority, and with it whatever it starts.
 * room --ticks FILE prints what ticks() reads from it: for the test of this program.
 *
 * In C, because an interpreter takes longer to start than many of the two thousand tests that it would begin.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROOM_PARTS 3 /* one of them idle is room */
#define PACE_S 1     /* what the last one uses is seen by then */
#define LOOK_NS 200000000
#define LONGEST_S 60 /* a test's limit of time runs meanwhile */
#define LOWEST 19

extern char **environ;

struct ticks {
	unsigned long long room; /* in which the processors were idle, or ran what stands back */
	unsigned long long all;
};

static double now_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct ticks ticks(const char *path)
{
	unsigned long long user, nice, system, idle, waiting, irq, soft, stolen;
	struct ticks t = { 0, 0 };
	FILE *f = fopen(path, "re");

	if (!f)
		return t;
	if (fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waiting, &irq,
		   &soft, &stolen) == 8)
		t = (struct ticks){ nice + idle + waiting,
				    user + nice + system + idle + waiting + irq + soft + stolen };
	fclose(f);
	return t;
}

/* The descriptor of a lock of the folder that nobody else holds; -1: somebody does. */
static int lock(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* True for one of those that wait, each PACE_S. */
static bool is_next(const char *folder)
{
	int fd = lock(folder, "next");
	char text[32] = "";
	double now = now_s(CLOCK_REALTIME);
	bool is;

	if (fd < 0)
		return false;
	is = pread(fd, text, sizeof(text) - 1, 0) <= 0 || now - strtod(text, NULL) >= PACE_S;
	snprintf(text, sizeof(text), "%.6f", now);
	is = is && pwrite(fd, text, strlen(text), 0) > 0;
	close(fd);
	return is;
}

/* Returns when the test may begin; its place is locked until this process ends. */
static void await(const char *folder, int tests)
{
	double began = now_s(CLOCK_MONOTONIC), looked = began, at;
	struct ticks before = ticks("/proc/stat"), now;
	char name[16];

	while (now_s(CLOCK_MONOTONIC) < began + LONGEST_S) {
		for (int i = 0; i < tests; i++) {
			snprintf(name, sizeof(name), "%d", i);
			if (lock(folder, name) >= 0)
				return;
		}
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
		at = now_s(CLOCK_MONOTONIC);
		if (at < looked + PACE_S)
			continue;
		looked = at;
		now = ticks("/proc/stat");
		if (ROOM_PARTS * (now.room - before.room) > now.all - before.all && is_next(folder))
			return;
		before = now;
	}
}

/*
 * Lets everybody else go before this process and what it starts. Where the kernel shares the processors out by
 * sessions, a process's own priority counts within its session alone: Meson has begun one for each test.
 */
static void stand_back(void)
{
	int fd = -1;

	setpriority(PRIO_PROCESS, 0, LOWEST);
	if (getsid(0) == getpid())
		fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	/* So many changes in a second and no more, of all that are not root's. */
	for (int i = 0; fd >= 0 && i < 50 && write(fd, "19", 2) < 0 && errno == EAGAIN; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	if (fd >= 0)
		close(fd);
}

/* What the test used, with all processes that it has waited for; what it leaves behind is not counted. */
static void note(const char *folder, const struct rusage *used, double took, char **command)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/used", folder);
	f = fopen(path, "ae");
	if (!f)
		return;
	setvbuf(f, NULL, _IOFBF, 65536); /* a row is written at once */
	fprintf(f, "%.2f\t%.2f\t",
		(double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) +
			(double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec) / 1e6,
		took);
	for (int i = 0; command[i]; i++) {
		if (i)
			putc(' ', f);
		for (const char *at = command[i]; *at; at++)
			putc(*at == '\n' || *at == '\t' ? ' ' : *at, f);
	}
	putc('\n', f);
	fclose(f);
}

static int run(const char *folder, char **command)
{
	double began = now_s(CLOCK_MONOTONIC);
	struct rusage used;
	int status, r;
	pid_t pid;

	r = posix_spawnp(&pid, command[0], NULL, NULL, command, environ);
	if (r) {
		fprintf(stderr, "room: %s: %s\n", command[0], strerror(r));
		return 127;
	}
	while (wait4(pid, &status, 0, &used) < 0)
		if (errno != EINTR)
			return 127;
	note(folder, &used, now_s(CLOCK_MONOTONIC) - began, command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	const char *behind = NULL;

	if (argc == 3 && !strcmp(argv[1], "--ticks")) {
		struct ticks t = ticks(argv[2]);

		printf("%llu %llu\n", t.room, t.all);
		return 0;
	}
	if (argc > 3 && !strcmp(argv[1], "--behind")) {
		behind = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 4) {
		fprintf(stderr, "usage: room [--behind FILE] FOLDER TESTS COMMAND...\n");
		return 2;
	}
	await(argv[1], atoi(argv[2]));
	if (behind && !access(behind, F_OK))
		stand_back();
	return run(argv[1], argv + 3);
}
