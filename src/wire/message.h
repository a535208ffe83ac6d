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
	WIRE_RESERVE, /* -> RESERVED: raise the client's credit on a device to at least `need` units */
	WIRE_RESERVED,
	WIRE_INFO, /* -> INFO_IS: what all processes of the tenant together may hold and hold on a device */
	WIRE_INFO_IS,
	WIRE_SHARE,  /* -> SHARED: move the charge of an allocation from the client's account to the grant's object
		      * `key` */
	WIRE_IMPORT, /* -> SHARED: the client also references the object `key` */
	WIRE_DROP,   /* -> SHARED: the client references it no longer */
	WIRE_SHARED,
	WIRE_EVENT, /* no answer: an event for the operator (use above the driver's figure, unknown symbol, ...) */
	WIRE_PROCESSES, /* -> PROCESSES_ARE: the tenant's processes, for NVML's process lists */
	WIRE_PROCESSES_ARE,
	WIRE_ERROR, /* no answer: a context of the client on a device returns an error from now on, to every call */
	WIRE_PEER,  /* -> PEER_IS: the page of another process of the tenant, to read its accounts */
	WIRE_PEER_IS,
	WIRE_STORE, /* -> STORED: where the client's memory goes when it leaves the device */
	WIRE_STORED,
};

enum wire_status {
	WIRE_OK = 0,
	WIRE_NO_ROOM, /* the quota does not permit it */
	WIRE_BAD,     /* malformed, or a device or object that does not exist */
	WIRE_WRONG_VERSION,
	WIRE_FULL,	     /* a table is full; the operator has the remedy */
	WIRE_UNKNOWN_OBJECT, /* IMPORT: not exported under this grant; its owner is charged elsewhere */
	WIRE_OUT_OF_SERVICE, /* HELLO: a device of the grant is draining or drained; WELCOME names the grant */
	WIRE_QUARANTINED,    /* HELLO: the tenant's programs faulted too often; WELCOME names the grant, and `wait_s` */
	WIRE_UNGUARDED,	     /* HELLO: the guard must hold the process and does not; WELCOME names the grant */
};

struct wire_header {
	uint32_t type;	 /* enum wire_type */
	uint32_t size;	 /* of the packet, header included */
	uint32_t serial; /* an answer has the serial of its request */
	uint32_t status; /* enum wire_status, 0 in requests */
};

struct wire_hello {
	struct wire_header head;
	uint32_t version;
	uint32_t library; /* 1 driver API, 2 NVML, 3 tier T3; only the driver API holds memory */
	char command[32]; /* /proc/self/comm, NUL-terminated */
	uint32_t held_units[WIRE_MAX_DEVICES]; /* what a reconnecting client holds; zero in the first HELLO */
	/*
	 * Identifies the process's program image: equal for all libraries in it, different after exec; 0: not known. A
	 * hash of the 16 bytes at getauxval(AT_RANDOM) meets this. If it differs from the page's, the process has
	 * called exec: what the earlier image held is freed, and meted empties the account and drops its objects.
	 */
	uint64_t image;
};

enum wire_device_flags {
	WIRE_DEVICE_SOFT = 1 << 0,	  /* the software device */
	WIRE_DEVICE_STAYS_ASKED = 1 << 1, /* meted supports WIRE_RESERVE_STAYS and requires it */
	WIRE_DEVICE_STORES = 1 << 2,	  /* meted supports WIRE_STORE and requires it before memory leaves */
};

struct wire_device {
	uint8_t uuid[16];
	uint64_t quota_bytes;
	uint64_t total_bytes;	/* of the whole device */
	uint32_t granule_bytes; /* the driver takes plain allocations from blocks of this size and alignment */
	uint32_t flags;		/* enum wire_device_flags */
};

struct wire_welcome { /* carries two descriptors: the page, the doorbell */
	struct wire_header head;
	uint32_t device_count;
	int32_t host_pid; /* the client's pid in the pid namespace of meted and the driver */
	uint32_t resumed; /* 1: the page is the process's earlier one */
	uint32_t wait_s;  /* WIRE_QUARANTINED: seconds to wait; 0: until the operator ends it */
	uint64_t grant_id;
	char grant_name[64];
	struct wire_device device[WIRE_MAX_DEVICES];
};

struct wire_reserve {
	struct wire_header head;
	uint32_t device;
	uint32_t flags; /* enum wire_reserve_flags */
	/*
	 * The minimum credit. 0 with WIRE_RESERVE_ALL. 0 without it: the earlier WIRE_RESERVE_ALL is settled, and meted
	 * takes back credit above want_units.
	 */
	uint32_t need_units;
	uint32_t want_units; /* the desired credit, if there is room: for later calls */
};

enum wire_reserve_flags {
	/*
	 * All that is left of the quota, because the size is not known before the driver has allocated. The client
	 * raises `measuring` on the page first. The answer is WIRE_OK with the available credit (credit_units may be
	 * 0).
	 */
	WIRE_RESERVE_ALL = 1 << 0,
	/*
	 * For memory that cannot leave the device, in a grant whose other memory may (WIRE_DEVICE_STAYS_ASKED): such
	 * memory is never taken from existing credit.
	 */
	WIRE_RESERVE_STAYS = 1 << 1,
};

struct wire_reserved {
	struct wire_header head;
	uint32_t credit_units; /* the credit at the time of meted's answer */
	uint32_t again; /* with WIRE_NO_ROOM: 1: the quota permits it, and other memory is leaving the device: ask
			 * again */
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
 * SHARE, IMPORT, DROP. A client references an object at most once, however many handles it has: it counts its own, and
 * sends DROP when the driver has released the last one. All three may be repeated without harm. SHARE: the allocation's
 * units must be in the client's `held`; meted takes them out of `granted` and `held` in one step and charges the object
 * instead, so the client never changes its word for them: DROP refunds the object. DROP of a key that the client does
 * not reference is answered with WIRE_OK and units 0.
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
	uint32_t last;	/* DROP: 1 if no client references it any more */
	uint32_t unused;
};

enum wire_event_kind {
	WIRE_EVENT_OTHER,
	WIRE_EVENT_UNKNOWN_CALL, /* the text names a call that the client does not know; it is counted */
};

struct wire_event {
	struct wire_header head;
	uint32_t device;
	uint32_t kind;	/* enum wire_event_kind; 0 from a client without kinds */
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

/* Sent only by a client whose page shows other processes (wire_account.others_count). */
struct wire_peer {
	struct wire_header head;
	uint32_t index; /* below others_count */
	uint32_t unused;
};

struct wire_peer_is { /* carries a descriptor with WIRE_OK: of the page, read-only */
	struct wire_header head;
	uint32_t crew; /* others_crew: indices are valid as long as it is the same */
	uint32_t unused;
};

/*
 * Sent by a client that leaves (its place is WIRE_LEAVING), if WIRE_DEVICE_STORES is set. WIRE_OK without a descriptor:
 * to the host's memory. With one: to this file, which has no name and no other user, and room for `units`; it is
 * O_DIRECT, and the client closes it when its memory has returned. WIRE_NO_ROOM: it stays.
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

#define WIRE_PEERS_MOST 32u /* number of other pages that a client reads */
#define WIRE_PEER_BYTES 4096u /* size of a page's part with all accounts, which is enough to map */

#define WIRE_MAX_PROCESSES 512u

struct wire_process {
	int32_t pid; /* in meted's pid namespace */
	uint32_t held_units;
};

struct wire_processes_are { /* sent with `count` entries only */
	struct wire_header head;
	uint32_t count;
	uint32_t unused;
	struct wire_process process[WIRE_MAX_PROCESSES];
};
