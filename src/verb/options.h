/*
 * options.h: options that several verbs have, the words of a share among them, as rows of their tables.
 */
#pragma once

#include "verb/verb.h"

/* clang-format off: a row is a line */
#define OPTION_END                                                                                                     \
	{                                                                                                              \
		NULL, 0, NULL, NULL, COMPLETE_NOTHING, false                                                           \
	}
#define EXAMPLE_END                                                                                                    \
	{                                                                                                              \
		NULL, NULL                                                                                             \
	}
#define SWITCH(name, letter, words)                                                                                    \
	{                                                                                                              \
		name, letter, NULL, words, COMPLETE_NOTHING, false                                                     \
	}
#define OPTION_JSON SWITCH("json", 'j', "Print JSON, sizes in bytes.")
#define OPTION_SOFT SWITCH("soft", 's', "Use the software device even where there is a GPU.")
#define OPTION_OVERCOMMIT SWITCH("overcommit", 'O', OVERCOMMIT_WORDS)
#define OPTION_MEM(words)                                                                                              \
	{                                                                                                              \
		"mem", 'm', "SIZE", words, COMPLETE_NOTHING, true                                                      \
	}
#define OPTION_DEVICE(words)                                                                                           \
	{                                                                                                              \
		"device", 'd', "DEVICE", words, COMPLETE_DEVICE, true                                                  \
	}
#define OPTION_TERMS                                                                                                   \
	{ "cores", 'c', "PERCENT", CORES_WORDS, COMPLETE_NOTHING, true },                                              \
		{ "cores-limit", 'C', "PERCENT", LIMIT_WORDS, COMPLETE_NOTHING, true },                                \
		{ "policy", 'p', "NAME", POLICY_WORDS, COMPLETE_POLICY, true },                                        \
		{ "class", 'k', "NAME", CLASS_WORDS, COMPLETE_CLASS, true },                                           \
		{ "weight", 'w', "N", WEIGHT_WORDS, COMPLETE_NOTHING, true },                                          \
	{                                                                                                              \
		"turn", 't', "MS", TURN_WORDS, COMPLETE_NOTHING, true                                                  \
	}
/* clang-format on */

/* Shares of the device's time: the same words wherever they may be said. */
#define CORES_WORDS                                                                                                    \
	"The percentage of the device's time that is guaranteed while there is work, 1 to 100: 30 or 12.5. With "      \
	"--policy fixed, which it means alone, also the most. Given once it holds for every --device, else once for "  \
	"each, as all that follows."
#define LIMIT_WORDS "The most of the device's time, in percent, also when it is idle. Default: 100."
#define POLICY_WORDS                                                                                                   \
	"How the device's time is shared; `mete policy` lists the names. Default: fixed with --cores alone, elastic "  \
	"with "                                                                                                        \
	"--cores-limit too, else the device's default."
#define CLASS_WORDS                                                                                                    \
	"high goes before low within one bounded batch, and needs root or the daemon's own user; low gets what the "   \
	"others "                                                                                                      \
	"leave. Default: normal."
#define WEIGHT_WORDS                                                                                                   \
	"The part of what is left after the guarantees, in proportion to others' weights, 1 to 10000. Default: 100."
#define TURN_WORDS "With --policy exclusive: how long a turn lasts, in milliseconds, 10 to 600000. Default: 10000."

#define OVERCOMMIT_WORDS                                                                                               \
	"Let the grants of a device promise more than it has; who comes late may then be refused memory that was "     \
	"promised."

#define EXPIRES_WORDS                                                                                                  \
	"How long the grant waits for its first program: 90s, 10m, 1h, 7d, or never. Then it ends and is promised to " \
	"nobody. "
#define OPTION_EXPIRES(words)                                                                                          \
	{                                                                                                              \
		"expires", 0, "TIME", EXPIRES_WORDS words, COMPLETE_NOTHING, false                                     \
	}
