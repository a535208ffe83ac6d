/* target.c: see target.h. */
#include "cli/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *target_name(const struct relay_target *target, char text[320])
{
	snprintf(text, 320, strchr(target->host, ':') ? "[%s]:%s" : "%s:%s", target->host, target->port);
	return text;
}

static bool is_port(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && n >= 1 && n <= 65535;
}

/* Splits in place. */
static int read_one(struct targets *t, const char *word, size_t length, struct fault *f)
{
	struct relay_target *target = &t->target[t->count];
	char *text = t->text[t->count], *host = text, *colon;

	if (t->count == TARGETS_MOST)
		return fault_set(f, -EINVAL, "--remote: more than %d servers; name fewer", TARGETS_MOST);
	if (!length || length >= sizeof(t->text[0]) - 8)
		return fault_set(f, -EINVAL,
				 "--remote: \"%.*s\" is no server; write HOST or HOST:PORT, several with commas",
				 (int)(length < 60 ? length : 60), word);
	memcpy(text, word, length);
	text[length] = 0;
	target->port = RELAY_PORT;
	if (*text == '[' && strchr(text, ']')) {
		host = text + 1;
		colon = strchr(text, ']');
		*colon++ = 0;
		if (*colon && *colon != ':')
			return fault_set(f, -EINVAL, "--remote %.*s: write [ADDRESS]:PORT", (int)length, word);
		colon = *colon ? colon : NULL;
	} else {
		colon = strchr(text, ':');
		if (colon && strchr(colon + 1, ':'))
			colon = NULL; /* an IPv6 address without brackets: no port */
	}
	if (colon) {
		*colon = 0;
		target->port = colon + 1;
		if (!is_port(target->port))
			return fault_set(f, -EINVAL, "--remote %.*s: \"%s\" is no port; write one from 1 to 65535",
					 (int)length, word, target->port);
	}
	if (!*host)
		return fault_set(f, -EINVAL, "--remote %.*s: no host in it; write HOST or HOST:PORT", (int)length,
				 word);
	target->host = host;
	t->count++;
	return 0;
}

static bool loopback(const char *host)
{
	return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "::1");
}

int target_check_cert(const struct relay_cert *cert, struct fault *f)
{
	const char *const name[] = { "cert", "cert-key", "ca" };
	const char *const file[] = { cert->chain, cert->key, cert->authority };

	for (int i = 0; i < 3; i++) {
		if (!file[i])
			return fault_set(f, -EINVAL,
					 "--cert, --cert-key and --ca belong together: give --%s too (this side's "
					 "certificate, its key, the authority of the other side's)",
					 name[i]);
		if (access(file[i], R_OK))
			return fault_set(f, -errno, "--%s %s: %s; name a PEM file", name[i], file[i], strerror(errno));
	}
	return 0;
}

static int read_cert(struct relay_target *all, const struct command_line *line, struct fault *f)
{
	const struct relay_cert cert = { .authority = option_value(line, "ca"),
					 .chain = option_value(line, "cert"),
					 .key = option_value(line, "cert-key") };
	int r = target_check_cert(&cert, f);

	if (r)
		return r;
	all->trust = RELAY_CERT;
	all->cert = cert;
	return 0;
}

/* By what this client proves who it is; the same for all servers. */
static int read_trust(struct relay_target *all, const struct targets *t, const struct command_line *line,
		      struct fault *f)
{
	const char *key = option_value(line, "key"), *variable = getenv("METE_KEY");
	bool cert = option_given(line, "cert") || option_given(line, "cert-key") || option_given(line, "ca");
	bool plain = option_given(line, "plain");
	char text[RELAY_TEXT_BYTES];
	int r;

	if (!!key + cert + plain > 1)
		return fault_set(f, -EINVAL,
				 "--key, --cert and --plain: give one of them; a server knows a client by one "
				 "proof");
	all->plain = plain;
	if (cert)
		return read_cert(all, line, f);
	if (!key && !plain && variable && *variable)
		key = variable;
	if (key) {
		all->trust = RELAY_KEY;
		r = relay_key_read(key, &all->key, text);
		return r ? fault_set(f, r, "%s", text) : 0;
	}
	all->trust = RELAY_PLAIN;
	for (size_t i = 0; !plain && i < t->count; i++)
		if (!loopback(t->target[i].host))
			return fault_set(
				f, -EINVAL,
				"%s: who is asking? give --key FILE (made there by `mete key new`), or --cert, "
				"--cert-key and --ca, or, where the network is trusted, --plain",
				t->target[i].host);
	return 0;
}

int patience_read(const char *text, unsigned int *ret_ms, struct fault *f)
{
	char *end = NULL;
	double s = text && ((*text >= '0' && *text <= '9') || *text == '.') ? strtod(text, &end) : -1;

	*ret_ms = 0;
	if (!text)
		return 0;
	if (!end || *end || !(s >= 1 && s <= 3600))
		return fault_set(f, -EINVAL, "--patience %s: not a number of seconds from 1 to 3600", text);
	*ret_ms = (unsigned int)(s * 1000);
	return 0;
}

int targets_read(struct targets *t, const char *list, const struct command_line *line, struct fault *f)
{
	struct relay_target all = { .offer = option_value(line, "offer"), .ucx = option_given(line, "ucx") };
	int r;

	*t = (struct targets){ 0 };
	for (const char *p = list;; p++) {
		size_t n = strcspn(p, ",");

		r = read_one(t, p, n, f);
		if (r)
			return r;
		p += n;
		if (!*p)
			break;
	}
	r = patience_read(option_value(line, "patience"), &all.patience_ms, f);
	if (!r)
		r = read_trust(&all, t, line, f);
	for (size_t i = 0; !r && i < t->count; i++) {
		all.host = t->target[i].host;
		all.port = t->target[i].port;
		t->target[i] = all;
	}
	explicit_bzero(&all.key, sizeof(all.key));
	return r;
}

void targets_deinit(struct targets *t)
{
	explicit_bzero(t, sizeof(*t));
}
