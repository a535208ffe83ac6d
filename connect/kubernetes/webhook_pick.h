/* webhook_pick.h: the smallest share that holds what a container asks for. */
#pragma once

#include "connect/kubernetes/webhook_work.h"

/* NULL: there is none, and the pod is refused with the shares that there are. `where`: the container. */
const struct words_share *pick_share(struct work *w, const struct ask *a, const char *where);

/* "small: 4 GiB, 25 % of the time". */
void pick_say(const struct words_share *s, char text[96]);
