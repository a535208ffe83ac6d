/*
 * top_view.h: what `mete top` shows, as rows of text and figures, made from meted's answers.
 *
 * Nothing here draws: the screen (top_screen.c), the table for pipes and the tests read the same rows. A figure that
 * meted does not give is unknown: "-" as a text, NAN as a value, and sorted behind all that are known.
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
	TOP_HISTORY, /* is drawn, and has no text */
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
	bool number;	       /* stands to the right, is sorted from large to small */
	unsigned char dropped; /* on a narrow screen: 1 goes first; 0 stays */
};

extern const struct top_head top_heads[TOP_COLUMNS];

struct top_row {
	json_t *grant, *share, *process; /* borrowed from the view; process NULL: the tenant's row on a device */
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
	json_t *devices, *grants; /* meted's words; owned */
	struct top_device *device;
	size_t device_count;
	struct top_row *row;
	size_t row_count;
	size_t tenants, processes; /* before the filter */
	struct top_history history;
};

/* What is to be shown of it. */
struct top_choice {
	enum top_column by;
	bool reversed;
	bool all_processes;
	char filter[TOP_TEXT]; /* part of a name, a command, a policy, a pid; case does not matter; "": everything */
	json_t *expanded;      /* an object whose keys are the grants whose processes are shown; owned */
};

#define TOP_VIEW_NONE ((struct top_view){ 0 })

/*
 * Asks meted; the devices only with `machine`: that costs a look at the drivers. The rows are made by top_arrange().
 * Value: 0, or as control_ask(); the view then stays as it was.
 */
int top_fetch(struct top_view *view, struct control *control, bool machine, struct fault *f);

/* Takes the figures of the last answer into the history; `interval_ns`: how often that is done. Then arrange. */
void top_remember(struct top_view *view, uint64_t now_ns, uint64_t interval_ns);

/* Makes the rows anew. */
void top_arrange(struct top_view *view, const struct top_choice *choice);
void top_view_free(struct top_view *view);

/* A number of the answer; NAN: not given. */
double top_figure(json_t *object, const char *key);
