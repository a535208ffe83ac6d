/* move.h: the requests of a client whose session continues here (remote/move.h), and meted's request to leave. */
#pragma once

struct wall;

/* Starts the thread that passes meted's wish on to the client. 0 or -errno. `wall` must stay. */
int move_watch(struct wall *wall);
