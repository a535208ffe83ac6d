/*
 * driver_kinds.h: what meted knows of each kind of driver before it queries it: the option of the probing child, the
 * vendor whose cards it drives, how the kernel shows them, and the remedy.
 *
 * The shapes of model/shapes.h define their vendor, node and remedy there.
 */
#pragma once

#include "daemon/health/probe.h"

struct driver_kind {
	enum device_kind kind;
	const char *option;	/* of the probing child */
	bool may_be_anothers;	/* its devices may be cards that an earlier kind found */
	bool card_first;	/* the driver is queried only if the kernel shows such a card or a setting names a
				 * library */
	bool may_be_left_out;	/* driver.no_KIND (--no-KIND) */
	const char *vendor;	/* the vendor of the cards; NULL: a shape's, or of no one vendor */
	const char *node;	/* a pattern of device nodes: a match means that there is such a card; NULL: a
				 * shape's, or there is no such pattern */
	bool (*has_card)(void); /* the check instead of `node` */
	const char *where;	/* what has_card() checks, in words */
	const char *remedy;	/* for cards that are there and a driver that does not report them */
};

/* The order defines names: the first kind that finds a card names it. */
extern const struct driver_kind driver_kinds[MACHINE_DRIVERS];

/* The index of a kind in the table. */
unsigned int driver_kind_place(enum device_kind kind);

const char *driver_kind_vendor(const struct driver_kind *k);
/* The kernel's node or folder that shows such a card, in words; NULL: none does. */
const char *driver_kind_where(const struct driver_kind *k);
bool driver_kind_has_card(const struct driver_kind *k);
/* Writes the remedy for a driver that died or hung (`died`), or does not report cards that are there. */
void driver_kind_remedy(const struct driver_kind *k, bool died, char *text, size_t size);
