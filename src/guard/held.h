/*
 * held.h: whether the guard holds a process for a grant, as the kernel says it: for meted, where guard.grants is
 * `required`. Nothing of it comes from the process.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define HELD_WHY 160

/*
 * bpf: the account that the programs in the kernel keep the process with is the grant's. dmem: the process is in the
 * cgroup that is limited for the grant. notify: a supervisor counts for the grant, and the process has a filter of
 * system calls; whose filter it is the kernel tells nobody, so a program that puts one before itself is taken for held.
 *
 * 1: it is held. 0: it is not, or nobody can tell; `why` then says which, in the words behind "the process".
 */
int held_for(uint64_t grant, pid_t pid, int pidfd, char why[HELD_WHY]);
