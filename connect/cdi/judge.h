/*
 * judge.h: whether a runtime accepts a CDI file. A runtime accepts a whole file or none of it, and reports little about
 * a refusal.
 *
 * The rules are those of the specification (SPEC.md of container-device-interface, 0.3.0 to 1.1.0): known words, each
 * with its type and required members.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Converts a number in the place of a name to a text. Value: true, or false with the reason in one line. */
bool judge_spec(json_t *spec, char *why, size_t size);
