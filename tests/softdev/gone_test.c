/*
 * gone_test.c: the folder of a segment has been removed, and who held its lock has been killed: no lock can be asked
 * for who lives, and nobody waits for ever nevertheless. While the holder lives its lock is waited for.
 */
#include "soft.h"

#include "softdev/segment.h"
#include "softdev/segment_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

static atomic_bool done;
static bool made; /* read behind the thread's end */

/* In the segment, and does nothing more. */
static pid_t holder_begin(void)
{
	int ready[2];
	char one;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		alarm(60);
		one = cuInit(0) == CUDA_SUCCESS ? 'y' : 'n';
		if (write(ready[1], &one, 1) == 1)
			pause();
		_exit(1);
	}
	ok(read(ready[0], &one, 1) == 1 && one == 'y');
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static struct segment *map(void)
{
	char path[128];
	void *s;
	int fd;

	snprintf(path, sizeof(path), "%s/segment", soft_dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	s = mmap(NULL, sizeof(struct segment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return s == MAP_FAILED ? NULL : s;
}

/* As if it were in the middle of a change. */
static bool give_lock(struct segment *s, pid_t pid)
{
	for (uint32_t i = 0; i < SEGMENT_MAX_PROCESSES; i++)
		if (s->process[i].pid == pid) {
			atomic_store(&s->lock, segment_word_make(i, atomic_load(&s->process[i].owner)));
			return true;
		}
	return false;
}

static void *make_context(void *unused)
{
	CUcontext c;

	made = cuDevicePrimaryCtxRetain(&c, 0) == CUDA_SUCCESS && cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS;
	atomic_store(&done, true);
	return unused;
}

static bool within(unsigned int seconds)
{
	for (unsigned int i = 0; i < seconds * 100 && !atomic_load(&done); i++)
		usleep(10000);
	return atomic_load(&done);
}

int main(void)
{
	struct segment *s;
	pthread_t thread;
	char command[128];
	pid_t holder;

	soft_begin("1", "64M");
	holder = holder_begin();
	CU(cuInit(0));
	s = map();
	tap_ok(s && give_lock(s, holder), "another process has the lock");
	snprintf(command, sizeof(command), "rm -rf %s", soft_dir);
	ok(system(command) == 0);
	pthread_create(&thread, NULL, make_context, NULL);
	tap_ok(!within(1), "it lives, and is waited for");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	tap_ok(within(20), "it has been killed, and its lock is taken");
	if (!atomic_load(&done))
		_exit(1);
	pthread_join(thread, NULL);
	tap_ok(made, "a context is made, and ends");
	munmap(s, sizeof(*s));
	return tap_end();
}
