/* metrics.c: `mete metrics`: what meted serves at /metrics, by the control socket. */
#include "verb/choose.h"
#include "client/control.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <stdio.h>

VERB(metrics)
{
	struct control control = CONTROL_CLOSED;
	json_t *request = request_plain("metrics"), *answer;
	const char *compat = option_value(line, "compat");
	struct fault f;
	int r;

	if (compat)
		json_object_set_new(request, "compat", json_string(compat));
	r = control_ask_again(&control, CONTROL_STORED, request, &answer, NULL, &f);
	control_close(&control);
	if (r) {
		say_error("%s", f.text);
		return EXIT_FAILED;
	}
	fputs(device_text(answer, "text"), stdout);
	json_decref(answer);
	return EXIT_DONE;
}
