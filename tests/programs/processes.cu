/* Two processes: one allocates and hands over memory and an event, the other writes the memory; both see the result. */
#include "program.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 1024 };

struct message {
	cudaIpcMemHandle_t memory;
	cudaIpcEventHandle_t event;
};

#ifdef __CUDACC__

KERNEL twice(unsigned *p)
{
	p[THREAD] = p[THREAD] * 2 + 1;
}

#else
#include PROGRAM_STUBS
#endif

static int child(void)
{
	struct message m;
	unsigned *p = NULL;
	cudaEvent_t event;

	CHECK(read(0, &m, sizeof(m)) == sizeof(m));
	CALL(cudaIpcOpenMemHandle((void **)&p, m.memory, cudaIpcMemLazyEnablePeerAccess));
	CALL(cudaIpcOpenEventHandle(&event, m.event));
	CALL(cudaStreamWaitEvent(0, event, 0));
	LAUNCH(twice, N / 128, 128, p);
	CALL(cudaEventRecord(event, 0));
	SYNC();
	CALL(cudaIpcCloseMemHandle(p));
	CALL(cudaEventDestroy(event));
	return program_failures != 0;
}

int main(int argc, char **argv)
{
	static unsigned x[N], z[N];
	char name[] = "child", *words[3];
	posix_spawn_file_actions_t actions;
	struct message m;
	unsigned *p, i;
	int ends[2], status = -1;
	cudaEvent_t event;
	pid_t pid;
	extern char **environ;

	if (argc > 1)
		return child();
	p = DEVICE_ALLOC(unsigned, N);
	for (i = 0; i < N; i++)
		x[i] = random32();
	CALL(cudaMemcpy(p, x, sizeof(x), cudaMemcpyHostToDevice));
	CALL(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
	if (cudaIpcGetMemHandle(&m.memory, p) == cudaErrorNotSupported)
		SKIP("the device has no memory between processes");
	CALL(cudaIpcGetMemHandle(&m.memory, p));
	CALL(cudaIpcGetEventHandle(&m.event, event));
	LAUNCH(twice, N / 128, 128, p);
	CALL(cudaEventRecord(event, 0));
	words[0] = argv[0];
	words[1] = name;
	words[2] = NULL;
	CHECK(!pipe(ends));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	CHECK(!posix_spawn(&pid, "/proc/self/exe", &actions, NULL, words, environ));
	CHECK(write(ends[1], &m, sizeof(m)) == sizeof(m));
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	posix_spawn_file_actions_destroy(&actions);
	CALL(cudaEventSynchronize(event));
	BRING(z, p);
	for (i = 0; i < N; i++)
		CHECK(z[i] == (x[i] * 2 + 1) * 2 + 1);
	return program_end();
}
