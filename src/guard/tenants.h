/*
 * tenants.h: a tenant's account for front ends outside the kernel: charges, and the objects that hold them. Pure: no
 * calls, no clock; one thread. (The programs in the kernel keep the same in their tables, by atomic steps.)
 *
 * The rules are those of the resource manager: an object belongs to a client and has a parent; freeing it frees all
 * below it; memory ends with its last name. A client belongs to a file, which the front end watches.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENANT_OBJECTS_MOST 16384u
#define TENANT_BUCKETS_MOST 4096u

struct tenant_object {
	uint32_t client, handle, parent, class;
	uint32_t memory; /* a number; 0: none */
	uint32_t next;	 /* in its bucket, or in the free list; 0: the end */
};

struct tenant_memory {
	uint64_t bytes;
	uint32_t references, next;
};

struct tenant_account {
	uint64_t quota, used, peak; /* bytes */
	uint64_t refused;
	uint32_t groups, objects; /* that are open now */
	uint32_t last_reason, last_pid;
	uint32_t free_object, free_memory;
	uint32_t bucket[TENANT_BUCKETS_MOST];
	struct tenant_object object[TENANT_OBJECTS_MOST + 1]; /* [0] is unused */
	struct tenant_memory memory[TENANT_OBJECTS_MOST + 1];
};

/* NULL: no memory. Its size is fixed. */
struct tenant_account *tenant_account_new(uint64_t quota);
void tenant_account_free(struct tenant_account *a);

/* False: the quota has no room. */
bool tenant_charge(struct tenant_account *a, uint64_t bytes);
void tenant_refund(struct tenant_account *a, uint64_t bytes);
/* Adjusts a charge to what was allocated; the use may then exceed the quota. */
void tenant_settle(struct tenant_account *a, uint64_t charged, uint64_t taken);

const struct tenant_object *tenant_find(const struct tenant_account *a, uint32_t client, uint32_t handle);
/* False: the tenant has reached its limit of objects. */
bool tenant_room(const struct tenant_account *a);
/* Adds an object without memory. An existing one of that name is removed. */
void tenant_put(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle, uint32_t class);
/* Adds memory of `bytes` that are charged already. */
void tenant_put_memory(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle, uint64_t bytes);
/* Adds another name for the memory of an object, or for an object without memory. */
void tenant_put_name(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle,
		     const struct tenant_object *source);
/* Removes the object and all below it; for a client's own handle, everything that the client has. */
void tenant_free_object(struct tenant_account *a, uint32_t client, uint32_t handle);
