/* fork.h: resets the core and its faces in a child of fork(). */
#pragma once

/* Installs the handler, once per process, if the process is under a grant. */
void fork_watch(void);
