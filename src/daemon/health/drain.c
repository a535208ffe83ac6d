/* drain.c: see drain.h. Who is there is looked at every LOOK_MS, which costs nothing while nothing is drained. */
#include "daemon/health/drain.h"

#include "base/clock.h"
#include "daemon/daemon.h"
#include "daemon/tenants/end.h"
#include "daemon/health/health.h"
#include "daemon/journal.h"
#include "daemon/log.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <signal.h>

#define LOOK_MS 100u
#define AGAIN_NS 5000000000u
#define AGAIN_DOUBLED 4u /* times: every 80 s at last */

uint64_t drain_deadline(uint64_t grace_s)
{
	return clock_now_ns() + grace_s * 1000000000u;
}

static void end_programs(struct daemon *daemon, struct tenant *tenant, const struct health *h)
{
	int number = h->asked > 1 ? SIGKILL : SIGTERM;

	if (h->asked <= 2)
		journal_add(daemon, JOURNAL_ACTION, tenant->grant.name, h->device.uuid,
			    "%s its programs: device %u is being drained", number == SIGTERM ? "ending" : "killing",
			    h->device.index);
	end_tell(tenant, number);
}

static void over(struct daemon *daemon, struct health *h, unsigned int left)
{
	h->draining = false;
	h->drained = !left;
	health_keep(daemon, h, NULL, 0);
	if (!left) {
		log_line("device %u: drained", h->device.index);
		journal_add(daemon, JOURNAL_DEVICE, NULL, h->device.uuid, "drained: nobody has a program on it");
	} else {
		log_line("device %u: not drained in time: tenants that are left: %u; it stays cordoned",
			 h->device.index, left);
		journal_add(daemon, JOURNAL_DEVICE, NULL, h->device.uuid,
			    "not drained in time: tenants that are left: %u; it stays cordoned", left);
	}
}

/* It is not tried again at once: while its work ends its programs' calls wait. */
static void note_try(struct tenant *t, const struct health *h)
{
	struct drain_tries *tries = &t->drain_tries;

	if (tries->drain != h->since)
		*tries = (struct drain_tries){ .drain = h->since };
	tries->again_ns =
		clock_now_ns() + ((uint64_t)AGAIN_NS << (tries->count < AGAIN_DOUBLED ? tries->count : AGAIN_DOUBLED));
	tries->count++;
}

static bool may_be_sent(struct tenant *t, const struct health *h)
{
	return tenant_present(t) && grant_find_share(&t->grant, h->device.uuid) &&
	       (t->drain_tries.drain != h->since || clock_now_ns() >= t->drain_tries.again_ns);
}

/* Who can go on elsewhere goes. Who is refused there is waited for, as the others are, and sent again. */
static void move_tenants(struct daemon *daemon, const struct health *h)
{
	char error[256];
	struct device to;

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		if (!may_be_sent(t, h) || !moving_find_device(t, &to))
			continue;
		note_try(t, h);
		if (suspension_move(t, &to, 0, error, sizeof(error)))
			log_line("device %u is being drained: %s", h->device.index, error);
		else
			log_line("device %u is being drained: grant %s goes to device %u", h->device.index,
				 t->grant.name, to.index);
	}
}

void drain_call_off(struct daemon *daemon, const struct device *device, int64_t drain)
{
	char error[256];

	for (struct tenant *t = daemon->tenants; t; t = t->next) {
		if (t->drain_tries.drain != drain || !t->moving.goes || t->suspension.state != SUSPENSION_LEAVING ||
		    !grant_find_share(&t->grant, device->uuid))
			continue;
		if (suspension_end(t, false, error, sizeof(error)))
			log_line("device %u is in service again: %s", device->index, error);
	}
}

static void step(struct daemon *daemon, struct health *h)
{
	unsigned int left = health_tenants(daemon, h->device.uuid);

	if (left)
		move_tenants(daemon, h);
	if (!left || (!h->ends && clock_now_ns() >= h->until_ns)) {
		over(daemon, h, left);
		return;
	}
	if (clock_now_ns() < h->until_ns)
		return;
	h->asked++;
	h->until_ns = clock_now_ns() + (h->asked == 1 ? END_KILL_S : 1) * 1000000000u;
	for (struct tenant *t = daemon->tenants; t; t = t->next)
		if (tenant_present(t) && grant_find_share(&t->grant, h->device.uuid))
			end_programs(daemon, t, h);
}

static void on_look(void *owner)
{
	struct daemon *daemon = owner;
	bool more = false;

	for (struct health *h = daemon->health; h; h = h->next) {
		if (h->draining)
			step(daemon, h);
		more |= h->draining;
	}
	if (!more)
		timer_stop(daemon->drain);
}

void drain_begin(struct daemon *daemon, struct health *h)
{
	if (h->draining && !timer_running(daemon->drain))
		timer_start(daemon->drain, 0, LOOK_MS);
}

int drain_start(struct daemon *daemon)
{
	daemon->drain = timer_new(daemon->loop, on_look, daemon);
	return daemon->drain ? 0 : -ENOMEM;
}

void drain_stop(struct daemon *daemon)
{
	timer_free(daemon->drain);
}
