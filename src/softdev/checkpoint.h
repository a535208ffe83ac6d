/*
 * checkpoint.h: the six calls cuCheckpointProcess*: another process locks this one's calls, takes its memory off the
 * devices, brings it back and unlocks it. With METE_SOFT_CHECKPOINT=1 in this process's environment.
 *
 * A thread of the process answers, as the driver's own thread does (it is the restore thread). Who may ask is who may
 * see the process's descriptors in /proc: its user while it is dumpable, and CAP_SYS_PTRACE. States and
 * errors are those that the driver's documentation lists. What is checkpointed stays in the process, whose memory the
 * device's is anyway, and the device's account of the process is empty; copies take the time that METE_SOFT_COPY_RATE
 * says.
 *
 * A restore with pairs of UUIDs, as drivers since r580 take them, makes the program's ordinals other devices of the
 * same size and compute capability. Limit: memory that other processes can open is refused (CUDA_ERROR_NOT_SUPPORTED),
 * as drivers before r610 do.
 */
#pragma once

/* Starts it when cuInit has initialised the driver. */
void checkpoint_begin(void);
/* In the child of fork(): requests for it are not answered. */
void checkpoint_forked(void);
