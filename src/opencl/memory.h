/*
 * memory.h: what OpenCL's memory is charged, and when it goes back.
 *
 * The charge is the size as asked for (in the account's units of 512 bytes), of images and pipes what the driver says
 * that they take. It goes back when the driver lets go of the object, not when the program does: work that is enqueued
 * keeps a buffer. The driver then calls let_go() on a thread of its own; what to give back is packed in its argument,
 * so nothing is looked up and nothing is kept for an object.
 */
#pragma once

/* In the child of fork(): what the parent holds is not given back here. */
void memory_forget(void);
