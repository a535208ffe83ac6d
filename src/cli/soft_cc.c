/*
 * soft_cc.c: `mete soft cc`: nvcc with what a program needs that is to run on the software device.
 *
 * That is: PTX in the program (a target sm_90 becomes compute_90), and a CUDA runtime library that does not insist on
 * NVIDIA's driver. The shared one is asked for; where a build asks for the static one, mete's own libcudart_static.a is
 * found before NVIDIA's. Everything else goes to nvcc as it is. mete becomes nvcc: its status is nvcc's.
 */
#include "client/place.h"
#include "client/program.h"
#include "verb/say.h"
#include "verb/verb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN_WORDS 12

struct cc {
	char nvcc[PATH_MAX];
	char **words; /* owned, as its texts */
	size_t count;
	bool has_target; /* the user names what the kernels are for */
	bool has_runtime;
};

static bool add(struct cc *c, const char *text)
{
	c->words[c->count] = strdup(text);
	return c->words[c->count++] != NULL;
}

/* ---- where nvcc is ---- */

static bool take(const char *folder, char ret[PATH_MAX])
{
	return folder && *folder && path_join(ret, "%s/bin/nvcc", folder) && !access(ret, X_OK);
}

static int find_nvcc(char ret[PATH_MAX], struct fault *f)
{
	const char *named = getenv("METE_NVCC");
	struct fault none;

	if (named && *named) {
		if (path_join(ret, "%s", named) && !access(ret, X_OK))
			return 0;
		return fault_set(f, -ENOENT, "METE_NVCC=%s: no program; name the toolkit's nvcc, or unset it", named);
	}
	if (!program_find("nvcc", ret, &none) || take(getenv("CUDA_HOME"), ret) || take(getenv("CUDA_PATH"), ret) ||
	    take(getenv("CONDA_PREFIX"), ret) || take("/usr/local/cuda", ret) || take("/opt/cuda", ret))
		return 0;
	return fault_set(f, -ENOENT,
			 "no nvcc in PATH, CUDA_HOME, CUDA_PATH, CONDA_PREFIX or /usr/local/cuda; install the CUDA "
			 "toolkit's compiler (package cuda-nvcc), or name one in METE_NVCC");
}

/* "V13.0.88" of `nvcc --version`: 13. 0: it says nothing of the kind. */
static unsigned int nvcc_major(const char *nvcc)
{
	unsigned int major = 0;
	char *command = NULL, line[256], *at;
	FILE *f = NULL;

	if (!strchr(nvcc, '\'') && asprintf(&command, "'%s' --version 2>/dev/null", nvcc) >= 0)
		f = popen(command, "re");
	while (f && fgets(line, sizeof(line), f))
		if ((at = strstr(line, "release ")))
			sscanf(at + 8, "%u", &major);
	if (f)
		pclose(f);
	free(command);
	return major;
}

/* ---- words ---- */

/* The value of an option that is written in one word or in two; NULL: it is not this option. */
static const char *value_of(char **args, int *at, const char *const *names)
{
	for (; *names; names++) {
		size_t n = strlen(*names);

		if (strncmp(args[*at], *names, n))
			continue;
		if (args[*at][n] == '=')
			return args[*at] + n + 1;
		if (!args[*at][n] && args[*at + 1])
			return args[++*at];
	}
	return NULL;
}

/* Every sm_ becomes compute_: "arch=compute_90,code=sm_90", "sm_90,compute_90". */
static char *for_ptx(const char *value)
{
	char *text = calloc(1, 3 * strlen(value) + 1), *to = text;

	while (text && *value) {
		bool begins = to == text || !strchr("abcdefghijklmnopqrstuvwxyz_", to[-1]);

		if (begins && !strncmp(value, "sm_", 3)) {
			to = stpcpy(to, "compute_");
			value += 3;
		} else if (begins && !strncmp(value, "lto_", 4)) {
			to = stpcpy(to, "compute_");
			value += 4;
		} else {
			*to++ = *value++;
		}
	}
	return text;
}

/* "native", "all", "all-major": what this machine has, or everything; here that is the device's own. */
static bool is_summary(const char *value)
{
	return !strcmp(value, "native") || !strncmp(value, "all", 3);
}

static bool add_target(struct cc *c, const char *option, const char *value)
{
	char *text, *word = NULL;
	bool done;

	if (is_summary(value))
		return true;
	c->has_target = true;
	text = for_ptx(value);
	done = text && asprintf(&word, "%s=%s", option, text) >= 0 && add(c, word);
	free(text);
	free(word);
	return done;
}

static bool add_word(struct cc *c, char **args, int *at)
{
	static const char *const arch[] = { "-arch", "--gpu-architecture", NULL };
	static const char *const code[] = { "-code", "--gpu-code", NULL };
	static const char *const both[] = { "-gencode", "--generate-code", NULL };
	static const char *const runtime[] = { "-cudart", "--cudart", NULL };
	const char *value;

	if ((value = value_of(args, at, arch)))
		return add_target(c, "-arch", value);
	if ((value = value_of(args, at, code)))
		return add_target(c, "-code", value);
	if ((value = value_of(args, at, both)))
		return add_target(c, "-gencode", value);
	if ((value = value_of(args, at, runtime))) {
		c->has_runtime = true;
		return add(c, "-cudart") && add(c, value);
	}
	return add(c, args[*at]);
}

/* Of the device that programs will find. */
static bool add_own_target(struct cc *c)
{
	const char *cc = getenv("METE_SOFT_CC");
	unsigned int major = 9, minor = 0;
	char word[64];

	if (cc && sscanf(cc, "%u.%u", &major, &minor) != 2) {
		major = 9;
		minor = 0;
	}
	snprintf(word, sizeof(word), "arch=compute_%u%u,code=compute_%u%u", major, minor, major, minor);
	return add(c, "-gencode") && add(c, word);
}

/* Where `-lcudart_static` is mete's. */
static bool add_archive(struct cc *c, const struct place *place)
{
	char folder[PATH_MAX], path[PATH_MAX];
	unsigned int major = nvcc_major(c->nvcc);

	if (!*place->runtime_dir || !path_join(folder, "%s/static-%u", place->runtime_dir, major) ||
	    !path_join(path, "%s/libcudart_static.a", folder) || access(path, R_OK))
		return true;
	return add(c, "-L") && add(c, folder);
}

/* As a launcher before the compiler: the first word is nvcc, which is the one that is meant. Value: words to skip. */
static int names_nvcc(const struct command_line *line)
{
	const char *first = line->args[0], *slash = strrchr(first, '/');

	return !strcmp(slash ? slash + 1 : first, "nvcc");
}

static bool write_words(struct cc *c, const struct command_line *line, const struct place *place)
{
	bool done;

	c->words = calloc((size_t)line->arg_count * 2 + OWN_WORDS, sizeof(*c->words));
	done = c->words && add(c, c->nvcc) && add_archive(c, place);
	for (int i = names_nvcc(line); done && i < line->arg_count; i++)
		done = add_word(c, line->args, &i);
	if (done && !c->has_target)
		done = add_own_target(c);
	if (done && !c->has_runtime)
		done = add(c, "-cudart") && add(c, "shared");
	return done;
}

VERB(soft_cc)
{
	struct cc c = { 0 };
	struct place place;
	struct fault f = { .text = "" };

	if (names_nvcc(line) && strchr(line->args[0], '/') && setenv("METE_NVCC", line->args[0], 1))
		return EXIT_RUN_FAILED;
	if (find_nvcc(c.nvcc, &f)) {
		say_error("%s", f.text);
		return EXIT_RUN_NOT_FOUND;
	}
	place_find(&place, &f); /* without its parts nvcc is asked all the same */
	if (!write_words(&c, line, &place)) {
		say_error("no memory for nvcc's command line; end other programs");
		return EXIT_RUN_FAILED;
	}
	execv(c.nvcc, c.words);
	say_error("%s: %s; name another one in METE_NVCC", c.nvcc, strerror(errno));
	return EXIT_RUN_NOT_EXECUTABLE;
}
