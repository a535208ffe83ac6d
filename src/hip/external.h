/*
 * external.h: memory of another API (hipImportExternalMemory). The driver keeps it while it is imported or a part of it
 * is mapped, whatever its owner does. So this process is charged for it, at the size that the program gives.
 */
#pragma once

#include "core/records.h"

/* Call after a mapped part was freed. Outside the gate. */
void external_let_go(const struct record *mapped);

/* In the child of fork(): drops all imports. */
void external_forget(void);
