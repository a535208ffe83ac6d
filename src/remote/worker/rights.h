/*
 * rights.h: privileges over namespaces, for the case that changing the user does not remove them.
 *
 * One thread keeps them for the one remaining use; it is started before the driver's threads, which are created without
 * them.
 */
#pragma once

#include <stdbool.h>

/* Called before the first thread: drops the privileges of this thread and later ones. False: no thread keeps them. */
bool rights_keep(void);
/* Runs `act` in the thread that kept them, and ends that thread. Without such a thread `act` runs here. */
bool rights_use(bool (*act)(void *), void *argument);
