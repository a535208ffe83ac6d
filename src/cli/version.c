/* version.c: `mete version`: of mete, and of the meted that runs. */
#include "client/control.h"
#include "client/requests.h"
#include "verb/verb.h"

#include <stdio.h>
#include <string.h>

const char *const help_version_line = "mete " METE_VERSION;

VERB(version)
{
	struct control control = CONTROL_CLOSED;
	json_t *answer = NULL;
	const char *daemon = NULL;
	struct fault f;

	if (!control_open(&control, CONTROL_FIND, &f) &&
	    !control_ask(&control, request_plain("hello"), &answer, NULL, &f))
		daemon = json_string_value(json_object_get(answer, "version"));
	if (option_given(line, "json")) {
		json_t *o = json_pack("{s:s, s:s?}", "mete", METE_VERSION, "meted", daemon);

		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
	} else {
		puts(help_version_line);
		if (daemon)
			printf("meted %s (process %d in %s)%s\n", daemon, (int)control.daemon_pid, control.dir,
			       strcmp(daemon, METE_VERSION) ? ": another version, `mete upgrade` replaces it" : "");
	}
	json_decref(answer);
	control_close(&control);
	return EXIT_DONE;
}
