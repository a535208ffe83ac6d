/* spill.c: see spill.h. */
#include "verb/spill.h"

#include "base/size.h"

#include <errno.h>

int spill_parse(struct spill *spill, const struct command_line *line, struct fault *f)
{
	const char *text = option_value(line, "resident");
	struct size size;
	int r;

	*spill = (struct spill){ .is = option_given(line, "spill") };
	if (!text)
		return 0;
	if (!spill->is)
		return fault_set(f, -EINVAL,
				 "--resident %s without --spill: all memory of the grant is resident; give "
				 "--spill, or leave --resident away",
				 text);
	r = size_parse(text, &size);
	if (r)
		return fault_set(f, -EINVAL, "--resident %s: %s", text, size_fault_text(r));
	if (!size.bytes)
		return fault_set(f, -EINVAL, "--resident %s: give it in bytes: 512M, 2G", text);
	spill->resident_bytes = size.bytes;
	return 0;
}

void spill_request(const struct spill *spill, json_t *request)
{
	if (!spill->is)
		return;
	json_object_set_new(request, "spill", json_true());
	if (spill->resident_bytes)
		json_object_set_new(request, "resident_bytes", json_integer((json_int_t)spill->resident_bytes));
}
