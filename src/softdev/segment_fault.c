/* segment_fault.c: see segment_fault.h. A writer that is killed leaves a place in the ring that readers pass over. */
#include "softdev/segment_fault.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define LOG_BYTES (256 << 10) /* then it begins anew */
#define DEVICE_UNAVAILABLE 46u /* CUDA_ERROR_DEVICE_UNAVAILABLE; the segment knows no API */

static void log_append(const struct segment_place *p, uint32_t device, uint32_t xid, const struct segment_process *q)
{
	const struct segment_config *c = &p->segment->device[device].config;
	char path[PATH_MAX], line[256];
	_cleanup_close_ int fd = -1;
	struct stat st;
	int n;

	snprintf(path, sizeof(path), "%s/kernel.log", p->dir);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > LOG_BYTES && ftruncate(fd, 0))
		return;
	n = snprintf(line, sizeof(line), "mete software device: Xid (PCI:%04x:%02x:%02x): %u", c->pci_domain,
		     c->pci_bus, c->pci_device, xid);
	if (q)
		n += snprintf(line + n, sizeof(line) - (size_t)n, ", pid=%d, name=%.60s", atomic_load(&q->pid),
			      q->command);
	line[n++] = '\n';
	if (write(fd, line, (size_t)n) < 0)
		return; /* a full disk loses the line, not the error */
}

static void wake(const struct segment *s)
{
	syscall(SYS_futex, &s->error_word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void segment_report(struct segment_place *p, uint32_t device, uint32_t xid, uint32_t place)
{
	struct segment *s = p->segment;
	struct segment_process *q = place < SEGMENT_MAX_PROCESSES ? &s->process[place] : NULL;
	uint64_t number = atomic_fetch_add(&s->errors, 1);
	struct segment_error_place *e = &s->error[number % SEGMENT_ERRORS];

	log_append(p, device, xid, q);
	atomic_store(&e->written, 0);
	atomic_store(&e->device, device);
	atomic_store(&e->xid, xid);
	atomic_store(&e->pid, q ? atomic_load(&q->pid) : 0);
	atomic_store(&e->written, number + 1);
	atomic_fetch_add(&s->error_word, 1);
	wake(s);
}

uint64_t segment_errors(const struct segment *s)
{
	return atomic_load(&s->errors);
}

uint32_t segment_error_word(const struct segment *s)
{
	return atomic_load(&s->error_word);
}

bool segment_error_read(const struct segment *s, uint64_t number, struct segment_error *ret)
{
	uint64_t end = atomic_load(&s->errors);

	if (end > SEGMENT_ERRORS && number < end - SEGMENT_ERRORS)
		number = end - SEGMENT_ERRORS;
	for (; number < end; number++) {
		const struct segment_error_place *e = &s->error[number % SEGMENT_ERRORS];

		*ret = (struct segment_error){ .number = number,
					       .device = atomic_load(&e->device),
					       .xid = atomic_load(&e->xid),
					       .pid = atomic_load(&e->pid) };
		if (atomic_load(&e->written) == number + 1)
			return true;
		if (number + 1 == end)
			return false; /* it is being written */
	}
	return false;
}

void segment_error_wait(const struct segment *s, uint32_t seen_word, uint64_t most_ns)
{
	struct timespec t = { .tv_sec = (time_t)(most_ns / 1000000000u), .tv_nsec = (long)(most_ns % 1000000000u) };

	syscall(SYS_futex, &s->error_word, FUTEX_WAIT, seen_word, &t, NULL, 0);
}

static void upset(struct segment *s, uint32_t place, uint32_t device, uint32_t error)
{
	struct segment_share *share = &s->process[place].share[device];

	atomic_store(&share->upset_error, error);
	atomic_fetch_add(&share->upsets, 1);
	atomic_store(&share->cancel, true);
}

bool segment_upset(struct segment_place *p, uint32_t device, int32_t pid, uint32_t error, uint32_t *ret_place)
{
	struct segment *s = p->segment;

	for (uint32_t i = 0; i < atomic_load(&s->places); i++) {
		if (atomic_load(&s->process[i].kind) != SEGMENT_DRIVER || atomic_load(&s->process[i].pid) != pid ||
		    !atomic_load(&s->process[i].share[device].contexts) || !segment_alive(p, i))
			continue;
		upset(s, i, device, error);
		*ret_place = i;
		return true;
	}
	return false;
}

void segment_lose(struct segment_place *p, uint32_t device, bool lost)
{
	struct segment *s = p->segment;

	/* First the word that new contexts look at (context.c), then those that there are. */
	if (atomic_exchange(&s->device[device].lost, lost) == lost)
		return;
	if (lost)
		for (uint32_t i = 0; i < atomic_load(&s->places); i++)
			upset(s, i, device, DEVICE_UNAVAILABLE);
	if (lost)
		segment_report(p, device, XID_LOST, SEGMENT_MAX_PROCESSES);
	atomic_fetch_add(&s->error_word, 1);
	wake(s);
}

bool segment_lost(const struct segment *s, uint32_t device)
{
	return atomic_load(&s->device[device].lost);
}

const _Atomic uint32_t *segment_upsets(const struct segment_place *p, uint32_t device)
{
	return &p->segment->process[p->index].share[device].upsets;
}

atomic_bool *segment_cancel(const struct segment_place *p, uint32_t device)
{
	return &p->segment->process[p->index].share[device].cancel;
}

uint32_t segment_upset_error(const struct segment_place *p, uint32_t device)
{
	uint32_t error = atomic_load(&p->segment->process[p->index].share[device].upset_error);

	return error ? error : DEVICE_UNAVAILABLE;
}
