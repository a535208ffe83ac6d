/* webhook_authority.c: see webhook_authority.h. */
#include "connect/kubernetes/webhook_authority.h"

#include "client/place.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CA_NAME "mete webhook authority"
#define CONFIGURATIONS "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/"

static void move(struct certificate *to, struct certificate *take)
{
	certificate_free(to);
	*to = *take;
	*take = (struct certificate){ NULL, NULL };
}

/* A third of its time is left, or it is none. */
static bool is_due(const char *pem)
{
	int64_t left, whole;

	return certificate_left(pem, &left, &whole) || left * 3 <= whole;
}

/* Files. */

/* Whole or not at all, and the key for its owner alone. */
static int write_text(const char *path, const char *text, mode_t mode, struct fault *f)
{
	char temporary[PATH_MAX];
	size_t size = strlen(text);
	int fd, r = 0;

	if (!path_join(temporary, "%s.new", path))
		return fault_set(f, -ENAMETOOLONG, "%s: the path is too long", path);
	unlink(temporary);
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return fault_set(f, -errno, "%s: %s; give a folder that may be written with --cert-dir", temporary,
				 strerror(errno));
	if (write(fd, text, size) != (ssize_t)size || fsync(fd))
		r = errno ? -errno : -EIO;
	if (close(fd) && !r)
		r = -errno;
	if (!r && rename(temporary, path))
		r = -errno;
	return r ? fault_set(f, r, "%s: %s", path, strerror(-r)) : 0;
}

/* The old certificates stay behind the new one, so that what the old authority signed is believed meanwhile. */
static int make_own(struct authority *a, struct certificate *ret, struct fault *f)
{
	int r = certificate_authority(ret, CA_NAME, a->options.authority_life_s, f);
	char *both;

	if (r || !a->own.certificate)
		return r;
	if (asprintf(&both, "%s%s", ret->certificate, a->own.certificate) < 0)
		return 0;
	/* One generation back is enough. */
	if (strlen(both) < 16384) {
		free(ret->certificate);
		ret->certificate = both;
	} else {
		free(both);
	}
	return 0;
}

static int load_dir(struct authority *a, struct fault *f)
{
	char cert[PATH_MAX], key[PATH_MAX];
	struct certificate made;
	int r;

	if (!path_join(cert, "%s/ca.crt", a->options.dir) || !path_join(key, "%s/ca.key", a->options.dir))
		return fault_set(f, -ENAMETOOLONG, "--cert-dir %s: the path is too long", a->options.dir);
	if (!a->own.key && !access(cert, F_OK) && !access(key, F_OK)) {
		r = certificate_read(&made, cert, key, f);
		if (r)
			return r;
		move(&a->own, &made);
	}
	if (a->own.key && !is_due(a->own.certificate))
		return 0;
	if (mkdir(a->options.dir, 0700) && errno != EEXIST)
		return fault_set(f, -errno, "--cert-dir %s: %s", a->options.dir, strerror(errno));
	r = make_own(a, &made, f);
	if (!r)
		r = write_text(key, made.key, 0600, f);
	if (!r)
		r = write_text(cert, made.certificate, 0644, f);
	if (r)
		certificate_free(&made);
	else
		move(&a->own, &made);
	return r;
}

/* The cluster. */

static char *base64(const char *text)
{
	size_t size = strlen(text);
	char *code = malloc(size / 3 * 4 + 5);

	if (code)
		EVP_EncodeBlock((unsigned char *)code, (const unsigned char *)text, (int)size);
	return code;
}

/* Of a text whose length is a multiple of four, as Kubernetes writes it. NULL: it is none. */
static char *unbase64(const char *code)
{
	size_t size = code ? strlen(code) : 0;
	char *text = size && size % 4 == 0 ? malloc(size / 4 * 3 + 1) : NULL;
	int n = text ? EVP_DecodeBlock((unsigned char *)text, (const unsigned char *)code, (int)size) : -1;

	if (n < 0) {
		free(text);
		return NULL;
	}
	n -= (code[size - 1] == '=') + (code[size - 2] == '=');
	text[n] = 0;
	return text;
}

static void secret_path(const struct authority *a, bool one, char path[512])
{
	snprintf(path, 512, "/api/v1/namespaces/%.200s/secrets%s%.200s", a->options.name_space, one ? "/" : "",
		 one ? a->options.secret : "");
}

/*
 * The secret with what is ours. `there`: as it was read, or NULL: a new one. Whoever made it goes on managing it: its
 * labels are not ours to change, and helm refuses an upgrade over a label that somebody else has written.
 */
static json_t *secret_body(const struct authority *a, const struct certificate *c, json_t *there)
{
	char *cert = base64(c->certificate), *key = base64(c->key);
	json_t *body = NULL;

	if (cert && key)
		body = there ? json_deep_copy(there)
			     : json_pack("{s:s s:s s:s s:{s:s s:s s:{s:s}}}", "apiVersion", "v1", "kind", "Secret",
					 "type", "Opaque", "metadata", "name", a->options.secret, "namespace",
					 a->options.name_space, "labels", "app.kubernetes.io/managed-by",
					 "mete-webhook");
	if (body)
		json_object_set_new(body, "data", json_pack("{s:s s:s}", "ca.crt", cert, "ca.key", key));
	if (key)
		explicit_bzero(key, strlen(key));
	free(cert);
	free(key);
	return body;
}

/* What the secret has. Value: false: nothing that could be used. */
static bool take_secret(struct authority *a, json_t *secret)
{
	json_t *data = json_object_get(secret, "data");
	struct certificate c = { unbase64(json_string_value(json_object_get(data, "ca.crt"))),
				 unbase64(json_string_value(json_object_get(data, "ca.key"))) };

	if (c.certificate && c.key && certificate_matches(&c)) {
		move(&a->own, &c);
		return true;
	}
	certificate_free(&c);
	return false;
}

/* Several webhooks begin at once: who is refused with 409 takes what the other has made, at the next look. */
static int write_secret(struct authority *a, json_t *there, struct fault *f)
{
	struct certificate made;
	char path[512];
	json_t *body, *answer = NULL;
	int r = make_own(a, &made, f), status;

	if (r)
		return r;
	secret_path(a, there, path);
	body = secret_body(a, &made, there);
	status = api_ask_now(a->api, there ? "PUT" : "POST", path, body, &answer, f);
	json_decref(body);
	json_decref(answer);
	if (status == 200 || status == 201) {
		a->published = false;
		move(&a->own, &made);
		return 0;
	}
	certificate_free(&made);
	if (status == 409)
		return fault_set(f, -EAGAIN, "secret %s: another webhook was first", a->options.secret);
	return status ? fault_set(f, -EACCES, "secret %s/%s cannot be written: HTTP status %d", a->options.name_space,
				  a->options.secret, status)
		      : -EHOSTDOWN;
}

static int load_secret(struct authority *a, struct fault *f)
{
	json_t *answer = NULL;
	char path[512];
	int status, r;

	if (a->own.key && !is_due(a->own.certificate))
		return 0;
	secret_path(a, true, path);
	status = api_ask_now(a->api, "GET", path, NULL, &answer, f);
	if (status == 200 && take_secret(a, answer) && !is_due(a->own.certificate)) {
		a->published = false;
		r = 0;
	} else if (status == 200 || status == 404) {
		r = write_secret(a, status == 200 ? answer : NULL, f);
	} else {
		r = status ? fault_set(f, -EACCES, "secret %s/%s cannot be read: HTTP status %d", a->options.name_space,
				       a->options.secret, status)
			   : -EHOSTDOWN;
	}
	json_decref(answer);
	return r;
}

/* Value: whether something was changed. */
static bool set_bundle(json_t *configuration, const char *bundle)
{
	json_t *hook;
	bool changed = false;
	size_t i;

	json_array_foreach(json_object_get(configuration, "webhooks"), i, hook)
	{
		json_t *client = json_object_get(hook, "clientConfig");
		const char *there = json_string_value(json_object_get(client, "caBundle"));

		if (there && !strcmp(there, bundle))
			continue;
		json_object_set_new(client, "caBundle", json_string(bundle));
		changed = true;
	}
	return changed;
}

/* The API server is told whom to believe. */
static int publish(struct authority *a, struct fault *f)
{
	json_t *configuration = NULL, *answer = NULL;
	char path[512], *bundle = base64(a->own.certificate);
	int status;

	snprintf(path, sizeof(path), CONFIGURATIONS "%.250s", a->options.configuration);
	status = bundle ? api_ask_now(a->api, "GET", path, NULL, &configuration, f) : 0;
	if (status == 200 && set_bundle(configuration, bundle))
		status = api_ask_now(a->api, "PUT", path, configuration, &answer, f);
	json_decref(configuration);
	json_decref(answer);
	free(bundle);
	a->published = status == 200;
	if (a->published)
		return 0;
	if (status)
		return fault_set(f, status == 409 ? -EAGAIN : -ENOENT,
				 "MutatingWebhookConfiguration %s does not get our certificate: HTTP status %d",
				 a->options.configuration, status);
	return -EHOSTDOWN;
}

/* The certificate that is served. */

static int issue(struct authority *a, bool *ret_new, struct fault *f)
{
	struct certificate c;
	int r = certificate_issue(&c, &a->own, a->options.names, a->options.life_s, f);

	if (r)
		return r;
	move(&a->serving, &c);
	*ret_new = true;
	return 0;
}

int authority_tend(struct authority *a, bool *ret_new, struct fault *f)
{
	bool due;
	int r;

	*ret_new = false;
	if (a->options.cert)
		return certificate_refresh(&a->serving, a->options.cert, a->options.key, ret_new, f);
	r = a->options.dir ? load_dir(a, f) : load_secret(a, f);
	/* An authority that cannot be renewed now is good as long as it lasts. */
	if (r && !a->own.key)
		return r;
	due = is_due(a->serving.certificate);
	if (due && issue(a, ret_new, f))
		return -EPROTO;
	if (!r && a->api && a->options.configuration && !a->published)
		r = publish(a, f);
	return r;
}

int authority_begin(struct authority *a, struct fault *f)
{
	bool fresh;
	int r = authority_tend(a, &fresh, f);

	return r && !a->serving.key ? r : 0;
}

void authority_end(struct authority *a)
{
	certificate_free(&a->own);
	certificate_free(&a->serving);
}
