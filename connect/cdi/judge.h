/*
 * judge.h: whether a runtime takes a CDI file. It takes a whole file or none of it, and says little where it does not.
 *
 * The rules are those of the specification (SPEC.md of container-device-interface, 0.3.0 to 1.1.0): known words, each
 * of its type, with what it must have.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* What is written as a number where a name belongs becomes a text. Value: true, or false and why, one line. */
bool judge_spec(json_t *spec, char *why, size_t size);
