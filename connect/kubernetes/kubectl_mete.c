/*
 * kubectl_mete.c: kubectl-mete, a plugin of kubectl: what the nodes' cards have, who has what, and why a pod waits.
 *
 * It asks through kubectl, which knows the cluster and the user: `kubectl get --raw`. What nodes have is what their
 * agents have published (publish.h); why a pod has no room is decided by the same code as in mete-extender. Exit
 * status: 0 done, 1 failed, 2 the command line is wrong.
 */
#include "base/clean_text.h"
#include "base/size.h"
#include "client/fault.h"
#include "connect/kubernetes/extender_nodes.h"
#include "connect/kubernetes/publish.h"
#include "verb/connector.h"
#include "verb/table.h"
#include "verb/verb.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN "mete.io/"
#define ANSWER_MOST (256u << 20)

const struct verb verbs[] = { { 0 } };
const struct connector *const connectors[] = { NULL };

static const char usage[] =
	"Usage: kubectl mete COMMAND [options]\n"
	"\n"
	"  list                 The cards of each node, and what they have left.\n"
	"  top                  Who has a share, and what each program uses of it (asks each node's agent).\n"
	"  why POD              Why a pod waits: of each node one line with the figure that is in the way.\n"
	"  describe NODE        A node's cards, shares and the pods that have them.\n"
	"\n"
	"  -n, --namespace NS   Of POD. Default: default\n"
	"  --agents NS          The namespace of mete's agents, for top. Default: mete-system\n"
	"  --json               Print JSON (list).\n"
	"  --help               Print this text.\n"
	"  --version            Print the version.\n"
	"\n"
	"kubectl must be in PATH; METE_KUBECTL names another one.\n";

struct options {
	const char *command, *name, *name_space, *agents;
	bool json;
};

static int complain(const struct fault *f)
{
	fprintf(stderr, "kubectl mete: %s\n", f->text);
	return EXIT_FAILED;
}

/* kubectl. */

/* All that comes, owned. NULL: nothing, or too much. */
static char *read_all(int fd, size_t *ret)
{
	size_t size = 0, room = 65536;
	char *text = malloc(room), *bigger;
	ssize_t n;

	while (text && (n = read(fd, text + size, room - size - 1)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || room > ANSWER_MOST) {
			free(text);
			return NULL;
		}
		size += (size_t)n;
		if (size + 1 < room)
			continue;
		room *= 2;
		bigger = realloc(text, room);
		if (!bigger)
			free(text);
		text = bigger;
	}
	if (text)
		text[size] = 0;
	*ret = size;
	return text;
}

/* What kubectl prints, owned; what it complains of goes where ours does. NULL: a fault. */
static char *run_kubectl(const char *const *words, size_t *ret_size, struct fault *f)
{
	const char *own = getenv("METE_KUBECTL"), *program = own && *own ? own : "kubectl", *argv[16] = { program };
	posix_spawn_file_actions_t actions;
	int out[2], status = 0, r;
	char *text;
	pid_t pid;

	for (size_t i = 0; words[i] && i < 14; i++)
		argv[i + 1] = words[i];
	if (pipe(out)) {
		fault_set(f, -errno, "no pipe: %s", strerror(errno));
		return NULL;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	posix_spawn_file_actions_addclose(&actions, out[0]);
	posix_spawn_file_actions_addclose(&actions, out[1]);
	r = posix_spawnp(&pid, program, &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(out[1]);
	if (r) {
		close(out[0]);
		fault_set(f, -r, "%s: %s; put kubectl into PATH, or name it with METE_KUBECTL", program, strerror(r));
		return NULL;
	}
	text = read_all(out[0], ret_size);
	close(out[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (text && WIFEXITED(status) && !WEXITSTATUS(status))
		return text;
	free(text);
	fault_set(f, -EIO, "%s %s %s did not answer", program, words[0], words[1] ? words[1] : "");
	return NULL;
}

/* An object of the API server. NULL: a fault. */
static json_t *get(struct fault *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static json_t *get(struct fault *f, const char *fmt, ...)
{
	char path[1024];
	const char *words[] = { "get", "--raw", path, NULL };
	json_t *object;
	size_t size;
	va_list ap;
	char *text;

	va_start(ap, fmt);
	vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	text = run_kubectl(words, &size, f);
	if (!text)
		return NULL;
	object = json_loadb(text, size, JSON_ALLOW_NUL, NULL);
	free(text);
	if (!object)
		fault_set(f, -EPROTO, "%s: the answer is no JSON", path);
	return object;
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* A line, without what a terminal would take for an order: tenants and nodes wrote much of it. */
static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		puts(clean_text_line(text));
	free(text);
}

static json_t *meta(json_t *object)
{
	return json_object_get(object, "metadata");
}

static bool word_good(const char *word)
{
	return *word && strlen(word) <= 253 &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") == strlen(word);
}

/* list */

static const char *state_word(const struct placement_card *c)
{
	static const char *const words[] = { "active", "cordoned", "draining", "lost", "native" };

	return words[c->state];
}

static void card_row(struct table *t, const struct nodes_node *n, unsigned int at)
{
	const struct placement_card *c = &n->card[at];
	char total[SIZE_TEXT_BYTES], left[SIZE_TEXT_BYTES];

	table_cell(t, "%s", n->name);
	table_cell(t, "%u", at);
	table_cell(t, "%s", c->name);
	table_cell(t, "%s", size_format(c->total_bytes, total));
	table_cell(t, "%s", size_format(c->left_bytes, left));
	table_cell(t, "%g %%", c->left_ppm / 1e4);
	table_cell(t, "%u", c->sharers);
	table_cell(t, "%s%s", state_word(c), n->cordoned ? ", node cordoned" : "");
}

/* By name, as the API server has them. */
static void each_node(json_t *list, struct table *t)
{
	struct nodes nodes = { NULL, 0, 0 };
	json_t *item;
	size_t i;

	nodes_replace(&nodes, json_object_get(list, "items"));
	json_array_foreach(json_object_get(list, "items"), i, item)
	{
		const struct nodes_node *n = nodes_find(&nodes, text_of(meta(item), "name"));

		for (unsigned int c = 0; n && c < n->cards; c++)
			card_row(t, n, c);
	}
	nodes_free(&nodes);
}

static const char *const card_heads[] = { "NODE",  ">CARD",    "MODEL", ">TOTAL", ">NOT PROMISED",
					  ">TIME", ">TENANTS", "STATE", NULL };

static void list_json(json_t *list)
{
	json_t *all = json_array(), *item;
	size_t i;

	json_array_foreach(json_object_get(list, "items"), i, item)
	{
		const char *told = text_of(json_object_get(meta(item), "annotations"), PUBLISH_ANNOTATION);
		json_t *what = *told ? json_loads(told, 0, NULL) : NULL;

		if (json_is_object(what)) {
			json_object_set(what, "node", json_object_get(meta(item), "name"));
			json_array_append(all, what);
		}
		json_decref(what);
	}
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
}

static int do_list(const struct options *o, struct fault *f)
{
	json_t *list = get(f, "/api/v1/nodes");
	struct table t;

	if (!list)
		return complain(f);
	if (o->json) {
		list_json(list);
	} else {
		table_begin(&t, card_heads);
		each_node(list, &t);
		table_end(&t);
	}
	json_decref(list);
	return EXIT_DONE;
}

/* why */

/* What the cluster itself says of the pod: the last line of each kind. */
static void print_events(const struct options *o)
{
	struct fault f;
	json_t *list = get(&f, "/api/v1/namespaces/%s/events?fieldSelector=involvedObject.name%%3D%s", o->name_space,
			   o->name),
	       *event;
	size_t i, n = json_array_size(json_object_get(list, "items"));

	json_array_foreach(json_object_get(list, "items"), i,
			   event) if (i + 5 >= n &&
				      !strcmp(text_of(json_object_get(event, "involvedObject"), "name"), o->name))
		say("event: %s: %s", text_of(event, "reason"), text_of(event, "message"));
	json_decref(list);
}

/* How many ids of each share kubelet offers there. Value: false: none of the one that is named here. */
static bool offers(json_t *node, const char *share, char text[64])
{
	json_t *allocatable = json_object_get(json_object_get(node, "status"), "allocatable");
	char name[64];

	snprintf(name, sizeof(name), OWN "%s", share);
	snprintf(text, 64, "%s", text_of(allocatable, name));
	return *text && strcmp(text, "0") != 0;
}

static void explain_node(const struct nodes_node *n, json_t *item, const struct nodes_asked *asked)
{
	struct nodes_verdict v;
	char ids[64];

	nodes_judge(n, asked, PLACEMENT_FIT, false, &v);
	if (!v.fits) {
		say("%s: %s", text_of(meta(item), "name"), v.why);
		return;
	}
	for (unsigned int i = 0; i < asked->count; i++)
		if (!offers(item, asked->share[i], ids)) {
			say("%s: there is room, but its kubelet offers no " OWN "%s: is mete-agent registered? "
			    "(`mete-agent --check` there)",
			    text_of(meta(item), "name"), asked->share[i]);
			return;
		}
	say("%s: there is room; what is in the way is not a share", text_of(meta(item), "name"));
}

static int explain(const struct options *o, json_t *pod, json_t *list)
{
	struct nodes_asked asked;
	struct nodes nodes = { NULL, 0, 0 };
	const char *on = text_of(json_object_get(pod, "spec"), "nodeName");
	json_t *item;
	size_t i;

	if (!nodes_asked(pod, &asked)) {
		say("pod %s asks for no share (" OWN "NAME in its limits)", o->name);
		return EXIT_DONE;
	}
	for (unsigned int k = 0; k < asked.count; k++)
		say("pod %s asks for share %s", o->name, asked.share[k]);
	if (*on) {
		say("it is on node %s, %s", on, text_of(json_object_get(pod, "status"), "phase"));
	} else {
		nodes_replace(&nodes, json_object_get(list, "items"));
		json_array_foreach(json_object_get(list, "items"), i, item)
			explain_node(nodes_find(&nodes, text_of(meta(item), "name")), item, &asked);
		nodes_free(&nodes);
	}
	print_events(o);
	return EXIT_DONE;
}

static int do_why(const struct options *o, struct fault *f)
{
	json_t *pod = get(f, "/api/v1/namespaces/%s/pods/%s", o->name_space, o->name);
	json_t *list = pod ? get(f, "/api/v1/nodes") : NULL;
	int r = list ? explain(o, pod, list) : complain(f);

	json_decref(pod);
	json_decref(list);
	return r;
}

/* describe */

static void print_shares(json_t *node)
{
	json_t *allocatable = json_object_get(json_object_get(node, "status"), "allocatable"), *value;
	const char *name;

	json_object_foreach(allocatable, name, value) if (!strncmp(name, OWN, strlen(OWN)))
		say("share %s: %s in all", name + strlen(OWN), json_is_string(value) ? json_string_value(value) : "?");
}

static void print_pods(json_t *pods, const char *node)
{
	struct nodes_asked asked;
	json_t *pod;
	size_t i;

	json_array_foreach(json_object_get(pods, "items"), i, pod)
	{
		if (strcmp(text_of(json_object_get(pod, "spec"), "nodeName"), node) || !nodes_asked(pod, &asked))
			continue;
		for (unsigned int k = 0; k < asked.count; k++)
			say("pod %s/%s: share %s, %s", text_of(meta(pod), "namespace"), text_of(meta(pod), "name"),
			    asked.share[k], text_of(json_object_get(pod, "status"), "phase"));
	}
}

static int do_describe(const struct options *o, struct fault *f)
{
	json_t *node = get(f, "/api/v1/nodes/%s", o->name), *list, *pods;
	struct table t;

	pods = node ? get(f, "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", o->name) : NULL;
	if (!pods) {
		json_decref(node);
		return complain(f);
	}
	list = json_pack("{s:[O]}", "items", node);
	table_begin(&t, card_heads);
	each_node(list, &t);
	table_end(&t);
	print_shares(node);
	print_pods(pods, o->name);
	json_decref(list);
	json_decref(pods);
	json_decref(node);
	return EXIT_DONE;
}

/* top */

/* `mete ps` where the agent is: its container has mete and meted's socket. */
static int top_of(const struct options *o, json_t *agent)
{
	const char *words[] = {
		"exec", "-n", o->agents, text_of(meta(agent), "name"), "--", "/usr/bin/mete", "ps", NULL
	};
	struct fault f;
	size_t size;
	char *text = run_kubectl(words, &size, &f);

	say("node %s", text_of(json_object_get(agent, "spec"), "nodeName"));
	for (char *next = text, *line; next && (line = strsep(&next, "\n")) != NULL && (next || *line);)
		say("%s", line);
	if (!text)
		complain(&f);
	free(text);
	return text ? EXIT_DONE : EXIT_FAILED;
}

static int do_top(const struct options *o, struct fault *f)
{
	json_t *agents = get(f, "/api/v1/namespaces/%s/pods?labelSelector=app.kubernetes.io%%2Fcomponent%%3Dagent",
			     o->agents),
	       *agent;
	int r = EXIT_DONE;
	size_t i;

	if (!agents)
		return complain(f);
	json_array_foreach(json_object_get(agents, "items"), i,
			   agent) if (!strcmp(text_of(json_object_get(agent, "status"), "phase"), "Running") &&
				      top_of(o, agent)) r = EXIT_FAILED;
	if (!json_array_size(json_object_get(agents, "items"))) {
		fault_set(f, -ENOENT, "no agent runs in namespace %s: name theirs with --agents", o->agents);
		r = complain(f);
	}
	json_decref(agents);
	return r;
}

/* The command line. */

static const struct {
	const char *word, *operand;
	int (*fn)(const struct options *o, struct fault *f);
} commands[] = { { "list", NULL, do_list },
		 { "top", NULL, do_top },
		 { "why", "POD", do_why },
		 { "describe", "NODE", do_describe } };

#define COMMANDS (sizeof(commands) / sizeof(*commands))

static int wrong(const char *what, const char *remedy)
{
	fprintf(stderr, "kubectl mete: %s: %s\n", what, remedy);
	return EXIT_USAGE;
}

/* Value: the place of the option's value in argv, or 0. */
static int value_option(const char *word, struct options *o, const char ***ret)
{
	static const char *const words[] = { "-n", "--namespace", "--agents" };
	const char **to[] = { &o->name_space, &o->name_space, &o->agents };

	for (size_t i = 0; i < 3; i++)
		if (!strcmp(word, words[i])) {
			*ret = to[i];
			return 1;
		}
	return 0;
}

static int take_word(struct options *o, const char *word)
{
	if (!o->command)
		o->command = word;
	else if (!o->name)
		o->name = word;
	else
		return wrong(word, "one word too many; --help shows how");
	return -1;
}

/* Value: -1 to go on, else the exit status. */
static int read_options(struct options *o, int argc, char **argv)
{
	const char **value;
	int status = -1;

	for (int i = 1; status < 0 && i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			fputs(usage, stdout);
			status = EXIT_DONE;
		} else if (!strcmp(argv[i], "--version")) {
			puts("kubectl-mete " METE_VERSION);
			status = EXIT_DONE;
		} else if (!strcmp(argv[i], "--json")) {
			o->json = true;
		} else if (value_option(argv[i], o, &value)) {
			if (++i == argc)
				return wrong(argv[i - 1], "give a value");
			*value = argv[i];
		} else if (*argv[i] == '-') {
			status = wrong(argv[i], "no such option; --help lists them");
		} else {
			status = take_word(o, argv[i]);
		}
	}
	return status;
}

int main(int argc, char **argv)
{
	struct options o = { .name_space = "default", .agents = "mete-system" };
	int status = read_options(&o, argc, argv);
	struct fault f = { .text = "" };

	if (status >= 0)
		return status;
	for (size_t i = 0; o.command && i < COMMANDS; i++) {
		if (strcmp(o.command, commands[i].word))
			continue;
		if (!o.name != !commands[i].operand)
			return wrong(o.command,
				     commands[i].operand ? "name one; --help shows how" : "it takes no name");
		/* They become parts of a path. */
		if ((o.name && !word_good(o.name)) || !word_good(o.name_space) || !word_good(o.agents))
			return wrong(o.command, "a name has letters, digits, '.' and '-'");
		return commands[i].fn(&o, &f);
	}
	return wrong(o.command ? o.command : "no command", "give list, top, why POD or describe NODE");
}
