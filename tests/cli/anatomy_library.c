/*
 * anatomy_library.c: a library with what the doctor looks for in one, and nothing behind it. Built several times:
 *
 *   -DPTX=75       an image with PTX for compute_75
 *   -DMACHINE=80   an image with machine code for sm_80, and for sm_90a
 *   -DSTATIC       what NVIDIA's runtime is known by (base/static_runtime.c)
 */
#include <stdint.h>

struct entry {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t payload_bytes;
	uint32_t packed_bytes, unused;
	uint16_t minor, major;
	uint32_t arch, name_offset, name_bytes;
	uint64_t flags, unused_too, unpacked_bytes;
	char payload[8];
};

#define ENTRY(of, is, bits)                                                                                            \
	{                                                                                                              \
		.kind = (of), .version = 0x101, .header_bytes = 64, .payload_bytes = 8, .arch = (is), .flags = (bits)  \
	}

enum {
	ENTRIES = 0
#ifdef PTX
		  + 1
#endif
#ifdef MACHINE
		  + 2
#endif
};

#if defined(PTX) || defined(MACHINE)
struct image {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes;
	struct entry entry[ENTRIES];
};

/* Two images behind one another, as a linker puts those of two objects. */
__attribute__((section(".nv_fatbin"), used, aligned(8))) static const struct image images[2] = { [0 ... 1] = {
	.magic = 0xba55ed50, .version = 1, .header_bytes = 16, .bytes = sizeof(struct entry) * ENTRIES,
	.entry = {
#ifdef PTX
		ENTRY(1, PTX, 0),
#endif
#ifdef MACHINE
		ENTRY(2, MACHINE, 0), ENTRY(2, 90, 0x100000),
#endif
	},
} };
#endif

#ifdef STATIC
__attribute__((used)) static const uint8_t runtime[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
							   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
#endif

__attribute__((visibility("default"))) int anatomy_library(void);
int anatomy_library(void)
{
	return 0;
}
