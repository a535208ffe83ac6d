/*
 * grant_move.c: a grant goes to another device of the machine while its programs run. They leave (moving.h); when
 * nothing of them is on the device any more the grant's share is the other device's, and they return there. Where that
 * cannot be any more, they return to where they were.
 */
#include "daemon/tenants/grant_ask.h"

#include "daemon/codes.h"
#include "daemon/daemon.h"
#include "daemon/health/health.h"
#include "daemon/log.h"
#include "daemon/operator.h"
#include "daemon/tenants/limit.h"
#include "daemon/tenants/tenant.h"
#include "daemon/tenants/waiting.h"
#include "daemon/turns/terms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Of the same kind: what its programs have been told of their device stays true. False: refused. */
static bool is_alike(struct ask *ask, const struct device *from, const struct device *to)
{
	if (!strcmp(from->name, to->name) && from->granule_bytes == to->granule_bytes)
		return true;
	refuse(ask, CODE_NOT_MOVABLE,
	       "device %u is %s, and the grant's programs run on %s: a move needs a device of the same kind", to->index,
	       to->name, from->name);
	return false;
}

/* What it is promised there is as if the grant were made there. */
static bool has_room(struct ask *ask, const struct tenant *t, const struct device *to)
{
	const uint64_t bytes = t->grant.share[0].ledger.quota_units * WIRE_UNIT_BYTES;
	char error[512];

	if (!health_admits(ask->daemon, to, error, sizeof(error))) {
		refuse(ask, CODE_OUT_OF_SERVICE, "%s", error);
		return false;
	}
	return waiting_lets_pass(ask, to) && limit_check_bytes(ask, to, bytes, t) &&
	       grant_check_fit(ask, to,
			       daemon_promised_bytes(ask->daemon, to->uuid, NULL) +
				       residence_occupied_bytes(ask->daemon, to->uuid, t->grant.uid),
			       bytes, t->grant.overcommit) &&
	       terms_admit(ask, to, t);
}

static bool target(struct ask *ask, const struct tenant *t, struct device *ret)
{
	struct device list[MACHINE_MAX_DEVICES];
	unsigned int count = machine_devices(&ask->daemon->machine, t->grant.kind, list), at;

	if (!grant_entry_device(ask, ask->request, list, count, "the driver", &at))
		return false;
	*ret = list[at];
	return true;
}

static bool is_server(const char *where)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]/@%";

	return *where && *where != '/' && strlen(where) < WORKER_WHERE_BYTES && !where[strspn(where, good)];
}

/* Its programs go to another server. */
static enum verbs_result send_away(struct ask *ask, struct tenant *t, const char *where, uint32_t drain_s)
{
	const char *way = json_string_value(json_object_get(ask->request, "socket"));
	char error[512] = "";
	uint64_t id;
	int r;

	if (!is_server(where))
		return refuse(ask, CODE_MALFORMED,
			      "remote \"%.100s\" is no server: write HOST, HOST:PORT or HOST/OFFER", where);
	if (way && (*way != '/' || strlen(way) >= WORKER_WHERE_BYTES))
		return refuse(ask, CODE_MALFORMED, "socket \"%.100s\" is no path of a relay's socket", way);
	if (!operator_begin_other(ask, "move", t, &id))
		return VERBS_ANSWERED;
	r = suspension_send(t, where, way ? way : "", drain_s, error, sizeof(error));
	if (!r)
		log_of(ask->asker->uid, "grant %s: sent to %s by uid %u", t->grant.name, where,
		       (unsigned int)ask->asker->uid);
	return grant_answer_moved(ask, t, r == -ENOENT ? -EBUSY : r, id, error);
}

/* The memory of a local program could be made on another device; its contexts, and so its kernels, would stay. */
static const char *why_not(const struct tenant *t)
{
	if (t->grant.share_count != 1)
		return "it has several devices";
	if (t->pool)
		return "its memory leaves for others (--spill) and returns to the same device";
	return "contexts and kernels of a local program are of its device as long as it runs";
}

enum verbs_result grant_move_ask(struct ask *ask)
{
	const char *device = json_string_value(json_object_get(ask->request, "device"));
	const char *remote = json_string_value(json_object_get(ask->request, "remote"));
	struct tenant *t = NULL;
	struct device to;
	char error[512] = "";
	uint32_t drain_s;
	uint64_t id;
	int r;

	if (!grant_asked_to_change(ask, &t) || !grant_asked_drain(ask, &drain_s))
		return VERBS_ANSWERED;
	if (!device == !remote || (device && json_object_get(ask->request, "socket")))
		return refuse(ask, CODE_MALFORMED, "grant_move wants one of device and remote");
	if (!moving_takes(t) || t->grant.share_count != 1)
		return refuse(ask, CODE_NOT_MOVABLE,
			      "grant %s: %s; only a grant with --wall, of one device and without "
			      "--spill, can go to another device",
			      t->grant.name, why_not(t));
	if (t->moving.active || t->checkpointing.active)
		return refuse(ask, CODE_BUSY, "grant %s is suspended, or on the way: resume it first", t->grant.name);
	if (remote)
		return send_away(ask, t, remote, drain_s);
	if (!target(ask, t, &to))
		return VERBS_ANSWERED;
	if (!memcmp(to.uuid, t->grant.share[0].device.uuid, DEVICE_UUID_BYTES))
		return refuse(ask, CODE_MALFORMED, "grant %s is on device %u already", t->grant.name, to.index);
	if (!is_alike(ask, &t->grant.share[0].device, &to) || !has_room(ask, t, &to))
		return VERBS_ANSWERED;
	if (!operator_begin_other(ask, "move", t, &id))
		return VERBS_ANSWERED;
	r = suspension_move(t, &to, drain_s, error, sizeof(error));
	if (!r)
		log_of(ask->asker->uid, "grant %s: sent to device %u by uid %u", t->grant.name, to.index,
		       (unsigned int)ask->asker->uid);
	return grant_answer_moved(ask, t, r, id, error);
}
