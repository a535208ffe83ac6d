/*
 * placement.h: where a share belongs: which cards of a node, and which of several nodes. Pure: the caller says what
 * there is, and acts on the answer. No allocation, integers alone, the same answer on every machine.
 *
 * A card has two axes that do not add up: memory, and time that is guaranteed. A share fits where both suffice, the
 * card is in service and its model is wanted. Among the cards that fit the rule decides:
 *
 *	spread	most memory that is not promised, then fewest tenants, then the lowest number;
 *	binpack	least of memory and time left over, then most tenants, then the lowest number;
 *	fit	least growth of fragmentation (FGD, ATC'23): what is left on a card counts as fragment for a type of
 *		request that it cannot hold, weighed by how often that type is asked for. Where the processors left on
 *		the node are known, half of what they starve of the cards' time counts too (10 cores feed one card).
 *		Differences below 4 % of a card are none: then binpack decides.
 *
 * Several cards are chosen together: the set with the least loss, where the nearness of each pair counts as much as a
 * whole card (up to PLACEMENT_SEARCH cards that fit all sets are tried, beyond that one card after the other). One card
 * alone is taken, where the rule sees no difference, where it is worst connected, so that it breaks no clique.
 *
 * Not in it: moves of what is placed, reservations, slices of a card's hardware.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACEMENT_CARDS 64u /* of one node */
#define PLACEMENT_SEARCH 16u
#define PLACEMENT_WHOLE_PPM 1000000u
#define PLACEMENT_MIX 16u
#define PLACEMENT_TEXT 384u

enum placement_rule { PLACEMENT_SPREAD, PLACEMENT_BINPACK, PLACEMENT_FIT, PLACEMENT_RULES };

enum placement_state { PLACEMENT_ACTIVE, PLACEMENT_CORDONED, PLACEMENT_DRAINED, PLACEMENT_LOST, PLACEMENT_NATIVE };

struct placement_card {
	uint64_t total_bytes, left_bytes; /* left: promised to nobody */
	uint32_t left_ppm;		  /* of its time, likewise */
	unsigned int sharers;
	enum placement_state state; /* PLACEMENT_NATIVE: programs run on it unheld, so no time can be guaranteed */
	const char *name, *uuid;
	int group; /* cards of one group are near each other (NUMA node, switch); below 0: not known */
};

struct placement_node {
	const struct placement_card *card;
	unsigned int count;
	bool cordoned;
	int64_t cpu_left_milli; /* below 0: not known */
};

struct placement_ask {
	unsigned int cards; /* 0 counts as 1 */
	uint64_t bytes;	    /* of each card */
	uint32_t bytes_ppm; /* of each card's memory, where bytes is 0; both 0: all that is left, at least 512 bytes */
	uint32_t time_ppm;
	uint32_t cpu_milli;
	bool alone;	 /* cards that nobody else has */
	bool overcommit; /* what is promised does not count, what a card has does */
	uint64_t with;	 /* bits of cards that the asker has: never taken again, and near to them is better */
	const char *const *allow,
		*const *deny; /* words of a card's name or UUID, case aside; NULL-terminated; NULL: any */
};

/* A type of request, for the rule fit. */
struct placement_type {
	struct placement_ask ask;
	uint32_t weight;
};

enum placement_why {
	PLACEMENT_FITS,
	PLACEMENT_NODE_CORDONED,
	PLACEMENT_NO_CARDS,
	PLACEMENT_FEW_CARDS, /* the node has fewer than are asked for */
	PLACEMENT_NO_CPU,
	/* Of a card, in the order in which they are looked at: */
	PLACEMENT_OWN, /* the asker has it */
	PLACEMENT_MODEL,
	PLACEMENT_OUT_OF_SERVICE,
	PLACEMENT_OVER_CARD,
	PLACEMENT_NOT_ALONE,
	PLACEMENT_MEMORY,
	PLACEMENT_HELD_BY_NATIVE,
	PLACEMENT_TIME,
};

struct placement_verdict {
	enum placement_why why;
	unsigned int card;	    /* the one that came nearest, for what is said of a card */
	unsigned int fitting, need; /* cards; fitting > 0: some fit, not enough */
	uint64_t asked, left;	    /* bytes, ppm, milli-cores, cards or tenants, by `why` */
};

struct placement_choice {
	struct placement_verdict verdict;
	unsigned int card[PLACEMENT_CARDS], count; /* ascending */
	int64_t loss;				   /* lower is better, across nodes; only where it fits */
};

/* The word of a rule, "spread", "binpack" or "fit"; and the rule of a word, or -1. */
const char *placement_rule_name(enum placement_rule rule);
int placement_rule_find(const char *word);

/* What the ask takes of this card's memory, in bytes. */
uint64_t placement_need_bytes(const struct placement_ask *ask, const struct placement_card *card);

/* Whether one card holds it; *ret has the reason and the figure. `number` is the card's own, for *ret. */
bool placement_fits(const struct placement_card *card, unsigned int number, const struct placement_ask *ask,
		    struct placement_verdict *ret);

/* The cards of a node that it goes to. mix: what else is asked for here, at most PLACEMENT_MIX; none: more of the same.
 */
void placement_choose(const struct placement_node *node, const struct placement_ask *ask, enum placement_rule rule,
		      const struct placement_type *mix, size_t mix_count, struct placement_choice *ret);

/* What placement_choose() would say of the node's verdict alone; cheaper. */
void placement_judge(const struct placement_node *node, const struct placement_ask *ask, struct placement_verdict *ret);

/*
 * order[0..count-1]: the node's cards for a share on one of them, best first; those that do not fit come last, most
 * room first.
 */
void placement_order(const struct placement_node *node, const struct placement_ask *ask, enum placement_rule rule,
		     const struct placement_type *mix, size_t mix_count, unsigned int *order);

/* The best of several nodes: of equal ones the first. Value: its number, or -1: none fits (choice[i] says why). */
int placement_best(const struct placement_node *node, size_t count, const struct placement_ask *ask,
		   enum placement_rule rule, const struct placement_type *mix, size_t mix_count,
		   struct placement_choice *choice);

/* Fragmentation of a node: how much of its cards no type of the mix can use; ppm of a card, summed. */
int64_t placement_fragments(const struct placement_node *node, const struct placement_type *mix, size_t mix_count);

/* One clause with the figure that failed, without a full stop; "fits" where it fits. Value: text. */
const char *placement_say(const struct placement_node *node, const struct placement_ask *ask,
			  const struct placement_verdict *v, char text[PLACEMENT_TEXT]);
