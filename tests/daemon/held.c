/*
 * held.c: a vendor's library that holds its program in the kernel, as a driver does whose card is gone: put before
 * meted by LD_PRELOAD, it keeps SIGKILL from every process. In the child that asks the driver it hangs for as long
 * as the file is there that METE_TEST_HELD names.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int kill(pid_t pid, int number)
{
	return number == SIGKILL ? 0 : (int)syscall(SYS_kill, pid, number);
}

__attribute__((constructor)) static void hold(int argc, char **argv)
{
	const char *file = getenv("METE_TEST_HELD");

	while (argc > 1 && !strcmp(argv[1], "--probe-hip") && file && !access(file, F_OK))
		usleep(20000);
}
