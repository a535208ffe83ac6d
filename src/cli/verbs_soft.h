/* verbs_soft.h: the texts and options of `mete soft`'s verbs, for the table of verbs.c. */
#pragma once

#include "verb/verb.h"

extern const struct option_spec soft_run_options[];
extern const char *const soft_run_details[];
extern const struct example soft_run_examples[];
extern const struct option_spec soft_cc_options[];
extern const char *const soft_cc_details[];
extern const struct example soft_cc_examples[];
extern const struct option_spec soft_devices_options[];
extern const char *const soft_devices_details[];
extern const struct option_spec soft_fault_options[];
extern const char *const soft_fault_details[];
extern const struct example soft_fault_examples[];
