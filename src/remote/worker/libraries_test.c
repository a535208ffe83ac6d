/* libraries_test.c: two calls at once that are about one object of a library which is not made for that. */
#include "base/tap.h"
#include "remote/libs/serve.h"

static int nothing(void)
{
	return 0;
}

/* Whether a call about the object is let through to the library. */
static bool passes(const struct forward_served *library, struct forward_named *named, bool ends)
{
	struct work work = { .head.flags = 0 };
	struct forward_work w = {
		.work = &work, .library = library, .function = (void *)nothing, .named = named, .ends = ends
	};
	bool passed = forward_ready(&w);

	if (!passed)
		tap_ok(!forward_refuse(&w) && w.status == library->status.invalid,
		       "it is refused in the library's words");
	return passed;
}

static void *functions[1];

int main(void)
{
	static const struct forward_served alone = {
		.title = "a library", .functions = functions, .status = { 1, 2, 3, 4, 5, 6 }, .alone = true
	};
	static const struct forward_served shared = { .title = "another",
						      .functions = functions,
						      .status = { 1, 2, 3, 4, 5, 6 } };
	struct forward_named named = { .library = &alone };

	tap_begin();
	tap_ok(passes(&alone, &named, false), "a call about an object passes");
	named.busy = 1;
	tap_ok(!passes(&alone, &named, false), "beside one that waits in the library it does not");
	tap_ok(!passes(&alone, &named, true), "nor does the object's end");
	tap_ok(passes(&shared, &named, false), "in a library that is made for it, it does");
	tap_ok(!passes(&shared, &named, true), "but not the object's end");
	named.busy = 0;
	tap_ok(passes(&alone, &named, false), "afterwards it passes again");
	return tap_end();
}
