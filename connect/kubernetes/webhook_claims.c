/* webhook_claims.c: see webhook_claims.h. */
#include "connect/kubernetes/webhook_claims.h"

#include "base/fnv.h"
#include "connect/kubernetes/claim_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER "gpu.mete.io"
#define MIB (UINT64_C(1) << 20)

enum type { UNKNOWN, SIZE, TEXT, NUMBER, SWITCH };

/* The type of an option, and the name of its parameter; sizes are no parameters. */
static enum type find_option(const char *option, char key[CLAIM_WORD_BYTES])
{
	if (!strcmp(option, "--mem") || !strcmp(option, "--cores"))
		return SIZE;
	snprintf(key, CLAIM_WORD_BYTES, "wall");
	if (!strcmp(option, "--wall"))
		return SWITCH;
	for (size_t i = 0; i < SHARE_WORD_COUNT && !strncmp(option, "--", 2); i++)
		if (!strcmp(option + 2, word_table[i].option) && claim_word_name(&word_table[i], key))
			return word_is_name(&word_table[i]) ? TEXT : NUMBER;
	return UNKNOWN;
}

static json_t *value_of(const char *text)
{
	double number = strtod(text, NULL);

	return number == floor(number) ? json_integer((json_int_t)number) : json_real(number);
}

bool claims_parameters(json_t *words, char text[CLAIMS_PARAMETERS])
{
	json_t *parameters = json_object();
	bool good = true;
	size_t size;

	for (size_t i = 0; i < json_array_size(words) && good; i++) {
		const char *word = json_string_value(json_array_get(words, i));
		const char *value = json_string_value(json_array_get(words, i + 1));
		char key[CLAIM_WORD_BYTES];
		enum type type = find_option(word, key);

		good = type != UNKNOWN && (type == SWITCH || value);
		if (!good)
			break;
		i += type != SWITCH;
		if (type != SIZE)
			json_object_set_new(parameters, key,
					    type == TEXT     ? json_string(value)
					    : type == NUMBER ? value_of(value)
							     : json_true());
	}
	size = good && json_object_size(parameters)
		       ? json_dumpb(parameters, text, CLAIMS_PARAMETERS - 1, JSON_COMPACT | JSON_SORT_KEYS)
		       : 0;
	good = good && size < CLAIMS_PARAMETERS;
	text[good ? size : 0] = 0;
	json_decref(parameters);
	return good;
}

static json_t *requests(const struct claims_ask *ask)
{
	unsigned long long mib = (ask->bytes + MIB - 1) / MIB;
	json_t *exactly = json_pack("{s:s}", "deviceClassName", DRIVER), *capacity = json_object();

	if (ask->cards > 1)
		json_object_set_new(exactly, "count", json_integer(ask->cards));
	/* The driver publishes both in these steps, and rounds up. */
	if (ask->bytes)
		json_object_set_new(capacity, "memory", json_sprintf("%lluMi", mib));
	if (ask->cores_pct > 0)
		json_object_set_new(capacity, "cores", json_sprintf("%.0f", ceil(ask->cores_pct)));
	if (json_object_size(capacity))
		json_object_set_new(exactly, "capacity", json_pack("{s:O}", "requests", capacity));
	json_decref(capacity);
	return json_pack("[{s:s s:o}]", "name", "gpu", "exactly", exactly);
}

json_t *claims_template(const struct claims_ask *ask, char name[CLAIMS_NAME])
{
	json_t *devices = json_pack("{s:o}", "requests", requests(ask)), *parameters;
	char size[24] = "whole", *text;

	if (*ask->parameters) {
		parameters = json_loads(ask->parameters, 0, NULL);
		json_object_set_new(parameters, "apiVersion", json_string(DRIVER "/v1"));
		json_object_set_new(parameters, "kind", json_string("Share"));
		json_object_set_new(devices, "config",
				    json_pack("[{s:{s:s s:o}}]", "opaque", "driver", DRIVER, "parameters", parameters));
	}
	text = json_dumps(devices, JSON_COMPACT | JSON_SORT_KEYS);
	if (!text) {
		json_decref(devices);
		return NULL;
	}
	if (ask->bytes)
		snprintf(size, sizeof(size), "%llumi", (unsigned long long)((ask->bytes + MIB - 1) / MIB));
	snprintf(name, CLAIMS_NAME, "mete-%ux%s-%.0f-%08x", ask->cards, size, ceil(ask->cores_pct),
		 fnv_hash(text, strlen(text)));
	free(text);
	return json_pack("{s:s s:s s:{s:s s:{s:s}} s:{s:{s:o}}}", "apiVersion", "resource.k8s.io/v1", "kind",
			 "ResourceClaimTemplate", "metadata", "name", name, "labels", "app.kubernetes.io/managed-by",
			 "mete-webhook", "spec", "spec", "devices", devices);
}
