/*
 * api_identity.c: see api_identity.h.
 *
 * Of a kubeconfig: the current context's cluster and user. Programs that give a token (exec, auth-provider) are not
 * run: a service of the system has no terminal, and no business to run what a file names.
 */
#include "connect/kubernetes/api_identity.h"

#include "client/place.h"
#include "connect/cdi/plain_file.h"
#include "connect/cdi/yaml.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

bool api_secret_given(const struct api_secret *s)
{
	return *s->path || s->data;
}

static int base64_digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* What is no digit ends it, but for white space. Value: owned; NULL: no memory, or it is no base64. */
static char *base64_decode(const char *text, size_t *ret_size)
{
	char *data = malloc(strlen(text) / 4 * 3 + 4);
	unsigned int bits = 0, have = 0;
	size_t n = 0;

	for (; data && *text && *text != '='; text++) {
		int digit = base64_digit(*text);

		if (*text == '\n' || *text == '\r' || *text == ' ')
			continue;
		if (digit < 0) {
			free(data);
			return NULL;
		}
		bits = bits << 6 | (unsigned int)digit;
		have += 6;
		if (have >= 8) {
			have -= 8;
			data[n++] = (char)(bits >> have);
		}
	}
	if (data)
		data[n] = 0;
	*ret_size = n;
	return data;
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* The entry of that name in clusters, users or contexts, and there the object under `inner`. */
static json_t *named(json_t *config, const char *list, const char *name, const char *inner)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(config, list), i,
			   entry) if (!strcmp(text_of(entry, "name"), name)) return json_object_get(entry, inner);
	return NULL;
}

struct source {
	const char *path; /* of the kubeconfig */
	struct fault *f;
};

/* A file is named from the kubeconfig's folder. */
static int take_path(const struct source *from, struct api_secret *s, const char *path)
{
	const char *slash = strrchr(from->path, '/');
	int length = slash && *path != '/' ? (int)(slash - from->path) + 1 : 0;

	return path_join(s->path, "%.*s%s", length, from->path, path)
		       ? 0
		       : fault_set(from->f, -ENAMETOOLONG, "%s: the path %.100s is too long", from->path, path);
}

static int take_secret(const struct source *from, struct api_secret *s, json_t *object, const char *key,
		       const char *data_key)
{
	const char *data = text_of(object, data_key), *path = text_of(object, key);

	if (!*data)
		return *path ? take_path(from, s, path) : 0;
	s->data = base64_decode(data, &s->size);
	return s->data ? 0 : fault_set(from->f, -EINVAL, "%s: %s is not base64", from->path, data_key);
}

static int take_user(const struct source *from, struct api_identity *i, json_t *user)
{
	const char *token = text_of(user, "token");
	int r;

	if (json_object_get(user, "exec") || json_object_get(user, "auth-provider"))
		return fault_set(
			from->f, -ENOTSUP,
			"%s: its user gets a token from a program (exec, auth-provider), which is not run here; "
			"name a token, a tokenFile or a client certificate",
			from->path);
	r = take_secret(from, &i->certificate, user, "client-certificate", "client-certificate-data");
	if (!r)
		r = take_secret(from, &i->key, user, "client-key", "client-key-data");
	if (!r && *text_of(user, "tokenFile"))
		r = take_path(from, &i->token, text_of(user, "tokenFile"));
	else if (!r && *token) {
		i->token.data = strdup(token);
		r = i->token.data ? 0 : fault_set(from->f, -ENOMEM, "%s: no memory", from->path);
	}
	snprintf(i->user, sizeof(i->user), "%s", text_of(user, "username"));
	snprintf(i->password, sizeof(i->password), "%s", text_of(user, "password"));
	return r;
}

static int take_url(struct api_identity *i, const char *url, const char *from, struct fault *f)
{
	size_t n = strlen(url);

	while (n && url[n - 1] == '/')
		n--;
	if (strncmp(url, "https://", 8) && strncmp(url, "http://", 7))
		return fault_set(f, -EINVAL, "%s: server \"%.100s\": give https://HOST:PORT", from, url);
	if (n >= sizeof(i->url))
		return fault_set(f, -ENAMETOOLONG, "%s: the server's address is too long", from);
	snprintf(i->url, sizeof(i->url), "%.*s", (int)n, url);
	return 0;
}

static int take_config(const struct source *from, struct api_identity *i, json_t *config)
{
	const char *current = text_of(config, "current-context");
	json_t *context = named(config, "contexts", current, "context");
	json_t *cluster = named(config, "clusters", text_of(context, "cluster"), "cluster");
	json_t *user = named(config, "users", text_of(context, "user"), "user");
	int r;

	if (!context)
		return fault_set(from->f, -ENOENT, "%s: no context is the current one (current-context: \"%.60s\")",
				 from->path, current);
	if (!cluster)
		return fault_set(from->f, -ENOENT,
				 "%s: context \"%.60s\" names the cluster \"%.60s\", which is not there", from->path,
				 current, text_of(context, "cluster"));
	i->insecure = json_is_true(json_object_get(cluster, "insecure-skip-tls-verify"));
	r = take_url(i, text_of(cluster, "server"), from->path, from->f);
	if (!r)
		r = take_secret(from, &i->ca, cluster, "certificate-authority", "certificate-authority-data");
	return r ? r : take_user(from, i, user);
}

static int read_kubeconfig(struct api_identity *i, const char *path, struct fault *f)
{
	struct source from = { path, f };
	char why[256], *text;
	json_t *config;
	size_t size;
	int r = plain_file_read(path, &text, &size, why, sizeof(why));

	if (r)
		return fault_set(f, r, "%s: %s", path, why);
	config = yaml_load(text, size, why, sizeof(why));
	free(text);
	if (!config)
		return fault_set(f, -EINVAL, "%s: %s", path, why);
	r = take_config(&from, i, config);
	json_decref(config);
	return r;
}

static int read_service_account(struct api_identity *i, const char *folder, struct fault *f)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
	bool colon = host && strchr(host, ':');
	char url[sizeof(i->url)];

	if (!host || !*host || !port || !*port)
		return fault_set(f, -ENOENT,
				 "no API server: outside of a pod (no KUBERNETES_SERVICE_HOST) give --kubeconfig FILE");
	snprintf(url, sizeof(url), "https://%s%s%s:%s", colon ? "[" : "", host, colon ? "]" : "", port);
	if (!path_join(i->token.path, "%s/token", folder) || !path_join(i->ca.path, "%s/ca.crt", folder))
		return fault_set(f, -ENAMETOOLONG, "the service account's folder %.100s: the path is too long", folder);
	return take_url(i, url, "KUBERNETES_SERVICE_HOST", f);
}

int api_identity_read(struct api_identity *i, const char *kubeconfig, const char *service_account, struct fault *f)
{
	*i = (struct api_identity){ .url = "" };
	return kubeconfig ? read_kubeconfig(i, kubeconfig, f) : read_service_account(i, service_account, f);
}

static void secret_free(struct api_secret *s)
{
	if (s->data)
		explicit_bzero(s->data, s->size);
	free(s->data);
	s->data = NULL;
}

void api_identity_free(struct api_identity *i)
{
	secret_free(&i->ca);
	secret_free(&i->certificate);
	secret_free(&i->key);
	secret_free(&i->token);
}
