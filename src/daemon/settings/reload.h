/*
 * reload.h: SIGHUP: what the file says now takes effect, as far as it can change under running programs.
 *
 * The folder of memory.disk is looked at first, beside the loop: meted serves on while a disk does not answer. One more
 * reload that is asked for meanwhile begins when this one is over, and reads the file again.
 */
#pragma once

struct daemon;
struct options;

/* `options`: those that are in force, which change in place. */
void reload_begin(struct daemon *daemon, struct options *options);
/* One that is not over is given up. */
void reload_stop(struct daemon *daemon);
