/*
 * webhook.c: mete-webhook: pods that ask for a part of a GPU in other systems' words get a named share. Options, and
 * the thread that looks after certificate and shares while serve.c's threads answer.
 *
 * Exit status: 0 done (also after SIGTERM), 1 failed, 2 the command line is wrong.
 */
#include "base/clock.h"
#include "base/notify.h"
#include "base/option_table.h"
#include "base/size.h"
#include "connect/cdi/connector.h"
#include "connect/cdi/shares.h"
#include "connect/kubernetes/loop.h"
#include "connect/kubernetes/program.h"
#include "connect/kubernetes/serve.h"
#include "connect/kubernetes/webhook_authority.h"
#include "connect/kubernetes/webhook_fresh.h"
#include "connect/kubernetes/webhook_review.h"
#include "connect/kubernetes/webhook_sweep.h"
#include "verb/duration.h"
#include "verb/verb.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_MS 1000
#define MADE_S 30 /* and a quarter of the time between sweeps at most: what is believed to be there is */
#define MADE_MOST 10000
#define LIFE_MOST_S 315360000L
#define NAMESPACE_FILE API_SERVICE_ACCOUNT "/namespace"
#define SWEEP_S 3600
#define TRIES 60 /* for the authority at the start, a second apart */

const struct verb verbs[] = { { 0 } };
const struct connector *const connectors[] = { &cdi_connector, NULL };

static const char usage[] =
	"Usage: mete-webhook [options]\n"
	"\n"
	"An admission webhook of Kubernetes: a pod that asks for a part of a GPU in the words of HAMi, Volcano, "
	"Alibaba,\n"
	"Tencent or KAI gets the smallest named share that holds it, mete.io/SHARE. Others pass as they are.\n"
	"\n"
	"  --listen ADDR:PORT    Where it serves HTTPS: /mutate and /healthz. Default: [::]:8443\n"
	"  --shares FILE         The named shares. Default: " SHARES_FILE ", where there is one.\n"
	"  --card-memory SIZE    How much memory every card of the cluster has, so that parts and sizes can be "
	"compared.\n"
	"  --whole WHAT          A pod that asks for whole devices: pass (its own device plugin serves it), share "
	"(the\n"
	"                        smallest whole share) or refuse. Default: pass\n"
	"  --memory-alone WHAT   Memory without a number of devices: refuse, or one (one device). Default: refuse\n"
	"  --scheduler NAME      The scheduler of the pods that are changed: default-scheduler. Default: their own\n"
	"  --claims              Give claims of the driver gpu.mete.io instead of shares (Kubernetes 1.34): exactly\n"
	"                        what is asked for. Named shares become claims too. Makes their templates.\n"
	"  --sweep TIME          How often templates that no pod uses are looked for, and how long one must be unused\n"
	"                        to be deleted; 0: never. Default: 1h\n"
	"  --names LIST          The names of this server, with commas: SERVICE.NAMESPACE.svc. Default: localhost\n"
	"  --cert FILE           Its certificate, in PEM, made by somebody else; read again when it changes.\n"
	"  --key FILE            The certificate's key.\n"
	"  --client-ca FILE      Answer /mutate only for who has a client's certificate of an authority in this file;\n"
	"                        read again when it changes. Default: whoever asks\n"
	"  --cert-dir DIR        Make an authority and certificates here instead: ca.crt, ca.key.\n"
	"  --secret NAME         The same, kept in this secret of the cluster.\n"
	"  --namespace NAME      The secret's namespace. Default: the pod's own.\n"
	"  --configuration NAME  The MutatingWebhookConfiguration that gets the authority's certificate.\n"
	"  --kubeconfig FILE     How the API server is reached. Default: the pod's service account.\n"
	"  --cert-life TIME      How long a certificate lasts that is made here. Default: 90d\n"
	"  --help                Print this text.\n"
	"  --version             Print the version.\n";

struct webhook {
	const char *listen, *shares, *kubeconfig, *client_ca_file;
	char *client_ca; /* what the file says; NULL: no file */
	struct authority authority;
	struct loop loop;
	struct api *api;
	struct serve *serve;
	struct sweep *sweep; /* NULL: templates are left there */
	long sweep_s;
	char name_space[256];

	pthread_rwlock_t lock;
	struct words_options words; /* under the lock */

	pthread_mutex_t made_lock;
	json_t *made;		    /* "NAMESPACE/TEMPLATE" that are there; under the lock */
	uint64_t made_ns;	    /* since when it fills */
	struct webhook_fresh fresh; /* how many were new; under the lock */

	_Atomic uint64_t outcomes[4]; /* enum review_outcome; read by /metrics */
	char said[1024];
};

/* A trouble is said once, and once more when it is another. */
static void trouble(struct webhook *w, const char *line)
{
	if (line && strcmp(line, w->said))
		program_log("%s", line);
	if (!line && *w->said)
		program_log("well again");
	snprintf(w->said, sizeof(w->said), "%s", line ? line : "");
}

/* Options. */

static bool read_size(void *webhook, const char *value)
{
	struct webhook *w = webhook;
	struct size size;

	if (size_parse(value, &size) || !size.bytes)
		return false;
	w->words.card_bytes = size.bytes;
	return true;
}

static bool read_sweep(void *webhook, const char *value)
{
	struct webhook *w = webhook;

	return duration_parse(value, LIFE_MOST_S, &w->sweep_s) && w->sweep_s >= 0;
}

static bool read_life(void *webhook, const char *value)
{
	struct authority_options *o = &((struct webhook *)webhook)->authority.options;
	long s;

	if (!duration_parse(value, LIFE_MOST_S, &s) || s < 1)
		return false;
	o->life_s = s;
	/* A test's certificates come and go with their authority. */
	if (s * 10 < o->authority_life_s && s < 3600)
		o->authority_life_s = s * 10;
	return true;
}

#define AT(member) offsetof(struct webhook, member)
#define AT_AUTHORITY(member) AT(authority.options.member)
static const char *const wholes[] = { "pass", "share", "refuse", NULL }, *const alones[] = { "refuse", "one", NULL };

/* clang-format off: a row is a line */
static const struct option_row option_rows[] = {
	{ "listen", OPTION_TEXT, AT(listen), NULL, NULL, NULL },
	{ "shares", OPTION_TEXT, AT(shares), NULL, NULL, NULL },
	{ "card-memory", OPTION_READ, 0, "give a size such as 80G", NULL, read_size },
	{ "whole", OPTION_WORD, AT(words.whole), NULL, wholes, NULL },
	{ "memory-alone", OPTION_EITHER, AT(words.memory_alone), NULL, alones, NULL },
	{ "scheduler", OPTION_TEXT, AT(words.scheduler), NULL, NULL, NULL },
	{ "claims", OPTION_FLAG, AT(words.claims), NULL, NULL, NULL },
	{ "sweep", OPTION_READ, 0, "give a time such as 1h, or 0 for never", NULL, read_sweep },
	{ "names", OPTION_TEXT, AT_AUTHORITY(names), NULL, NULL, NULL },
	{ "cert", OPTION_TEXT, AT_AUTHORITY(cert), NULL, NULL, NULL },
	{ "key", OPTION_TEXT, AT_AUTHORITY(key), NULL, NULL, NULL },
	{ "client-ca", OPTION_TEXT, AT(client_ca_file), NULL, NULL, NULL },
	{ "cert-dir", OPTION_TEXT, AT_AUTHORITY(dir), NULL, NULL, NULL },
	{ "secret", OPTION_TEXT, AT_AUTHORITY(secret), NULL, NULL, NULL },
	{ "namespace", OPTION_TEXT, AT_AUTHORITY(name_space), NULL, NULL, NULL },
	{ "configuration", OPTION_TEXT, AT_AUTHORITY(configuration), NULL, NULL, NULL },
	{ "kubeconfig", OPTION_TEXT, AT(kubeconfig), NULL, NULL, NULL },
	{ "cert-life", OPTION_READ, 0, "give a time such as 24h or 90d", NULL, read_life },
	{ "help", OPTION_HELP, 0, NULL, NULL, NULL },
	{ "version", OPTION_VERSION, 0, NULL, NULL, NULL },
	{ 0 },
};
/* clang-format on */

/* Exactly one source of the certificate. Value: NULL, or what is wrong. */
static const char *judge_sources(const struct authority_options *o)
{
	int sources = (o->cert || o->key) + !!o->dir + !!o->secret;

	if (sources == 1 && !o->cert == !o->key)
		return NULL;
	return sources > 1 ? "--cert-dir and others: give one of --cert with --key, --cert-dir, --secret"
			   : "--cert-dir: say where the certificate comes from: --cert with --key, --cert-dir or "
			     "--secret";
}

static enum option_outcome read_options(struct webhook *w, int argc, char **argv)
{
	char line[OPTION_LINE_BYTES];
	enum option_outcome outcome = option_table_read(option_rows, w, argc, argv, 0, line);
	const char *wrong = outcome == OPTIONS_GOOD ? judge_sources(&w->authority.options) : NULL;

	if (outcome == OPTIONS_WRONG || wrong)
		program_log("%s", wrong ? wrong : line);
	return wrong ? OPTIONS_WRONG : outcome;
}

/* Requests, in serve.c's threads. */

static uint64_t made_life_ns(const struct webhook *w)
{
	const uint64_t second = UINT64_C(1000000000);

	return w->sweep_s && w->sweep_s < 4 * MADE_S ? (uint64_t)w->sweep_s * second / 4 : MADE_S * second;
}

/* It was there a moment ago; it may have been deleted since, and then a pod waits for it no longer than that. */
static bool is_made(struct webhook *w, const char *key)
{
	uint64_t now = clock_now_ns();
	bool made = false;

	pthread_mutex_lock(&w->made_lock);
	if (now - w->made_ns > made_life_ns(w))
		json_object_clear(w->made);
	made = json_object_get(w->made, key);
	pthread_mutex_unlock(&w->made_lock);
	return made;
}

static void note_made(struct webhook *w, const char *key)
{
	pthread_mutex_lock(&w->made_lock);
	if (!json_object_size(w->made) || json_object_size(w->made) >= MADE_MOST) {
		json_object_clear(w->made);
		w->made_ns = clock_now_ns();
	}
	json_object_set_new(w->made, key, json_true());
	pthread_mutex_unlock(&w->made_lock);
}

/* One more may be made: it is counted. */
static bool may_make(struct webhook *w, const char *name_space)
{
	bool may;

	pthread_mutex_lock(&w->made_lock);
	may = webhook_fresh_take(&w->fresh, name_space, clock_now_ns());
	pthread_mutex_unlock(&w->made_lock);
	return may;
}

/* It was not new after all. */
static void note_known(struct webhook *w, const char *name_space)
{
	pthread_mutex_lock(&w->made_lock);
	webhook_fresh_give(&w->fresh, name_space);
	pthread_mutex_unlock(&w->made_lock);
}

/* It is in use again: a sweep that has marked it must not delete it. Value: HTTP's status; 404: it is gone. */
static int unmark(struct api *api, const char *path, const char *name, struct fault *f)
{
	json_t *patch = json_pack("{s:{s:{s:n}}}", "metadata", "annotations", SWEEP_MARK), *answer = NULL;
	char one[480];
	int status;

	snprintf(one, sizeof(one), "%s/%s", path, name);
	status = api_ask_now(api, "PATCH", one, patch, &answer, f);
	json_decref(answer);
	json_decref(patch);
	return status;
}

/* 409: somebody has made the same, for its name says what is in it. */
static int ask_one(struct webhook *w, struct api *api, const char *path, const char *name, json_t *template,
		   bool *ret_new, struct fault *f)
{
	json_t *answer = NULL;
	int status = 404;

	/* It may be deleted between the two. */
	for (int i = 0; i < 3 && status == 404; i++) {
		status = api_ask_now(api, "POST", path, template, &answer, f);
		json_decref(answer);
		*ret_new = status == 200 || status == 201;
		if (status == 409)
			status = w->sweep_s ? unmark(api, path, name, f) : 200;
		else if (status == 404)
			break;
	}
	if (status == 200 || status == 201)
		return 0;
	return *f->text ? -EIO : fault_set(f, -EIO, "%s of %s: status %d", name, path, status);
}

/* By a client of this thread's own. */
static int make_one(struct webhook *w, const char *path, const char *name, json_t *template, bool *ret_new,
		    struct fault *f)
{
	const struct api_options o = { .kubeconfig = w->kubeconfig };
	struct loop loop = { -1 };
	struct api *api = NULL;
	int r = loop_open(&loop);

	*ret_new = false;
	if (!r)
		r = api_open(&api, &loop, &o, f);
	if (!r)
		r = ask_one(w, api, path, name, template, ret_new, f);
	api_close(api);
	loop_close(&loop);
	return r;
}

static bool make_templates(void *owner, const char *name_space, json_t *templates, char line[WORDS_LINE])
{
	struct webhook *w = owner;
	char path[400], key[400];
	struct fault f = { .text = "" };
	const char *name;
	json_t *template;
	bool fresh;
	int r;

	/* It becomes a part of a path. */
	if (!*name_space || strlen(name_space) > 63 ||
	    strspn(name_space, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(name_space)) {
		snprintf(line, WORDS_LINE, "the review names no namespace");
		return false;
	}
	snprintf(path, sizeof(path), "/apis/resource.k8s.io/v1/namespaces/%s/resourceclaimtemplates", name_space);
	json_object_foreach(templates, name, template)
	{
		snprintf(key, sizeof(key), "%s/%s", name_space, name);
		if (is_made(w, key))
			continue;
		if (!may_make(w, name_space)) {
			snprintf(line, WORDS_LINE,
				 "namespace %s: %u new claim templates were made within an hour, or %u in all "
				 "namespaces: ask for what other pods have, or wait",
				 name_space, WEBHOOK_FRESH_OF_NAMESPACE, WEBHOOK_FRESH_OF_ALL);
			return false;
		}
		r = make_one(w, path, name, template, &fresh, &f);
		if (!fresh)
			note_known(w, name_space);
		if (r) {
			snprintf(line, WORDS_LINE, "the claim's template cannot be made: %.440s", f.text);
			return false;
		}
		note_made(w, key);
	}
	return true;
}

static void treat_review(struct webhook *w, const struct serve_request *request, struct serve_reply *ret)
{
	struct words_options words;
	enum review_outcome outcome;
	char *text;

	/* A copy: the API server may be slow, and shares change meanwhile. */
	pthread_rwlock_rdlock(&w->lock);
	words = w->words;
	pthread_rwlock_unlock(&w->lock);
	outcome = review_answer(&words, request->body, request->size, make_templates, w, &text);
	atomic_fetch_add(&w->outcomes[outcome], 1);
	serve_text(ret, outcome == REVIEW_MALFORMED ? 400 : 200,
		   outcome == REVIEW_MALFORMED ? "text/plain" : "application/json", text);
}

static char *metrics(struct webhook *w)
{
	static const char *const words[] = { "malformed", "passed", "changed", "refused" };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("# HELP mete_webhook_reviews_total Reviews of pods by outcome.\n"
	      "# TYPE mete_webhook_reviews_total counter\n",
	      out);
	for (int i = 0; i < 4; i++)
		fprintf(out, "mete_webhook_reviews_total{outcome=\"%s\"} %llu\n", words[i],
			(unsigned long long)atomic_load(&w->outcomes[i]));
	fclose(out);
	return text;
}

static void on_request(void *owner, const struct serve_request *request, struct serve_reply *ret)
{
	struct webhook *w = owner;

	if (!strcmp(request->path, "/healthz"))
		serve_text(ret, 200, "text/plain", strdup("ok\n"));
	else if (!strcmp(request->path, "/metrics"))
		serve_text(ret, 200, "text/plain; version=0.0.4", metrics(w));
	else if (strcmp(request->path, "/mutate"))
		serve_text(ret, 404, "text/plain", strdup("there is /mutate, /healthz and /metrics\n"));
	else if (strcmp(request->method, "POST"))
		serve_text(ret, 405, "text/plain", strdup("POST an AdmissionReview\n"));
	else
		treat_review(w, request, ret);
}

/* Looking after. */

/* Value: 0 or a negative errno; then the shares stay as they were. */
static int read_shares(struct webhook *w, struct fault *f)
{
	json_t *shares = shares_read(w->shares, NULL, f);
	struct words_options now;
	int r;

	if (!shares)
		return -EINVAL;
	now = w->words;
	r = words_read_shares(&now, shares, f);
	json_decref(shares);
	if (r)
		return r;
	if (now.count == w->words.count && !memcmp(now.share, w->words.share, now.count * sizeof(*now.share)))
		return 0;
	pthread_rwlock_wrlock(&w->lock);
	w->words = now;
	pthread_rwlock_unlock(&w->lock);
	program_log("%u shares", now.count);
	return 0;
}

static void tend(struct webhook *w)
{
	struct fault f = { .text = "" };
	bool fresh = false;
	int r = read_shares(w, &f);

	if (!r)
		r = authority_tend(&w->authority, &fresh, &f);
	if (!r)
		r = serve_refresh_ca(&w->client_ca, w->client_ca_file, &fresh, &f);
	if (fresh) {
		program_log("a new certificate");
		r = serve_renew(w->serve, &w->authority.serving, w->client_ca, &f);
	}
	if (!r && w->authority.options.cert)
		r = certificate_check_time(&w->authority.serving, w->authority.options.cert, &f);
	serve_tend(w->serve);
	sweep_tend(w->sweep);
	trouble(w, r ? f.text : *sweep_trouble(w->sweep) ? sweep_trouble(w->sweep) : NULL);
}

/* Until there is a certificate: the API server may come later than we do. */
static int begin_authority(struct webhook *w, const bool *ended, struct fault *f)
{
	int r = authority_begin(&w->authority, f);

	for (int i = 0; i < TRIES && r && w->api && !*ended; i++) {
		uint64_t until = clock_now_ns() + TICK_MS * 1000000ull;

		trouble(w, f->text);
		while (!*ended && clock_now_ns() < until)
			loop_turn(&w->loop, TICK_MS / 5);
		r = authority_begin(&w->authority, f);
	}
	if (!r)
		*w->said = 0;
	return r;
}

static int serve_until_told(struct webhook *w, bool *ended, struct fault *f)
{
	uint64_t tick = 0, now;
	bool first;
	int r = read_shares(w, f);

	if (!r)
		r = serve_refresh_ca(&w->client_ca, w->client_ca_file, &first, f);
	if (!r)
		r = begin_authority(w, ended, f);
	if (!r && !*ended)
		r = serve_begin(&w->serve, w->listen, &w->authority.serving, w->client_ca, on_request, w, f);
	if (r)
		return r;
	if (w->serve)
		program_log("serves at port %u", serve_port(w->serve));
	notify_tell("READY=1");
	while (!r && !*ended) {
		now = clock_now_ns();
		if (now >= tick) {
			tend(w);
			tick = now + TICK_MS * 1000000ull;
		}
		r = loop_turn(&w->loop, TICK_MS / 5);
	}
	return r ? fault_set(f, r, "cannot wait: %s", strerror(-r)) : 0;
}

/* The namespace of the pod that we are in. */
static void find_namespace(struct webhook *w)
{
	FILE *file = w->authority.options.name_space ? NULL : fopen(NAMESPACE_FILE, "re");

	if (file && fgets(w->name_space, sizeof(w->name_space), file)) {
		w->name_space[strcspn(w->name_space, "\n")] = 0;
		w->authority.options.name_space = w->name_space;
	}
	if (file)
		fclose(file);
	if (!w->authority.options.name_space)
		w->authority.options.name_space = "default";
}

static int run(struct webhook *w)
{
	struct fault f = { .text = "" };
	struct watch signals = { .fd = -1 };
	bool ended = false;
	int r = loop_open(&w->loop);

	if (!r)
		r = program_watch_signals(&w->loop, &signals, &ended);
	if (r)
		fault_set(&f, r, "no loop: %s", strerror(-r));
	if (!r && (w->authority.options.secret || w->words.claims)) {
		const struct api_options o = { .kubeconfig = w->kubeconfig };

		find_namespace(w);
		r = api_open(&w->api, &w->loop, &o, &f);
		w->authority.api = w->api;
	}
	if (!r && w->words.claims && w->sweep_s)
		w->sweep = sweep_new(w->api, w->sweep_s);
	if (!r)
		r = serve_until_told(w, &ended, &f);
	if (r)
		program_log("%s", f.text);
	serve_end(w->serve);
	sweep_free(w->sweep);
	api_close(w->api);
	if (signals.fd >= 0)
		loop_remove(&w->loop, &signals);
	loop_close(&w->loop);
	authority_end(&w->authority);
	free(w->client_ca);
	json_decref(w->made);
	webhook_fresh_deinit(&w->fresh);
	return r ? EXIT_FAILED : EXIT_DONE;
}

int main(int argc, char **argv)
{
	static struct webhook w = { .listen = "[::]:8443",
				    .sweep_s = SWEEP_S,
				    .authority.options = { .names = "localhost",
							   .life_s = AUTHORITY_CERT_LIFE_S,
							   .authority_life_s = AUTHORITY_LIFE_S },
				    .loop = { -1 } };

	/* Before there are threads. */
	json_object_seed(0);
	pthread_rwlock_init(&w.lock, NULL);
	pthread_mutex_init(&w.made_lock, NULL);
	w.made = json_object();
	webhook_fresh_init(&w.fresh);
	switch (read_options(&w, argc, argv)) {
	case OPTIONS_WRONG:
		return EXIT_USAGE;
	case OPTIONS_HELP:
		fputs(usage, stdout);
		return EXIT_DONE;
	case OPTIONS_VERSION:
		puts("mete-webhook " METE_VERSION);
		return EXIT_DONE;
	default:
		return run(&w);
	}
}
