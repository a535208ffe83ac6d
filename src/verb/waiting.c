/* waiting.c: see waiting.h. */
#include "verb/waiting.h"
#include "base/clock.h"
#include "verb/duration.h"
#include "verb/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_US 200000u
#define SAY_NS UINT64_C(60000000000) /* the same again */
#define MOST_S 31536000L

int waiting_parse(struct waiting *w, const struct command_line *line, struct fault *f)
{
	const char *most = option_value(line, "timeout");

	*w = (struct waiting){ .wanted = option_given(line, "wait"), .began_ns = clock_now_ns() };
	if (most && !w->wanted)
		return fault_set(f, -EINVAL, "--timeout %s without --wait: say --wait as well", most);
	if (most && (!duration_parse(most, MOST_S, &w->most_s) || !w->most_s))
		return fault_set(f, -EINVAL, "--timeout %s: give a time such as 90s, 10m or 2h", most);
	return 0;
}

void waiting_request(const struct waiting *w, json_t *request)
{
	if (request && w->wanted)
		json_object_set_new(request, "wait", json_true());
}

/* "behind 2 who wait: ..." */
static unsigned int place_of(const char *text)
{
	return strncmp(text, "behind ", 7) ? 1 : (unsigned int)strtoul(text + 7, NULL, 10) + 1;
}

bool waiting_again(struct waiting *w, json_t *request, int r, const char *code, struct fault *f)
{
	uint64_t now_ns = clock_now_ns();
	unsigned int place;
	struct fault last;
	char text[32];

	if (!w->wanted || r != CONTROL_REFUSED || strcmp(code, "waiting"))
		return false;
	if (w->most_s && now_ns - w->began_ns >= (uint64_t)w->most_s * 1000000000u) {
		last = *f;
		fault_set(f, CONTROL_REFUSED, "waited for %s in vain, %s", duration_format(w->most_s, text), last.text);
		return false;
	}
	place = place_of(f->text);
	if (place != w->place || now_ns - w->said_ns > SAY_NS) {
		say_note("waiting, %s", f->text);
		w->place = place;
		w->said_ns = now_ns;
	}
	json_object_set_new(request, "known", json_true());
	usleep(PAUSE_US);
	return true;
}
