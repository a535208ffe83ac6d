/*
 * rights.h: privileges over namespaces, where becoming another user does not take them away.
 *
 * A thread keeps them for the one thing that is left to do with them; it is started before the driver's threads, which
 * are born without any.
 */
#pragma once

#include <stdbool.h>

/* Before the first thread: gives the privileges up, for this one and those to come. False: nobody keeps them. */
bool rights_keep(void);
/* Has `act` done by the thread that kept them, and ends it. Without such a thread: done here. */
bool rights_use(bool (*act)(void *), void *argument);
