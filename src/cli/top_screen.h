/* top_screen.h: the full screen of `mete top`. */
#pragma once

#include "cli/top_view.h"

#include <stdint.h>

#define TOP_MACHINE_NS UINT64_C(30000000000) /* the drivers are queried again after this time */

struct top_pace {
	uint64_t interval_ns;
	unsigned long count; /* number of updates; 0: until the user quits */
};

/*
 * Shows the screen until the user quits, and restores the terminal. Value: 0, or the error if it could not be shown;
 * while it is shown, errors appear as a line on the screen.
 */
int top_screen(struct top_view *view, struct control *control, const struct top_pace *pace, struct fault *f);
