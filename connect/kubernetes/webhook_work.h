/* webhook_work.h: a pod while its words are read: what a container asks for, and how one says no. */
#pragma once

#include "connect/kubernetes/webhook_words.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define OWN "mete.io/"

/* What one container asks for. */
struct ask {
	const char *family; /* NULL: nothing */
	unsigned int cards;
	enum words_vendor vendor;
	bool cards_said, part_said; /* part: more than a number of devices */
	bool whole;		     /* of a family whose several devices are whole ones */
	uint64_t bytes;
	double memory_pct, cores_pct;
	int priority;						    /* -1: not said */
	char memory_field[256], cores_field[256], cards_field[256]; /* with their values, for what is said */
	char text[256];						    /* all of it */
};

/* The pod, and where in it we are. */
struct work {
	const struct words_options *options;
	json_t *pod;
	struct words_answer *answer;
	json_t *asked;	/* texts, by container */
	json_t *claims; /* of the pod, as they are to be; NULL: not changed */
};

/* The line why the pod is refused. Value: false. */
bool work_refuse(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* One more line that who makes the pod sees. */
void work_warn(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The value of one of the pod's annotations; NULL: it has none of that name. */
const char *work_annotation(json_t *pod, const char *name);
