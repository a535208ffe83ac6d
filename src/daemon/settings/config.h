/*
 * config.h: reads meted.yaml: settings as YAML, with one level of groups.
 *
 *   runtime_dir: /run/mete
 *   driver:
 *     libcuda: /opt/driver/libcuda.so.1
 *
 * Everything else is refused with its line number: unknown keys (with the nearest known key), duplicate keys, lists,
 * anchors, values of the wrong type. Only root and the user who reads the file may have write permission for it.
 */
#pragma once

#include "daemon/settings/options.h"

#include <stddef.h>

#define CONFIG_BYTES 65536u /* a longer file is refused */
#define CONFIG_LINE_BYTES 512u

/* Receives one line about an error, "FILE:LINE: ...", with the remedy. */
typedef void (*config_fault_fn)(void *user, const char *line);

/* Adds the file's settings to those of the command line, which have precedence. Value: the number of errors. */
unsigned int config_read(struct options *o, const char *path, config_fault_fn fault, void *user);

/* The same for a text in memory. */
unsigned int config_parse(struct options *o, const char *path, const char *text, size_t length, config_fault_fn fault,
			  void *user);
