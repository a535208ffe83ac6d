/* elf.h: what an ELF file says of itself that decides whether it can be loaded. 64-bit, little-endian files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_GLIBC(major, minor) ((major)*1000u + (minor))
#define ELF_LIBRARIES 16 /* of what a file is linked against, those that are kept */
#define ELF_NAME_BYTES 48

struct elf {
	uint16_t machine;	    /* EM_X86_64, ... */
	bool dynamic;		    /* it has a dynamic section */
	char interpreter[128];	    /* the loader that it asks for; "": none */
	unsigned int glibc_needed;  /* the youngest GLIBC_x.y that it asks for, as ELF_GLIBC(); 0: none */
	unsigned int glibc_defined; /* the youngest that it defines: it is glibc itself */
	char libraries[ELF_LIBRARIES][ELF_NAME_BYTES]; /* by name, as the loader looks for them; longer names are cut */
	unsigned int library_count;
};

/*
 * Reads an open file, whoever has made it; its position does not matter. Takes some ten milliseconds at most. Value: 0,
 * -ENOEXEC when it is no such file, or none that a linker would have made, or another -errno.
 */
int elf_read(int fd, struct elf *ret);
/* The same of a file that is in memory. */
int elf_read_bytes(const void *bytes, size_t size, struct elf *ret);

/* "2.36". Value: text. */
const char *elf_glibc_text(unsigned int version, char text[16]);
