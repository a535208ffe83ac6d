/*
 * unproven.h: which of those that have not proved who they are get one of a few places.
 *
 * Whoever is honest proves itself within moments; whoever is not holds its place for as long as it may, and comes
 * again. So a place is never refused to a newcomer for good: it is taken from the one that has had it longest, of the
 * source that has most. Sources that have proved themselves before (known) and others (strangers) have places that the
 * other kind cannot take: a flood of strangers leaves room for known ones, and a known one that went bad for strangers.
 *
 * A source is an address; of IPv6 its network of 64 bits, which is what one subscriber has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UNPROVEN_SOURCE_BYTES 16u
#define UNPROVEN_KNOWN 1024u /* sources that are remembered; those that proved themselves last */
#define UNPROVEN_MOST 1024u  /* places */

struct unproven_source {
	uint8_t bytes[UNPROVEN_SOURCE_BYTES];
};

/* One that has a place. */
struct unproven {
	struct unproven_source source;
	uint64_t since_ns;
	bool known;
	void *who; /* the caller's */
};

struct unproven_rule {
	unsigned int most;	 /* places, at most UNPROVEN_MOST */
	unsigned int per_source; /* of these, for one source */
	unsigned int kept;	 /* for each of known sources and strangers; twice this at most `most` */
};

/*
 * Value: whose place a newcomer takes, or NULL: there is a free one. Of those that are there `count` are given; with
 * every newcomer placed by this rule they are never more than rule->most.
 */
const struct unproven *unproven_yields(const struct unproven_rule *rule, const struct unproven *there,
				       unsigned int count, const struct unproven_source *newcomer, bool known);

/* Sources that have proved themselves. */
struct unproven_known {
	struct {
		struct unproven_source source;
		uint64_t at_ns; /* 0: free */
	} place[UNPROVEN_KNOWN];
};

void unproven_remember(struct unproven_known *known, const struct unproven_source *source, uint64_t now_ns);
bool unproven_knows(const struct unproven_known *known, const struct unproven_source *source);
bool unproven_same(const struct unproven_source *a, const struct unproven_source *b);
/* From 4 or 16 bytes of an address, in network order. */
struct unproven_source unproven_source_of(const uint8_t *address, unsigned int bytes);
