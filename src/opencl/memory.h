/*
 * memory.h: the charge of OpenCL's memory, and when it is refunded.
 *
 * The charge is the requested size, in the account's units of 512 bytes; for images and pipes, the size that the driver
 * reports. It is refunded when the driver frees the object, not when the program releases it, because enqueued work
 * keeps a buffer. The driver then calls let_go() on a thread of its own. The argument of that call contains the refund,
 * so no table of objects is needed.
 */
#pragma once

/* In the child of fork(): memory of the parent is not refunded here. */
void memory_forget(void);
