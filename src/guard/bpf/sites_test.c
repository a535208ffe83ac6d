/* sites_test.c: calls of a core's function are found in the functions that tracing knows, and nowhere else. */
#include "guard/bpf/sites.h"

#include "base/tap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BASE UINT64_C(0xffffffffc0000000)
#define CALLEE (BASE + 0x3000)

static uint8_t memory[0x4000];
static char path[] = "/tmp/sites_test.XXXXXX", why[SITES_WHY];

static int read_memory(void *of, uint64_t at, void *to, size_t size)
{
	(void)of;
	if (at < BASE || at - BASE > sizeof memory - size)
		return -EFAULT;
	memcpy(to, memory + (at - BASE), size);
	return 0;
}

static int read_nothing(void *of, uint64_t at, void *to, size_t size)
{
	(void)of;
	(void)at;
	memset(to, 0, size);
	return -EFAULT;
}

static void put_entry(uint64_t offset)
{
	memcpy(memory + offset, "\xf3\x0f\x1e\xfa\x0f\x1f\x44\x00\x00", 9);
}

static void put_branch(uint64_t offset, uint8_t code, uint64_t to)
{
	int32_t distance = (int32_t)(to - (BASE + offset + 5));

	memory[offset] = code;
	memcpy(memory + offset + 1, &distance, 4);
}

/* layer (with an entry) at 0, another layer at 0x1000, layer.cold at 0x2000, own (of the core) at 0x2800, the callee */
static void begin(void)
{
	memset(memory, 0x90, sizeof memory);
	put_entry(0);
	put_entry(0x1000);
}

static int find(struct site ret[SITES_MOST])
{
	*why = 0;
	return sites_find(path, "nvidia", "rm_ioctl", read_memory, NULL, ret, why);
}

static void names_write(int fd)
{
	dprintf(fd, "ffffffff81000000 T rm_ioctl\n"
		    "ffffffffc0003000 t rm_ioctl\t[nvidia]\n"
		    "ffffffffc0001000 t nvidia_open\t[nvidia]\n"
		    "ffffffffc0000000 t nvidia_ioctl\t[nvidia]\n"
		    "ffffffffc0002000 t nvidia_ioctl.cold\t[nvidia]\n"
		    "ffffffffc0002400 d nvidia_data\t[nvidia]\n"
		    "ffffffffc0002800 t RmIoctl\t[nvidia]\n"
		    "ffffffffc0000800 t other\t[nvidia_uvm]\n");
}

static void test_found(void)
{
	struct site s[SITES_MOST];

	begin();
	tap_ok(find(s) == -ENOENT && strstr(why, "rm_ioctl"), "no call: %s", why);
	put_branch(0x123, 0xe8, CALLEE);
	put_branch(0x200, 0xe8, CALLEE + 1);
	tap_ok(find(s) == 1 && s[0].call == BASE + 0x123 && s[0].next == BASE + 0x128, "one call, and what is behind");
	memory[0x123] = 0xcc;
	tap_ok(find(s) == 1 && s[0].call == BASE + 0x123, "a call at which there is a probe already");
	put_branch(0x123, 0xe8, CALLEE);
	/* Across the pieces in which code is read. */
	put_branch(0x1ffb, 0xe8, CALLEE);
	tap_ok(find(s) == 2 && s[1].call == BASE + 0x1ffb, "a second one, at the end of another function");
	put_branch(0x2010, 0xe8, CALLEE);
	tap_ok(find(s) == 3 && s[2].call == BASE + 0x2010, "a third, in the cold part of a function");
	put_branch(0x2900, 0xe8, CALLEE);
	tap_ok(find(s) == 3, "a call of the core's own is none: nothing can be attached there");
}

static void test_entries(void)
{
	struct site s[SITES_MOST];

	begin();
	put_branch(0x123, 0xe8, CALLEE);
	memset(memory, 0x90, 9);
	tap_ok(find(s) == -ENOENT, "a function without an entry is not looked at");
	memcpy(memory, "\x0f\x1f\x44\x00\x00", 5);
	tap_ok(find(s) == 1, "an entry without endbr64");
	put_branch(0, 0xe8, BASE + 0x20000);
	tap_ok(find(s) == 1, "an entry that somebody traces");
	/* Functions whose address is nowhere taken: the driver's nvidia_ioctl is one. */
	memcpy(memory, "\x66\x0f\x1f\x00\x0f\x1f\x44\x00\x00", 9);
	tap_ok(find(s) == 1, "an entry whose endbr64 the kernel has written over");
	memcpy(memory, "\x0f\x1f\x40\xd6\x0f\x1f\x44\x00\x00", 9);
	tap_ok(find(s) == 1, "... as later kernels do");
	put_branch(4, 0xe8, BASE + 0x20000);
	tap_ok(find(s) == 1, "... and somebody traces it");
	memcpy(memory, "\x41\x54\x55\x53", 4);
	tap_ok(find(s) == -ENOENT, "four other bytes before a call are no entry");
}

static void test_refused(void)
{
	struct site s[SITES_MOST];

	begin();
	put_branch(0x123, 0xe9, CALLEE);
	tap_ok(find(s) == -ENOTSUP && strstr(why, "jumps"), "a jump: %s", why);
	begin();
	for (int i = 0; i <= SITES_MOST; i++)
		put_branch(0x100 + 8 * (uint64_t)i, 0xe8, CALLEE);
	tap_ok(find(s) == -E2BIG && *why, "too many: %s", why);
	tap_ok(sites_find(path, "other", "rm_ioctl", read_memory, NULL, s, why) == -EPERM, "another module: %s", why);
	tap_ok(sites_find(path, "nvidia", "rm_ioctl", read_nothing, NULL, s, why) == -EPERM && strstr(why, "be read"),
	       "a kernel that shows no code: %s", why);
	tap_ok(sites_find("/nowhere", "nvidia", "rm_ioctl", read_memory, NULL, s, why) == -ENOENT, "no names: %s", why);
}

int main(void)
{
	int fd;

	tap_begin();
	fd = mkstemp(path);
	names_write(fd);
	close(fd);
	test_found();
	test_entries();
	test_refused();
	unlink(path);
	return tap_end();
}
