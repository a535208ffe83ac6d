/*
 * calls_test.c: whose pages a call names, when the program's own are mapped here for it, and whose memory a reply goes
 * to. The device's node is /dev/null's, and what the driver would do is done here (ioctl, by the linker's --wrap): it
 * writes to the pages.
 */
#include "guard/notify/calls.h"

#include "base/tap.h"
#include "guard/notify/rights.h"
#include "rm/interface.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534
#define BYTES 8192u
#define AT ((char *)0x500000000000)
#define BELOW ((char *)0x4f0000000000)
#define OWN ((char *)0x4e0000000000)
#define COMMAND _IOWR('F', RM_ESC_ALLOC_MEMORY, struct own_pages)
#define LINE 511u	/* of /proc/PID/maps that is read at once */
#define PATH_BEGINS 73u /* of such a line */

struct own_pages { /* nv_ioctl_nvos02_parameters_with_fd */
	uint32_t client, parent, object, class, flags, unused;
	uint64_t address, limit;
	uint32_t status, unused_too;
	int fd;
};

/* The program, a process of a user of no rights. */
static struct program {
	struct own_pages call;
	char *pages;
	pid_t pid;
	int ask, answer; /* pipes */
} * program;		 /* shared with it */

static struct calls calls;
static int null, self;
static char folder[64] = "/dev/shm/calls_testXXXXXX", owned[96];
static bool changes; /* the program puts other pages in the place of its own when they have been looked at */
static int executes; /* the program becomes another one when it is asked so many times whether the call waits */

int __wrap_ioctl(int fd, unsigned long request, void *argument);
int __wrap_fclose(FILE *f);
int __real_fclose(FILE *f);

static char tell(char what)
{
	char done = 0;

	if (write(program->ask, &what, 1) != 1 || read(program->answer, &done, 1) != 1)
		return 0;
	return done;
}

int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
	struct own_pages *call = argument;

	(void)fd;
	if (request == SECCOMP_IOCTL_NOTIF_ID_VALID) {
		if (executes && !--executes)
			tell('x');
		return 0;
	}
	memcpy((void *)(uintptr_t)call->address, "device", 6);
	call->object = 0x12345678;
	return 0;
}

int __wrap_fclose(FILE *f)
{
	if (changes)
		tell('c');
	changes = false;
	return __real_fclose(f);
}

/* ---- the program ---- */

static char *map_file(const char *path, int flags, int rights, char *at)
{
	int fd = open(path, flags, 0666);
	char *here;

	if (fd < 0 || (flags & O_CREAT && ftruncate(fd, BYTES)))
		return NULL;
	here = mmap(at, BYTES, rights, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
	close(fd);
	return here == MAP_FAILED ? NULL : here;
}

static char *map_owned(void)
{
	return map_file(owned, O_RDONLY, PROT_READ, AT);
}

/* It may write there, to copies of its own; what the device writes would be the file's. */
static bool map_owned_privately(void)
{
	int fd = open(owned, O_RDONLY);
	char *here = fd < 0 ? MAP_FAILED : mmap(AT, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);

	if (fd >= 0)
		close(fd);
	return here == AT;
}

/* A file whose path reads, where a line of 511 bytes ends, like the line of a mapping that may be written to. */
static bool map_forged(void)
{
	char path[1024], line[128];
	struct stat s;
	size_t n;

	if (stat(owned, &s))
		return false;
	n = (size_t)snprintf(path, sizeof path, "%s/program/", folder);
	while (n < LINE - PATH_BEGINS) {
		size_t most = LINE - PATH_BEGINS - n - 1, length = most > 200 ? 100 : most;

		memset(path + n, 'a', length);
		n += length;
		path[n] = 0;
		if (mkdir(path, 0700))
			return false;
		path[n++] = '/';
	}
	snprintf(line, sizeof line, "%lx-%lx rw-s 00000000 %02x:%02x %lu", (unsigned long)AT, (unsigned long)AT + BYTES,
		 major(s.st_dev), minor(s.st_dev), (unsigned long)s.st_ino);
	snprintf(path + n, sizeof path - n, "%s", line);
	return map_file(path, O_RDWR | O_CREAT, PROT_READ | PROT_WRITE, BELOW) && map_owned();
}

/* Another program takes this one's place, as root's does when it is executed: its number and nothing else stays. */
static _Noreturn void execute(int asked, int answers)
{
	char ask[16], answer[16];
	const char *const args[] = { "calls_test", "image", ask, answer, NULL }, *const none[] = { NULL };

	snprintf(ask, sizeof ask, "%d", asked);
	snprintf(answer, sizeof answer, "%d", answers);
	syscall(SYS_execveat, self, "", args, none, AT_EMPTY_PATH);
	_exit(1);
}

/* What is there then. Its memory lies where the call was. */
static int image(int asked, int answers)
{
	const char *own = mmap(OWN, sizeof *program, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	char what, is = own == OWN ? 'y' : 'n';

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (write(answers, &is, 1) == 1 && read(asked, &what, 1) == 1 && what != 'q')
		for (size_t i = 0; i < sizeof *program; i++)
			is = own[i] ? 'n' : is;
	return 0;
}

static bool act(char what)
{
	char path[128];

	snprintf(path, sizeof path, "%s/program/file", folder);
	if (what != 's')
		program->pages = AT;
	switch (what) {
	case 'a':
		program->pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		return program->pages != MAP_FAILED;
	case 'f':
		return map_file(path, O_RDWR | O_CREAT, PROT_READ | PROT_WRITE, AT);
	case 'p':
		program->pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return program->pages != MAP_FAILED;
	case 'w':
		return map_owned_privately();
	case 'r':
	case 'c':
		return map_owned();
	case 'l':
		return map_forged();
	case 's':
		return !memcmp(program->pages, "device", 6);
	default:
		return false;
	}
}

_Noreturn static void program_run(int asked, int answers)
{
	char what, done;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* As after the execve of a program. */
	if (setgid(NOBODY) || setuid(NOBODY) || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))
		_exit(1);
	while (read(asked, &what, 1) == 1) {
		if (what == 'q')
			break;
		if (what == 'x')
			execute(asked, answers);
		done = act(what) ? 'y' : 'n';
		program->call = (struct own_pages){ .client = 1,
						    .parent = 2,
						    .class = 0x71,
						    .address = (uintptr_t)program->pages,
						    .limit = BYTES - 1,
						    .fd = -1 };
		if (write(answers, &done, 1) != 1)
			break;
	}
	_exit(0);
}

static bool program_begin(void)
{
	int ask[2], answer[2];
	pid_t pid;

	program = mmap(OWN, sizeof *program, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		       -1, 0);
	self = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	if (program == MAP_FAILED || self < 0 || pipe(ask) || pipe(answer))
		return false;
	program->ask = ask[1];
	program->answer = answer[0];
	pid = fork();
	if (!pid)
		program_run(ask[0], answer[1]);
	close(ask[0]);
	close(answer[1]);
	program->pid = pid;
	return pid > 0;
}

/* ---- tests ---- */

static int name_pages(char how)
{
	struct caller caller = { program->pid, -1, -1, 1 };

	if (tell(how) != 'y')
		return 1;
	return calls_make(&calls, &caller, null, COMMAND, (uintptr_t)&program->call);
}

static bool owned_is_whole(void)
{
	char text[8] = "";
	int fd = open(owned, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, 6);

	close(fd);
	return n == 6 && !strcmp(text, "root's");
}

static bool begin(void)
{
	char path[128];
	int fd;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || !mkdtemp(folder) || chmod(folder, 0755))
		return false;
	snprintf(path, sizeof path, "%s/program", folder);
	snprintf(owned, sizeof owned, "%s/owned", folder);
	if (mkdir(path, 0700) || chown(path, NOBODY, NOBODY))
		return false;
	fd = open(owned, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) || ftruncate(fd, BYTES) || pwrite(fd, "root's", 6, 0) != 6)
		return false;
	close(fd);
	calls.account = tenant_account_new(UINT64_C(1) << 30);
	calls.terms.branch = 580;
	calls.devices = UINT64_MAX;
	calls.major = 1;
	return calls.account && !calls_begin(&calls) && program_begin() && !rights_drop() && !calls_ranges_read(&calls);
}

int main(int argc, char **argv)
{
	char remove[128];
	int r;

	if (argc == 4 && !strcmp(argv[1], "image"))
		return image(atoi(argv[2]), atoi(argv[3]));
	if (geteuid())
		tap_skip_all("only root may open what processes of others have mapped");
	alarm(60);
	tap_ok(begin(), "the test begins (%s)", strerror(errno));
	tap_begin();
	r = name_pages('a');
	tap_ok(!r && tell('s') == 'y', "shared pages of no file are the program's own (%d)", r);
	r = name_pages('f');
	tap_ok(!r && tell('s') == 'y', "... and those of a file that it may write to (%d)", r);
	tap_ok(name_pages('p') == -EPERM && tell('s') == 'n', "private pages are refused");
	r = name_pages('r');
	tap_ok(r == -EPERM && owned_is_whole(), "pages of root's file that it may only read are refused (%d)", r);
	r = name_pages('w');
	tap_ok(r == -EPERM && owned_is_whole(), "... also where it may write to copies of them (%d)", r);
	tell('f');
	changes = true;
	r = name_pages('f');
	tap_ok(r == -EPERM && owned_is_whole(), "... also where they take the place of its own meanwhile (%d)", r);
	r = name_pages('l');
	tap_ok(r == -EPERM && owned_is_whole(), "... also where the path of another mapping says otherwise (%d)", r);
	executes = 2; /* before the call, and before its reply */
	r = name_pages('a');
	tap_ok(!executes && tell('z') == 'y', "a reply goes to no program that has taken the caller's place (%d)", r);
	tap_ok(write(program->ask, "q", 1) == 1, "the program ends");
	waitpid(program->pid, NULL, 0);
	snprintf(remove, sizeof remove, "rm -rf %s", folder);
	tap_ok(!system(remove), "the test cleans up");
	return tap_end();
}
