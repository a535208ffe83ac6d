/*
 * options.h: options that several verbs share, including the words of a share, as rows of their tables.
 */
#pragma once

#include "model/words.h"
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
#define GUARD_WORDS                                                                                                    \
	"Also limit device memory at the kernel's boundary, whatever calls the program makes: by eBPF programs "       \
	"(mete-guard; for containers, and as root), otherwise by a supervisor of its calls (mete-guard-notify), and "  \
	"by the driver's own limits of cgroups where it has them. If none of these works here, the program is not "    \
	"started, and `mete doctor` gives the reason. Not proven on hardware."
#define SWITCH(name, letter, words)                                                                                    \
	{                                                                                                              \
		name, letter, NULL, words, COMPLETE_NOTHING, false                                                     \
	}
#define OPTION_PLACE                                                                                                   \
	{ "place",                                                                                                     \
	  0,                                                                                                           \
	  "RULE",                                                                                                      \
	  "meted chooses the device, by a rule: spread (most memory that is not promised, then fewest tenants), "      \
	  "binpack (least left over) or fit (least fragmentation). Default: placement.rule of meted.yaml.",            \
	  COMPLETE_NOTHING,                                                                                            \
	  false },
#define OPTION_JSON SWITCH("json", 'j', "Print JSON, sizes in bytes.")
#define OPTION_WIDE SWITCH("wide", 'W', "Print all columns, however wide the output is.")
#define OPTION_SOFT SWITCH("soft", 's', "Use the software device even where there is a GPU.")
#define OPTION_HIP SWITCH("hip", 0, "Use a device that is used by HIP: AMD's (`mete devices`: DRIVER hip).")
#define OPTION_LEVELZERO                                                                                               \
	SWITCH("levelzero", 0, "Use a device that is used by Level Zero: Intel's (`mete devices`: DRIVER levelzero).")
#define OPTION_NPU                                                                                                     \
	SWITCH("ascend", 0, "Use a device of Ascend's (`mete devices`: DRIVER ascend)."),                              \
		SWITCH("cambricon", 0, "Use a device of Cambricon's (`mete devices`: DRIVER cambricon).")
#define OPTION_OPENCL SWITCH("opencl", 0, "Use a device that has OpenCL alone (`mete devices`: DRIVER opencl).")
/* The shapes of model/shapes.h. */
#define OPTION_SHAPES                                                                                                  \
	SWITCH("musa", 0, "Use a device of Moore Threads' (`mete devices`: DRIVER musa)."),                            \
		SWITCH("maca", 0, "Use a device of MetaX' (`mete devices`: DRIVER maca)."),                            \
		SWITCH("corex", 0, "Use a device of Iluvatar's (`mete devices`: DRIVER corex).")
/* One for each kind of device that a container can have (model/device.h). */
#define OPTION_KINDS OPTION_SOFT, OPTION_HIP, OPTION_SHAPES, OPTION_NPU, OPTION_LEVELZERO
#define OPTION_OVERCOMMIT SWITCH("overcommit", 'O', OVERCOMMIT_WORDS)
#define OPTION_SPILL                                                                                                   \
	SWITCH("spill", 0, SPILL_WORDS),                                                                               \
	{                                                                                                              \
		"resident", 0, "SIZE", RESIDENT_WORDS, COMPLETE_NOTHING, false                                         \
	}
#define OPTION_MEM(words)                                                                                              \
	{                                                                                                              \
		"mem", 'm', "SIZE", words, COMPLETE_NOTHING, true                                                      \
	}
#define OPTION_DEVICE(words)                                                                                           \
	{                                                                                                              \
		"device", 'd', "DEVICE", words, COMPLETE_DEVICE, true                                                  \
	}
/* The words of a share of the device's time, as in model/words.h. */
#define WORD_VALUE_PERCENT "PERCENT", COMPLETE_NOTHING
#define WORD_VALUE_POLICY "NAME", COMPLETE_POLICY
#define WORD_VALUE_CLASS "NAME", COMPLETE_CLASS
#define WORD_VALUE_COUNT "N", COMPLETE_NOTHING
#define WORD_VALUE_MS "MS", COMPLETE_NOTHING
#define WORD_OPTION_ROW(option, letter, value, complete, help) { option, letter, value, help, complete, true },
#define WORD_OPTION_OF(option, letter, value_and_complete, help)                                                       \
	WORD_OPTION_ROW(option, letter, value_and_complete, help)
#define WORD_OPTION(type, member, term, key, column, option, letter, least, most, help)                                \
	WORD_OPTION_OF(option, letter, WORD_VALUE_##type, help)
/* Ends with a comma. */
#define OPTION_TERMS SHARE_WORDS(WORD_OPTION)
/* clang-format on */

#define OVERCOMMIT_WORDS                                                                                               \
	"Let the grants of a device promise more memory than it has. A program that allocates late may then be "       \
	"refused memory that was promised."

#define SPILL_WORDS                                                                                                    \
	"Let its memory leave the device for the host while others need the room, and return to the same addresses; "  \
	"its programs wait meanwhile. Such grants may together hold more memory than the device has. For grants of "   \
	"one device."
#define RESIDENT_WORDS                                                                                                 \
	"With --spill: keep its memory on the device as long as it holds at most this amount. Default: 0."

#define EXPIRES_WORDS                                                                                                  \
	"How long the grant waits for its first program: 90s, 10m, 1h, 7d, or never. Then it ends and is promised to " \
	"nobody. "
#define OPTION_EXPIRES(words)                                                                                          \
	{                                                                                                              \
		"expires", 0, "TIME", EXPIRES_WORDS words, COMPLETE_NOTHING, false                                     \
	}
