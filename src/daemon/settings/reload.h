/*
 * reload.h: SIGHUP: applies the settings file again, as far as settings can change under running programs.
 *
 * The folder of memory.disk is checked first, beside the loop: meted continues to serve while a disk does not respond.
 * A reload that is requested meanwhile begins when this one is over, and reads the file again.
 */
#pragma once

struct daemon;
struct options;

/* `options`: those in force, which change in place. */
void reload_begin(struct daemon *daemon, struct options *options);
/* Abandons a running reload. */
void reload_stop(struct daemon *daemon);
