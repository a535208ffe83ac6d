/*
 * say.h: the output of a verb: lines on standard error, JSON on standard output.
 *
 * Texts from outside (names, lines of a tenant's log) are printed without their control characters, so that no program
 * can send escape sequences to the operator's terminal through mete.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* "mete: TEXT" on stderr. The prefix is coloured on a terminal unless NO_COLOR is set. */
void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_warning(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* True if colours are allowed on this stream: a terminal that is not "dumb", and NO_COLOR is unset or empty. */
bool colour_wanted(FILE *stream);

/* Prints {KEY: value} and takes the reference. Value: an exit status. */
int print_json(const char *key, json_t *value);
