/*
 * text_fuzz.h: the driver of a fuzz target for short texts, for runs without a fuzzing engine: feeds a corpus that the
 * target has in itself, and as many mutations of it as asked for, from a fixed seed: every run tries the same texts.
 * With -fsanitize=fuzzer and -DFUZZ_ENGINE the engine drives.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

#ifndef FUZZ_ENGINE
struct text_fuzz {
	const char *name;
	const char *const *corpus;
	size_t texts;
	const char *likely;   /* bytes that mean something in this language */
	size_t most;	      /* bytes of a text, at most 512 */
	unsigned long rounds; /* when the command line says nothing */
	uint32_t state;
};

static inline uint32_t text_fuzz_random(struct text_fuzz *f)
{
	f->state ^= f->state << 13;
	f->state ^= f->state >> 17;
	f->state ^= f->state << 5;
	return f->state;
}

static inline uint8_t text_fuzz_byte(struct text_fuzz *f)
{
	uint32_t any = text_fuzz_random(f);

	return (uint8_t)(any % 5 ? (uint32_t)f->likely[text_fuzz_random(f) % strlen(f->likely)] : any >> 8);
}

/* One edit: a byte replaced, inserted or removed, or a piece of another text. Value: the new length. */
static inline size_t text_fuzz_edit(struct text_fuzz *f, uint8_t *data, size_t length)
{
	const char *other = f->corpus[text_fuzz_random(f) % f->texts];
	size_t at = length ? text_fuzz_random(f) % length : 0;

	switch (text_fuzz_random(f) % 4) {
	case 0:
		if (length)
			data[at] = text_fuzz_byte(f);
		return length;
	case 1:
		if (length == f->most)
			return length;
		memmove(data + at + 1, data + at, length - at);
		data[at] = text_fuzz_byte(f);
		return length + 1;
	case 2:
		if (!length)
			return length;
		memmove(data + at, data + at + 1, length - at - 1);
		return length - 1;
	default:
		if (length + strlen(other) > f->most)
			return length;
		memcpy(data + length, other, strlen(other));
		return length + strlen(other);
	}
}

static inline int text_fuzz_main(struct text_fuzz f, int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : f.rounds;

	f.state = 2463534242u;
	for (size_t i = 0; i < f.texts; i++)
		LLVMFuzzerTestOneInput((const uint8_t *)f.corpus[i], strlen(f.corpus[i]));
	for (unsigned long i = 0; i < rounds; i++) {
		const char *seed = f.corpus[text_fuzz_random(&f) % f.texts];
		uint8_t data[512];
		size_t length = strlen(seed);

		if (length > f.most || f.most > sizeof(data))
			abort();
		memcpy(data, seed, length);
		for (uint32_t edits = 1 + text_fuzz_random(&f) % 8; edits; edits--)
			length = text_fuzz_edit(&f, data, length);
		LLVMFuzzerTestOneInput(data, length);
	}
	printf("%s: %zu texts and %lu mutations, no violation\n", f.name, f.texts, rounds);
	return 0;
}
#endif
