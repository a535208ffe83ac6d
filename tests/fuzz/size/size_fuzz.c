/*
 * size_fuzz.c: fuzz target for the size parser.
 *
 * LLVMFuzzerTestOneInput() is the entry that a fuzzing engine calls (link with -fsanitize=fuzzer and
 * -DFUZZ_ENGINE). Without an engine main() feeds it the corpus below and mutations of it from a fixed seed, so that
 * every run of the suite tries the same texts.
 * What must hold: nothing is written when a text is refused; a size that is accepted lies in the documented range,
 * and its human form reads back as a size within rounding.
 */
#include "base/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

#define check(cond)                                                                                                    \
	do {                                                                                                           \
		if (!(cond)) {                                                                                         \
			fprintf(stderr, "size_fuzz: \"%s\": %s is false\n", text, #cond);                             \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct size s = { .bytes = 4711, .pct = -1 }, again;
	char text[256], human[SIZE_TEXT_BYTES];
	int r;

	if (length >= sizeof(text))
		return 0;
	memcpy(text, data, length);
	text[length] = 0;
	r = size_parse(text, &s);
	if (r) {
		check(r >= SIZE_EMPTY && r <= SIZE_BAD_PERCENT);
		check(s.bytes == 4711 && s.pct == -1);
		check(strlen(size_fault_text(r)) > 10);
		return 0;
	}
	if (s.pct != 0) {
		check(s.bytes == 0 && s.pct > 0 && s.pct <= 100);
		return 0;
	}
	check(s.bytes > 0 && s.bytes <= SIZE_LIMIT_BYTES);
	size_format(s.bytes, human);
	check(size_parse(human, &again) == 0);
	check(again.bytes <= s.bytes + s.bytes / 20 + 1 && again.bytes + again.bytes / 20 + 1 >= s.bytes);
	return 0;
}

#ifndef FUZZ_ENGINE
static const char *const corpus[] = {
	"", "0", "1", "-1", "512M", "8G", "8GiB", "8 GiB", "8GB", "1.5G", "25%", "33.3 %", "100%", "101%", ".5G", "5.G",
	"18446744073709551615", "18446744073709551616", "2T", "3T", "16E", "0x10", "1e9", "nan", "8G ", "0.0000001K",
};

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* One to eight edits: a byte replaced, inserted or removed. */
static size_t mutate(uint8_t *data, size_t length, size_t size, uint32_t *state)
{
	static const char likely[] = "0123456789.%kKmMgGtTpPeEiIbB -+";

	for (uint32_t edits = 1 + next_random(state) % 8; edits; edits--) {
		size_t at = length ? next_random(state) % length : 0;
		uint32_t kind = next_random(state) % 3;
		uint8_t byte = (uint8_t)(next_random(state) % 4 ? likely[next_random(state) % (sizeof(likely) - 1)] :
								  (char)next_random(state));

		if (kind == 0 && length) {
			data[at] = byte;
		} else if (kind == 1 && length < size) {
			memmove(data + at + 1, data + at, length - at);
			data[at] = byte;
			length++;
		} else if (length) {
			memmove(data + at, data + at + 1, length - at - 1);
			length--;
		}
	}
	return length;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 300000;
	size_t texts = sizeof(corpus) / sizeof(*corpus);
	uint32_t state = 2463534242u;

	for (size_t i = 0; i < texts; i++)
		LLVMFuzzerTestOneInput((const uint8_t *)corpus[i], strlen(corpus[i]));
	for (unsigned long i = 0; i < rounds; i++) {
		const char *seed = corpus[next_random(&state) % texts];
		uint8_t data[64];
		size_t length = strlen(seed);

		memcpy(data, seed, length);
		length = mutate(data, length, sizeof(data), &state);
		LLVMFuzzerTestOneInput(data, length);
	}
	printf("size_fuzz: %zu texts and %lu mutations, no violation\n", texts, rounds);
	return 0;
}
#endif
