/*
 * library.c: libmete.so, see include/mete/control.h: what this folder has, for programs that are not built with it.
 *
 * Nothing of the inside shows: connections are opaque, and JSON goes in and out as text, so that neither the layout of
 * a struct nor the JSON library is part of what programs are bound to.
 */
#include <mete/control.h>

#include "client/grants.h"
#include "client/place.h"
#include "client/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

struct mete_control {
	struct control control;
};

_Static_assert((int)METE_NOBODY == (int)CONTROL_NOBODY && (int)METE_REFUSED == (int)CONTROL_REFUSED &&
		       (int)METE_LOST == (int)CONTROL_LOST,
	       "outcomes are numbered alike");
_Static_assert((int)METE_CONTROL_FIND == (int)CONTROL_FIND && (int)METE_CONTROL_STORED == (int)CONTROL_STORED &&
		       (int)METE_CONTROL_START == (int)CONTROL_START,
	       "ways are numbered alike");
_Static_assert(METE_PATH_BYTES == PATH_MAX, "a path fits");

/* The line goes to the caller, who need not want it. Value: r. */
static int tell(struct mete_fault *fault, int r, const struct fault *f)
{
	if (fault && r)
		snprintf(fault->text, sizeof(fault->text), "%s", f->text);
	return r;
}

PUBLIC const char *mete_version(void)
{
	return METE_VERSION;
}

PUBLIC int mete_control_open(struct mete_control **ret, enum mete_how how, struct mete_fault *fault)
{
	struct mete_control *c = malloc(sizeof(*c));
	struct fault f;
	int r;

	if (!c)
		return tell(fault, fault_set(&f, -ENOMEM, "no memory for a connection; end other programs"), &f);
	c->control = CONTROL_CLOSED;
	r = control_open(&c->control, (enum control_how)how, &f);
	if (!r)
		*ret = c;
	else
		free(c);
	return tell(fault, r, &f);
}

PUBLIC void mete_control_close(struct mete_control *c)
{
	if (c)
		control_close(&c->control);
	free(c);
}

/* Value: the request, or NULL with a fault. */
static json_t *read_request(const char *text, struct fault *f)
{
	json_error_t why;
	json_t *request = json_loads(text, JSON_REJECT_DUPLICATES, &why);

	if (json_is_object(request))
		return request;
	fault_set(f, -EINVAL, "the request is no JSON object: %s", request ? "write {\"op\": ...}" : why.text);
	json_decref(request);
	return NULL;
}

/* An answer as text. Takes the reference. */
static int write_text(json_t *take_json, char **ret, struct fault *f)
{
	char *text = json_dumps(take_json, JSON_COMPACT);

	json_decref(take_json);
	if (!text)
		return fault_set(f, -ENOMEM, "no memory for meted's answer; end other programs");
	*ret = text;
	return 0;
}

PUBLIC int mete_control_send(struct mete_control *c, const char *text, struct mete_fault *fault)
{
	struct fault f;
	json_t *request = read_request(text, &f);

	return tell(fault, request ? control_send(&c->control, request, &f) : -EINVAL, &f);
}

PUBLIC int mete_control_receive(struct mete_control *c, char **ret, char code[METE_CODE_BYTES],
				struct mete_fault *fault)
{
	struct fault f = { "the answer is not there yet; poll the descriptor" };
	json_t *answer;
	int r = control_receive(&c->control, &answer, code, &f);

	return tell(fault, r ? r : write_text(answer, ret, &f), &f);
}

PUBLIC int mete_control_ask(struct mete_control *c, const char *text, char **ret, char code[METE_CODE_BYTES],
			    struct mete_fault *fault)
{
	struct fault f;
	json_t *request, *answer;
	int r = -EINVAL;

	if (code)
		*code = 0;
	request = read_request(text, &f);
	if (request)
		r = control_ask(&c->control, request, &answer, code, &f);
	return tell(fault, r ? r : write_text(answer, ret, &f), &f);
}

PUBLIC int mete_control_fd(const struct mete_control *c)
{
	return c->control.fd;
}

PUBLIC const char *mete_control_dir(const struct mete_control *c)
{
	return c->control.dir;
}

PUBLIC pid_t mete_control_pid(const struct mete_control *c)
{
	return c->control.daemon_pid;
}

PUBLIC bool mete_control_is_system(const struct mete_control *c)
{
	return c->control.system;
}

PUBLIC int mete_grants(const char *name, char **ret, struct mete_fault *fault)
{
	struct control control = CONTROL_CLOSED;
	json_t *grants;
	struct fault f;
	int r = name ? grant_name_check(name, &f) : 0;

	if (!r)
		r = grants_get(&control, name, &grants, &f);
	control_close(&control);
	return tell(fault, r ? r : write_text(grants, ret, &f), &f);
}

PUBLIC int mete_start(const char *dir, struct mete_fault *fault)
{
	struct fault f;

	return tell(fault, start_meted(dir, &f), &f);
}

static const char *part_of(const struct place *p, enum mete_part part)
{
	switch (part) {
	case METE_PART_SHIM:
		return p->shim_dir;
	case METE_PART_SOFT:
		return p->soft_dir;
	case METE_PART_RUNTIME:
		return p->runtime_dir;
	case METE_PART_REMOTE:
		return p->remote_dir;
	case METE_PART_RELAY:
		return p->relay;
	case METE_PART_WORKER:
		return p->worker;
	case METE_PART_METED:
		return p->meted;
	}
	return NULL;
}

PUBLIC int mete_place(enum mete_part part, char path[METE_PATH_BYTES], struct mete_fault *fault)
{
	struct fault f = { "" };
	struct place place;
	const char *found;
	int r = place_find(&place, &f);

	found = part_of(&place, part);
	if (!found)
		return tell(fault, fault_set(&f, -EINVAL, "part %d: there is none of that number", (int)part), &f);
	if (!*found)
		r = r ? r : fault_set(&f, -ENOENT, "%s: this part of mete is not here; install it", place.exe_dir);
	if (r && !*found)
		return tell(fault, r, &f);
	snprintf(path, METE_PATH_BYTES, "%s", found);
	return 0;
}
