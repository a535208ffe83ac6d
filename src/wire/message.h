/*
 * message.h: the messages between a client (the shim, or the shim in a worker) and meted.
 *
 * Each grant has one SOCK_SEQPACKET unix socket. A client connects, sends HELLO and gets WELCOME with two descriptors:
 * its page (page.h) and the grant's doorbell (turn.h). Every message is one packet: a header and a fixed body, in host
 * byte order (both ends are on one machine). Every request is idempotent: a client whose meted was replaced connects,
 * sends HELLO and asks again. Only the client sends requests; meted sends only answers.
 */
#pragma once

#include "wire/page.h"

#include <stdint.h>

/*
 * Versions. HELLO and the head of WELCOME keep their form in all of them, so that both sides can say which they speak.
 * meted serves clients of WIRE_VERSION_OLDEST up to its own; a client that is told WIRE_WRONG_VERSION comes again and
 * speaks one version less, so a meted one release older serves it as well. What came with which:
 * 2: the first that was released. 3: ERROR; the answers OUT_OF_SERVICE and QUARANTINED to HELLO, in whose place meted
 * tells a client of version 2 FULL.
 */
#ifndef WIRE_VERSION /* a test builds the meted of the release before */
#define WIRE_VERSION 3u
#endif
#define WIRE_VERSION_OLDEST 2u

enum wire_type {
	WIRE_HELLO = 1, /* -> WELCOME */
	WIRE_WELCOME,
	WIRE_RESERVE, /* -> RESERVED: raise my credit on a device to at least `need` units */
	WIRE_RESERVED,
	WIRE_INFO, /* -> INFO_IS: what the tenant may hold and holds on a device, all its processes together */
	WIRE_INFO_IS,
	WIRE_SHARE,  /* -> SHARED: the charge of an allocation moves from my account to the grant's object `key` */
	WIRE_IMPORT, /* -> SHARED: I reference the object `key` too */
	WIRE_DROP,   /* -> SHARED: I reference it no longer */
	WIRE_SHARED,
	WIRE_EVENT, /* no answer: something the operator should know (over the driver's figure, unknown symbol, ...) */
	WIRE_PROCESSES, /* -> PROCESSES_ARE: the tenant's processes, for NVML's process lists */
	WIRE_PROCESSES_ARE,
	WIRE_ERROR, /* no answer: a context of mine on a device answers an error from now on, whatever it is asked */
	WIRE_PEER,  /* -> PEER_IS: the page of another process of the tenant, to read its accounts */
	WIRE_PEER_IS,
	WIRE_STORE, /* -> STORED: where what I hold goes when it leaves the device */
	WIRE_STORED,
};

enum wire_status {
	WIRE_OK = 0,
	WIRE_NO_ROOM, /* the quota does not allow it */
	WIRE_BAD,     /* malformed, or a device or object that does not exist */
	WIRE_WRONG_VERSION,
	WIRE_FULL,	     /* no place in a table; the remedy is the operator's */
	WIRE_UNKNOWN_OBJECT, /* IMPORT: not exported under this grant; its owner is charged elsewhere */
	WIRE_OUT_OF_SERVICE, /* HELLO: a device of the grant is being drained, or has been; WELCOME names the grant */
	WIRE_QUARANTINED,    /* HELLO: the tenant's programs faulted too often; WELCOME names it, and `wait_s` */
	WIRE_UNGUARDED,	     /* HELLO: the guard does not hold the process, and has to; WELCOME names the grant */
};

struct wire_header {
	uint32_t type;	 /* enum wire_type */
	uint32_t size;	 /* of the packet, header included */
	uint32_t serial; /* an answer carries its request's */
	uint32_t status; /* enum wire_status, 0 in requests */
};

struct wire_hello {
	struct wire_header head;
	uint32_t version;
	uint32_t library; /* 1 driver API, 2 NVML, 3 tier T3; the driver API alone holds something */
	char command[32]; /* /proc/self/comm, NUL-terminated */
	uint32_t held_units[WIRE_MAX_DEVICES]; /* what a reconnecting client holds; zero at the first HELLO */
	/*
	 * Names this image of the process: the same for all libraries in it, another after exec; 0: not known. A hash
	 * of the 16 bytes at getauxval(AT_RANDOM) does. When it differs from the page's, the process has called exec:
	 * what the earlier image held is gone with it, and meted empties the account and drops its objects.
	 */
	uint64_t image;
};

enum wire_device_flags {
	WIRE_DEVICE_SOFT = 1 << 0,	  /* the software device */
	WIRE_DEVICE_STAYS_ASKED = 1 << 1, /* WIRE_RESERVE_STAYS is understood, and wanted */
	WIRE_DEVICE_STORES = 1 << 2,	  /* WIRE_STORE is understood, and wanted before memory leaves */
};

struct wire_device {
	uint8_t uuid[16];
	uint64_t quota_bytes;
	uint64_t total_bytes;	/* of the whole device */
	uint32_t granule_bytes; /* the driver takes plain allocations from blocks of this size, aligned to it */
	uint32_t flags;		/* enum wire_device_flags */
};

struct wire_welcome { /* carries two descriptors: the page, the doorbell */
	struct wire_header head;
	uint32_t device_count;
	int32_t host_pid; /* the client's pid as meted and the driver see it */
	uint32_t resumed; /* 1: the page is the one this process had before */
	uint32_t wait_s;  /* WIRE_QUARANTINED: for how long; 0: until the operator says so */
	uint64_t grant_id;
	char grant_name[64];
	struct wire_device device[WIRE_MAX_DEVICES];
};

struct wire_reserve {
	struct wire_header head;
	uint32_t device;
	uint32_t flags; /* enum wire_reserve_flags */
	/*
	 * Credit wanted at least. 0 with WIRE_RESERVE_ALL; 0 without it: what was so reserved is settled, and meted
	 * takes back what is beyond want_units.
	 */
	uint32_t need_units;
	uint32_t want_units; /* and this much, where there is room: credit for the next calls */
};

enum wire_reserve_flags {
	/*
	 * All that is left of the quota: the size is not known before the driver took it. `measuring` on the page is
	 * raised before. Answered WIRE_OK with whatever there is (credit_units may be 0).
	 */
	WIRE_RESERVE_ALL = 1 << 0,
	/*
	 * It is for memory that cannot leave the device, of a grant whose other memory may (WIRE_DEVICE_STAYS_ASKED):
	 * such memory is never taken from credit alone.
	 */
	WIRE_RESERVE_STAYS = 1 << 1,
};

struct wire_reserved {
	struct wire_header head;
	uint32_t credit_units; /* the credit when meted answered */
	uint32_t again; /* with WIRE_NO_ROOM: 1: the quota allows it, and the device is being emptied for it: ask again
			 */
};

struct wire_info {
	struct wire_header head;
	uint32_t device;
	uint32_t unused;
};

struct wire_info_is {
	struct wire_header head;
	uint64_t quota_bytes;
	uint64_t held_bytes; /* by the tenant: all its processes and shared objects */
};

/*
 * SHARE, IMPORT, DROP. A client references an object at most once, however many handles to it it has: it counts its own
 * and asks DROP when the driver has let go of its last. All three may be repeated without harm.
 * SHARE: the allocation's units must be in the client's `held`; meted takes them out of `granted` and `held` in one
 * step and charges the object instead, so the client changes nothing in its word, then or later: the object is refunded
 * by DROP. DROP of a key that the client does not reference is answered WIRE_OK with units 0.
 */
struct wire_object_request {
	struct wire_header head;
	uint8_t key[WIRE_KEY_BYTES];
	uint32_t device;
	uint32_t units; /* SHARE only */
};

struct wire_shared {
	struct wire_header head;
	uint32_t device;
	uint32_t units; /* of the object, in every answer */
	uint32_t last;	/* DROP: 1 when nobody references it any more */
	uint32_t unused;
};

enum wire_event_kind {
	WIRE_EVENT_OTHER,
	WIRE_EVENT_UNKNOWN_CALL, /* the text is of a call that the client does not know: it is counted */
};

struct wire_event {
	struct wire_header head;
	uint32_t device;
	uint32_t kind;	/* enum wire_event_kind; 0 from a client that knows none */
	char text[200]; /* one line, NUL-terminated */
};

struct wire_error {
	struct wire_header head;
	uint32_t device;
	uint32_t error; /* CUresult */
};

struct wire_processes {
	struct wire_header head;
	uint32_t device;
	uint32_t unused;
};

/* Asked only by whom the page has told of others (wire_account.others_count). */
struct wire_peer {
	struct wire_header head;
	uint32_t index; /* below others_count */
	uint32_t unused;
};

struct wire_peer_is { /* carries one descriptor when the status is WIRE_OK: of the page, for reading alone */
	struct wire_header head;
	uint32_t crew; /* others_crew: indices mean the same as long as it is the same */
	uint32_t unused;
};

/*
 * Asked by a client that leaves (its place is WIRE_LEAVING), where WIRE_DEVICE_STORES is set. WIRE_OK without a
 * descriptor: to the host's memory. With one: into this file, which has no name, no other user, and room for `units`;
 * it is O_DIRECT, and the client closes it when its memory has returned. WIRE_NO_ROOM: nowhere; it stays.
 */
struct wire_store {
	struct wire_header head;
	uint32_t device;
	uint32_t units;
};

struct wire_stored {
	struct wire_header head;
	uint32_t disk; /* 1: carries a descriptor */
	uint32_t unused;
};

#define WIRE_PEERS_MOST 32u /* pages of others that a client reads */
#define WIRE_PEER_BYTES 4096u /* of the page that need to be mapped: all accounts lie in them */

#define WIRE_MAX_PROCESSES 512u

struct wire_process {
	int32_t pid; /* as meted sees it */
	uint32_t held_units;
};

struct wire_processes_are { /* sent with `count` entries only */
	struct wire_header head;
	uint32_t count;
	uint32_t unused;
	struct wire_process process[WIRE_MAX_PROCESSES];
};
