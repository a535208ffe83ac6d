/* top_screen.h: the full screen of `mete top`. */
#pragma once

#include "cli/top_view.h"

#include <stdint.h>

#define TOP_MACHINE_NS UINT64_C(30000000000) /* the drivers are asked again after so long */

struct top_pace {
	uint64_t interval_ns;
	unsigned long count; /* how often; 0: until the user ends it */
};

/*
 * Shows the screen until the user ends it; the terminal is then as it was. Value: 0, or why it could not be shown at
 * all; while it is shown, trouble is a line on the screen.
 */
int top_screen(struct top_view *view, struct control *control, const struct top_pace *pace, struct fault *f);
