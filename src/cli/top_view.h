/*
 * top_view.h: the contents of `mete top`, as rows of text and figures, made from meted's answers.
 *
 * Nothing here draws: the screen (top_screen.c), the table for pipes and the tests read the same rows. A figure that
 * meted does not give is unknown: "-" as a text, NAN as a value, and sorted behind all known ones.
 */
#pragma once

#include "client/control.h"
#include "cli/top_history.h"

#include <stdbool.h>
#include <stddef.h>

enum top_column {
	TOP_NAME,
	TOP_DEVICE,
	TOP_POLICY,
	TOP_CLASS,
	TOP_REQUESTED,
	TOP_1S,
	TOP_10S,
	TOP_60S,
	TOP_HISTORY, /* drawn, without text */
	TOP_MEMORY,
	TOP_WAIT,
	TOP_TIER,
	TOP_PROCESSES,
	TOP_COMMAND,
	TOP_COLUMNS,
};

#define TOP_TEXT 64u

struct top_head {
	const char *name;
	const char *what;      /* for the help */
	bool number;	       /* right-aligned, sorted in descending order */
	unsigned char dropped; /* on a narrow screen: 1 is omitted first, 0 never */
};

extern const struct top_head top_heads[TOP_COLUMNS];

struct top_row {
	json_t *grant, *share, *process; /* borrowed from the view; process NULL: the row of a tenant on a device */
	char text[TOP_COLUMNS][TOP_TEXT];
	double value[TOP_COLUMNS];
	const struct top_series *history; /* of a tenant's row; NULL: none. Valid until the next top_remember() */
};

struct top_device {
	char index[16], name[TOP_TEXT], memory[32], guaranteed[16], busy[16], who[256];
	double busy_pct, full_pct; /* NAN: unknown */
	const struct top_series *history;
};

struct top_view {
	json_t *devices, *grants; /* meted's answers; owned */
	struct top_device *device;
	size_t device_count;
	struct top_row *row;
	size_t row_count;
	size_t tenants, processes; /* before the filter */
	struct top_history history;
};

/* The user's selection of what is shown. */
struct top_choice {
	enum top_column by;
	bool reversed;
	bool all_processes;
	char filter[TOP_TEXT]; /* part of a name, a command, a policy, a pid; ignores case; "": everything */
	json_t *expanded;      /* an object whose keys are the grants whose processes are shown; owned */
};

#define TOP_VIEW_NONE ((struct top_view){ 0 })

/*
 * Queries meted; the devices only with `machine`, because meted then queries the drivers. top_arrange() creates the
 * rows. Value: 0, or as control_ask(); the view is then unchanged.
 */
int top_fetch(struct top_view *view, struct control *control, bool machine, struct fault *f);

/*
 * Adds the figures of the last answer to the history; `interval_ns`: how often that is done. top_arrange() must follow.
 */
void top_remember(struct top_view *view, uint64_t now_ns, uint64_t interval_ns);

/* Creates the rows again. */
void top_arrange(struct top_view *view, const struct top_choice *choice);
void top_view_free(struct top_view *view);

/* A number of the answer; NAN: not given. */
double top_figure(json_t *object, const char *key);
