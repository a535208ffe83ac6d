/*
 * external.h: memory of another API, or of another process through such an API's handle (cuImportExternalMemory). The
 * driver keeps it while it is imported or part of it is mapped, whatever its creator does. It is therefore charged here
 * as well, with the size that the program states. It is not in CUDA's own figures.
 */
#pragma once

/* In the child of fork(). */
void external_forget(void);
