/* guarding_test.c: the words of the setting, and what they come to for one program. */
#include "base/tap.h"
#include "model/guarding.h"

#include <string.h>

static const struct {
	const char *what;
	enum guarding rule;
	bool asked;
	const char *driver;
	bool walled;
	enum guarding_wish wish;
} rows[] = {
	{ "nobody asks", GUARDING_ASKED, false, "nvidia", false, GUARDING_NONE },
	{ "the program asks", GUARDING_ASKED, true, "nvidia", false, GUARDING_MUST },
	{ "the node prefers it", GUARDING_PREFERRED, false, "nvidia", false, GUARDING_IF_IT_HOLDS },
	{ "the node prefers it, and the program asks", GUARDING_PREFERRED, true, "nvidia", false, GUARDING_MUST },
	{ "the node requires it", GUARDING_REQUIRED, false, "nvidia", false, GUARDING_MUST },
	{ "... and a worker has the driver", GUARDING_REQUIRED, false, "nvidia", true, GUARDING_NONE },
	{ "... and there is no driver", GUARDING_REQUIRED, false, "soft", false, GUARDING_NONE },
	{ "... of another vendor", GUARDING_REQUIRED, false, "hip", false, GUARDING_NONE },
	{ "the software device's program asks, and is told", GUARDING_ASKED, true, "soft", false, GUARDING_MUST },
};

int main(void)
{
	tap_begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		tap_ok(guarding_wish(rows[i].rule, rows[i].asked, rows[i].driver, rows[i].walled) == rows[i].wish, "%s",
		       rows[i].what);
	for (int i = 0; i < GUARDINGS; i++)
		tap_ok(guarding_find(guarding_word((enum guarding)i)) == i, "%s", guarding_word((enum guarding)i));
	tap_ok(guarding_find("on") == -1 && guarding_find("") == -1, "other words are none");
	return tap_end();
}
