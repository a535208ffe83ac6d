/*
 * behind.h: finds the vendor's library that a face replaces under the same name. Each face compiles this file in,
 * because it may need the library before it joins the core.
 */
#pragma once

struct behind {
	const char *stem;	       /* "libamdhip64.so" */
	const char *const *versions;   /* suffixes, the newest first, ended by NULL: ".7", "" */
	const char *const *first;      /* folders searched after LD_LIBRARY_PATH, ended by NULL; NULL: none */
	const char *const *last;       /* folders searched after the system's, likewise */
	const char *symbol;	       /* a symbol that such a library exports */
	const char *setting;	       /* the environment variable that names another library */
	const char *remedy;	       /* what to install if there is none; for the log */
};

/*
 * Returns the handle of the library. If the variable `setting` is set, it is that library alone. Otherwise it is the
 * one that the process has loaded already, else the version that the process's libraries require, else the newest in
 * LD_LIBRARY_PATH and the usual folders. mete's own library is never returned, under whatever name. NULL: none was
 * found, and the log says so.
 */
void *behind_find(const struct behind *b);
