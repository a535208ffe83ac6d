/*
 * size_fuzz.c: fuzz target for the size parser.
 *
 * LLVMFuzzerTestOneInput() is the entry that a fuzzing engine calls; without one text_fuzz.h feeds it the corpus below.
 * What must hold: nothing is written when a text is refused; a size that is accepted lies in the documented range,
 * and its human form reads back as a size within rounding.
 */
#include "base/size.h"
#include "text_fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	r = size_parse(human, &again);
	if (r == SIZE_ABSURD) { /* rounded up to what no device has */
		check(s.bytes > SIZE_LIMIT_BYTES - SIZE_LIMIT_BYTES / 20);
		return 0;
	}
	check(r == 0);
	check(again.bytes <= s.bytes + s.bytes / 20 + 1 && again.bytes + again.bytes / 20 + 1 >= s.bytes);
	return 0;
}

#ifndef FUZZ_ENGINE
static const char *const corpus[] = {
	"", "0", "1", "-1", "512M", "8G", "8GiB", "8 GiB", "8GB", "1.5G", "25%", "33.3 %", "100%", "101%", ".5G", "5.G",
	"18446744073709551615", "18446744073709551616", "2T", "3T", "16E", "0x10", "1e9", "nan", "8G ", "0.0000001K",
	".9999922322t",
};

int main(int argc, char **argv)
{
	struct text_fuzz f = { .name = "size_fuzz",
			       .corpus = corpus,
			       .texts = sizeof(corpus) / sizeof(*corpus),
			       .likely = "0123456789.%kKmMgGtTpPeEiIbB -+",
			       .most = 64,
			       .rounds = 300000 };

	return text_fuzz_main(f, argc, argv);
}
#endif
