/* doomed.c: a next meted that dies after it has taken over turns and before it serves. */
#include <signal.h>
#include <unistd.h>

void __wrap_upgrade_resumed(void);

void __wrap_upgrade_resumed(void)
{
	kill(getpid(), SIGKILL);
}
