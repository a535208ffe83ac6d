/*
 * unproven.h: decides which peers that have not authenticated yet get one of a limited number of places.
 *
 * An honest peer authenticates within moments. An attacker holds its place as long as it may, and returns. A new peer
 * is therefore never refused permanently: it takes the place held longest, of the source with most attempts that have
 * come to nothing lately, else of the source with most places. So a few honest peers of one source that need time,
 * because the machine is busy, do not yield to a flood from several sources, of which each holds fewer places. Sources
 * that have authenticated before (known) and others (strangers) have places that the other kind cannot take. A flood of
 * strangers leaves room for known sources, and a known source that turns hostile leaves room for strangers.
 *
 * A source is an address; of IPv6 its network of 64 bits, which is what one subscriber has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define UNPROVEN_SOURCE_BYTES 16u
#define UNPROVEN_KNOWN 1024u /* sources that are remembered: those that authenticated last */
#define UNPROVEN_MOST 1024u  /* places */

struct unproven_source {
	uint8_t bytes[UNPROVEN_SOURCE_BYTES];
};

/* A peer with a place. */
struct unproven {
	struct unproven_source source;
	uint64_t since_ns;
	bool known;
	void *who;	/* belongs to the caller */
	uint32_t tries; /* of its source, unproven_tries(); 0 where nobody counts them */
};

struct unproven_rule {
	unsigned int most;	 /* places, at most UNPROVEN_MOST */
	unsigned int per_source; /* of these, for one source */
	unsigned int kept;	 /* for each of known sources and strangers; twice this at most `most` */
};

/*
 * Returns the peer whose place a newcomer takes, or NULL if a place is free. `there` has the `count` present peers; if
 * every newcomer is placed by this rule, they are never more than rule->most.
 */
const struct unproven *unproven_yields(const struct unproven_rule *rule, const struct unproven *there,
				       unsigned int count, const struct unproven_source *newcomer, bool known);

#define UNPROVEN_BURST 32u /* attempts of one source that no flood is made of */
#define UNPROVEN_DWELL_NS UINT64_C(250000000)

/*
 * Whether the newcomer, whose source has `tries` attempts, is dropped instead, because it would displace a connection
 * of an equally good source that has had no time yet. A flood therefore cannot make the server start and end processes
 * at the rate of the flood.
 */
bool unproven_drops(const struct unproven *yields, uint32_t tries, uint64_t now_ns);

/* Attempts of sources that have not come to a proof. They fade: half of them in 5 seconds. */
#define UNPROVEN_TRIES 1024u
#define UNPROVEN_WAYS 4u

struct unproven_tries {
	struct {
		struct unproven_source source;
		uint64_t at_ns;
		uint32_t count;
	} place[UNPROVEN_TRIES];
};

void unproven_tried(struct unproven_tries *tries, const struct unproven_source *source, uint64_t now_ns);
/* One attempt of the source has come to a proof. */
void unproven_proved(struct unproven_tries *tries, const struct unproven_source *source, uint64_t now_ns);
uint32_t unproven_tries(const struct unproven_tries *tries, const struct unproven_source *source, uint64_t now_ns);

/* Sources that have authenticated. */
struct unproven_known {
	struct {
		struct unproven_source source;
		uint64_t at_ns; /* 0: free */
	} place[UNPROVEN_KNOWN];
};

void unproven_remember(struct unproven_known *known, const struct unproven_source *source, uint64_t now_ns);
bool unproven_knows(const struct unproven_known *known, const struct unproven_source *source);
bool unproven_same(const struct unproven_source *a, const struct unproven_source *b);
/* Makes a source from 4 or 16 bytes of an address in network order. */
struct unproven_source unproven_source_of(const uint8_t *address, unsigned int bytes);
