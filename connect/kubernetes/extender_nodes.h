/*
 * extender_nodes.h: what each node has, as published by its agent (publish.h), by name; and whether a pod's shares fit
 * there. Pure except for memory: objects of the API server in, verdicts of placement.h out.
 */
#pragma once

#include "model/placement.h"

#include <jansson.h>

#define NODES_SHARES 256u /* the limit of a node's file (connect/cdi/shares.h) */
#define NODES_ROWS 16u
#define NODES_ASKED 16u
#define NODES_WORD 32u

/* A share's part of one card. card below 0: any. */
struct nodes_row {
	int card;
	uint64_t bytes;
	uint32_t bytes_ppm, time_ppm;
};

struct nodes_share {
	char name[NODES_WORD];
	uint16_t rows;
	bool overcommit, leaves; /* as in struct placement_ask; so is `stays_bytes` */
	uint64_t stays_bytes;
	struct nodes_row row[NODES_ROWS];
};

struct nodes_words {
	char name[96], uuid[48];
};

struct nodes_node {
	char name[254];
	bool told, cordoned; /* told: it has a readable annotation */
	unsigned int cards, shares;
	struct placement_card *card; /* owned, as are the following; their texts are in words[] */
	struct nodes_words *words;
	struct nodes_share *share;
};

struct nodes_slot {
	struct nodes_node *node; /* owned; NULL: free */
	uint32_t hash; /* of its name: one call looks up thousands of names, and the nodes themselves are not in the
			* cache */
};

struct nodes {
	struct nodes_slot *list; /* owned; open addressing */
	size_t room, count;
};

/* The shares that a pod requests, container by container. */
struct nodes_asked {
	unsigned int count;
	char share[NODES_ASKED][NODES_WORD];
	bool passes[NODES_ASKED]; /* of an init container that ends before the next one starts: not a sidecar */
	const char *const *allow, *const *deny;
	char words[2][512]; /* copies of annotations, split into words */
	const char *allowed[17], *denied[17];
};

struct nodes_verdict {
	bool fits;
	int64_t loss;
	char why[NODES_WORD + 16 + PLACEMENT_TEXT];
};

void nodes_free(struct nodes *n);
/* Adds or replaces a node. Value: 0 or -ENOMEM. */
int nodes_put(struct nodes *n, json_t *node);
void nodes_drop(struct nodes *n, const char *name);
/* Replaces all nodes. */
int nodes_replace(struct nodes *n, json_t *items);
struct nodes_node *nodes_find(const struct nodes *n, const char *name);

/*
 * Reads the requested shares, and the annotations mete.io/use-model and mete.io/avoid-model: words separated by commas.
 * Value: the number of shares.
 */
unsigned int nodes_asked(json_t *pod, struct nodes_asked *ret);
/* `node` NULL: not known. `want_loss`: also computes the loss, which takes longer. */
void nodes_judge(const struct nodes_node *node, const struct nodes_asked *asked, enum placement_rule rule,
		 bool want_loss, struct nodes_verdict *ret);
