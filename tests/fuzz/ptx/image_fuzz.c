/*
 * image_fuzz.c: fuzz target for the reader of program images: an input is a fat binary, an ELF file or a text. What comes out is
 * text that ends where it says, and a refusal says why.
 */
#include "fuzz.h"

#include "softdev/image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	static const uint32_t arch[] = { 90, 75, 50, 100 };

	for (int i = 0; i < 4; i++) {
		struct image_ptx ptx = { 0 };
		char why[200] = "";
		int r = image_find_ptx_bounded(data, length, arch[i], &ptx, why, sizeof(why));

		check(r >= IMAGE_OK && r <= IMAGE_INVALID);
		check(r == IMAGE_OK ? ptx.count > 0 : ptx.count == 0 && strlen(why) > 0);
		for (size_t k = 0; k < ptx.count; k++) {
			check(strlen(ptx.text[k].text) == ptx.text[k].bytes);
			check(ptx.text[k].arch <= arch[i]);
		}
		image_ptx_deinit(&ptx);
	}
	return 0;
}

#ifndef FUZZ_ENGINE
int main(int argc, char **argv)
{
	return fuzz_main(argc, argv, "\x01\x02\x08\x10\x20\x40\x80\xff.P");
}
#endif
