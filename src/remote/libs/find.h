/*
 * find.h: where the libraries of NVIDIA's are that a worker calls, and what they open themselves later.
 *
 * A name without a folder is looked for in the folders that meted's settings name (METE_LIBRARIES), as they are and as
 * Python packages lie in them, then where the dynamic linker looks, then in the usual folders of a toolkit.
 */
#pragma once

/* Opens the file or, by a name without "/", the first that is found. NULL: none; dlerror() says why. */
void *library_find(const char *name);
/* Opens the files beside an open library that match, and keeps them open. */
void library_open_beside(void *library, const char *pattern);
/*
 * Opens the compilers that NVIDIA's libraries open when they first need them, of CUDA's versions that are here: a
 * worker opens no more files then.
 */
void library_open_compilers(void);
