/*
 * stash.h: memory that is away and does not fit in the host's memory is in a file that meted has created (WIRE_STORE).
 *
 * The file has no name, and only this process and meted have it open. Its contents are encrypted with a key that is
 * created for this one use, exists only in this process, and is wiped when the memory has returned: what remains on the
 * disk afterwards, or after a crash, cannot be read. A checksum of each part is kept here: a disk that returns other
 * bytes than were written is detected, and none of them is used.
 *
 * Called only by the mover. Another thread encrypts and writes, or reads and decrypts, so that the driver copies
 * meanwhile. Nothing here is part of the driver.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum stash_place { STASH_HOST, STASH_DISK, STASH_NOWHERE };

/* True if meted has a disk and must be asked. False for a process that attached before it had one. */
bool stash_asks(unsigned int device);
/*
 * Asks meted where so many bytes of a device go. STASH_DISK: there is a file for them. STASH_NOWHERE also if meted does
 * not answer.
 */
enum stash_place stash_begin(unsigned int device, uint64_t bytes);
/* True if there is a file. */
bool stash_open(void);
/* Releases the file. */
void stash_end(void);

/*
 * A part of the file; all zero at first. It is written once from beginning to end, and read in the same way any number
 * of times.
 */
struct stash_part {
	uint64_t at; /* in the file; set by the first write */
	uint64_t sum, read_sum;
};

#define STASH_ALIGN 4096u /* of buffers and counts: a disk accepts these without a copy */

/*
 * Start to write or read; `at`: offset in the part. The buffer is changed, and the part and the buffer are in use until
 * stash_wait(). One operation at a time.
 */
void stash_begin_write(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes);
void stash_begin_read(struct stash_part *part, uint64_t at, void *buffer, uint64_t bytes);
/* Waits for the last operation. False: the disk returned an error, which is logged. True if nothing was started. */
bool stash_wait(void);
/* True if all of the part has been read, and equals what was written. */
bool stash_is_whole(const struct stash_part *part);

/* In the child of fork(): closes the file, which the child does not use and would keep. */
void stash_reset(void);
