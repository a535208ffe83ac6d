/*
 * config_fuzz.c: meted.yaml from any bytes: nothing breaks, every fault is one printable line, and a file without
 * faults is printed and read back as the same settings. A libFuzzer target where FUZZ_ENGINE is defined, else a driver
 * of its own.
 */
#include "daemon/settings/config.h"
#include "daemon/settings/settings.h"
#include "text_fuzz.h"

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

int main(int argc, char **argv)
{
	struct text_fuzz f = { .name = "config_fuzz",
			       .corpus = corpus,
			       .texts = sizeof(corpus) / sizeof(*corpus),
			       .likely = ":-[]{}#&*!|>'\"%@?, \n\n  \tatrue/019.",
			       .most = 512,
			       .rounds = 40000 };

	return text_fuzz_main(f, argc, argv);
}
#endif
