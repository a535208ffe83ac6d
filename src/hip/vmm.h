/* vmm.h: see vmm.c. */
#pragma once

/* In the child of fork(). */
void vmm_forget(void);
