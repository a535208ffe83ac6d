/* create.c: `mete create NAME`: a grant that outlives commands; `mete run --grant NAME` runs programs under it. */
#include "base/size.h"
#include "verb/choose.h"
#include "verb/expires.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/spill.h"
#include "verb/terms.h"
#include "verb/verb.h"
#include "verb/waiting.h"

#include <stdio.h>
#include <string.h>

static void print_grant(json_t *grant)
{
	char quota[SIZE_TEXT_BYTES], requested[48];
	json_t *device;
	size_t i;

	json_array_foreach (json_object_get(grant, "devices"), i, device) {
		printf("%s: device %lld: %s", device_text(grant, "name"), (long long)device_number(device, "index"),
		       size_format((uint64_t)device_number(device, "quota_bytes"), quota));
		if (strcmp(device_text(device, "policy"), "native"))
			printf(", %s %s", device_text(device, "policy"), terms_requested(device, requested));
		putchar('\n');
	}
}

/* Value: an exit status; a fault is set unless it is 0. */
static int create(struct control *control, const struct command_line *line, struct choice *ch, struct fault *f)
{
	json_t *answer, *request;
	struct spill spill;
	struct waiting w;
	char code[64];
	long expires_s;
	int r;

	if (grant_name_check(line->args[0], f) || choose_parse(ch, line, f) || expires_parse(line, &expires_s, f) ||
	    waiting_parse(&w, line, f) || spill_parse(&spill, line, f))
		return EXIT_USAGE;
	ch->takes_any = true;
	if (control_ask_again(control, CONTROL_START, request_devices_of(choose_awaits(ch, line)), &answer, NULL, f) ||
	    choose_devices(ch, line, answer, f))
		return EXIT_FAILED;
	request = request_create(&(struct request_create){ .name = line->args[0],
							   .driver = ch->driver,
							   .placement = ch->placement,
							   .devices = choose_request(ch),
							   .overcommit = option_given(line, "overcommit"),
							   .wall = option_given(line, "wall") });
	spill_request(&spill, request);
	expires_request(request, expires_s);
	waiting_request(&w, request);
	do {
		r = control_ask_again(control, CONTROL_START, json_incref(request), &answer, code, f);
	} while (waiting_again(&w, request, r, code, f));
	json_decref(request);
	if (r)
		return EXIT_FAILED;
	r = EXIT_DONE;
	if (option_given(line, "json"))
		r = print_json("grant", json_incref(json_object_get(answer, "grant")));
	else
		print_grant(json_object_get(answer, "grant"));
	json_decref(answer);
	return r;
}

VERB(create)
{
	struct control control = CONTROL_CLOSED;
	struct choice choice = { 0 };
	struct fault f = { .text = "" };
	int status = create(&control, line, &choice, &f);

	control_close(&control);
	choose_deinit(&choice);
	if (status)
		say_error("%s", f.text);
	return status;
}
