/* link_host.h: the thread that runs a program's host functions, and reads while one of them is expected. */
#pragma once

#include "remote/client/link.h"

/* Copies a notice HOST to run it later. False: none was expected, or no memory. */
bool link_host_queue(struct link *link, const void *body, size_t bytes);
/* Makes the thread check again whether the connection is lost. */
void link_host_wake(struct link *link);
/* Ends the thread after the function that it is running. */
void link_host_end(struct link *link);
