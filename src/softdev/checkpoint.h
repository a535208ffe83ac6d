/*
 * checkpoint.h: the six calls cuCheckpointProcess*: another process locks this one's calls, takes its memory off the
 * devices, brings it back and unlocks it. With METE_SOFT_CHECKPOINT=1 in this process's environment.
 *
 * A thread of the process answers on a socket, as the driver's own thread does (it is the restore thread). States and
 * errors are those that the driver's documentation lists. What is checkpointed stays in the process, whose memory the
 * device's is anyway, and the device's account of the process is empty; copies take the time that METE_SOFT_COPY_RATE
 * says.
 *
 * Limits: memory that other processes can open is refused (CUDA_ERROR_NOT_SUPPORTED), as drivers before r610 do; memory
 * returns to the device that it left.
 */
#pragma once

/* Starts it when cuInit has initialised the driver. */
void checkpoint_begin(void);
/* In the child of fork(): requests for it are not answered. */
void checkpoint_forked(void);
