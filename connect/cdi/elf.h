/* elf.h: the properties of an ELF file that decide whether it can be loaded. 64-bit, little-endian files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_GLIBC(major, minor) ((major)*1000u + (minor))
#define ELF_LIBRARIES 16 /* number of dependencies that are kept */
#define ELF_NAME_BYTES 48

struct elf {
	uint16_t machine;	    /* EM_X86_64, ... */
	bool dynamic;		    /* it has a dynamic section */
	char interpreter[128];	    /* the loader that it requests; "": none */
	unsigned int glibc_needed;  /* the highest GLIBC_x.y that it requires, as ELF_GLIBC(); 0: none */
	unsigned int glibc_defined; /* the highest that it defines: it is glibc itself */
	char libraries[ELF_LIBRARIES][ELF_NAME_BYTES]; /* names of dependencies; longer names are truncated */
	unsigned int library_count;
};

/*
 * Reads an open file, which need not be trusted; its position does not matter. Takes some ten milliseconds at most.
 * Value: 0; -ENOEXEC: not such a file, or not one that a linker would produce; or another -errno.
 */
int elf_read(int fd, struct elf *ret);
/* The same for a file in memory. */
int elf_read_bytes(const void *bytes, size_t size, struct elf *ret);

/* "2.36". Value: text. */
const char *elf_glibc_text(unsigned int version, char text[16]);
