/* own_account.c: see own_account.h. The functions of the core are attach.h's, under the names that names.h exports. */
#include "remote/worker/own_account.h"

#include "remote/watch.h"
#include "wire/message.h"
#include "wire/page.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

static struct {
	struct wire_page *(*page)(void);
	const struct wire_welcome *(*welcome)(void);
	bool (*alive)(void);
} core;

void own_account_open(void)
{
	void *library = dlopen("libmete-core.so", RTLD_NOW | RTLD_NOLOAD);

	if (!library)
		return;
	*(void **)&core.page = dlsym(library, "mete_core_attach_page");
	*(void **)&core.welcome = dlsym(library, "mete_core_attach_welcome");
	*(void **)&core.alive = dlsym(library, "mete_core_attach_alive");
}

uint64_t own_account_bytes(const uint8_t uuid[16])
{
	struct wire_page *page = core.page && core.welcome ? core.page() : NULL;
	const struct wire_welcome *welcome = page ? core.welcome() : NULL;

	for (uint32_t i = 0; welcome && i < welcome->device_count && i < WIRE_MAX_DEVICES; i++) {
		uint64_t word = atomic_load_explicit(&page->account[i].word, memory_order_relaxed);

		if (!memcmp(welcome->device[i].uuid, uuid, 16))
			return (uint64_t)wire_held(word) * WIRE_UNIT_BYTES;
	}
	return WATCH_UNKNOWN;
}

bool own_account_there(void)
{
	return core.page && core.page();
}

bool own_account_reached(void)
{
	return !core.alive || core.alive();
}
