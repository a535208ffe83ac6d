/*
 * find.h: finds the libraries of NVIDIA that a worker calls, and those that they open later.
 *
 * A name without a folder is searched in the folders that meted's settings name (METE_LIBRARIES), both directly and in
 * the layout of Python packages, then by the dynamic linker, then in the usual folders of a toolkit.
 */
#pragma once

/* Opens the file or, for a name without "/", the first one that is found. NULL: none; dlerror() gives the reason. */
void *library_find(const char *name);
/* Opens the matching files beside an open library, and keeps them open. */
void library_open_beside(void *library, const char *pattern);
/*
 * Opens the compilers that NVIDIA's libraries load on first use, of the installed versions of CUDA: later a worker
 * cannot open files.
 */
void library_open_compilers(void);
