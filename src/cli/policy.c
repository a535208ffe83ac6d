/* policy.c: `mete policy`: the ways of sharing a device's time, and each device's default. */
#include "verb/choose.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/output.h"
#include "verb/say.h"
#include "verb/table.h"
#include "verb/terms.h"
#include "verb/verb.h"

#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS 12

static json_t *policies_json(void)
{
	json_t *list = json_array();

	for (int i = 0; i < POLICIES; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", policy_name((enum policy)i), "describe",
						      policy_describe((enum policy)i)));
	return list;
}

static void print_policies(void)
{
	printf("%s%-*s%s%s\n", colour_wanted(stdout) ? "\033[1m" : "", NAME_COLUMNS, "POLICY", "WHAT IT DOES",
	       colour_wanted(stdout) ? "\033[0m" : "");
	for (int i = 0; i < POLICIES; i++) {
		printf("%-*s", NAME_COLUMNS, policy_name((enum policy)i));
		output_words(policy_describe((enum policy)i), NAME_COLUMNS, NAME_COLUMNS, output_columns());
	}
}

static void print_devices(json_t *devices)
{
	static const char *const heads[] = { ">DEVICE", "DRIVER", "DEFAULT", ">GUARANTEED", "NATIVE", "NAME", NULL };
	static const unsigned char ranks[] = { 0, 2, 0, 0, 1, 0 };
	struct table t;
	json_t *device;
	char text[16];
	size_t i;

	table_begin(&t, heads);
	table_fit(&t, ranks);
	json_array_foreach(devices, i, device)
	{
		table_cell(&t, "%lld", (long long)device_number(device, "index"));
		table_cell(&t, "%s", device_text(device, "driver"));
		table_cell(&t, "%s", device_text(device, "policy"));
		table_cell(&t, "%s", terms_percent(device, "promised_cores", text));
		table_cell(&t, "%s", strcmp(device_text(device, "native"), "allow") ? "held" : "unheld");
		table_cell(&t, "%s", device_text(device, "name"));
	}
	table_end(&t);
}

static int list(struct control *control, const struct command_line *line, struct fault *f)
{
	json_t *answer, *o;

	if (control_ask_again(control, CONTROL_START, request_plain("devices"), &answer, NULL, f))
		return EXIT_FAILED;
	if (option_given(line, "json")) {
		o = json_pack("{s:o, s:O}", "policies", policies_json(), "devices", json_object_get(answer, "devices"));
		json_dumpf(o, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		putchar('\n');
		json_decref(o);
	} else {
		print_policies();
		putchar('\n');
		print_devices(json_object_get(answer, "devices"));
	}
	json_decref(answer);
	return EXIT_DONE;
}

static int set(struct control *control, const struct command_line *line, struct fault *f)
{
	const char *word = line->args[0], *name = line->arg_count > 1 ? line->args[1] : NULL;
	const char *native = option_value(line, "native");
	json_t *answer, *device, *request;
	int policy;

	if (name && terms_policy(name, "policy", &policy, f))
		return EXIT_USAGE;
	if (native && strcmp(native, "allow") && strcmp(native, "hold")) {
		fault_set(f, 0, "--native %s: it must be allow or hold", native);
		return EXIT_USAGE;
	}
	if (control_ask_again(control, CONTROL_START, request_plain("devices"), &answer, NULL, f))
		return EXIT_FAILED;
	if (device_named(json_object_get(answer, "devices"), word, option_given(line, "soft"), &device, f)) {
		json_decref(answer);
		return EXIT_FAILED;
	}
	request = request_device("policy_set", device_text(device, "uuid"));
	if (name)
		json_object_set_new(request, "policy", json_string(policy_name((enum policy)policy)));
	if (native)
		json_object_set_new(request, "native", json_string(native));
	json_decref(answer);
	if (control_ask_again(control, CONTROL_START, request, &answer, NULL, f))
		return EXIT_FAILED;
	device = json_object_get(answer, "device");
	if (option_given(line, "json"))
		print_json("device", json_incref(device));
	else
		printf("device %lld: %s%s\n", (long long)device_number(device, "index"), device_text(device, "policy"),
		       !native			 ? ""
		       : strcmp(native, "allow") ? ", native programs are held back for guarantees"
						 : ", native programs run unheld: no share can be guaranteed");
	json_decref(answer);
	return EXIT_DONE;
}

VERB(policy)
{
	struct control control = CONTROL_CLOSED;
	struct fault f = { .text = "" };
	int status;

	if (!line->arg_count && option_given(line, "native")) {
		say_error("--native: and of which device? `mete policy DEVICE --native allow` says it");
		return EXIT_USAGE;
	}
	if (line->arg_count == 1 && !option_given(line, "native")) {
		say_error("policy %s: and which policy? `mete policy DEVICE NAME` sets it", line->args[0]);
		return EXIT_USAGE;
	}
	status = line->arg_count ? set(&control, line, &f) : list(&control, line, &f);
	control_close(&control);
	if (status)
		say_error("%s", f.text);
	return status;
}
