/* state.c: see state.h. */
#include "connect/cdi/state.h"

#include "client/place.h"
#include "model/grant.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define ID_LETTERS 32 /* of a container's id: they are 64 random digits where they are long */

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static const char *word_of(json_t *list, size_t at)
{
	const char *text = json_string_value(json_array_get(list, at));

	return text ? text : "";
}

/* What cannot be understood is left empty: the runtime will say so. */
static void read_program(json_t *process, struct state_program *p)
{
	json_t *args = json_object_get(process, "args"), *env = json_object_get(process, "env");
	const char *name = word_of(args, !strcmp(word_of(args, 1), "--") ? 2 : 0);
	size_t count = json_array_size(env);

	*p = (struct state_program){ .path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
	if (*name == '/' || !strchr(name, '/'))
		snprintf(p->name, sizeof(p->name), "%s", name);
	else if (!path_join(p->name, "%s/%s", text_of(process, "cwd"), name))
		*p->name = 0;
	for (size_t i = 0; i < count; i++)
		if (!strncmp(word_of(env, i), "PATH=", 5))
			snprintf(p->path, sizeof(p->path), "%s", word_of(env, i) + 5);
}

int state_root(const char *bundle, char root[PATH_MAX], struct state_program *program, struct fault *f)
{
	char path[PATH_MAX];
	json_error_t why;
	const char *named;
	json_t *config;
	bool fits;

	if (!path_join(path, "%s/config.json", bundle))
		return fault_set(f, -ENAMETOOLONG, "%s: the bundle's path is too long", bundle);
	config = json_load_file(path, 0, &why);
	if (!config)
		return fault_set(f, -EINVAL, "%s: %s (line %d); is this an OCI bundle?", path, why.text, why.line);
	named = text_of(json_object_get(config, "root"), "path");
	if (!*named)
		named = "rootfs";
	fits = *named == '/' ? path_join(root, "%s", named) : path_join(root, "%s/%s", bundle, named);
	if (program)
		read_program(json_object_get(config, "process"), program);
	json_decref(config);
	return fits ? 0 : fault_set(f, -ENAMETOOLONG, "%s: the root's path is too long", path);
}

/*
 * containerd's names (its documentation, "cri annotations") and CRI-O's (its documentation, "annotations"). What would
 * not fit is left out.
 */
static void read_pod(json_t *annotations, struct state *s)
{
	static const struct {
		const char *pod, *space, *container;
	} rows[] = {
		{ "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.sandbox-namespace",
		  "io.kubernetes.cri.container-name" },
		{ "io.kubernetes.pod.name", "io.kubernetes.pod.namespace", "io.kubernetes.container.name" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !*s->pod; i++) {
		snprintf(s->pod, sizeof(s->pod), "%s", text_of(annotations, rows[i].pod));
		snprintf(s->space, sizeof(s->space), "%s", text_of(annotations, rows[i].space));
		snprintf(s->container, sizeof(s->container), "%s", text_of(annotations, rows[i].container));
	}
}

int state_read(struct state *s, struct fault *f)
{
	json_error_t why;
	json_t *state = json_loadf(stdin, 0, &why);
	int r = 0;

	*s = (struct state){ 0 };
	if (!state)
		return fault_set(
			f, -EINVAL,
			"standard input is not a container's state (%s); this is called by container runtimes, as a "
			"hook",
			why.text);
	s->pid = (pid_t)json_integer_value(json_object_get(state, "pid"));
	if (!*text_of(state, "id") || !path_join(s->bundle, "%s", text_of(state, "bundle")) || *s->bundle != '/' ||
	    snprintf(s->id, sizeof(s->id), "%s", text_of(state, "id")) >= (int)sizeof(s->id))
		r = fault_set(f, -EINVAL, "the container's state has no \"id\" or no absolute \"bundle\"");
	read_pod(json_object_get(state, "annotations"), s);
	json_decref(state);
	return r;
}

/* NULL: meted would not take it, and the container begins without. */
static const char *label(const char *text)
{
	return grant_label_valid(text) ? text : NULL;
}

json_t *state_labels(const struct state *s)
{
	return json_pack("{s:s* s:s* s:s*}", "container", label(*s->container ? s->container : s->id), "pod",
			 label(s->pod), "namespace", label(s->space));
}

void state_grant_name(const struct state *s, const char *share, char *name, size_t size)
{
	snprintf(name, size, "%.24s.%.*s", share, ID_LETTERS, s->id);
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
}
