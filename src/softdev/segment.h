/*
 * segment.h: what all processes on the software device share: its devices, who holds how much, who computes.
 *
 * One file, METE_SOFT_DIR/segment (default /dev/shm/mete-soft-<uid>/segment), mapped by the driver library and by the
 * NVML library. The first process makes it with its own configuration (METE_SOFT_*); later ones take the segment's, as
 * long as somebody lives in it.
 *
 * Death is the kernel's word. Each process holds a place in the table through a lock on one byte of the file (an open
 * file description lock) that hangs on a mapping: the kernel lets go of it when the mapping goes, that is at exit, kill
 * and exec, and before the parent can wait for the process; zombies are dead, a reused pid is not mistaken, and a child
 * made by fork does not inherit it. Whoever wants memory or asks how much is free first clears the places of the dead.
 *
 * Accounts are in units of 512 bytes and change only with the segment's lock held. The lock is a word with the holder's
 * place in it; a waiter who finds the holder dead takes it over and recomputes the totals from the places and objects,
 * so a kill -9 at any instruction leaves an exact account.
 *
 * Shared objects (exportable VMM handles, memory and events that have an interprocess handle, exported pools) are files
 * METE_SOFT_DIR/object-<id>, alive while a process on the device holds a lock on them through a descriptor or a
 * mapping; and while any process has a descriptor that was exported, as long as the maker lives: what nobody can be
 * charged for is not kept. Their charge lies in the object table and survives the process that made them.
 *
 * Limits: one segment per user and directory; 1024 processes; 4096 shared objects; a file system with open file
 * description locks (tmpfs has them since Linux 3.15).
 */
#pragma once

#include "softdev/timeline.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_MAGIC 0x676573736574656dull
#define SEGMENT_VERSION 4u
#define SEGMENT_UNIT_BYTES 512u
#define SEGMENT_MAX_DEVICES 16u
#define SEGMENT_MAX_PROCESSES 1024u
#define SEGMENT_MAX_OBJECTS 4096u
#define SEGMENT_ERRORS 64u

/* Written once, when the segment is made. */
struct segment_config {
	uint8_t uuid[16];
	char name[96];
	uint64_t total_bytes;	/* a multiple of SEGMENT_UNIT_BYTES */
	uint64_t context_bytes; /* what one context takes */
	uint32_t sm_count;
	uint32_t cc_major;
	uint32_t cc_minor;
	uint32_t pci_domain;
	uint32_t pci_bus;
	uint32_t pci_device;
	uint32_t sharing; /* enum timeline_sharing */
	uint64_t slice_ns;
	uint64_t switch_ns;
};

struct segment_device {
	struct segment_config config;
	_Atomic uint64_t
		used_units; /* the sum over processes and objects; changed with the lock held, read by anybody */
	_Atomic uint64_t peak_units;
	_Atomic uint32_t lost; /* segment_fault.h */
	uint32_t unused;
};

/* An error of a device that was reported. */
struct segment_error_place {
	_Atomic uint64_t written; /* which one it is, and one: written last; 0: it is being written */
	_Atomic uint32_t device, xid;
	_Atomic int32_t pid;
	uint32_t unused;
};

enum segment_kind {
	SEGMENT_FREE = 0,
	SEGMENT_DRIVER = 1,   /* the driver library: can hold memory */
	SEGMENT_OBSERVER = 2, /* NVML: holds nothing, but keeps the configuration */
};

/* One process on one device. */
struct segment_share {
	_Atomic uint64_t held_units; /* without shared objects */
	_Atomic uint64_t peak_units;
	_Atomic uint32_t contexts; /* it is on the device's process list while above 0 */
	_Atomic uint32_t running;  /* kernels by segment_kernel_begin() */
	_Atomic uint32_t upsets;   /* counts errors from outside (segment_fault.h): contexts made before fail */
	_Atomic uint32_t upset_error;
	atomic_bool cancel; /* kernels under way end */
	char unused[7];
};

struct segment_process {
	_Atomic uint32_t kind;	     /* enum segment_kind */
	_Atomic int32_t pid;	     /* in the process's own pid namespace */
	_Atomic uint64_t start_time; /* field 22 of /proc/PID/stat, and above it 24 bits that name the pid namespace */
	_Atomic uint32_t
		owner; /* counts those who have had this place: no two of them have the same word in the lock */
	uint32_t unused;
	char command[64];
	struct segment_share share[SEGMENT_MAX_DEVICES];
};

enum segment_object_kind {
	SEGMENT_HANDLE = 1, /* a VMM handle's memory */
	SEGMENT_MEMORY,	    /* pages of a process's plain or pool memory */
	SEGMENT_EVENT,
	SEGMENT_POOL, /* names a pool; its memory is in objects of its own */
};

struct segment_object {
	_Atomic uint64_t id; /* 0: a free place; names the file object-<id> */
	_Atomic uint64_t units;
	_Atomic uint32_t device;
	_Atomic uint32_t kind;	   /* enum segment_object_kind */
	_Atomic int32_t owner_pid; /* who made it; may have died since */
	_Atomic uint64_t owner_start_time;
};

#define SEGMENT_TIMES 4u

/*
 * The timeline of a device, which all processes advance, and what each of them sleeps on. A change is made to a copy,
 * which then becomes the present one by a single compare-and-swap: whoever dies or is stopped in the middle of it
 * leaves the one before. The lock only spares them making a change twice.
 */
struct segment_time {
	_Atomic uint32_t lock;			/* as segment.lock */
	_Atomic uint32_t writer[SEGMENT_TIMES]; /* whose word it is who writes to this copy; 0: nobody */
	uint32_t unused;
	_Atomic uint64_t current;	  /* changes so far * SEGMENT_TIMES + the copy that is the present one */
	_Atomic uint64_t checked_ns;	  /* when it was last seen who of them lives */
	_Atomic uint64_t copy_free_ns[2]; /* when the engine for copies to and from the device has ended what it has */
	struct segment_sleeper {
		_Atomic uint64_t beat_ns;	/* when open work showed progress last */
		_Atomic uint64_t want_clock_ns; /* the process sleeps until its clock shows this ... */
		_Atomic uint64_t want_at_ns;	/* ... as it expects at this time; 0: nobody sleeps */
		_Atomic uint32_t wakes;		/* a futex: counts reasons to look again */
		uint32_t unused;
	} sleeper[TIMELINE_CONTEXTS];
	struct timeline copy[SEGMENT_TIMES];
};

struct segment {
	_Atomic uint64_t magic; /* written last */
	uint32_t version;
	uint32_t bytes;
	uint32_t device_count;
	_Atomic uint32_t lock;	     /* 0 free, else the holder's word (segment_place.word) */
	_Atomic uint64_t generation; /* counts configurations; a reader with another one must attach again */
	_Atomic uint64_t next_object;
	_Atomic uint32_t recoveries; /* how often a dead holder's lock was taken over */
	_Atomic uint32_t places;     /* one above the highest place ever taken: bounds all scans */
	_Atomic uint32_t objects;    /* likewise for objects */
	_Atomic uint32_t error_word; /* a futex: counts whatever those who wait for errors want to see */
	_Atomic uint64_t errors;     /* so many there have been */
	struct segment_error_place error[SEGMENT_ERRORS];
	struct segment_device device[SEGMENT_MAX_DEVICES];
	struct segment_process process[SEGMENT_MAX_PROCESSES];
	struct segment_object object[SEGMENT_MAX_OBJECTS];
	struct segment_time
		time[SEGMENT_MAX_DEVICES]; /* only of devices that there are: the file has no pages beyond */
};

/* A process's hold on the segment. */
struct segment_place {
	struct segment *segment;
	void *token;	/* the mapping that carries the lock */
	uint32_t index; /* into segment->process */
	uint32_t word;	/* this process's in segment->lock: which owner of the place << 11 | place + 1 */
	char dir[200];
};

/*
 * Maps the segment, makes it where there is none or nobody lives in it, and takes a place. Value: 0, or -errno with one
 * line in `why`. Costs a few system calls and no memory of the device. In a child made by fork, take a new place.
 */
int segment_attach(enum segment_kind kind, struct segment_place *ret, char *why, size_t why_bytes);
/* Gives the place and what it holds back. Not needed before exit. */
void segment_detach(struct segment_place *p);
/* Only looks: maps an existing segment without a place; for tests. Value: NULL without one. */
const struct segment *segment_peek(void);
void segment_unpeek(const struct segment *s);

/* Takes `units` of a device for this process. Value: 0, or -ENOMEM when they are not free; then nothing has changed. */
int segment_charge(struct segment_place *p, uint32_t device, uint64_t units);
void segment_refund(struct segment_place *p, uint32_t device, uint64_t units);
/* What this process holds, without shared objects. */
uint64_t segment_held_units(struct segment_place *p, uint32_t device);
/* The device's free units, after the dead have been cleared. */
uint64_t segment_free_units(struct segment_place *p, uint32_t device);
/* Clears the places of the dead and objects that nobody holds. */
void segment_reap(struct segment_place *p);
/* The pid of the process at this place, as this process sees it; a number above all pids when it is in another pid
 * namespace (a container). */
uint32_t segment_pid(const struct segment_place *p, uint32_t index);
/* Whether somebody lives at this place. */
bool segment_alive(const struct segment_place *p, uint32_t index);

void segment_context_add(struct segment_place *p, uint32_t device);
void segment_context_remove(struct segment_place *p, uint32_t device);
/* A kernel of which nothing but its beginning and its end is known. Without them see pace.h. */
void segment_kernel_begin(struct segment_place *p, uint32_t device);
void segment_kernel_end(struct segment_place *p, uint32_t device);

/*
 * A change of a device's timeline: begin, change `t`, commit; false: it did not come to pass, begin again. `t` is the
 * caller's own memory. Among the threads of a process one at a time does this per device.
 */
struct segment_change {
	struct segment_time *time;
	struct timeline *t;
	uint64_t seen;
};
void segment_change_begin(struct segment_place *p, uint32_t device, struct timeline *t, struct segment_change *ret);
bool segment_change_commit(struct segment_place *p, struct segment_change *c);
/* The timeline as it is, without a lock. False: it changes all the time. */
bool segment_time_read(const struct segment *s, uint32_t device, struct timeline *ret);
/* Whoever sleeps there looks again. */
void segment_time_wake(struct segment_time *t, uint32_t context);
/* Contexts of the dead leave the timeline. Value: how many did. */
uint32_t segment_time_reap(struct segment_place *p, uint32_t device, struct timeline *scratch);
/* Time in which the device has computed or changed contexts so far; difference two readings for a utilisation. */
uint64_t segment_busy_ns(const struct segment *s, uint32_t device);
/* The device time that the process at this place has been given so far. */
uint64_t segment_share_busy_ns(const struct segment *s, uint32_t place, uint32_t device);

/* What a shared object is to be. */
struct segment_wish {
	enum segment_object_kind kind;
	uint32_t device;
	uint64_t units; /* its charge */
	uint64_t bytes; /* of its file */
	bool charged;	/* this process holds the units already: they move to the object */
};

/*
 * Makes a shared object. Value: a descriptor of its file that holds it alive (so does every mapping of that
 * descriptor), or -ENOMEM, -ENOSPC (table full) or another -errno.
 */
int segment_object_new(struct segment_place *p, const struct segment_wish *wish, uint64_t *ret_id);
/* Another such descriptor of a living object, for the driver. */
int segment_object_open(struct segment_place *p, uint64_t id);
/* The same for the program, which may hand it on: it holds the object alive as long as the object's maker lives. */
int segment_object_give(struct segment_place *p, uint64_t id);
/* Before this process lets go of an object: where the maker has died, it is the maker from now on. */
void segment_object_adopt(struct segment_place *p, uint64_t id);
/* Which object of this kind a descriptor belongs to. Value: 0, or -EINVAL. */
int segment_object_find(struct segment_place *p, enum segment_object_kind kind, int fd, uint64_t *ret_id,
			uint32_t *ret_device, uint64_t *ret_units);
/* Whether the process is dead that had this word (segment_place.word). */
bool segment_word_dead(const struct segment_place *p, uint32_t word);
