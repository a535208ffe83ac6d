/*
 * external.h: memory of another API, or of another process by such an API's handle (cuImportExternalMemory). The driver
 * keeps it for as long as it is imported, or a part of it is mapped, whatever its maker does; so it is charged here as
 * well, at the size that the program names. It is in no figure of CUDA's.
 */
#pragma once

/* In the child of fork(). */
void external_forget(void);
