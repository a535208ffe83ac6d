/* delete.c: `mete delete NAME`: ends a grant. */
#include "client/control.h"
#include "client/grants.h"
#include "client/requests.h"
#include "verb/say.h"
#include "verb/verb.h"

VERB(delete)
{
	struct control control = CONTROL_CLOSED;
	struct fault f;
	json_t *answer = NULL;
	int r;

	for (int i = 0; i < line->arg_count; i++)
		if (grant_name_check(line->args[i], &f)) {
			say_error("%s", f.text);
			return EXIT_USAGE;
		}
	for (int i = 0; i < line->arg_count; i++) {
		r = control_ask_again(&control, CONTROL_STORED, request_grant("grant_delete", line->args[i]), &answer,
				      NULL, &f);
		if (r == CONTROL_NOBODY)
			say_error("no grant named %s: no meted runs in %s; `mete create` makes a grant", line->args[i],
				  control.dir);
		else if (r)
			say_error("%s", f.text);
		if (r) {
			control_close(&control);
			return EXIT_FAILED;
		}
		json_decref(answer);
	}
	control_close(&control);
	return EXIT_DONE;
}
