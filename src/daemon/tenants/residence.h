/*
 * residence.h: the memory of tenants that may leave a device (`--spill`): which of them is asked to leave and to
 * return, and how much of a shared device may be granted.
 *
 * src/model/residence.h decides. This part reads what clients write on their pages, and writes requests to them. The
 * sum of what clients are granted on such a device, held or credit, never exceeds the device: account.c calls
 * residence_room() before it grants. A client that finds no room waits while others leave.
 */
#pragma once

#include "model/grant.h"
#include "ring/wall.h"
#include "wire/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct client;
struct daemon;
struct tenant;

/* Settings. */
struct residence_options {
	bool spill;		  /* new grants are made with it */
	uint64_t pool_bytes;	  /* of the host's memory; 0: half of it */
	const char *disk;	  /* a folder for what finds no room there; NULL: none */
	uint64_t disk_bytes;	  /* that it may take */
	uint64_t disk_user_bytes; /* of one user who is no owner; 0: half of that */
	uint64_t turn_ns;
	uint64_t yield_ns; /* what was lent is given up within */
	bool yield_end;	   /* else its program is ended */
};

#define RESIDENCE_OPTIONS                                                                                              \
	((struct residence_options){                                                                                   \
		.turn_ns = 2000000000u, .yield_ns = UINT64_C(10000000000), .disk_bytes = UINT64_C(16) << 30 })

/* What meted knows of a client's memory; zero at first. */
struct residing {
	uint32_t wish;		/* as it stands on the page */
	uint32_t place;		/* as it was read last */
	uint64_t since_ns;	/* it has been at its place */
	uint64_t arrived_ns;	/* all of it has been back on the device */
	uint64_t idle_since_ns; /* 0: it is in use */
	uint64_t waits_since_ns;
	uint64_t want_units, want_ns; /* it asked for so much more, and was told to wait, then */
	uint64_t hopeless_ns;	      /* since then others cannot make as much room; 0: they can */
	uint64_t stay_units, stay_ns; /* it was allowed to hold so much that cannot leave, then */
	uint64_t short_ns;	      /* since then it may not hold more of that; 0: it may */
	uint64_t stays_until_ns;      /* it could not leave: not asked again until then */
	uint64_t asked_ns;	      /* of what is under way: the wish */
	uint64_t came_ns;	      /* it has come further on its way, or was asked, then */
	uint32_t came_percent;	      /* the furthest */
	uint32_t silences;	      /* that it has not answered in time; since it has done what was asked */
	uint32_t counted;	      /* the wish whose move is counted */
	uint64_t moving_units;
	uint64_t swap_ns;	     /* the last time to leave and the last to return, together */
	uint64_t swap_before_ns;     /* the same of the swap before */
	uint64_t leave_ns;	     /* without the time in which its work ended: the device was used then */
	uint64_t works_ns;	     /* its work had not ended when it was looked at then */
	int disk_fd;		     /* of the file that it was given, which it writes or has written; 0: none */
	uint64_t disk_units;	     /* its size, also while it is made */
	struct disk_ask *disk_ask;   /* it is made; NULL: not */
	struct session *disk_asker;  /* who is to be answered then; NULL: has gone */
	uint32_t disk_serial;	     /* with this number */
	uint32_t told;		     /* the wish of which it was said that it cannot be done */
	uint64_t late_ns;	     /* yielding.h: since then it, or who is in its way, is late; 0: not */
	char why[200];		     /* it was told that its memory finds room nowhere; empty: nothing to say */
	bool urgent;		     /* the wish is for whom the memory is promised to */
	char whom[GRANT_NAME_BYTES]; /* the grant that needs the room; empty: none, the user asked */
	bool called;		     /* the user wants it back */
	bool saved; /* the driver has taken its process off the device (checkpoint.h): it holds nothing there */
	bool doubt; /* it may have: a child was, or may have been, at it */
};

/* A tenant is served from now on. */
void residence_begin(struct tenant *tenant);
/* A client has its page: what is asked of it stands there before it is told so. `found`: by this meted. */
void residence_join(struct client *client, bool found);
/* Frees the timer. */
void residence_stop(struct daemon *daemon);

/*
 * Units that the client may be granted more on the device, credit included. UINT64_MAX: no tenant's memory moves there,
 * the driver judges. Recalls others' credit where less than `need` is free.
 */
uint64_t residence_room(struct client *client, unsigned int device, uint64_t need);
/*
 * There is no room for so many units more: others are asked to leave. False: it will never be, or the device is not one
 * of those.
 */
bool residence_wait(struct client *client, unsigned int device, uint64_t units);
void residence_has(struct client *client);
/*
 * Of a client whose memory moves, and that is lent what others are promised: may it have so many units more of what
 * cannot leave the device? All such memory there is fits beside all promises. True for every other client.
 */
bool residence_may_stay(struct client *client, unsigned int device, uint64_t units);
/* It may not. True: perhaps in a moment, since others take or give something just now. */
bool residence_stay_waits(struct client *client);
/* Units that it may have more of it, UINT64_MAX for every other client. */
uint64_t residence_stay_room(struct client *client, unsigned int device);
/*
 * Bytes of the device that are held without a promise and could be kept from whom they are promised to: what cannot
 * leave, and where meted serves all users everything of grants of others than the user, but for owners', which alone
 * are lent what is promised to others.
 */
uint64_t residence_occupied_bytes(const struct daemon *daemon, const uint8_t *uuid, uid_t uid);
/* What is away of a tenant's clients, but for `except` (may be NULL), in units: its quota is not free for others. */
uint64_t residence_away(const struct tenant *tenant, unsigned int device, const struct client *except);

/* A grant's memory leaves by what its programs do themselves (`--spill`). */
bool residence_moves(const struct tenant *tenant);
/* Units of the host's memory that may be taken by what leaves of the tenant (memory.pool). */
uint64_t residence_pool_room(const struct tenant *tenant);
/* What bounds that, for a line. */
const char *residence_pool_bound(const struct tenant *tenant);
/* So many units of the tenant's find room where memory goes that leaves (memory.pool, memory.disk). */
bool residence_takes(const struct tenant *tenant, uint64_t units);
/* What is on the disk: of a client, and of a tenant, in units. */
uint64_t residence_client_disk(const struct client *client);
uint64_t residence_disk(const struct tenant *tenant);
/* Of all that have left a device, with what is away of them at all, in units. */
uint64_t residence_disk_of_device(const struct daemon *daemon, const uint8_t *uuid, uint64_t *ret_away);
/* Of all, with what may be there, in bytes; 0: there is none. */
uint64_t residence_disk_bytes(const struct daemon *daemon, uint64_t *ret_most_bytes);
/*
 * A client that leaves asks where to. WIRE_OK: to the host's memory, or with a descriptor, which remains meted's, to
 * this file. WIRE_NO_ROOM: it stays. RESIDENCE_LATER: a file is made; `asker` is answered with `serial`
 * (session_answer_stored()).
 */
#define RESIDENCE_LATER (-1)
int residence_store(struct client *client, uint64_t units, struct session *asker, uint32_t serial, int *ret_fd);
/* Grants of root and of meted's own user, where one meted serves all. */
bool residence_is_owners(const struct tenant *tenant);
/* Where so much of a program behind a wall, which leaves its worker, goes to. */
enum wall_stored_place residence_store_place(const struct tenant *tenant, uint64_t units);
/* Who has asked has gone. */
void residence_store_forget(struct client *client, const struct session *asker);
/* The client is gone, or has its memory back. `leaving`: this meted goes, and the file stays the client's. */
void residence_unstore(struct client *client, bool leaving);
/* Units of the tenant's device that nobody has. */
uint64_t residence_left(const struct tenant *tenant);
/* Pages are looked at while there is something to see; and at once. */
void residence_look_on(struct daemon *daemon);
void residence_look_now(struct daemon *daemon);
/* In a moment, where they are looked at: something has happened that somebody may wait for. */
void residence_look_soon(struct daemon *daemon);
