/*
 * main.c: mete-agent: kubelet's device plugin for the named shares of this node. Options, and the loop.
 *
 * Exit status: 0 done (also after SIGTERM), 1 failed, 2 the command line is wrong.
 */
#include "connect/cdi/connector.h"
#include "client/requests.h"
#include "connect/kubernetes/agent.h"
#include "connect/kubernetes/owed.h"
#include "connect/kubernetes/plugin.h"
#include "base/clock.h"
#include "base/notify.h"
#include "base/option_table.h"
#include "verb/duration.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KUBELET_DIR "/var/lib/kubelet/device-plugins"
#define PODS_SOCKET "/var/lib/kubelet/pod-resources/kubelet.sock"
#define TICK_MS 500 /* between looks at shares.json; and at meted, while it does not tell what changes */
#define TURN_MS 100
#define SERVE_MOST_NS 5000000ull /* hundreds of streams of lists are answered by kubelet at once */
#define EXPIRES_MOST_S 31536000L

/* The words of a share are those of the connector for containers; the agent has no verbs of its own. */
const struct verb verbs[] = { { 0 } };
const struct connector *const connectors[] = { &cdi_connector, NULL };

static const char usage[] =
	"Usage: mete-agent [options]\n"
	"\n"
	"Offers the named shares of /etc/mete/shares.json to this node's kubelet as resources mete.io/SHARE, and\n"
	"makes the grant when a pod's container begins (docs/kubernetes.md).\n"
	"\n"
	"  --kubelet-dir DIR   The folder of kubelet's sockets. Default: " KUBELET_DIR "\n"
	"  --pods-socket PATH  kubelet's socket of pod-resources, which names the pod of a grant. Default:\n"
	"                      " PODS_SOCKET "\n"
	"  --shares FILE       The named shares. Default: " SHARES_FILE ", where there is one.\n"
	"  --runtime-dir DIR   meted's runtime directory. Default: as for mete.\n"
	"  --cdi FORM          How the container runtime is told of the CDI device: annotation (every kubelet), or "
	"field\n"
	"                      (kubelet 1.29 and later). Default: annotation.\n"
	"  --cdi-dir DIR       Where the CDI files of grants are written. Default: " SPEC_DYNAMIC_DIR "\n"
	"  --expires TIME      How long a grant waits for its container: 90s, 10m, 1h, or never. Default: as meted has "
	"it.\n"
	"  --dra               Be the DRA driver gpu.mete.io too: a claim gets what the scheduler allocated.\n"
	"  --publish           Annotate the node with what its cards have left, for mete-extender and kubectl mete.\n"
	"  --node NAME         This node's name, for DRA and --publish. Default: $NODE_NAME, else the machine's name.\n"
	"  --kubeconfig FILE   Where the API server is, for DRA. Default: the service account of the pod.\n"
	"  --kubelet-root DIR  kubelet's folder, for DRA. Default: " DRA_KUBELET_ROOT "\n"
	"  --placement WORD    Where shares go that name no device: pack (the fullest device that has room) or spread\n"
	"                      (the emptiest). Default: pack.\n"
	"  --soft              Shares of the software device even where there is a GPU.\n"
	"  --check             Say what there is, change nothing, and end with 1 where something is missing.\n"
	"  --help              Print this text.\n"
	"  --version           Print the version.\n";

static bool read_runtime_dir(void *options, const char *value)
{
	return !setenv("METE_RUNTIME_DIR", value, 1);
}

static bool read_expires(void *options, const char *value)
{
	struct agent_options *o = options;

	o->expires_s = 0;
	return !strcmp(value, "never") ||
	       (duration_parse(value, EXPIRES_MOST_S, &o->expires_s) && o->expires_s > 0);
}

#define AT(member) offsetof(struct agent_options, member)
static const char *const cdi_forms[] = { "annotation", "field", NULL };
static const char *const placements[] = { "pack", "spread", NULL };

/* clang-format off: a row is a line */
static const struct option_row option_rows[] = {
	{ "kubelet-dir", OPTION_PATH, AT(kubelet_dir), NULL, NULL, NULL },
	{ "pods-socket", OPTION_PATH, AT(pods_socket), NULL, NULL, NULL },
	{ "shares", OPTION_TEXT, AT(shares), NULL, NULL, NULL },
	{ "runtime-dir", OPTION_READ, 0, "there is no memory for it", NULL, read_runtime_dir },
	{ "cdi", OPTION_EITHER, AT(cdi_field), NULL, cdi_forms, NULL },
	{ "cdi-dir", OPTION_PATH, AT(cdi_dir), "give an absolute path: meted removes the files", NULL, NULL },
	{ "expires", OPTION_READ, 0, "give a time such as 90s, 10m or 1h, or never", NULL, read_expires },
	{ "dra", OPTION_FLAG, AT(dra.on), NULL, NULL, NULL },
	{ "publish", OPTION_FLAG, AT(publish), NULL, NULL, NULL },
	{ "node", OPTION_TEXT, AT(dra.node), NULL, NULL, NULL },
	{ "kubeconfig", OPTION_TEXT, AT(dra.kubeconfig), NULL, NULL, NULL },
	{ "kubelet-root", OPTION_PATH, AT(dra.kubelet_root), NULL, NULL, NULL },
	{ "placement", OPTION_EITHER, AT(spread), NULL, placements, NULL },
	{ "soft", OPTION_FLAG, AT(soft), NULL, NULL, NULL },
	{ "check", OPTION_FLAG, AT(check), NULL, NULL, NULL },
	{ "help", OPTION_HELP, 0, NULL, NULL, NULL },
	{ "version", OPTION_VERSION, 0, NULL, NULL, NULL },
	{ 0 },
};
/* clang-format on */

static int check_shares(struct agent *a)
{
	unsigned int fit, taken;
	struct fault f = { .text = "" };
	int bad = 0;

	for (struct plugin *p = a->plugins; p; p = p->next) {
		if (plugin_count(p, &fit, &taken, &f)) {
			printf("missing  " AGENT_RESOURCES "%s: %s\n", p->share, f.text);
			bad = 1;
		} else {
			printf("ok       " AGENT_RESOURCES "%s: %u taken, %u more fit\n", p->share, taken, fit);
		}
	}
	return bad;
}

/* One line a thing: what kubelet, meted, the runtime and the shares are like. Value: an exit status. */
static int check(struct agent *a)
{
	struct fault f = { .text = "" };
	const char *parts[] = { a->options.kubelet_dir, a->options.cdi_dir };
	json_t *answer = NULL;
	char path[PATH_MAX];
	int bad = 0;

	if (agent_ask(a, request_plain("hello"), &answer, NULL, &f)) {
		printf("missing  meted: %s\n", f.text);
		bad = 1;
	} else {
		printf("ok       meted %s in %s\n", device_text(answer, "version"), a->edits.control.dir);
	}
	json_decref(answer);
	path_join(path, "%s/kubelet.sock", parts[0]);
	if (access(path, R_OK | W_OK)) {
		printf("missing  %s: %s; start kubelet, or give its folder with --kubelet-dir\n", path,
		       strerror(errno));
		bad = 1;
	} else {
		printf("ok       %s\n", path);
	}
	if (!access(parts[1], F_OK) && access(parts[1], W_OK)) {
		printf("missing  %s: %s; run mete-agent as root, or give another folder that the container runtime "
		       "reads with --cdi-dir\n",
		       parts[1], strerror(errno));
		bad = 1;
	}
	if (!a->shares) {
		printf("missing  shares: %s\n", a->said[AGENT_SHARES]);
		bad = 1;
	}
	if (a->dra && !dra_check(a->dra))
		bad = 1;
	return a->edits.machine && !check_shares(a) ? bad : 1;
}

/* At shares.json by the clock; at meted when something has changed, or by the clock where it does not say so. */
static void look(struct agent *a)
{
	uint64_t now = clock_now_ns();

	if (now >= a->shares_ns) {
		a->shares_ns = now + TICK_MS * 1000000ull;
		agent_read_shares(a);
	}
	news_tend(&a->news);
	if (a->listing)
		a->listing = agent_list(a);
	if (now < a->refresh_ns)
		return;
	a->refresh_ns = UINT64_MAX;
	agent_refresh(a);
	a->listing = agent_list(a);
	if (!news_waits(&a->news) && a->refresh_ns == UINT64_MAX)
		a->refresh_ns = now + TICK_MS * 1000000ull;
}

static int turn_ms(const struct agent *a)
{
	uint64_t now = clock_now_ns(), next = a->refresh_ns, one;

	for (const struct plugin *p = a->kubelet_socket ? a->plugins : NULL; p; p = p->next) {
		one = plugin_next_ns(p);
		next = one < next ? one : next;
	}
	if (next <= now || a->listing)
		return 0;
	return next - now < TURN_MS * 1000000ull ? (int)((next - now) / 1000000u) + 1 : TURN_MS;
}

static int run(struct agent *a)
{
	struct watch signals;
	bool ended = false;
	int r = program_watch_signals(&a->loop, &signals, &ended);

	if (!r)
		notify_tell("READY=1");
	while (!r && !ended) {
		look(a);
		agent_tend(a);
		dra_tend(a->dra);
		publish_tend(a->publish);
		r = loop_turns(&a->loop, turn_ms(a), SERVE_MOST_NS);
	}
	loop_remove(&a->loop, &signals);
	if (r)
		program_log("cannot wait for its sockets: %s", strerror(-r));
	return r ? EXIT_FAILED : EXIT_DONE;
}

static void agent_close(struct agent *a)
{
	struct plugin *p;

	identity_end(&a->identity);
	news_end(&a->news);
	dra_close(a->dra);
	publish_close(a->publish);
	while ((p = a->plugins)) {
		a->plugins = p->next;
		plugin_free(p);
	}
	if (a->inotify.fd >= 0)
		loop_remove(&a->loop, &a->inotify);
	loop_close(&a->loop);
	edits_close(&a->edits);
	json_decref(a->grants);
	json_decref(a->shares);
	json_decref(a->counts);
}

static int begin(struct agent *a)
{
	struct fault f = { .text = "" };
	int r = loop_open(&a->loop);

	if (r)
		fault_set(&f, r, "no loop: %s", strerror(-r));
	else
		r = place_find(&a->edits.place, &f);
	if (!r && a->options.dra.on)
		r = dra_open(&a->dra, a, &a->options.dra, &f);
	if (!r && a->options.publish)
		r = publish_open(&a->publish, a, a->options.dra.node, a->options.dra.kubeconfig, &f);
	if (r) {
		program_log("%s", f.text);
		return EXIT_FAILED;
	}
	if (!a->options.check)
		return run(a);
	agent_read_shares(a);
	agent_refresh(a);
	return check(a) ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	struct agent a = { .options = { .kubelet_dir = KUBELET_DIR,
					.pods_socket = PODS_SOCKET,
					.cdi_dir = SPEC_DYNAMIC_DIR,
					.expires_s = -1 },
			   .loop = { -1 },
			   .edits = { .control = CONTROL_CLOSED, .takes_any = true },
			   .news = { .control = { .fd = -1 } },
			   .inotify = { .fd = -1 } };
	char line[OPTION_LINE_BYTES];
	int status;

	a.identity.agent = a.news.agent = &a;
	switch (option_table_read(option_rows, &a.options, argc, argv, 0, line)) {
	case OPTIONS_WRONG:
		program_log("%s", line);
		return EXIT_USAGE;
	case OPTIONS_HELP:
		fputs(usage, stdout);
		return EXIT_DONE;
	case OPTIONS_VERSION:
		puts("mete-agent " METE_VERSION);
		return EXIT_DONE;
	default:
		break;
	}
	status = begin(&a);
	agent_close(&a);
	return status;
}
