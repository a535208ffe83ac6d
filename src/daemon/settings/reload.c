/* reload.c: see reload.h. */
#include "daemon/settings/reload.h"

#include "daemon/clockwork.h"
#include "daemon/daemon.h"
#include "daemon/http/http.h"
#include "daemon/log.h"
#include "daemon/settings/options.h"
#include "daemon/settings/trial.h"
#include "daemon/tenants/disk.h"
#include "daemon/workers/cgroup.h"
#include "daemon/workers/images.h"

#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512

struct reload {
	struct daemon *daemon;
	struct options *options;
	struct options now; /* of the file */
	struct disk_look *look;
	bool again; /* the file may have changed since it was read */
};

static void refuse(const char *why)
{
	log_line("settings stay as they were: %s", why);
}

static void move_log(const struct options *o, const char *before)
{
	int r;

	if (!o->log || o->log == before || o->foreground)
		return;
	r = log_open(o->log);
	if (r)
		log_line("cannot write the log %s: %s; it goes on here", o->log, strerror(-r));
}

static void take(struct daemon *daemon, struct options *o, struct options *now)
{
	const char *log = o->log;

	if (!options_take(o, now))
		return;
	move_log(o, log);
	daemon->idle_exit_ns = options_idle_exit_ns(o);
	daemon->machine.options = o->machine;
	daemon->fault_rule = o->faults;
	daemon->guard = o->guard;
	daemon->placement = o->placement;
	daemon->container_expires_ns = o->container_expires_ns;
	images_limit(daemon, o->images_bytes);
	disk_open(daemon, false);
	daemon->fence = o->fence;
	cgroup_limit(daemon);
	machine_refresh(daemon, clockwork_tell_drivers, daemon);
	daemon_reap_soon(daemon);
}

static void try_and_take(struct daemon *daemon, struct options *o, struct options *now, const struct disk_verdict *disk)
{
	const struct trial_known known = { .listens = http_address(daemon), .disk = disk };
	char error[LINE_BYTES];

	if (options_try_again(now, &known, error, sizeof(error)))
		refuse(error);
	else
		take(daemon, o, now);
}

static void on_looked(void *owner, const struct disk_verdict *verdict)
{
	struct reload *reload = owner;
	struct daemon *daemon = reload->daemon;
	struct options *o = reload->options;
	const bool again = reload->again;

	daemon->reload = NULL;
	try_and_take(daemon, o, &reload->now, verdict);
	free(reload);
	if (again)
		reload_begin(daemon, o);
}

/* Without memory for it the settings stay as they were. */
static void look_first(struct daemon *daemon, struct options *o, struct options *now)
{
	struct reload *reload = calloc(1, sizeof(*reload));

	if (reload)
		reload->look = disk_look(daemon->loop, now->memory.disk, on_looked, reload);
	if (!reload || !reload->look) {
		free(reload);
		options_deinit(now);
		refuse("no memory");
		return;
	}
	reload->daemon = daemon;
	reload->options = o;
	reload->now = *now;
	daemon->reload = reload;
}

void reload_begin(struct daemon *daemon, struct options *o)
{
	char error[LINE_BYTES];
	struct options now;

	if (daemon->reload) {
		daemon->reload->again = true;
		return;
	}
	if (options_read_again(o, &now, error, sizeof(error)))
		refuse(error);
	else if (now.memory.disk)
		look_first(daemon, o, &now);
	else
		try_and_take(daemon, o, &now, NULL);
}

void reload_stop(struct daemon *daemon)
{
	struct reload *reload = daemon->reload;

	if (!reload)
		return;
	disk_look_free(reload->look);
	options_deinit(&reload->now);
	daemon->reload = NULL;
	free(reload);
}
