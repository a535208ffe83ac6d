/* check_address.c: see check.h. What a report says about an address: the memory that lies nearest. */
#include "softdev/check.h"

#include "softdev/arena.h"
#include "softdev/context.h"
#include "softdev/memory.h"
#include "softdev/mempool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NULL_BELOW 65536u
#define NEAR_BYTES (UINT64_C(1) << 30)
#define NEAR_HOST_BYTES 4096u

static const char *const made_by[] = {
	[RANGE_DEVICE] = "cuMemAlloc",
	[RANGE_MANAGED] = "cuMemAllocManaged",
	[RANGE_POOL] = "cuMemAllocAsync",
	[RANGE_ARRAY] = "an array",
	[RANGE_VARIABLE] = "a module",
	[RANGE_HEAP] = "malloc in a kernel",
	[RANGE_GRAPH] = "a graph",
	[RANGE_HOST] = "cuMemHostAlloc",
	[RANGE_REGISTERED] = "cuMemHostRegister",
	[RANGE_MAPPED] = "cuMemMap",
	[RANGE_IMPORTED] = "another process",
};

/* "1000 bytes at 0x7f00 (allocation 3, by cuMemAlloc, freed)" */
static const char *range_text(const struct range *r, char *text, size_t room)
{
	char who[300];

	if (r->kind == RANGE_VARIABLE && r->name)
		snprintf(who, sizeof(who), "variable %.200s", r->name);
	else
		snprintf(who, sizeof(who), "allocation %" PRIu64 ", by %s", r->id, made_by[r->kind]);
	snprintf(text, room, "%" PRIu64 " bytes at 0x%" PRIx64 " (%s, %s)", r->bytes, r->begin, who,
		 r->freed || r->released || r->idle ? "freed" : "live");
	return text;
}

/* Which part of the program's own memory an address is in, as the system names it. */
static bool own_memory(uint64_t address, char *ret, size_t room)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], name[256];
	uint64_t begin, end;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		name[0] = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %255[^\n]", &begin, &end, name) < 2)
			continue;
		found = address >= begin && address < end;
	}
	if (f)
		fclose(f);
	if (found)
		snprintf(ret, room, "%s", name[0] ? name : "heap or a mapping");
	return found;
}

static bool in_arena(uint64_t address)
{
	for (uint32_t i = 0; i < driver.device_count; i++)
		if (arena_covers(driver.device[i].arena, address))
			return true;
	return false;
}

/* A range that contains the address: why it was not good. */
static void inside(struct report *r, const struct range *x, uint64_t address, size_t bytes, const struct context *c)
{
	const uint64_t offset = address - x->begin, end = x->begin + x->bytes;
	char text[512];

	range_text(x, text, sizeof(text));
	if (x->freed || x->idle || x->released)
		report_line(r, "  address 0x%" PRIx64 " is in freed memory: offset %" PRIu64 " of %s", address, offset,
			    text);
	else if (c && !range_reachable(x, c))
		report_line(r,
			    "  address 0x%" PRIx64 " is in memory of device %d, to which device %d has no access "
			    "(cuCtxEnablePeerAccess): offset %" PRIu64 " of %s",
			    address, x->device->ordinal, c->device->ordinal, offset, text);
	else if (address + bytes > end)
		report_line(r,
			    "  address 0x%" PRIx64 ": the %zu bytes from there go %" PRIu64 " bytes beyond the end of "
			    "%s",
			    address, bytes, address + bytes - end, text);
	else
		report_line(r, "  address 0x%" PRIx64 " is offset %" PRIu64 " of %s%s", address, offset, text,
			    x->read_only || (x->kind == RANGE_MAPPED && x->flags == 1) ? ", which is read only" : "");
}

static void outside(struct report *r, const struct range *before, const struct range *behind, uint64_t address,
		    size_t bytes)
{
	const uint64_t after = before ? address - (before->begin + before->bytes) : UINT64_MAX;
	const uint64_t until = behind ? behind->begin - address : UINT64_MAX;
	char text[512];

	if (after <= until && after < NEAR_BYTES)
		report_line(r, "  address 0x%" PRIx64 " is %" PRIu64 " bytes after the end of %s", address, after,
			    range_text(before, text, sizeof(text)));
	else if (until < NEAR_BYTES)
		report_line(r, "  address 0x%" PRIx64 " is %" PRIu64 " bytes before the beginning of %s", address,
			    until, range_text(behind, text, sizeof(text)));
	else
		report_line(r, "  address 0x%" PRIx64 " is device memory that nobody has allocated", address);
}

/* Next to memory of the program that devices can reach: an index too far, not a pointer of the wrong kind. */
static bool near_host(const struct range *before, const struct range *behind, uint64_t address)
{
	return (before && address - (before->begin + before->bytes) < NEAR_HOST_BYTES) ||
	       (behind && behind->begin - address < NEAR_HOST_BYTES);
}

void report_address(struct report *r, uint64_t address, size_t bytes, const struct context *c)
{
	struct range *before = NULL, *behind = NULL;
	bool known, device;
	char name[256];

	if (address < NULL_BELOW) {
		report_line(r, "  address 0x%" PRIx64 " is the null pointer%s", address,
			    address ? " and a little more" : "");
		return;
	}
	pthread_mutex_lock(&memory_mutex);
	range_neighbours_locked(address, &before, &behind);
	known = before && address - before->begin < before->bytes;
	device = in_arena(address);
	if (!known && !device)
		device = near_host(before, behind, address);
	if (known)
		inside(r, before, address, bytes, c);
	else if (device)
		outside(r, before, behind, address, bytes);
	pthread_mutex_unlock(&memory_mutex);
	if (known || device)
		return;
	if (own_memory(address, name, sizeof(name)))
		report_line(r,
			    "  address 0x%" PRIx64 " is the program's own memory (%s), %s", address, name,
			    c ? "which a device cannot reach; copy it, or use cuMemHostRegister"
			      : "which is none of the device's");
	else
		report_line(r, "  address 0x%" PRIx64 " is no memory at all", address);
}

void report_call(const char *what, uint64_t address, size_t bytes)
{
	struct report r = { 0 };

	if (!check_reports())
		return;
	report_line(&r, "%s", what);
	report_address(&r, address, bytes, NULL);
	report_send(&r);
}

static bool leaks(const struct range *r)
{
	return !r->released && r->kind != RANGE_VARIABLE && r->kind != RANGE_REGISTERED &&
	       r->kind != RANGE_GRAPH && r->kind != RANGE_IMPORTED;
}

void report_leaks(struct context *c)
{
	struct report r = { 0 };
	uint64_t bytes = 0, count = 0;
	char text[512];

	if (!driver.check.leaks || !c->active)
		return;
	pthread_mutex_lock(&memory_mutex);
	for (const struct range *x = c->ranges; x; x = x->next)
		if (leaks(x)) {
			count++;
			bytes += x->bytes;
		}
	if (count)
		report_line(&r, "leak: %" PRIu64 " bytes in %" PRIu64 " allocation%s on device %d %s not freed", bytes,
			    count, count == 1 ? "" : "s", c->device->ordinal, count == 1 ? "was" : "were");
	for (const struct range *x = c->ranges; x && count; x = x->next)
		if (leaks(x))
			report_line(&r, "  %s", range_text(x, text, sizeof(text)));
	pthread_mutex_unlock(&memory_mutex);
	if (count)
		report_send(&r);
}
