/* webhook_work.h: a pod while its words are read: the requests of a container, and refusals. */
#pragma once

#include "connect/kubernetes/webhook_words.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define OWN "mete.io/"

/* The request of one container. */
struct ask {
	const char *family; /* NULL: nothing */
	unsigned int cards;
	enum words_vendor vendor;
	bool cards_said, part_said; /* part: more than a number of devices */
	bool whole;		     /* of a family whose several devices are whole ones */
	uint64_t bytes;
	double memory_pct, cores_pct;
	int priority;						    /* -1: not given */
	char memory_field[256], cores_field[256], cards_field[256]; /* with their values, as far as given */
	char text[256];						    /* the whole request */
};

/* The pod, and the state of reading it. */
struct work {
	const struct words_options *options;
	json_t *pod;
	struct words_answer *answer;
	json_t *asked;	/* texts, by container */
	json_t *claims; /* the pod's new claims; NULL: unchanged */
};

/* Sets the line of the refusal. Value: false. */
bool work_refuse(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Adds a line that the pod's creator sees. */
void work_warn(struct work *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The value of one of the pod's annotations; NULL: it has none of that name. */
const char *work_annotation(json_t *pod, const char *name);
