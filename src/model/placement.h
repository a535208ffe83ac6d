/*
 * placement.h: chooses the cards of a node for a share, and the node among several. Pure: the caller describes the
 * nodes and acts on the answer. It allocates nothing and uses integers alone, so the answer is the same on every
 * machine.
 *
 * A card has two resources that cannot be added: memory, and guaranteed time. A share fits if both suffice, the card is
 * in service and its model is allowed. Among the cards that fit the rule decides:
 *
 *	spread	most memory that is not promised, then fewest tenants, then the lowest number;
 *	binpack	least of memory and time left over, then most tenants, then the lowest number;
 *	fit	least growth of fragmentation (FGD, ATC'23): what is left on a card counts as a fragment for a type
 *		of request that it cannot hold, weighted by the frequency of that type. Where the processors left on
 *		the node are known, half of the cards' time that lacks them counts too (10 cores feed one card).
 *		Differences below 4 % of a card are none: then binpack decides.
 *
 * Several cards are chosen together: the set with the least loss, where the nearness of each pair counts as much as a
 * whole card. With up to PLACEMENT_SEARCH cards that fit all sets are compared, with more one card is chosen after the
 * other. Where the rule sees no difference, a single card is taken where it is worst connected, so that it breaks no
 * clique.
 *
 * Not included: moves of placed shares, reservations, hardware slices of a card.
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
	uint64_t total_bytes, left_bytes; /* left: not promised */
	uint32_t left_ppm;		  /* time that is not promised */
	unsigned int sharers;
	enum placement_state state; /* PLACEMENT_NATIVE: programs run on it unheld, so no time can be guaranteed */
	const char *name, *uuid;
	int group; /* cards of one group are near each other (NUMA node, switch); below 0: unknown */
};

struct placement_node {
	const struct placement_card *card;
	unsigned int count;
	bool cordoned;
	int64_t cpu_left_milli; /* below 0: unknown */
};

struct placement_ask {
	unsigned int cards; /* 0 counts as 1 */
	uint64_t bytes;	    /* of each card */
	uint32_t bytes_ppm; /* of each card's memory, where bytes is 0; both 0: all that is left, at least 512 bytes */
	uint32_t time_ppm;
	uint32_t cpu_milli;
	bool alone;	 /* cards without other tenants */
	bool overcommit; /* promises do not count, the card's size does */
	bool leaves;	 /* its memory may leave the card: of what is promised only `stays_bytes` counts */
	uint64_t stays_bytes;
	uint64_t with;	 /* bits of cards that the requester has: not taken again; near ones are preferred */
	const char *const *allow,
		*const *deny; /* words in a card's name or UUID, in any case; NULL-terminated; NULL: any */
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
	PLACEMENT_FEW_CARDS, /* the node has fewer than requested */
	PLACEMENT_NO_CPU,
	/* About a card, in the order of the checks: */
	PLACEMENT_OWN, /* the requester has it already */
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
	unsigned int card;	    /* the card that came nearest, if the reason is about a card */
	unsigned int fitting, need; /* cards; fitting > 0: some fit, but not enough */
	uint64_t asked, left;	    /* bytes, ppm, milli-cores, cards or tenants, by `why` */
};

struct placement_choice {
	struct placement_verdict verdict;
	unsigned int card[PLACEMENT_CARDS], count; /* ascending */
	int64_t loss;				   /* lower is better, comparable across nodes; valid if it fits */
};

/* Returns the word of a rule, "spread", "binpack" or "fit"; and the rule of a word, or -1. */
const char *placement_rule_name(enum placement_rule rule);
int placement_rule_find(const char *word);

/* Returns the bytes of this card's memory that the request is promised. */
uint64_t placement_need_bytes(const struct placement_ask *ask, const struct placement_card *card);

/*
 * True if one card can hold the request; *ret receives the reason and the figure. `number` is the card's number, for
 * *ret.
 */
bool placement_fits(const struct placement_card *card, unsigned int number, const struct placement_ask *ask,
		    struct placement_verdict *ret);

/*
 * Chooses the cards of a node. mix: the other types of requests made here, at most PLACEMENT_MIX; none: more of the
 * same.
 */
void placement_choose(const struct placement_node *node, const struct placement_ask *ask, enum placement_rule rule,
		      const struct placement_type *mix, size_t mix_count, struct placement_choice *ret);

/* Returns only the verdict of placement_choose(); cheaper. */
void placement_judge(const struct placement_node *node, const struct placement_ask *ask, struct placement_verdict *ret);

/*
 * Writes the node's cards to order[0..count-1], best first for a share on one of them. Cards that do not fit come last,
 * the one with the most room first.
 */
void placement_order(const struct placement_node *node, const struct placement_ask *ask, enum placement_rule rule,
		     const struct placement_type *mix, size_t mix_count, unsigned int *order);

/*
 * Chooses the best of several nodes, of equal ones the first. Returns its number, or -1: none fits (choice[i] has the
 * reasons).
 */
int placement_best(const struct placement_node *node, size_t count, const struct placement_ask *ask,
		   enum placement_rule rule, const struct placement_type *mix, size_t mix_count,
		   struct placement_choice *choice);

/*
 * Returns the fragmentation of a node: the parts of its cards that no type of the mix can use, in ppm of a card,
 * summed.
 */
int64_t placement_fragments(const struct placement_node *node, const struct placement_type *mix, size_t mix_count);

/* Writes one clause with the figure that failed, without a full stop; "fits" if it fits. Returns text. */
const char *placement_say(const struct placement_node *node, const struct placement_ask *ask,
			  const struct placement_verdict *v, char text[PLACEMENT_TEXT]);
