/* offload.c: see offload.h. */
#include "model/offload.h"

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The user's entry; user_count where there is none. */
static unsigned int find(const struct offload *o, uint32_t user)
{
	unsigned int i = 0;

	while (i < o->user_count && o->of[i].user != user)
		i++;
	return i;
}

/* The account of a user who is no owner; his own, if there is a place for it. */
static unsigned int account(struct offload *o, uint32_t user)
{
	unsigned int i = find(o, user);

	if (i == o->user_count && i < OFFLOAD_USERS)
		o->of[o->user_count++].user = user;
	return (unsigned int)lesser(i, OFFLOAD_USERS);
}

void offload_add(struct offload *o, const struct offload_owner *whose, enum offload_place where, uint64_t units)
{
	if (where == OFFLOAD_NOWHERE || !units)
		return;
	if (where == OFFLOAD_DISK)
		o->disk += units;
	else
		*(whose->owner ? &o->host_owners : &o->host_users) += units;
	if (whose->owner)
		return;
	*(where == OFFLOAD_DISK ? &o->of[account(o, whose->user)].disk : &o->of[account(o, whose->user)].host) += units;
}

/* What the user has there; a new one where there is no place for him has what all like him have. */
static uint64_t taken(const struct offload *o, uint32_t user, enum offload_place where)
{
	unsigned int i = find(o, user);

	if (i == o->user_count && i < OFFLOAD_USERS)
		return 0;
	return where == OFFLOAD_DISK ? o->of[i].disk : o->of[i].host;
}

static uint64_t shared_host_room(const struct offload *o)
{
	uint64_t most = o->host_most - o->host_most / OFFLOAD_KEPT_PART;

	return less(lesser(less(o->host_most, o->host_owners), most), o->host_users);
}

static uint64_t user_host_room(const struct offload *o, const struct offload_owner *whose)
{
	return less(whose->host_most, taken(o, whose->user, OFFLOAD_HOST));
}

static uint64_t host_room(const struct offload *o, const struct offload_owner *whose)
{
	uint64_t most = o->host_most - o->host_most / OFFLOAD_KEPT_PART;

	if (!whose->owner)
		return lesser(shared_host_room(o), user_host_room(o, whose));
	return less(less(o->host_most, o->host_owners), lesser(o->host_users, most));
}

bool offload_is_users_part(const struct offload *o, const struct offload_owner *whose)
{
	return !whose->owner && user_host_room(o, whose) <= shared_host_room(o);
}

static uint64_t disk_room(const struct offload *o, const struct offload_owner *whose)
{
	uint64_t left = less(o->disk_most, o->disk);

	if (!whose->disk || whose->owner)
		return whose->disk ? left : 0;
	return lesser(left, less(o->disk_user_most, taken(o, whose->user, OFFLOAD_DISK)));
}

uint64_t offload_room(const struct offload *o, const struct offload_owner *whose, enum offload_place where)
{
	return where == OFFLOAD_HOST ? host_room(o, whose) : where == OFFLOAD_DISK ? disk_room(o, whose) : 0;
}

enum offload_place offload_choose(const struct offload *o, const struct offload_owner *whose, uint64_t units)
{
	enum offload_place where = OFFLOAD_HOST;

	while (where < OFFLOAD_NOWHERE && offload_room(o, whose, where) < units)
		where++;
	return where;
}
