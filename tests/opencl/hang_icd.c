/*
 * hang_icd.c: a vendor's driver that starts a process of its own, which keeps what it inherits as standard output, and
 * then never comes back to the loader. The process ends by itself, long after the test.
 */
#include <unistd.h>

__attribute__((constructor)) static void hang(void)
{
	if (!fork()) {
		setsid();
		close(STDERR_FILENO); /* the test's own pipe */
		alarm(60);
	}
	for (;;)
		pause();
}
