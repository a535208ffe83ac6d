/*
 * driver_kinds.h: what meted knows of each kind of driver before it asks it: the option of the child that does, whose
 * cards it drives, how the kernel shows them, and the remedy.
 *
 * The shapes of model/shapes.h have their vendor, node and remedy there.
 */
#pragma once

#include "daemon/health/probe.h"

struct driver_kind {
	enum device_kind kind;
	const char *option;	/* of the child that asks */
	bool may_be_anothers;	/* its devices may be cards of the kinds before */
	bool card_first;	/* nobody is asked where the kernel has no such card and no setting names a library */
	bool may_be_left_out;	/* driver.no_KIND (--no-KIND) */
	const char *vendor;	/* whose cards; NULL: a shape's, or no vendor's */
	const char *node;	/* a pattern of the kernel's: such a card is there; NULL: a shape's, or nothing tells */
	bool (*has_card)(void); /* in place of `node` */
	const char *where;	/* what has_card() looks at */
	const char *remedy;	/* where cards are there and the driver does not answer for them */
};

/* In the order in which a card that several kinds find gets its name: the first names it. */
extern const struct driver_kind driver_kinds[MACHINE_DRIVERS];

/* The number of a kind in the table. */
unsigned int driver_kind_place(enum device_kind kind);

const char *driver_kind_vendor(const struct driver_kind *k);
/* The kernel's node or folder that tells of such a card, in words; NULL: none does. */
const char *driver_kind_where(const struct driver_kind *k);
bool driver_kind_has_card(const struct driver_kind *k);
/* What helps where the driver died, hung, or does not answer for the cards that are there (`died`: the first two). */
void driver_kind_remedy(const struct driver_kind *k, bool died, char *text, size_t size);
