/* webhook_pick.h: chooses the smallest share that contains what a container requests. */
#pragma once

#include "connect/kubernetes/webhook_work.h"

/* NULL: there is none, and the pod is refused with a list of the shares. `where`: the container. */
const struct words_share *pick_share(struct work *w, const struct ask *a, const char *where);

/* Writes "small: 4 GiB, 25 % of the time". */
void pick_say(const struct words_share *s, char text[96]);
