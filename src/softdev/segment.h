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
	uint32_t sharing;   /* enum timeline_sharing */
	uint32_t linger_ms; /* the memory of a process that has died is freed so much later */
	uint64_t slice_ns;
	uint64_t switch_ns;
};

struct segment_device {
	struct segment_config config;
	_Atomic uint64_t
		used_units; /* the sum over processes and objects; changed with the lock held, read without it */
	_Atomic uint64_t peak_units;
	_Atomic uint32_t lost; /* segment_fault.h */
	uint32_t unused;
};

/* An error of a device that was reported. */
struct segment_error_place {
	_Atomic uint64_t written; /* the error's number plus one, written last; 0: it is being written */
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
	_Atomic uint32_t contexts; /* above 0: it is on the device's process list */
	_Atomic uint32_t running;  /* number of kernels by segment_kernel_begin() */
	_Atomic uint32_t upsets;   /* counts errors from outside (segment_fault.h): earlier contexts fail */
	_Atomic uint32_t upset_error;
	atomic_bool cancel; /* running kernels must end */
	char unused[7];
};

struct segment_process {
	_Atomic uint32_t kind;	     /* enum segment_kind */
	_Atomic int32_t pid;	     /* in the process's own pid namespace */
	_Atomic uint64_t start_time; /* field 22 of /proc/PID/stat, and above it 24 bits that name the pid namespace */
	_Atomic uint32_t owner; /* counts the owners of this place: no two of them have the same word in the lock */
	uint32_t dead_ms;	/* when it was first seen dead while its memory lingers; 0: not yet */
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
	_Atomic uint64_t id; /* 0: a free entry; names the file object-<id> */
	_Atomic uint64_t units;
	_Atomic uint32_t device;
	_Atomic uint32_t kind;	   /* enum segment_object_kind */
	_Atomic int32_t owner_pid; /* its creator, which may have died since */
	_Atomic uint64_t owner_start_time;
};

#define SEGMENT_TIMES 4u

/*
 * The timeline of a device, which all processes advance, and what each of them sleeps on. A change is made to a copy,
 * which then becomes current by a single compare-and-swap: if a process dies or stops in the middle, the previous copy
 * remains. The lock only avoids making a change twice.
 */
struct segment_time {
	_Atomic uint32_t lock;			/* as segment.lock */
	_Atomic uint32_t writer[SEGMENT_TIMES]; /* the word of the process that writes to this copy; 0: none */
	uint32_t unused;
	_Atomic uint64_t current;	  /* number of changes * SEGMENT_TIMES + the index of the current copy */
	_Atomic uint64_t checked_ns;	  /* when it was last checked which of them live */
	_Atomic uint64_t copy_free_ns[2]; /* when the engine for copies to and from the device completes its work */
	struct segment_sleeper {
		_Atomic uint64_t beat_ns;	/* the last progress of open work */
		_Atomic uint64_t want_clock_ns; /* the process sleeps until its clock shows this ... */
		_Atomic uint64_t want_at_ns;	/* ... which it expects at this time; 0: no thread sleeps */
		_Atomic uint32_t wakes;		/* a futex: counts reasons to check again */
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
	_Atomic uint32_t recoveries; /* how often the lock of a dead holder was taken over */
	_Atomic uint32_t places;     /* one above the highest place ever taken: bounds all scans */
	_Atomic uint32_t objects;    /* likewise for objects */
	_Atomic uint32_t error_word; /* a futex: counts events for threads that wait for errors */
	_Atomic uint64_t errors;     /* the number of errors so far */
	struct segment_error_place error[SEGMENT_ERRORS];
	struct segment_device device[SEGMENT_MAX_DEVICES];
	struct segment_process process[SEGMENT_MAX_PROCESSES];
	struct segment_object object[SEGMENT_MAX_OBJECTS];
	struct segment_time time[SEGMENT_MAX_DEVICES]; /* only of existing devices: the file has no pages beyond */
};

/* A process's hold on the segment. */
struct segment_place {
	struct segment *segment;
	void *token;	/* the mapping that carries the lock */
	uint32_t index; /* into segment->process */
	uint32_t word;	/* this process's value in segment->lock: number of the place's owner << 11 | place + 1 */
	char dir[200];
};

/*
 * Maps the segment, creates it if there is none or no process lives in it, and takes a place. Value: 0, or -errno with
 * one line in `why`. Costs a few system calls and no memory of the device. A child created by fork must take a new
 * place.
 */
int segment_attach(enum segment_kind kind, struct segment_place *ret, char *why, size_t why_bytes);
/* Returns the place and what it holds. Not needed before exit. */
void segment_detach(struct segment_place *p);
/* Read-only: maps an existing segment without a place; for tests. Value: NULL: there is none. */
const struct segment *segment_peek(void);
void segment_unpeek(const struct segment *s);

/* Charges `units` of a device to this process. Value: 0, or -ENOMEM if they are not free; then nothing has changed. */
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
/* True if the process that this entry names has ended, by the kernel's list. False where that cannot be known. */
bool segment_process_gone(const struct segment_process *process);
/* True if a process lives at this place. */
bool segment_alive(const struct segment_place *p, uint32_t index);

void segment_context_add(struct segment_place *p, uint32_t device);
void segment_context_remove(struct segment_place *p, uint32_t device);
/* A kernel of which only the beginning and the end are known. See pace.h for others. */
void segment_kernel_begin(struct segment_place *p, uint32_t device);
void segment_kernel_end(struct segment_place *p, uint32_t device);

/*
 * A change of a device's timeline: begin, change `t`, commit; false: it failed, begin again. `t` is the caller's own
 * memory. Only one thread of a process at a time does this per device.
 */
struct segment_change {
	struct segment_time *time;
	struct timeline *t;
	uint64_t seen;
};
void segment_change_begin(struct segment_place *p, uint32_t device, struct timeline *t, struct segment_change *ret);
bool segment_change_commit(struct segment_place *p, struct segment_change *c);
/* Reads the timeline without a lock. False: it changes all the time. */
bool segment_time_read(const struct segment *s, uint32_t device, struct timeline *ret);
/* Wakes a process that sleeps there. */
void segment_time_wake(struct segment_time *t, uint32_t context);
/* Removes contexts of dead processes from the timeline. Value: their number. */
uint32_t segment_time_reap(struct segment_place *p, uint32_t device, struct timeline *scratch);
/*
 * The time for which the device has computed or switched contexts so far; the difference of two readings gives a
 * utilisation.
 */
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
/* Another such descriptor of a living object, for the driver itself. */
int segment_object_open(struct segment_place *p, uint64_t id);
/* The same for the program, which may hand it on: it holds the object alive as long as the object's maker lives. */
int segment_object_give(struct segment_place *p, uint64_t id);
/* Called before this process releases an object: if its creator has died, this process becomes the creator. */
void segment_object_adopt(struct segment_place *p, uint64_t id);
/* Finds the object of this kind behind a descriptor. Value: 0, or -EINVAL. */
int segment_object_find(struct segment_place *p, enum segment_object_kind kind, int fd, uint64_t *ret_id,
			uint32_t *ret_device, uint64_t *ret_units);
/* True if the process that had this word (segment_place.word) is dead. */
bool segment_word_dead(const struct segment_place *p, uint32_t word);
