/*
 * vmm.h: memory made by cuMemCreate. Charged to the device in its properties, until the last handle and the last
 * mapping are gone; what several processes share is charged to the grant's object (sharing.h).
 */
#pragma once

/* An array is destroyed: what was mapped into it by cuMemMapArrayAsync is not any more. */
void vmm_array_gone(const void *array);
/* In the child of fork(). */
void vmm_reset(void);
