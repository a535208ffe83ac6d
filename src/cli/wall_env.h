/*
 * wall_env.h: `mete run --wall`: what a program needs to have its devices through workers of this machine, and whether
 * workers can be walled in here.
 */
#pragma once

#include "client/control.h"
#include "client/place.h"
#include "client/remote_env.h"

#include <jansson.h>

/*
 * Fills the environment for a program under this grant (meted's row). Paths stay the row's and the place's; `runtime`
 * is room for one. Value: 0, or a negative errno with the reason and the remedy.
 */
int wall_env_fill(struct remote_env *ret, struct place *place, json_t *grant, const char *dir, char runtime[PATH_MAX],
		  struct fault *f);

/* What keeps workers from being walled in on this machine; false: nothing. */
bool wall_doubt(const struct place *place, char *ret, size_t size, const char **ret_remedy);
