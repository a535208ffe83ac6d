/*
 * config_fuzz.c: meted.yaml from any bytes: nothing breaks, every fault is one printable line, and a file without
 * faults is printed and read back as the same settings. A libFuzzer target where FUZZ_ENGINE is defined, else a driver
 * of its own.
 */
#include "daemon/settings/config.h"
#include "daemon/settings/settings.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_fault(void *user, const char *line)
{
	unsigned int *count = user;

	++*count;
	for (const char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			abort();
	if (strncmp(line, "f:", 2) || strlen(line) >= CONFIG_LINE_BYTES)
		abort();
}

static void read_back(const struct options *o)
{
	struct options again = { .ready_fd = -1 };
	unsigned int faults = 0;
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	if (!out)
		abort();
	settings_print(o, out);
	fclose(out);
	if (config_parse(&again, "f", text, length, on_fault, &faults))
		abort();
	for (unsigned int i = 0; i < setting_count; i++)
		if (!o->text[i] != !again.text[i] || (o->text[i] && strcmp(o->text[i], again.text[i])))
			abort();
	options_deinit(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct options o = { .ready_fd = -1 };
	unsigned int said = 0, faults = config_parse(&o, "f", (const char *)data, length, on_fault, &said);

	if (faults != said)
		abort();
	if (!faults)
		read_back(&o);
	options_deinit(&o);
	return 0;
}

#ifndef FUZZ_ENGINE
static const char *const corpus[] = {
	"",
	"# nothing\n",
	"system: true\n",
	"driver:\n  soft_only: yes\n  libcuda: /a/b.so\n",
	"driver: {soft_only: On}\n",
	"state_dir: \"/a b\\\"c\"\n",
	"log: '/x: y #z'\n",
	"exit_when_idle: 600\n",
	"a: [1, {b: c}]\n",
	"? [x]\n: y\n",
	"a: &x b\nc: *x\n",
	"---\nsystem: no\n...\n---\n",
	"state_dir: |\n  /a\n  /b\n",
	"http:\n  listen: 127.0.0.1:7480\n",
	"!!str system: true\n",
	"%YAML 1.1\n---\nsystem: ~\n",
	"state_dir: \"\\u00e4\\x01\"\n",
	"\xef\xbb\xbfsystem: true\n",
};

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* One to six edits: a byte replaced, inserted or removed, or a piece of another text. */
static size_t mutate(uint8_t *data, size_t length, size_t size, uint32_t *state)
{
	static const char likely[] = ":-[]{}#&*!|>'\"%@?, \n\n  \tatrue/019.";

	for (uint32_t edits = 1 + next_random(state) % 6; edits; edits--) {
		size_t at = length ? next_random(state) % length : 0;
		const char *other = corpus[next_random(state) % (sizeof(corpus) / sizeof(*corpus))];
		uint8_t byte = (uint8_t)(next_random(state) % 6 ? likely[next_random(state) % (sizeof(likely) - 1)]
								: (char)next_random(state));

		switch (next_random(state) % 4) {
		case 0:
			if (length)
				data[at] = byte;
			break;
		case 1:
			if (length < size) {
				memmove(data + at + 1, data + at, length - at);
				data[at] = byte;
				length++;
			}
			break;
		case 2:
			if (length)
				memmove(data + at, data + at + 1, --length - at);
			break;
		default:
			if (length + strlen(other) <= size) {
				memcpy(data + length, other, strlen(other));
				length += strlen(other);
			}
		}
	}
	return length;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 40000;
	size_t texts = sizeof(corpus) / sizeof(*corpus);
	uint32_t state = 2463534242u;

	for (size_t i = 0; i < texts; i++)
		LLVMFuzzerTestOneInput((const uint8_t *)corpus[i], strlen(corpus[i]));
	for (unsigned long i = 0; i < rounds; i++) {
		const char *seed = corpus[next_random(&state) % texts];
		uint8_t data[512];
		size_t length = strlen(seed);

		memcpy(data, seed, length);
		length = mutate(data, length, sizeof(data), &state);
		LLVMFuzzerTestOneInput(data, length);
	}
	printf("config_fuzz: %zu texts and %lu mutations, no violation\n", texts, rounds);
	return 0;
}
#endif
