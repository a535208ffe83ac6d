/*
 * fuzz.h: the driver of a fuzz target for runs without a fuzzing engine: feeds the files named on the command line, then
 * mutations of them from a fixed seed for a few seconds. With -fsanitize=fuzzer and -DFUZZ_ENGINE the engine drives.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

#define FUZZ_BYTES ((size_t)1 << 18)
#define FUZZ_SECONDS 4

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "%s: %s does not hold\n", __FILE__, #cond);                                    \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

#ifndef FUZZ_ENGINE
static uint32_t fuzz_state = 2463534242u;

static inline uint32_t fuzz_random(uint32_t below)
{
	fuzz_state ^= fuzz_state << 13;
	fuzz_state ^= fuzz_state >> 17;
	fuzz_state ^= fuzz_state << 5;
	return below ? fuzz_state % below : 0;
}

/* One edit of data[0, length); `likely` are bytes that mean something in this language. */
static inline size_t fuzz_edit(uint8_t *data, size_t length, const char *likely)
{
	static const uint64_t numbers[] = { 0, 1, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff, ~0ull };
	size_t at = fuzz_random((uint32_t)length), from = fuzz_random((uint32_t)length), n = 1 + fuzz_random(64);
	uint64_t number = numbers[fuzz_random(9)];

	if (!length)
		return 0;
	switch (fuzz_random(7)) {
	case 0: /* a byte that means something */
		data[at] = (uint8_t)likely[fuzz_random((uint32_t)strlen(likely))];
		break;
	case 1: /* a bit */
		data[at] ^= (uint8_t)(1u << fuzz_random(8));
		break;
	case 2: /* a number, as bytes */
		memcpy(data + at, &number, length - at < 8 ? length - at : 8);
		break;
	case 3: /* a piece from elsewhere over this one */
		n = n > length - at ? length - at : n;
		n = n > length - from ? length - from : n;
		memmove(data + at, data + from, n);
		break;
	case 4: /* a piece from elsewhere in front of this one */
		if (length + 64 > FUZZ_BYTES)
			break;
		n = n > length - from ? length - from : n;
		memmove(data + at + n, data + at, length - at);
		if (from >= at)
			from += n;
		memmove(data + at, data + from, n);
		length += n;
		break;
	case 5: /* out with it */
		n = n > length - at ? length - at : n;
		memmove(data + at, data + at + n, length - at - n);
		length -= n;
		break;
	default: /* the end is missing */
		if (!fuzz_random(8))
			length = at;
	}
	return length;
}

struct fuzz_file {
	uint8_t *data;
	size_t length;
};

static inline int fuzz_main(int argc, char **argv, const char *likely)
{
	uint8_t *data = malloc(FUZZ_BYTES + 64);
	struct fuzz_file *file = calloc((size_t)argc, sizeof(*file));
	const char *seconds = getenv("FUZZ_SECONDS");
	const time_t until = time(NULL) + (seconds ? atoi(seconds) : FUZZ_SECONDS);
	unsigned long rounds = 0;
	uint32_t files = 0;

	check(data && file && argc > 1);
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");

		check(f);
		file[files].data = malloc(FUZZ_BYTES);
		check(file[files].data);
		file[files].length = fread(file[files].data, 1, FUZZ_BYTES, f);
		fclose(f);
		LLVMFuzzerTestOneInput(file[files].data, file[files].length);
		files++;
	}
	for (; time(NULL) < until; rounds++) {
		const struct fuzz_file *seed = &file[fuzz_random(files)];
		size_t length = seed->length;
		uint8_t *exact;

		memcpy(data, seed->data, length);
		for (uint32_t edits = 1 + fuzz_random(6); edits; edits--)
			length = fuzz_edit(data, length, likely);
		/* a copy of exactly this size: the address sanitizer sees one byte too many */
		exact = malloc(length ? length : 1);
		check(exact);
		memcpy(exact, data, length);
		LLVMFuzzerTestOneInput(exact, length);
		free(exact);
	}
	printf("%s: %u inputs and %lu mutations, no violation\n", argv[0], files, rounds);
	for (uint32_t i = 0; i < files; i++)
		free(file[i].data);
	free(file);
	free(data);
	return 0;
}
#endif
