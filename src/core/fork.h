/* fork.h: what becomes of the shim in a child of fork(). */
#pragma once

/* Once, when the process is under a grant. */
void fork_watch(void);
