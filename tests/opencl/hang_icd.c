/*
 * hang_icd.c: a vendor's driver that starts a process of its own, which keeps the pipe to meted that it inherits, and
 * then never comes back to the loader. The process ends by itself, long after the test.
 */
#include <unistd.h>

__attribute__((constructor)) static void hang(void)
{
	if (!fork()) {
		setsid();
		/* Both are meted's standard error, which is the test's own pipe. */
		close(STDOUT_FILENO);
		close(STDERR_FILENO);
		alarm(60);
	}
	for (;;)
		pause();
}
