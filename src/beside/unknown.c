/* unknown.c: see unknown.h. */
#include "beside/unknown.h"

#include "base/setting.h"
#include "beside/start.h"
#include "core/attach.h"
#include "core/log.h"

#include <ctype.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const char *const takes[] = { "Malloc", "MemAlloc", "Launch", "Invoke", "Execute", NULL };
/* The host's memory, functions of the host, and what neither takes memory nor computes: cache operations, barriers. */
static const char *const harmless[] = { "Host", "Callback", "Cmo", "Barrier", NULL };

struct look {
	unsigned int found;
	char first[64];
};

static bool has_one(const char *name, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		if (strstr(name, words[i]))
			return true;
	return false;
}

static bool is_vendors_call(const char *name)
{
	for (size_t i = 0; vendor_prefixes[i]; i++) {
		size_t n = strlen(vendor_prefixes[i]);

		if (!strncmp(name, vendor_prefixes[i], n) && isupper((unsigned char)name[n]))
			return true;
	}
	return false;
}

static bool is_known(const char *name)
{
	for (unsigned int i = 0; i < VENDOR_CALL_COUNT; i++)
		if (!strcmp(name, vendor_call_name[i]))
			return true;
	return false;
}

static void look_at(struct look *look, const char *name)
{
	if (!is_vendors_call(name) || !has_one(name, takes) || has_one(name, harmless) || is_known(name))
		return;
	if (!look->found++)
		strncpy(look->first, name, sizeof(look->first) - 1);
	attach_unknown(name, true);
}

/* Some loaders put the address into the table that they have mapped, others leave the offset. */
static const void *at(const struct dl_phdr_info *info, uint64_t value)
{
	uintptr_t address = value < info->dlpi_addr ? info->dlpi_addr + value : value;

	return (const void *)address; // NOLINT(performance-no-int-to-ptr)
}

static int look_into(struct dl_phdr_info *info, size_t size, void *data)
{
	const ElfW(Dyn) *dynamic = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	const uint32_t *gnu = NULL, *old = NULL;
	uint32_t count;

	(void)size;
	if (start_vendors_library(info->dlpi_name)) /* they ask each other for what the face has seen at their door */
		return 0;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const void *)(uintptr_t)(info->dlpi_addr +
							    info->dlpi_phdr[i]
								    .p_vaddr); // NOLINT(performance-no-int-to-ptr)
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = at(info, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_STRTAB)
			names = at(info, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_GNU_HASH)
			gnu = at(info, dynamic->d_un.d_ptr);
		else if (dynamic->d_tag == DT_HASH)
			old = at(info, dynamic->d_un.d_ptr);
	}
	/* What is asked for stands before what is hashed; the older table counts all. */
	count = gnu ? gnu[1] : old ? old[1] : 0;
	for (uint32_t i = 1; symbols && names && i < count; i++)
		if (symbols[i].st_shndx == SHN_UNDEF && symbols[i].st_name)
			look_at(data, names + symbols[i].st_name);
	return 0;
}

bool unknown_refused(void)
{
	struct look look = { 0 };
	const char *strict = setting_get("METE_STRICT");

	dl_iterate_phdr(look_into, &look);
	if (!look.found || !strict || strcmp(strict, "1") != 0)
		return false;
	log_line("%s is unknown to this release and is not metered: --strict refuses this program; install a newer "
		 "mete",
		 look.first);
	return true;
}
