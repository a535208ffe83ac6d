/*
 * smi.c: rocm-smi and amd-smi show the share as the card's memory (libmete-amd-smi.so, preloaded under a grant of AMD's
 * cards).
 *
 * The tools open AMD's libraries (librocm_smi64, libamd_smi) by their paths, and look their calls up one by one. So it
 * is the look-up that is changed: who asks for one of the calls below gets ours, with the library's own behind it. All
 * other names, and all other programs, get what they would get. A program that is linked with one of the libraries is
 * not led here.
 *
 * Numbers are those of AMD's headers, rocm_smi.h and amdsmi.h (MIT licence): memory of kind 0 is the card's own; an
 * address is the domain above 32 bits, then 8 bits of the bus, 5 of the device and 3 of the function. The number of a
 * partition is in the place of the function, or in bits 28 to 31 (rsmi_dev_pci_id_get()).
 */
#include "base/hip_card.h"
#include "base/own_note.h"
#include "core/attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

OWN_NOTE("the shares in AMD's SMI");

#define CARD_MEMORY 0
#define MIB (1u << 20)

struct vram_usage { /* amdsmi_vram_usage_t, in MiB */
	uint32_t total, used;
};

typedef void *(*dlsym_fn)(void *handle, const char *name);
typedef int (*memory_fn)(uintptr_t device, int kind, uint64_t *ret);
typedef int (*usage_fn)(uintptr_t device, struct vram_usage *ret);
typedef int (*place_fn)(uintptr_t device, uint64_t *ret);

void *smi_take(void *handle, const char *name) __attribute__((visibility("hidden")));
dlsym_fn smi_linker __attribute__((visibility("hidden"))); /* the linker's own dlsym() */

static pthread_once_t begun = PTHREAD_ONCE_INIT;
static _Atomic bool away; /* no grant, or meted is out of reach: everything is shown as it is */

/* The libraries' own functions, of the handle that was asked last. */
static _Atomic(memory_fn) rocm_total, rocm_used, amd_total, amd_used;
static _Atomic(usage_fn) amd_usage;
static _Atomic(place_fn) rocm_place, amd_place;

static void child_after_fork(void)
{
	attach_forget(false);
}

static void begin(void)
{
	attach_init(ATTACH_NVML, NULL); /* as a library that tells of a card, and holds no memory */
	pthread_atfork(NULL, NULL, child_after_fork);
}

/* Which device of the grant the card at this address is. */
static bool find_device(uint64_t place, uint32_t *ret)
{
	const struct wire_welcome *welcome = attach_welcome();
	unsigned int function = place & 7 ? place & 7 : place >> 28 & 0xf;
	uint8_t uuid[16];
	char text[32];

	snprintf(text, sizeof text, "%04x:%02x:%02x.%x", (unsigned int)(place >> 32), (unsigned int)(place >> 8 & 0xff),
		 (unsigned int)(place >> 3 & 0x1f), function);
	if (hip_card_uuid(NULL, text, uuid))
		return false;
	for (*ret = 0; *ret < welcome->device_count; ++*ret)
		if (!memcmp(welcome->device[*ret].uuid, uuid, sizeof uuid))
			return true;
	return false;
}

/* The share of the card that a library calls `device`. False: the card is none of the grant's, or there is no grant. */
static bool share_of(place_fn where, uintptr_t device, uint64_t *ret_quota, uint64_t *ret_held)
{
	struct wire_info ask = { .head = { .type = WIRE_INFO, .size = sizeof ask } };
	struct wire_info_is is;
	uint64_t place;

	pthread_once(&begun, begin);
	if (!where || !attach_wanted() || atomic_load_explicit(&away, memory_order_relaxed) || where(device, &place))
		return false;
	if (!attach_page() && attach_open() < 0) {
		atomic_store_explicit(&away, true, memory_order_relaxed);
		return false;
	}
	if (!find_device(place, &ask.device) || attach_ask(&ask, &is, sizeof is, 0) != WIRE_OK)
		return false;
	*ret_quota = is.quota_bytes;
	*ret_held = is.held_bytes < is.quota_bytes ? is.held_bytes : is.quota_bytes;
	return true;
}

static int memory(memory_fn real, place_fn where, uintptr_t device, int kind, uint64_t *ret, bool used)
{
	int r = real(device, kind, ret), saved = errno;
	uint64_t quota, held;

	if (!r && ret && kind == CARD_MEMORY && share_of(where, device, &quota, &held))
		*ret = used ? held : *ret < quota ? *ret : quota;
	errno = saved;
	return r;
}

static int rocm_memory_total(uintptr_t device, int kind, uint64_t *ret)
{
	return memory(rocm_total, rocm_place, (uint32_t)device, kind, ret, false);
}

static int rocm_memory_used(uintptr_t device, int kind, uint64_t *ret)
{
	return memory(rocm_used, rocm_place, (uint32_t)device, kind, ret, true);
}

static int amd_memory_total(uintptr_t device, int kind, uint64_t *ret)
{
	return memory(amd_total, amd_place, device, kind, ret, false);
}

static int amd_memory_used(uintptr_t device, int kind, uint64_t *ret)
{
	return memory(amd_used, amd_place, device, kind, ret, true);
}

static int amd_vram_usage(uintptr_t device, struct vram_usage *ret)
{
	usage_fn real = amd_usage;
	int r = real(device, ret), saved = errno;
	uint64_t quota, held;

	if (!r && ret && share_of(amd_place, device, &quota, &held)) {
		ret->total = ret->total < quota / MIB ? ret->total : (uint32_t)(quota / MIB);
		ret->used = (uint32_t)((held + MIB - 1) / MIB);
	}
	errno = saved;
	return r;
}

static const struct call {
	const char *name;
	void *ours;
	void *real;	   /* where the library's own function is kept */
	const char *where; /* the call that tells a device's address */
	_Atomic(place_fn) *place;
} calls[] = {
	{ "rsmi_dev_memory_total_get", (void *)rocm_memory_total, &rocm_total, "rsmi_dev_pci_id_get", &rocm_place },
	{ "rsmi_dev_memory_usage_get", (void *)rocm_memory_used, &rocm_used, "rsmi_dev_pci_id_get", &rocm_place },
	{ "amdsmi_get_gpu_memory_total", (void *)amd_memory_total, &amd_total, "amdsmi_get_gpu_bdf_id", &amd_place },
	{ "amdsmi_get_gpu_memory_usage", (void *)amd_memory_used, &amd_used, "amdsmi_get_gpu_bdf_id", &amd_place },
	{ "amdsmi_get_gpu_vram_usage", (void *)amd_vram_usage, &amd_usage, "amdsmi_get_gpu_bdf_id", &amd_place },
};

/* The oldest version of each processor's; a newer libc has it, too. */
static void find_linker(void)
{
	static const char *const versions[] = { "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34" };
	void *f = NULL;

	for (size_t i = 0; !f && i < sizeof versions / sizeof *versions; i++)
		f = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	__atomic_store_n(&smi_linker, (dlsym_fn)f, __ATOMIC_RELEASE);
}

/* What to answer instead of the linker; NULL: nothing. */
void *smi_take(void *handle, const char *name)
{
	if (!__atomic_load_n(&smi_linker, __ATOMIC_ACQUIRE))
		find_linker();
	if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || !name ||
	    (strncmp(name, "rsmi_", 5) && strncmp(name, "amdsmi_", 7)))
		return NULL;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		const struct call *c = &calls[i];
		void *real, *where;

		if (strcmp(c->name, name) != 0)
			continue;
		real = smi_linker(handle, name);
		where = smi_linker(handle, c->where);
		if (!real || !where)
			return NULL;
		__atomic_store_n((void **)c->real, real, __ATOMIC_RELEASE);
		atomic_store_explicit(c->place, (place_fn)where, memory_order_release);
		return c->ours;
	}
	return NULL;
}
