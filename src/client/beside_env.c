/* beside_env.c: see beside_env.h. */
#include "client/beside_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_BYTES 1024

const struct beside beside_kinds[] = {
	{ "ascend", "libmete-ascend.so", "ASCEND_RT_VISIBLE_DEVICES" },
	{ "cambricon", "libmete-cambricon.so", "MLU_VISIBLE_DEVICES" },
	{ NULL, NULL, NULL },
};

static bool is_listed(const char *word, const char *list)
{
	size_t length = strlen(word);

	for (const char *at = list; at && *at; at += strspn(at, ",")) {
		size_t n = strcspn(at, ",");

		if (n == length && !memcmp(at, word, n))
			return true;
		at += n;
	}
	return false;
}

bool beside_wanted(const struct beside *b, const char *kind)
{
	return !strcmp(b->kind, kind) || is_listed(b->kind, getenv("METE_FACES"));
}

bool beside_show(const char *kind, json_t *grant)
{
	json_t *list = json_object_get(grant, "devices"), *device;
	char text[LIST_BYTES] = "";
	size_t i, used = 0;

	json_array_foreach(list, i, device) if (used < sizeof(text)) used +=
		(size_t)snprintf(text + used, sizeof(text) - used, "%s%d", used ? "," : "",
				 (int)json_integer_value(json_object_get(device, "index")));
	for (const struct beside *b = beside_kinds; b->kind; b++)
		if (!strcmp(b->kind, kind))
			return !setenv(b->visible, text, 1);
	return true;
}
