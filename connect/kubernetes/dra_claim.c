/* dra_claim.c: see dra_claim.h. */
#include "connect/kubernetes/dra_claim.h"

#include "connect/kubernetes/claim_words.h"
#include "connect/kubernetes/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define UNIT_BYTES 512u /* what meted counts in */
#define DEVICES_MOST 16u

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

void dra_device_name(json_t *device, char name[64])
{
	const char *uuid = text_of(device, "uuid");
	size_t n = 0;

	for (; *uuid && n < 63; uuid++)
		name[n++] = (char)(isalnum((unsigned char)*uuid) ? tolower((unsigned char)*uuid) : '-');
	name[n] = 0;
}

bool dra_word_good(const char *word, size_t most)
{
	size_t n = strlen(word);

	return n && n <= most && isalnum((unsigned char)*word) &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == n &&
	       !strstr(word, "..");
}

/* What is being read, for the lines of faults. */
struct reading {
	struct dra_claim *claim;
	json_t *object, *devices;
	const char *pool, *request;
	struct fault *f;
};

#define FAULT(r, fmt, ...)                                                                                             \
	fault_set((r)->f, -EINVAL, "claim %.63s/%.200s: " fmt,                                                         \
		  text_of(json_object_get((r)->object, "metadata"), "namespace"),                                      \
		  text_of(json_object_get((r)->object, "metadata"), "name"), ##__VA_ARGS__)

enum kind { TEXT, NUMBER, FLAG };

/* The parameters that are no words of a share. */
static const struct parameter {
	const char *name;
	enum kind kind;
} others[] = { { "wall", FLAG }, { "tier", TEXT } };
#define OTHERS (sizeof(others) / sizeof(*others))

/* False: there is no parameter of that name. */
static bool find_kind(const char *name, enum kind *ret)
{
	const struct share_word *word = claim_word_find(name);

	*ret = word && word_is_name(word) ? TEXT : NUMBER;
	for (size_t i = 0; i < OTHERS; i++)
		if (!strcmp(others[i].name, name)) {
			*ret = others[i].kind;
			return true;
		}
	return word;
}

static void list_parameters(char *text, size_t size)
{
	char name[CLAIM_WORD_BYTES];
	size_t n = 0;

	*text = 0;
	for (size_t i = 0; i < SHARE_WORD_COUNT + OTHERS && n < size; i++)
		if (i >= SHARE_WORD_COUNT)
			n += (size_t)snprintf(text + n, size - n, ", %s", others[i - SHARE_WORD_COUNT].name);
		else if (claim_word_name(&word_table[i], name))
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", name);
}

static bool kind_fits(enum kind kind, json_t *value)
{
	return kind == TEXT ? json_is_string(value) : kind == NUMBER ? json_is_number(value) : json_is_boolean(value);
}

/* What a container cannot have, and what only the operator may give or take away. `so_far`: what was said before. */
static int judge(const struct reading *r, const char *name, json_t *value, bool from_class, json_t *so_far)
{
	const char *text = json_string_value(value);

	if (!strcmp(name, "tier") && strcmp(text, "T2"))
		return FAULT(r, "parameter tier \"%.20s\": containers have tier T2; leave it out (docs/tiers.md)",
			     text);
	if (!strcmp(name, "class") && !strcmp(text, "high") && !from_class)
		return FAULT(
			r,
			"parameter class \"high\" comes before everybody else, so that only a DeviceClass may say it");
	if (!strcmp(name, "wall") && !from_class && json_is_false(value) &&
	    json_is_true(json_object_get(so_far, "wall")))
		return FAULT(r, "parameter wall: its DeviceClass puts up a wall, which a claim cannot take down; "
				"leave it out");
	return 0;
}

static int take_parameters(const struct reading *r, json_t *object, bool from_class, json_t *ret)
{
	const char *name;
	char known[256];
	enum kind kind;
	json_t *value;
	int e;

	if (strcmp(text_of(object, "apiVersion"), DRA_PARAMETERS_API) ||
	    strcmp(text_of(object, "kind"), DRA_PARAMETERS_KIND))
		return FAULT(r,
			     "its parameters are a \"%.40s\" of \"%.60s\"; this driver reads kind " DRA_PARAMETERS_KIND
			     " of apiVersion " DRA_PARAMETERS_API,
			     text_of(object, "kind"), text_of(object, "apiVersion"));
	json_object_foreach (object, name, value) {
		if (!strcmp(name, "apiVersion") || !strcmp(name, "kind"))
			continue;
		if (!strcmp(name, "remote"))
			return FAULT(
				r,
				"parameter remote: a container's device is one of its own node; programs reach other "
				"machines with `mete run --remote` (docs/remote.md)");
		if (!find_kind(name, &kind)) {
			list_parameters(known, sizeof(known));
			return FAULT(r, "parameter \"%.60s\" is unknown; there are %s", name, known);
		}
		if (!kind_fits(kind, value))
			return FAULT(r, "parameter %s: give %s", name,
				     kind == TEXT     ? "a text"
				     : kind == NUMBER ? "a number"
						      : "true or false");
		e = judge(r, name, value, from_class, ret);
		if (e)
			return e;
		json_object_set(ret, name, value);
	}
	return 0;
}

/* "gpu", and "gpu/first" of the alternatives of a request. */
static bool names_request(json_t *config, const char *request)
{
	json_t *requests = json_object_get(config, "requests"), *one;
	size_t i;

	json_array_foreach (requests, i, one) {
		const char *name = json_string_value(one);
		size_t n = name ? strlen(name) : 0;

		if (name && !strncmp(name, request, n) && (!request[n] || request[n] == '/'))
			return true;
	}
	return !json_array_size(requests);
}

/* What the class says, and over it what the claim says. */
static int read_parameters(const struct reading *r, json_t *ret)
{
	json_t *allocation = json_object_get(json_object_get(r->object, "status"), "allocation");
	json_t *configs = json_object_get(json_object_get(allocation, "devices"), "config"), *config;
	size_t i;
	int e;

	for (int from_class = 1; from_class >= 0; from_class--)
		json_array_foreach (configs, i, config) {
			json_t *opaque = json_object_get(config, "opaque");

			if (strcmp(text_of(opaque, "driver"), DRA_DRIVER) || !names_request(config, r->request) ||
			    (strcmp(text_of(config, "source"), "FromClass") == 0) != from_class)
				continue;
			e = take_parameters(r, json_object_get(opaque, "parameters"), from_class, ret);
			if (e)
				return e;
		}
	return 0;
}

static int take_memory(const struct reading *r, const char *text, json_t *row)
{
	uint64_t bytes;
	bool exact;

	if (quantity_units(text, &bytes, &exact) || !exact || !bytes || bytes % UNIT_BYTES)
		return FAULT(r,
			     "memory \"%.40s\" was allocated, which is not a multiple of %u bytes; was the "
			     "ResourceSlice changed by hand?",
			     text, UNIT_BYTES);
	json_object_set_new(row, "mem_bytes", json_integer((json_int_t)bytes));
	return 0;
}

static int take_cores(const struct reading *r, const char *text, json_t *row)
{
	uint64_t milli;
	bool exact;

	if (quantity_milli(text, &milli, &exact) || !exact || milli > 100000 || (milli && milli < 1000))
		return FAULT(r, "cores \"%.40s\" were allocated; they are percent of a device's time, from 1 to 100",
			     text);
	if (milli)
		json_object_set_new(row, "cores",
				    milli % 1000 ? json_real((double)milli / 1e3)
						 : json_integer((json_int_t)(milli / 1000)));
	return 0;
}

static int take_capacity(const struct reading *r, json_t *result, json_t *row)
{
	json_t *consumed = json_object_get(result, "consumedCapacity"), *value;
	const char *name, *text;
	int e = 0;

	json_object_foreach (consumed, name, value) {
		size_t domain = strncmp(name, DRA_DRIVER "/", sizeof(DRA_DRIVER)) ? 0 : sizeof(DRA_DRIVER);

		text = json_string_value(value);
		text = text ? text : "";
		if (!strcmp(name + domain, "memory"))
			e = take_memory(r, text, row);
		else if (!strcmp(name + domain, "cores"))
			e = take_cores(r, text, row);
		else
			e = FAULT(r, "capacity \"%.60s\" was allocated, which this driver does not have", name);
		if (e)
			return e;
	}
	return 0;
}

static int add_memory(const struct reading *r, json_t *sum, json_t *more)
{
	json_int_t bytes;

	if (__builtin_add_overflow(json_integer_value(sum), json_integer_value(more), &bytes))
		return FAULT(r, "its requests on one device ask for more memory than any device has");
	json_integer_set(sum, bytes);
	return 0;
}

/* A device that is there twice holds the sum. */
static int add_row(const struct reading *r, json_t *take_row)
{
	json_t *rows = r->claim->rows, *row, *old = NULL, *value;
	const char *key;
	size_t i;
	int e = 0;

	json_array_foreach (rows, i, row)
		if (!strcmp(text_of(row, "device"), text_of(take_row, "device")))
			old = row;
	row = old;
	if (!row) {
		json_array_append_new(rows, take_row);
		return json_array_size(rows) <= DEVICES_MOST
			       ? 0
			       : FAULT(r, "more than %u devices; a share has at most so many", DEVICES_MOST);
	}
	if (json_object_size(row) != json_object_size(take_row))
		e = FAULT(r, "two requests on device %s say different things of it", text_of(row, "device"));
	json_object_foreach (take_row, key, value) {
		old = json_object_get(row, key);
		if (!e && !strcmp(key, "mem_bytes") && old)
			e = add_memory(r, old, value);
		else if (!e && !strcmp(key, "cores") && old)
			json_object_set_new(row, key, json_real(json_number_value(old) + json_number_value(value)));
		else if (!e && !json_equal(old, value))
			e = FAULT(r, "two requests on device %s differ in %s", text_of(row, "device"), key);
	}
	json_decref(take_row);
	return e;
}

static int take_share(struct reading *r, json_t *result, json_t *device)
{
	json_t *words = json_object(), *row = json_pack("{s:O}", "device", json_object_get(device, "uuid"));
	bool soft = !strcmp(text_of(device, "driver"), "soft"), first = !json_array_size(r->claim->rows), wall;
	int e = read_parameters(r, words);
	char name[CLAIM_WORD_BYTES];

	if (!e)
		e = take_capacity(r, result, row);
	for (size_t i = 0; !e && i < SHARE_WORD_COUNT; i++)
		if (claim_word_name(&word_table[i], name) && json_object_get(words, name))
			json_object_set(row, word_table[i].key, json_object_get(words, name));
	wall = json_is_true(json_object_get(words, "wall"));
	json_decref(words);
	if (!e && !first && (wall != r->claim->wall || soft != r->claim->soft))
		e = wall != r->claim->wall
			    ? FAULT(r, "parameter wall holds for a whole claim; one of its requests says otherwise")
			    : FAULT(r, "its devices belong to two drivers; make a claim for each");
	if (e) {
		json_decref(row);
		return e;
	}
	r->claim->wall = wall;
	r->claim->soft = soft;
	return add_row(r, row);
}

static json_t *device_of(const struct reading *r, const char *name)
{
	char own[64];
	json_t *device;
	size_t i;

	json_array_foreach (r->devices, i, device) {
		dra_device_name(device, own);
		if (!strcmp(own, name))
			return device;
	}
	return NULL;
}

static int take_result(struct reading *r, json_t *result)
{
	const char *pool = text_of(result, "pool"), *name = text_of(result, "device");
	json_t *device = device_of(r, name);

	r->request = text_of(result, "request");
	if (strcmp(pool, r->pool))
		return FAULT(r, "device %.63s is of pool %.100s; this is %.100s", name, pool, r->pool);
	if (!device)
		return FAULT(r,
			     "device %.63s is not there any more (`mete devices`); delete the pod, so that another is "
			     "chosen",
			     name);
	json_array_append_new(r->claim->devices, json_pack("{s:[s] s:s s:s}", "request_names", r->request, "pool_name",
							   pool, "device_name", name));
	if (!json_is_true(json_object_get(result, "adminAccess")))
		return take_share(r, result, device);
	json_array_append(r->claim->admin, json_object_get(device, "uuid"));
	return 0;
}

int dra_claim_read(struct dra_claim *c, json_t *claim, json_t *devices, const char *pool, struct fault *f)
{
	json_t *allocation = json_object_get(json_object_get(claim, "status"), "allocation"), *result;
	struct reading r = { .claim = c, .object = claim, .devices = devices, .pool = pool, .f = f };
	size_t i;
	int e;

	*c = (struct dra_claim){ json_array(), json_array(), json_array() };
	if (!json_is_object(allocation))
		return FAULT(&r, "no device is allocated to it");
	json_array_foreach (json_object_get(json_object_get(allocation, "devices"), "results"), i, result) {
		if (strcmp(text_of(result, "driver"), DRA_DRIVER))
			continue;
		e = take_result(&r, result);
		if (e)
			return e;
	}
	return json_array_size(c->devices) ? 0 : FAULT(&r, "nothing of it belongs to driver " DRA_DRIVER);
}

void dra_claim_free(struct dra_claim *c)
{
	json_decref(c->devices);
	json_decref(c->rows);
	json_decref(c->admin);
	*c = (struct dra_claim){ NULL };
}
