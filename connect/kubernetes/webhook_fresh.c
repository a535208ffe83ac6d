/* webhook_fresh.c: see webhook_fresh.h. */
#include "connect/kubernetes/webhook_fresh.h"

void webhook_fresh_init(struct webhook_fresh *fresh)
{
	*fresh = (struct webhook_fresh){ .count = json_object() };
}

void webhook_fresh_deinit(struct webhook_fresh *fresh)
{
	json_decref(fresh->count);
	fresh->count = NULL;
}

static json_int_t count_of(const struct webhook_fresh *fresh, const char *name_space)
{
	return json_integer_value(json_object_get(fresh->count, name_space));
}

static void change(struct webhook_fresh *fresh, const char *name_space, int by)
{
	fresh->all += (unsigned int)by;
	json_object_set_new(fresh->count, name_space, json_integer(count_of(fresh, name_space) + by));
}

bool webhook_fresh_take(struct webhook_fresh *fresh, const char *name_space, uint64_t now_ns)
{
	if (!fresh->all || now_ns - fresh->since_ns > WEBHOOK_FRESH_NS) {
		json_object_clear(fresh->count);
		fresh->all = 0;
		fresh->since_ns = now_ns;
	}
	if (fresh->all >= WEBHOOK_FRESH_OF_ALL || count_of(fresh, name_space) >= WEBHOOK_FRESH_OF_NAMESPACE)
		return false;
	change(fresh, name_space, 1);
	return true;
}

void webhook_fresh_give(struct webhook_fresh *fresh, const char *name_space)
{
	if (count_of(fresh, name_space))
		change(fresh, name_space, -1);
}
