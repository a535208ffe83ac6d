/*
 * extender_nodes.h: what each node has, as its agent told it (publish.h), by name; and what a pod's shares come to
 * there. Pure but for memory: objects of the API server in, verdicts of placement.h out.
 */
#pragma once

#include "model/placement.h"

#include <jansson.h>

#define NODES_SHARES 256u /* as many as a node's file may have (connect/cdi/shares.h) */
#define NODES_ROWS 16u
#define NODES_ASKED 16u
#define NODES_WORD 32u

/* One card's part of a share. card below 0: any. */
struct nodes_row {
	int card;
	uint64_t bytes;
	uint32_t bytes_ppm, time_ppm;
};

struct nodes_share {
	char name[NODES_WORD];
	uint16_t rows;
	bool overcommit, leaves; /* as in struct placement_ask, and so `stays_bytes` */
	uint64_t stays_bytes;
	struct nodes_row row[NODES_ROWS];
};

struct nodes_words {
	char name[96], uuid[48];
};

struct nodes_node {
	char name[254];
	bool told, cordoned; /* told: it has an annotation that can be read */
	unsigned int cards, shares;
	struct placement_card *card; /* owned, as what follows; their texts are words[] */
	struct nodes_words *words;
	struct nodes_share *share;
};

struct nodes_slot {
	struct nodes_node *node; /* owned; NULL: free */
	uint32_t hash; /* of its name: thousands of names are looked up in one call, and a node is far away in memory */
};

struct nodes {
	struct nodes_slot *list; /* owned; open addressing */
	size_t room, count;
};

/* The shares that a pod asks for, container by container. */
struct nodes_asked {
	unsigned int count;
	char share[NODES_ASKED][NODES_WORD];
	bool passes[NODES_ASKED]; /* of an init container that ends before the next one begins: no sidecar */
	const char *const *allow, *const *deny;
	char words[2][512]; /* of annotations, cut into pieces */
	const char *allowed[17], *denied[17];
};

struct nodes_verdict {
	bool fits;
	int64_t loss;
	char why[NODES_WORD + 16 + PLACEMENT_TEXT];
};

void nodes_free(struct nodes *n);
/* Takes or replaces a node. Value: 0 or -ENOMEM. */
int nodes_put(struct nodes *n, json_t *node);
void nodes_drop(struct nodes *n, const char *name);
/* All there are. */
int nodes_replace(struct nodes *n, json_t *items);
struct nodes_node *nodes_find(const struct nodes *n, const char *name);

/* Annotations mete.io/use-model and mete.io/avoid-model: words with commas. Value: how many shares. */
unsigned int nodes_asked(json_t *pod, struct nodes_asked *ret);
/* `node` NULL: it is not known. `want_loss`: with a loss, which costs more. */
void nodes_judge(const struct nodes_node *node, const struct nodes_asked *asked, enum placement_rule rule,
		 bool want_loss, struct nodes_verdict *ret);
