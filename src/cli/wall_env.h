/*
 * wall_env.h: `mete run --wall`: the environment of a program that uses its devices through workers of this machine,
 * and whether workers can be confined here.
 */
#pragma once

#include "client/control.h"
#include "client/place.h"
#include "client/remote_env.h"

#include <jansson.h>

/*
 * Fills the environment for a program under this grant (meted's row). The row and the place keep their paths; `runtime`
 * is a buffer for one. Value: 0, or a negative errno with the reason and the remedy.
 */
int wall_env_fill(struct remote_env *ret, struct place *place, json_t *grant, const char *dir, char runtime[PATH_MAX],
		  struct fault *f);

/* True if something prevents workers from being confined on this machine, with the reason and the remedy. */
bool wall_doubt(const struct place *place, char *ret, size_t size, const char **ret_remedy);
