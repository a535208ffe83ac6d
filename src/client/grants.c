/* grants.c: see grants.h. */
#include "client/grants.h"
#include "client/requests.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define NAME_MOST 63

int grant_name_check(const char *name, struct fault *f)
{
	if (!*name)
		return fault_set(f, -EINVAL, "a grant's name cannot be empty; give one like train-1");
	if (strlen(name) > NAME_MOST)
		return fault_set(f, -EINVAL, "%.20s...: a grant's name has at most %d characters; give a shorter one",
				 name, NAME_MOST);
	for (const char *p = name; *p; p++)
		if (!(isalnum((unsigned char)*p) && !(*p & 0x80)) && (p == name || !strchr("._-", *p)) && *p != '_')
			return fault_set(
				f, -EINVAL,
				"%s: a grant's name has ASCII letters, digits, \".\", \"_\" and \"-\" and begins "
				"with a letter or digit; give one like train-1",
				name);
	return 0;
}

int grants_get(struct control *c, const char *name, json_t **ret, struct fault *f)
{
	return grants_get_all(c, name, ret, NULL, f);
}

int grants_get_all(struct control *c, const char *name, json_t **ret, json_t **ret_waiting, struct fault *f)
{
	json_t *answer, *request = request_plain("grants");
	int r;

	if (name)
		json_object_set_new(request, "name", json_string(name));
	r = control_ask_again(c, CONTROL_STORED, request, &answer, NULL, f);
	if (r == CONTROL_NOBODY) {
		if (name)
			return fault_set(f, CONTROL_REFUSED,
					 "no grant named %s: no meted runs in %s; `mete create` makes a grant", name,
					 c->dir);
		*ret = json_array();
		if (ret_waiting)
			*ret_waiting = json_array();
		return 0;
	}
	if (r)
		return r;
	*ret = json_incref(json_object_get(answer, "grants"));
	if (ret_waiting)
		*ret_waiting = json_incref(json_object_get(answer, "waiting"));
	json_decref(answer);
	if (!json_is_array(*ret)) {
		json_decref(*ret);
		return fault_set(f, -EPROTO, "%s: meted's answer has no grants in it; restart it with this version",
				 c->dir);
	}
	if (name && !json_array_size(*ret)) {
		json_decref(*ret);
		return fault_set(f, CONTROL_REFUSED, "no grant named %s; `mete ps` lists them", name);
	}
	return 0;
}

json_int_t devices_sum(json_t *holder, const char *key)
{
	json_t *device;
	json_int_t sum = 0;
	size_t i;

	json_array_foreach(json_object_get(holder, "devices"), i, device) sum +=
		json_integer_value(json_object_get(device, key));
	return sum;
}
