/* own_library.c: see own_library.h; base/own_note.h says by what they are known. */
#include "daemon/health/own_library.h"

#include "base/own_note.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

struct search {
	ElfW(Addr) at;
	const char *found;
};

static size_t padded(size_t bytes)
{
	return (bytes + 3) / 4 * 4;
}

static const char *find_note(const char *at, size_t bytes)
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *head = (const void *)at;
		size_t owner = padded(head->n_namesz), text = padded(head->n_descsz);

		if (owner > bytes || text > bytes || sizeof(*head) + owner + text > bytes)
			return NULL;
		at += sizeof(*head);
		if (head->n_type == OWN_NOTE_TYPE && head->n_descsz == OWN_NOTE_TEXT_BYTES &&
		    head->n_namesz == sizeof(OWN_NOTE_OWNER) && !memcmp(at, OWN_NOTE_OWNER, sizeof(OWN_NOTE_OWNER)))
			return at + owner;
		at += owner + text;
		bytes -= sizeof(*head) + owner + text;
	}
	return NULL;
}

static int look(struct dl_phdr_info *info, size_t size, void *owner)
{
	struct search *s = owner;

	(void)size;
	if (info->dlpi_addr != s->at)
		return 0;
	for (unsigned int i = 0; !s->found && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			s->found = find_note((const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
					     info->dlpi_phdr[i].p_memsz);
	return 1;
}

const char *own_library(const struct link_map *map)
{
	struct search s = { .at = map->l_addr };

	dl_iterate_phdr(look, &s);
	return s.found;
}
