/*
 * settings.h: the table of meted's settings. The options, the keys of meted.yaml, --help, the sample file and the
 * manual page meted.yaml(5) are generated from it.
 *
 * To add a setting: a field in struct options, and a row in settings.c. Rows of one group (http.listen, http.token)
 * must be adjacent.
 */
#pragma once

#include "daemon/settings/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum setting_type {		     /* determines the type of the field */
		    SETTING_SWITCH,  /* bool */
		    SETTING_NUMBER,  /* uint64_t */
		    SETTING_SECONDS, /* uint64_t, nanoseconds */
		    SETTING_MOMENTS, /* the same, written in seconds with up to three decimals; limits in ms */
		    SETTING_SIZE,    /* uint64_t, bytes; written as in base/size.h */
		    SETTING_PATH,    /* const char *; absolute in a file */
		    SETTING_TEXT,    /* const char * */
};

struct setting {
	const char *key;     /* in the file; the part before a dot is a group */
	const char *option;  /* on the command line, without its dashes; NULL: only in the file */
	const char *operand; /* the name of its value in --help; NULL: a switch */
	enum setting_type type;
	size_t offset;	      /* in struct options */
	uint64_t least, most; /* of a number, or of seconds; most 0: unbounded */
	bool reload;	      /* can change while meted runs */
	const char *fallback; /* the default, for people */
	const char *example;  /* a value for the sample file */
	const char *text;     /* its meaning, in sentences */
	/* A further check of a value; NULL: none. Value: 0, or -EINVAL with `why` ("wants ..."). */
	int (*check)(const char *value, char *why, size_t size);
};

extern const struct setting settings[];
extern const unsigned int setting_count;

/* Value: the row, or NULL. */
const struct setting *setting_find(const char *key);

/* A key or group name that is similar to this one; NULL: none. */
const char *setting_nearest(const char *key);

/* True if a key belongs to this group. */
bool setting_is_group(const char *name);

/*
 * Sets a value from its text. Value: 0, or -EINVAL (-ENOMEM) with the cause in `why`, to be appended to the name of the
 * option or key.
 */
int setting_set(struct options *o, const struct setting *s, const char *value, bool from_file, char *why, size_t size);

/* Parses a number within the setting's bounds. Value: as above. */
int setting_number(const struct setting *s, const char *value, uint64_t *ret, char *why, size_t size);

/* Prints the settings in the form of meted.yaml, each with its meaning; those that are not given are comments. */
void settings_print(const struct options *o, FILE *out);

/* Prints the options for --help. */
void settings_help(FILE *out);
