/* container_ask.c: what is asked on the control socket about containers; see container.h. */
#include "base/cleanup.h"
#include "base/soft_dir.h"
#include "daemon/ask.h"
#include "daemon/tenants/container.h"
#include "daemon/daemon.h"
#include "daemon/owner.h"
#include "daemon/tenants/process.h"
#include "daemon/tenants/sender.h"
#include "daemon/store/store.h"
#include "daemon/tenants/tenant.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool file_fits(const char *name, json_t *text)
{
	return container_knows(name) && json_is_string(text);
}

bool container_read_labels(struct ask *ask, struct grant *g)
{
	json_t *labels = json_object_get(ask->request, "labels");

	if (labels && !json_is_null(labels) && !json_is_object(labels)) {
		refuse(ask, CODE_MALFORMED, "\"labels\" must be an object: container, pod and namespace");
		return false;
	}
	for (int i = 0; i < (int)GRANT_LABELS; i++) {
		const char *name = grant_label_name((enum grant_label)i);
		json_t *given = json_object_get(labels, name);
		const char *text = json_string_value(given);

		if (!given || json_is_null(given))
			continue;
		if (!text || !grant_label_valid(text)) {
			refuse(ask, CODE_MALFORMED,
			       "label \"%s\" must be 1 to %u letters, digits, '.', '_' and '-', as the name of a pod",
			       name, GRANT_LABEL_BYTES - 1);
			return false;
		}
		snprintf(g->label[i], sizeof(g->label[i]), "%s", text);
	}
	return true;
}

/* {"keep": BOOL, "spec": PATH, "files": {NAME: TEXT}}, each of them optional. */
bool container_read(struct ask *ask, struct grant *g)
{
	json_t *asked = json_object_get(ask->request, "container"), *files = json_object_get(asked, "files"), *text;
	const char *spec = json_string_value(json_object_get(asked, "spec")), *name;
	struct grant_container *c = &g->container;
	size_t n;

	if (!asked || json_is_null(asked))
		return true;
	if (!json_is_object(asked) || (files && !json_is_object(files))) {
		refuse(ask, CODE_MALFORMED, "\"container\" and its \"files\" must be objects");
		return false;
	}
	json_object_foreach(files, name, text) if (!file_fits(name, text))
	{
		refuse(ask, CODE_MALFORMED, "\"files\" must be texts, called \"settings\" or \"preload\"");
		return false;
	}
	/* meted removes it at the end: only for those who could do so themselves. */
	if (spec && !owner_is(ask->asker->uid)) {
		refuse(ask, CODE_NOT_YOURS, "only root may have meted remove a CDI file; ask without \"spec\"");
		return false;
	}
	n = files ? json_dumpb(files, c->files, sizeof(c->files) - 1, JSON_COMPACT) : 0;
	if (n >= sizeof(c->files) || (spec && (*spec != '/' || strlen(spec) >= sizeof(c->spec)))) {
		refuse(ask, CODE_MALFORMED, "\"files\" or \"spec\" is too long, or \"spec\" is no absolute path");
		return false;
	}
	c->files[n] = 0;
	snprintf(c->spec, sizeof(c->spec), "%s", spec ? spec : "");
	c->keep = json_is_true(json_object_get(asked, "keep"));
	c->is = true;
	return true;
}

json_t *container_json(const struct tenant *tenant)
{
	const struct grant *g = &tenant->grant;
	char place[CONTAINER_PLACE_BYTES], soft[PATH_MAX] = "";
	const char *id = "";

	if (!g->container.is)
		return json_null();
	container_place(g, "", place);
	place[strlen(place) - 1] = 0;
	if (container_has_soft(g) && !soft_dir_find_for_containers(soft, sizeof(soft)))
		*soft = 0;
	/* In a pod the label is the container's name there. */
	if (!*g->label[GRANT_POD])
		id = g->label[GRANT_CONTAINER];
	return json_pack("{s:o s:o s:b s:o s:o}", "id", *id ? json_string(id) : json_null(), "folder",
			 json_sprintf("%s/%s", tenant->daemon->runtime.dir, place), "keep", g->container.keep, "spec",
			 *g->container.spec ? json_string(g->container.spec) : json_null(), "soft_dir",
			 *soft ? json_string(soft) : json_null());
}

/* meted signals the process when the grant is ended: only who could do so himself may name it. */
static bool may_name(const struct ask *ask, pid_t pid, int pidfd)
{
	struct sender_target target = { pid, pidfd, ask->asker->uid, 0 };

	if (ask_is_owner(ask) || sender_is_of(pid, pidfd, ask->asker->uid))
		return true;
	sender_tell(&target, 1, SENDER_CHECK);
	return !target.result;
}

bool container_read_runner(struct ask *ask, struct grant *g)
{
	json_t *given = json_object_get(ask->request, "runner_pid");
	json_int_t pid = json_integer_value(given);
	struct process process;
	_cleanup_close_ int fd = -1;

	if (!given || json_is_null(given))
		return true;
	if (!json_is_integer(given) || pid <= 0 || pid > INT32_MAX || process_find((pid_t)pid, &process, &fd)) {
		refuse(ask, CODE_MALFORMED, "\"runner_pid\" names no living process");
		return false;
	}
	if (!may_name(ask, process.pid, fd)) {
		refuse(ask, CODE_NOT_YOURS,
		       "\"runner_pid\" %d is not a process of uid %u, nor in a user namespace that uid %u has made: "
		       "name one that is",
		       (int)pid, (unsigned int)ask->asker->uid, (unsigned int)ask->asker->uid);
		return false;
	}
	g->runner_pid = (pid_t)pid;
	g->runner_start = process.start_time;
	return true;
}

bool container_label(struct ask *ask, struct tenant *t)
{
	_cleanup_free_ struct grant *changed = malloc(sizeof(*changed));
	char error[512];

	if (!changed) {
		refuse(ask, CODE_RUNTIME, "no memory");
		return false;
	}
	*changed = t->grant;
	if (!container_read_runner(ask, changed) || !container_read_labels(ask, changed))
		return false;
	if (store_update(ask->daemon->store, changed, error, sizeof(error))) {
		refuse(ask, CODE_STORE, "%s", error);
		return false;
	}
	t->grant.runner_pid = changed->runner_pid;
	t->grant.runner_start = changed->runner_start;
	memcpy(t->grant.label, changed->label, sizeof(t->grant.label));
	return true;
}

/* The process that the grant ends with is known now. */
static bool bind_runner(struct ask *ask, struct tenant *t)
{
	if (!container_label(ask, t))
		return false;
	t->runner_is_roots = ask_is_owner(ask);
	tenant_watch_runner(t);
	event_add(&t->events, "a container (process %d) begins", (int)t->grant.runner_pid);
	return true;
}

/*
 * The grant's files go into the container. A grant that has ended leaves its name to others, and root's CDI file may
 * still have it: another user's files are nothing for a container of root's.
 */
static bool is_own(struct ask *ask, const struct tenant *t)
{
	if (ask->asker->uid == t->grant.uid)
		return true;
	refuse(ask, CODE_NOT_YOURS,
	       "grant %s belongs to uid %u, and a container of uid %u's does not begin with it (`mete show %s`): make "
	       "one of another name (`mete cdi create --name`)",
	       t->grant.name, (unsigned int)t->grant.uid, (unsigned int)ask->asker->uid, t->grant.name);
	return false;
}

bool container_bind(struct ask *ask, struct tenant *t)
{
	const struct grant_container *c = &t->grant.container;
	json_t *files = json_object_get(ask->request, "files"), *text;
	const char *name;
	char error[512];

	if (!c->is) {
		refuse(ask, CODE_BAD_SHARE, "grant %s was not made for containers: make one with `mete cdi create`",
		       t->grant.name);
		return false;
	}
	if (!is_own(ask, t))
		return false;
	if (t->grant.runner_pid && !c->keep) {
		refuse(ask, CODE_BUSY,
		       "grant %s is in use by the container with process %d: make another one (`mete cdi create`), or "
		       "one that several use (--keep)",
		       t->grant.name, (int)t->grant.runner_pid);
		return false;
	}
	json_object_foreach(files, name, text)
	{
		if (!file_fits(name, text)) {
			refuse(ask, CODE_MALFORMED, "\"files\" must be texts, called \"settings\" or \"preload\"");
			return false;
		}
		if (container_write(t, name, json_string_value(text), error, sizeof(error))) {
			refuse(ask, CODE_RUNTIME, "%s", error);
			return false;
		}
	}
	if (!c->keep && !bind_runner(ask, t))
		return false;
	tenant_joined(t);
	return true;
}
