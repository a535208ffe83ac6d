/* move.h: what a client asks whose session goes on here (remote/move.h), and what meted asks of it. */
#pragma once

struct wall;

/* Starts the thread that passes meted's wish on to the client. 0 or -errno. `wall` must stay. */
int move_watch(struct wall *wall);
