/*
 * tenants.h: a tenant's account for front ends outside the kernel: what is charged, and whose objects hold it. Pure: no
 * calls, no clock; one thread. (The programs in the kernel keep the same in their tables, by atomic steps.)
 *
 * The rules are those of the resource manager: an object belongs to a client and stands below a parent; a free takes
 * all below it along; memory goes with its last name. A client belongs to a file, which the front end watches.
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
	uint32_t next;	 /* in its bucket, or among the free ones; 0: the end */
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
	struct tenant_object object[TENANT_OBJECTS_MOST + 1]; /* [0] is none */
	struct tenant_memory memory[TENANT_OBJECTS_MOST + 1];
};

/* NULL: no memory. Never grows. */
struct tenant_account *tenant_account_new(uint64_t quota);
void tenant_account_free(struct tenant_account *a);

/* False: there is no room in the quota. */
bool tenant_charge(struct tenant_account *a, uint64_t bytes);
void tenant_refund(struct tenant_account *a, uint64_t bytes);
/* Moves a charge that was taken to what was really taken; it may then stand above the quota. */
void tenant_settle(struct tenant_account *a, uint64_t charged, uint64_t taken);

const struct tenant_object *tenant_find(const struct tenant_account *a, uint32_t client, uint32_t handle);
/* False: the tenant has as many objects as it may have. */
bool tenant_room(const struct tenant_account *a);
/* An object without memory. One that has the name already is gone. */
void tenant_put(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle, uint32_t class);
/* Memory of `bytes` that are charged already. */
void tenant_put_memory(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle, uint64_t bytes);
/* Another name for the memory of an object, or for an object without any. */
void tenant_put_name(struct tenant_account *a, uint32_t client, uint32_t parent, uint32_t handle,
		     const struct tenant_object *source);
/* The object and all below it; of a client's own handle all that it has. */
void tenant_free_object(struct tenant_account *a, uint32_t client, uint32_t handle);
