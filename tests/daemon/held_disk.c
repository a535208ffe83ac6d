/*
 * held_disk.c: a disk that does not answer. Put before meted by LD_PRELOAD, it holds the process that serves
 * memory.disk before that looks at the folder, for as long as the file is there that METE_TEST_DISK_HELD names.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* That process is the only one of meted's that begins a session. */
__attribute__((visibility("default"))) pid_t setsid(void)
{
	const char *file = getenv("METE_TEST_DISK_HELD");

	while (file && !access(file, F_OK))
		usleep(20000);
	return (pid_t)syscall(SYS_setsid);
}
