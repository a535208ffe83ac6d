/*
 * set.c: `mete set NAME --mem SIZE --cores PERCENT ...`: changes a running grant's share.
 *
 * Growing is at once. Shrinking below what is held is refused, or with --soon takes effect as memory is freed.
 * Without --device it is the grant's only device; a grant on several needs to be told which.
 */
#include "base/size.h"
#include "cli/suspend.h"
#include "verb/choose.h"
#include "client/grants.h"
#include "verb/say.h"
#include "verb/terms.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void list_grant_devices(json_t *grant, char *text, size_t size)
{
	json_t *device;
	size_t i, used = 0;

	snprintf(text, size, "none");
	json_array_foreach (json_object_get(grant, "devices"), i, device)
		if (used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%lld", used ? ", " : "",
						 (long long)device_number(device, "index"));
}

/* The share of the grant that a word names; the rows of a grant carry no kind of their own. */
static json_t *find_share(json_t *grant, const struct share *s)
{
	json_t *devices = json_object_get(grant, "devices"), *device, *found;
	const char *kind = device_text(json_object_get(grant, "driver"), "kind");
	size_t i;

	json_array_foreach (devices, i, device)
		json_object_set_new(device, "driver", json_string(kind));
	found = device_listed(devices, kind, s->device, s->device_length);
	json_array_foreach (devices, i, device)
		json_object_del(device, "driver");
	return found;
}

static int make_request(const struct command_line *line, struct choice *ch, json_t *grant, json_t **ret,
			struct fault *f)
{
	const char *name = line->args[0];

	json_t *rows = json_array(), *row;
	char known[256];

	list_grant_devices(grant, known, sizeof(known));
	*ret = json_pack("{s:s, s:s, s:b, s:o}", "op", "grant_set", "name", name, "soon",
			 option_given(line, "soon"), "devices", rows);
	for (size_t i = 0; i < ch->count; i++) {
		struct share *s = &ch->share[i];

		if (!s->device && json_array_size(json_object_get(grant, "devices")) != 1) {
			json_decref(*ret);
			return fault_set(f, -EINVAL, "%s: has several devices (%s); say which with --device", name,
					 known);
		}
		s->chosen = s->device ? find_share(grant, s) : json_array_get(json_object_get(grant, "devices"), 0);
		if (!s->chosen) {
			json_decref(*ret);
			return fault_set(f, -EINVAL, "--device %.*s: not a device of %s; it has: %s",
					 (int)s->device_length, s->device, name, known);
		}
		row = json_pack("{s:s}", "device", device_text(s->chosen, "uuid"));
		if (s->mem.bytes)
			json_object_set_new(row, "mem_bytes", json_integer((json_int_t)s->mem.bytes));
		else if (*s->mem_text)
			json_object_set_new(row, "mem_pct", json_real(s->mem.pct));
		terms_request(&s->wish, row);
		if (option_given(line, "freeze") || option_given(line, "thaw"))
			json_object_set_new(row, "frozen", json_boolean(option_given(line, "freeze")));
		json_array_append_new(rows, row);
	}
	return 0;
}

static void print_shares(const char *name, json_t *grant)
{
	char quota[SIZE_TEXT_BYTES], target[SIZE_TEXT_BYTES], requested[48];
	json_t *device;
	size_t i;

	json_array_foreach (json_object_get(grant, "devices"), i, device) {
		printf("%s: device %lld: %s", name, (long long)device_number(device, "index"),
		       size_format((uint64_t)device_number(device, "quota_bytes"), quota));
		if (json_is_integer(json_object_get(device, "target_bytes")))
			printf(", %s as memory is freed",
			       size_format((uint64_t)device_number(device, "target_bytes"), target));
		if (strcmp(device_text(device, "policy"), "native"))
			printf(", %s %s", device_text(device, "policy"), terms_requested(device, requested));
		if (json_is_true(json_object_get(device, "frozen")))
			printf(", frozen");
		putchar('\n');
	}
}

/* Value: an exit status; a fault is set unless it is 0. */
static int set(struct control *control, const struct command_line *line, struct choice *ch, struct fault *f)
{
	const char *name = line->args[0];
	bool freeze = option_given(line, "freeze"), thaw = option_given(line, "thaw");
	json_t *grants = NULL, *request, *answer, *grant;
	int r;

	if (grant_name_check(name, f))
		return EXIT_USAGE;
	if (suspend_given(line))
		return suspend_set(control, line, f);
	if (option_given(line, "now") || option_given(line, "drain")) {
		fault_set(f, 0, "set %s: --now goes with --resume, --drain with --suspend; give that, or leave it away",
			  name);
		return EXIT_USAGE;
	}
	if (choose_parse(ch, line, f))
		return EXIT_USAGE;
	if (freeze && thaw) {
		fault_set(f, 0, "set %s: --freeze and --thaw contradict each other; give one", name);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < ch->count; i++)
		if (!*ch->share[i].mem_text && !words_given(&ch->share[i].wish) && !freeze && !thaw) {
			fault_set(f, 0, "set %s: nothing to change; give --mem SIZE, --cores PERCENT or another option",
				  name);
			return EXIT_USAGE;
		}
	if (grants_get(control, name, &grants, f))
		return EXIT_FAILED;
	r = make_request(line, ch, json_array_get(grants, 0), &request, f);
	json_decref(grants);
	if (r || control_ask_again(control, CONTROL_STORED, request, &answer, NULL, f))
		return EXIT_FAILED;
	grant = json_object_get(answer, "grant");
	if (option_given(line, "json"))
		r = print_json("grant", json_incref(grant));
	else
		print_shares(name, grant);
	json_decref(answer);
	return r;
}

VERB(set)
{
	struct control control = CONTROL_CLOSED;
	struct choice choice = { 0 };
	struct fault f = { .text = "" };
	int status = set(&control, line, &choice, &f);

	control_close(&control);
	if (status)
		say_error("%s", f.text);
	return status;
}
