/*
 * extender_question.h: what a scheduler asks an extender (ExtenderArgs), and the answers. Pure, but for memory: any pod
 * that reaches the extender may ask.
 */
#pragma once

#include "connect/kubernetes/extender_nodes.h"

#include <stdbool.h>
#include <stddef.h>

/* A node that the scheduler names. */
struct candidate {
	const char *name;
	bool fits;
	int64_t loss;
	char *why; /* owned; NULL where it fits */
};

/* What the scheduler sent, and what comes of it. */
struct question {
	json_t *args, *nodes; /* nodes: a NodeList, of a scheduler that sends them whole; else NULL */
	struct candidate *list;
	size_t count;
	struct nodes_asked asked;
};

/* Value: false: it is no such request. question_free() must follow in every case. */
bool question_read(struct question *q, const char *text, size_t size);
void question_free(struct question *q);
/* Judges every node that it names, once. `want_loss`: for question_prioritize(), and for a `most` of the next. */
void question_judge(struct question *q, const struct nodes *nodes, enum placement_rule rule, bool want_loss);
/* ExtenderFilterResult, as JSON; owned. `most`: no more than so many nodes, the best; 0: all that fit. */
char *question_filter(struct question *q, size_t most);
/* HostPriorityList, as JSON, from the worst, 0, to the best, 10; owned. */
char *question_prioritize(const struct question *q);
