/*
 * stash.h: what is away and has no room in the host's memory: it lies in a file that meted has made (WIRE_STORE).
 *
 * The file has no name and nobody else has it open but meted. What is written there is encrypted with a key that is
 * made for this one time, is nowhere but in this process, and is wiped when the memory has returned: what is left on
 * the disk afterwards, or after a crash, is noise. Of each part a sum is kept here: a disk that gives back other bytes
 * than it was given is found out, and nothing of that is used.
 *
 * By the mover alone. Another thread encrypts and writes, or reads and decrypts, so that the driver copies meanwhile.
 * Nothing here is part of the driver.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum stash_place { STASH_HOST, STASH_DISK, STASH_NOWHERE };

/* meted has a disk, and wants to be asked. Of a process that attached before it had one it does not. */
bool stash_asks(unsigned int device);
/*
 * meted says where so many bytes of a device go; STASH_DISK: there is a file for them. STASH_NOWHERE also where meted
 * does not answer.
 */
enum stash_place stash_begin(unsigned int device, uint64_t bytes);
/* There is a file. */
bool stash_open(void);
/* What is in the file is not needed any more, or never was. */
void stash_end(void);

/* A part of it; zero at first. It is written from its beginning to its end, and read likewise, any number of times. */
struct stash_part {
	uint64_t at; /* in the file; set by the first write */
	uint64_t sum, read_sum;
};

#define STASH_ALIGN 4096u /* of buffers and counts: what a disk takes without copying */

/*
 * Begins to write or to read; `at`: in the part. The buffer is changed, and the part and the buffer are in use until
 * stash_wait(). One at a time.
 */
void stash_begin_write(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes);
void stash_begin_read(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes);
/* What was begun last has ended. False: the disk answers an error, which the log has. True if nothing was begun. */
bool stash_wait(void);
/* All of the part has been read, and is what was written. */
bool stash_is_whole(const struct stash_part *part);

/* In the child of fork(): it has no use for the file, and would keep it. */
void stash_reset(void);
