/*
 * behind.h: the library that a face stands in front of under the same name. A face compiles this file in: it may look
 * for its library before it joins the core.
 */
#pragma once

struct behind {
	const char *stem;	       /* "libamdhip64.so" */
	const char *const *versions;   /* what may follow, the newest first, ended by NULL: ".7", "" */
	const char *const *first;      /* folders between LD_LIBRARY_PATH and the system's, ended by NULL; NULL: none */
	const char *const *last;       /* folders after the system's, the same */
	const char *symbol;	       /* what such a library exports */
	const char *setting;	       /* the variable that names another */
	const char *remedy;	       /* what to install where there is none */
};

/*
 * The library that the process has loaded already, or that of the version which its libraries ask for, or the newest in
 * LD_LIBRARY_PATH and the usual folders. Ours under whatever name is none. NULL: there is none, and the log says so.
 */
void *behind_find(const struct behind *b);
