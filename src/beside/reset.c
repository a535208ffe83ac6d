/* reset.c: see reset.h. */
#include "beside/reset.h"
#include "beside/devices.h"
#include "beside/inside.h"
#include "beside/memory.h"
#include "core/marks.h"

void reset_begin(struct resetting *r, int real)
{
	*r = (struct resetting){ .before = inside_begin() };
	r->granted = start_is_metered() && devices_find(real, &r->device);
	if (!r->granted)
		return;
	r->age = memory_ages(r->device);
	r->context = devices_shared_context(r->device);
	if (r->context)
		marks_context_leaves(r->context);
}

void reset_end(struct resetting *r, bool gone)
{
	if (r->context)
		marks_context_left(r->context, gone);
	if (r->context && gone)
		devices_forget_context(r->context);
	if (r->granted && gone && !devices_have_made(r->device))
		memory_swept(r->device, r->age);
	inside_end(&r->before);
}

vendor_result reset_made(vendor_result r, const face_context *made, int real)
{
	if (r == VENDOR_SUCCESS && made && !inside_is && start_is_metered())
		devices_made_context(*made, real);
	return r;
}
