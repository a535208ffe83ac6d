/*
 * external.h: memory of another API (hipImportExternalMemory). The driver keeps it for as long as it is imported, or a
 * part of it is mapped, whatever its maker does; so it is charged here, at the size that the program names.
 */
#pragma once

#include "core/records.h"

/* A mapped part of one was freed. Outside the gate. */
void external_let_go(const struct record *mapped);

/* In the child of fork(). */
void external_forget(void);
