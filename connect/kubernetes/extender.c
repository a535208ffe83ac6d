/*
 * extender.c: mete-extender: for a scheduler without DRA, which nodes have room for a pod's shares, and which is best.
 *
 * Filter and prioritize only: no bind verb, no lock, no state but what the nodes' agents have written. A node that was
 * given away a moment ago is caught by kubelet's own count of the share. Exit status: 0 done (also after SIGTERM), 1
 * failed, 2 the command line is wrong.
 */
#include "base/clock.h"
#include "base/notify.h"
#include "base/option_table.h"
#include "connect/kubernetes/api.h"
#include "connect/kubernetes/extender_question.h"
#include "connect/kubernetes/program.h"
#include "connect/kubernetes/serve.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODES_PATH "/api/v1/nodes"
#define NAMES_NEW 1000u
#define TICK_MS 1000

enum { EXIT_GOOD, EXIT_BAD, EXIT_WORDS };

static const char usage[] = "Usage: mete-extender [options]\n"
			    "\n"
			    "A scheduler extender of Kubernetes: POST /filter and /prioritize, with nodeCacheCapable: "
			    "true. It reads what the\n"
			    "nodes' agents have published (mete-agent --publish).\n"
			    "\n"
			    "  --listen ADDR:PORT  Where it serves HTTP. Default: 127.0.0.1:8445\n"
			    "  --cert FILE         Serve HTTPS with this certificate, in PEM; read again when it "
			    "changes.\n"
			    "  --key FILE          The certificate's key.\n"
			    "  --client-ca FILE    Answer only who has a client's certificate of an authority in this "
			    "file; with --cert.\n"
			    "                      Read again when it changes.\n"
			    "  --place RULE        spread, binpack or fit (least fragmentation). Default: fit\n"
			    "  --most N            Name at most so many of the nodes that fit, the best. Default: all\n"
			    "  --kubeconfig FILE   How the API server is reached. Default: the pod's service account.\n"
			    "  --help              Print this text.\n"
			    "  --version           Print the version.\n";

struct extender {
	const char *listen, *cert, *key, *client_ca, *kubeconfig;
	enum placement_rule rule;
	size_t most; /* 0: all */
	struct loop loop;
	struct api *api;
	struct serve *serve;
	struct certificate serving;
	char *callers; /* what the file of --client-ca says; NULL: no file */
	char said[1024], said_tls[512];

	pthread_rwlock_t lock;
	struct nodes nodes; /* under the lock */
	bool listed;	    /* likewise: all nodes are known */
};

/* Nodes. */

static void on_list(void *owner, json_t *items)
{
	struct extender *e = owner;

	pthread_rwlock_wrlock(&e->lock);
	if (!nodes_replace(&e->nodes, items)) {
		if (!e->listed)
			program_log("%zu nodes", e->nodes.count);
		e->listed = true;
	}
	pthread_rwlock_unlock(&e->lock);
}

static void on_event(void *owner, const char *type, json_t *node)
{
	struct extender *e = owner;
	const char *name = json_string_value(json_object_get(json_object_get(node, "metadata"), "name"));

	if (!name)
		return;
	pthread_rwlock_wrlock(&e->lock);
	if (!strcmp(type, "DELETED"))
		nodes_drop(&e->nodes, name);
	else
		nodes_put(&e->nodes, node);
	pthread_rwlock_unlock(&e->lock);
}

static void on_trouble(void *owner, const char *line)
{
	struct extender *e = owner;

	if (line && strcmp(line, e->said))
		program_log("%s", line);
	if (!line)
		program_log("the API server answers again");
	snprintf(e->said, sizeof(e->said), "%s", line ? line : "");
}

static const struct api_events events = { NULL, on_list, on_event, on_trouble };

/* Requests. */

/* Value: false: the nodes are not known yet. */
static bool judge(struct extender *e, struct question *q, bool want_loss)
{
	bool listed;

	pthread_rwlock_rdlock(&e->lock);
	listed = e->listed;
	if (listed)
		question_judge(q, &e->nodes, e->rule, want_loss);
	pthread_rwlock_unlock(&e->lock);
	return listed;
}

static char *filter(struct extender *e, struct question *q)
{
	return judge(e, q, e->most) ? question_filter(q, e->most) : NULL;
}

static char *prioritize(struct extender *e, struct question *q)
{
	return judge(e, q, true) ? question_prioritize(q) : NULL;
}

/* No scheduler names more nodes than there are; each costs time. Some are new, and not known here yet. */
static bool is_too_large(struct extender *e, const struct question *q)
{
	size_t most;

	pthread_rwlock_rdlock(&e->lock);
	most = e->listed ? e->nodes.count * 2 + NAMES_NEW : SIZE_MAX;
	pthread_rwlock_unlock(&e->lock);
	return q->count > most;
}

static void treat(struct extender *e, const struct serve_request *request, struct serve_reply *ret,
		  char *(*fn)(struct extender *e, struct question *q))
{
	struct question q;
	char *text;

	if (strcmp(request->method, "POST")) {
		serve_text(ret, 405, "text/plain", strdup("POST ExtenderArgs\n"));
		return;
	}
	if (!question_read(&q, request->body, request->size)) {
		question_free(&q);
		serve_text(ret, 400, "text/plain", strdup("no ExtenderArgs: it needs Pod, and NodeNames or Nodes\n"));
		return;
	}
	if (is_too_large(e, &q)) {
		question_free(&q);
		serve_text(ret, 413, "text/plain", strdup("it names far more nodes than there are\n"));
		return;
	}
	text = fn(e, &q);
	question_free(&q);
	if (text)
		serve_text(ret, 200, "application/json", text);
	else
		serve_text(ret, 503, "text/plain", strdup("the nodes are not known yet\n"));
}

static void on_request(void *owner, const struct serve_request *request, struct serve_reply *ret)
{
	struct extender *e = owner;

	if (!strcmp(request->path, "/filter")) {
		treat(e, request, ret, filter);
	} else if (!strcmp(request->path, "/prioritize")) {
		treat(e, request, ret, prioritize);
	} else if (!strcmp(request->path, "/healthz")) {
		bool listed;

		pthread_rwlock_rdlock(&e->lock);
		listed = e->listed;
		pthread_rwlock_unlock(&e->lock);
		serve_text(ret, listed ? 200 : 503, "text/plain",
			   strdup(listed ? "ok\n" : "the nodes are not known yet\n"));
	} else {
		serve_text(ret, 404, "text/plain", strdup("there is /filter, /prioritize and /healthz\n"));
	}
}

/* Start. */

static bool read_place(void *extender, const char *value)
{
	struct extender *e = extender;
	int rule = placement_rule_find(value);

	e->rule = rule < 0 ? PLACEMENT_FIT : (enum placement_rule)rule;
	return rule >= 0;
}

static bool read_most(void *extender, const char *value)
{
	struct extender *e = extender;
	char *end;

	e->most = strtoul(value, &end, 10);
	return *value >= '0' && *value <= '9' && !*end;
}

#define AT(member) offsetof(struct extender, member)

static const struct option_row option_rows[] = {
	{ "listen", OPTION_TEXT, AT(listen), NULL, NULL, NULL },
	{ "cert", OPTION_TEXT, AT(cert), NULL, NULL, NULL },
	{ "key", OPTION_TEXT, AT(key), NULL, NULL, NULL },
	{ "client-ca", OPTION_TEXT, AT(client_ca), NULL, NULL, NULL },
	{ "place", OPTION_READ, 0, "give spread, binpack or fit", NULL, read_place },
	{ "most", OPTION_READ, 0, "give a number", NULL, read_most },
	{ "kubeconfig", OPTION_TEXT, AT(kubeconfig), NULL, NULL, NULL },
	{ "help", OPTION_HELP, 0, NULL, NULL, NULL },
	{ "version", OPTION_VERSION, 0, NULL, NULL, NULL },
	{ 0 },
};

/* Value: -1 to go on, else the exit status. */
static int read_options(struct extender *e, int argc, char **argv)
{
	char line[OPTION_LINE_BYTES];
	enum option_outcome outcome = option_table_read(option_rows, e, argc, argv, 0, line);

	if (outcome == OPTIONS_GOOD && !e->cert != !e->key) {
		snprintf(line, sizeof(line), "--cert: give --cert and --key together");
		outcome = OPTIONS_WRONG;
	}
	if (outcome == OPTIONS_GOOD && e->client_ca && !e->cert) {
		snprintf(line, sizeof(line),
			 "--client-ca %.80s: give --cert and --key too: without TLS nobody proves anything",
			 e->client_ca);
		outcome = OPTIONS_WRONG;
	}
	switch (outcome) {
	case OPTIONS_WRONG:
		program_log("%s", line);
		return EXIT_WORDS;
	case OPTIONS_HELP:
		fputs(usage, stdout);
		return EXIT_GOOD;
	case OPTIONS_VERSION:
		puts("mete-extender " METE_VERSION);
		return EXIT_GOOD;
	default:
		return -1;
	}
}

/* Files of certificates, where there are some. Value: 0 or a negative errno; then it serves as before. */
static int read_certificates(struct extender *e, bool *ret_new, struct fault *f)
{
	int r = e->cert ? certificate_refresh(&e->serving, e->cert, e->key, ret_new, f) : 0;

	return r ? r : serve_refresh_ca(&e->callers, e->client_ca, ret_new, f);
}

static int serve(struct extender *e, struct fault *f)
{
	bool fresh;
	int r = read_certificates(e, &fresh, f);

	if (!r)
		r = serve_begin(&e->serve, e->listen, e->cert ? &e->serving : NULL, e->callers, on_request, e, f);
	if (!r)
		program_log("serves at port %u", serve_port(e->serve));
	return r;
}

/* Certificates change while it serves. */
static void tend(struct extender *e)
{
	struct fault f = { .text = "" };
	bool fresh = false;
	int r;

	if (!e->cert)
		return;
	r = read_certificates(e, &fresh, &f);
	if (fresh) {
		program_log("a new certificate");
		r = serve_renew(e->serve, &e->serving, e->callers, &f);
	}
	if (!r)
		r = certificate_check_time(&e->serving, e->cert, &f);
	serve_tend(e->serve);
	if (r && strcmp(f.text, e->said_tls))
		program_log("%s", f.text);
	if (!r && *e->said_tls)
		program_log("the certificate is well again");
	snprintf(e->said_tls, sizeof(e->said_tls), "%s", r ? f.text : "");
}

static int run(struct extender *e)
{
	struct fault f = { .text = "" };
	struct watch signals = { .fd = -1 };
	bool ended = false;
	int r = loop_open(&e->loop);

	if (!r)
		r = program_watch_signals(&e->loop, &signals, &ended);
	if (r)
		fault_set(&f, r, "no loop: %s", strerror(-r));
	else
		r = api_open(&e->api, &e->loop, &(struct api_options){ .kubeconfig = e->kubeconfig }, &f);
	if (!r && !api_watch_begin(e->api, NODES_PATH, NULL, &events, e))
		r = fault_set(&f, -ENOMEM, "no memory");
	if (!r)
		r = serve(e, &f);
	if (!r)
		notify_tell("READY=1");
	for (uint64_t next = 0; !r && !ended;) {
		uint64_t now = clock_now_ns();

		if (now >= next) {
			tend(e);
			next = now + TICK_MS * UINT64_C(1000000);
		}
		r = loop_turn(&e->loop, TICK_MS);
	}
	if (r)
		program_log("%s", *f.text ? f.text : strerror(-r));
	serve_end(e->serve);
	api_close(e->api);
	if (signals.fd >= 0)
		loop_remove(&e->loop, &signals);
	loop_close(&e->loop);
	nodes_free(&e->nodes);
	certificate_free(&e->serving);
	free(e->callers);
	return r ? EXIT_BAD : EXIT_GOOD;
}

int main(int argc, char **argv)
{
	static struct extender e = { .listen = "127.0.0.1:8445", .rule = PLACEMENT_FIT, .loop = { -1 } };
	int status;

	/* Before there are threads. */
	json_object_seed(0);
	pthread_rwlock_init(&e.lock, NULL);
	status = read_options(&e, argc, argv);
	return status < 0 ? run(&e) : status;
}
