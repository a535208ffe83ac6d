/*
 * elf_fuzz.c: fuzz target for the reading of libraries in images (connect/cdi/elf.c): nothing outside the file is read,
 * no file takes long, texts end.
 */
#include "../ptx/fuzz.h"
#include "connect/cdi/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct elf elf;
	char text[16];
	int r = elf_read_bytes(data, length, &elf);

	check(r <= 0);
	check(memchr(elf.interpreter, 0, sizeof(elf.interpreter)));
	elf_glibc_text(elf.glibc_needed, text);
	elf_glibc_text(elf.glibc_defined, text);
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, "\177ELF\2\1GLIBC_2.17");
}
#endif
