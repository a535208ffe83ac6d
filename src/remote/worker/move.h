/* move.h: the requests of a client whose session continues here (remote/move.h), and meted's wish that it leaves. */
#pragma once

struct wall;

/* Starts the thread that passes meted's wish to the client. `wall` must remain valid. Value: 0 or -errno. */
int move_watch(struct wall *wall);
