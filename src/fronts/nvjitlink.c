/*
 * nvjitlink.c: nvJitLink's front on the software device.
 *
 * nvJitLink makes machine code, which this device does not run. PTX is its machine code: PTX inputs are linked by the
 * device's own engine (linker.h); intermediate code (LTO-IR) goes to the real nvJitLink, with its documented options
 * -lto -ptx, and what it makes is one more PTX input. What is handed out as the linked cubin is an image of PTX that
 * names itself as mete's. A program without intermediate code needs no real nvJitLink.
 *
 * Facts: nvJitLink documentation: input types, options ("-ptx: emit PTX after linking instead of cubin; only supported
 * with -lto"), results, and the names __nvJitLinkCreate_13_0 that its header maps calls to, one per minor version.
 */
#include "base/cleanup.h"
#include "fronts/checker.h"
#include "fronts/real.h"
#include "softdev/image/object.h"
#include "softdev/image/write.h"
#include "softdev/log.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MOST (INT64_C(1) << 31)

enum result {
	SUCCESS = 0,
	ERROR_MISSING_ARCH = 2,
	ERROR_INVALID_INPUT = 3,
	ERROR_PTX_COMPILE = 4,
	ERROR_INTERNAL = 6,
	ERROR_UNRECOGNIZED_INPUT = 8,
	ERROR_FINALIZE = 9,
	ERROR_NULL_INPUT = 10,
};

enum input { INPUT_CUBIN = 1, INPUT_PTX, INPUT_LTOIR, INPUT_FATBIN, INPUT_OBJECT, INPUT_LIBRARY, INPUT_ANY = 10 };

#define LTO_MAGIC 0x7f4e43edu

struct link {
	uint32_t arch;		 /* 90 */
	uint32_t max_registers;	 /* -maxrregcount=N; 0: no limit */
	bool lto;		 /* -lto was asked for */
	void *other;		 /* the real library's handle; NULL: there is none */
	bool other_used;	 /* intermediate code was given to it */
	bool refused;		 /* an input was: what is linked without it would lack something */
	struct image_text *text; /* owned copies */
	size_t count;
	char *log; /* our lines; NULL: none */
	char *ptx; /* of the intermediate code, linked */
	size_t ptx_bytes;
	void *image;
	size_t image_bytes;
};

static const char *const names[] = {
#if FRONT_MAJOR == 12
	"libnvJitLink.so.12", "libnvJitLink.so.13",
#else
	"libnvJitLink.so.13", "libnvJitLink.so.12",
#endif
	NULL
};
static const char *const wheels[] = {
#if FRONT_MAJOR == 12
	"nvidia/nvjitlink/lib", "nvidia/cu12/lib", "nvidia/cu13/lib",
#else
	"nvidia/cu13/lib", "nvidia/nvjitlink/lib", "nvidia/cu12/lib",
#endif
	NULL
};

static struct real real = { .name = names,
			    .wheel = wheels,
			    .variable = "METE_NVJITLINK",
			    .what = "nvJitLink (libnvJitLink)",
			    .package = "nvidia-nvjitlink",
			    .once = PTHREAD_ONCE_INIT };

static void open_once(void)
{
	real_open(&real);
}

/* A function of the real library by the name that its documentation has; newer ones have one without a version. */
#define REAL(call) ((__typeof__(&nvJitLink##call))real_symbol(&real, open_once, "nvJitLink" #call))

/* The names with a version that the vendor's header maps each call to. */
#define PASTE_(a, b, c, d) a##b##_##c##_##d
#define PASTE(a, b, c, d) PASTE_(a, b, c, d)
#define ALIAS(call, minor)                                                                                             \
	extern __typeof__(nvJitLink##call) PASTE(__nvJitLink, call, FRONT_MAJOR, minor)                                \
		__attribute__((alias("nvJitLink" #call), visibility("default")));
#define CALL(call, parameters)                                                                                         \
	int nvJitLink##call parameters;                                                                                \
	ALIAS(call, 0)                                                                                                 \
	ALIAS(call, 1)                                                                                                 \
	ALIAS(call, 2)                                                                                                 \
	ALIAS(call, 3)                                                                                                 \
	ALIAS(call, 4)                                                                                                 \
	ALIAS(call, 5)                                                                                                 \
	ALIAS(call, 6)                                                                                                 \
	ALIAS(call, 7)                                                                                                 \
	ALIAS(call, 8)                                                                                                 \
	ALIAS(call, 9)                                                                                                 \
	__attribute__((visibility("default"))) int nvJitLink##call parameters

__attribute__((format(printf, 2, 3))) static void say(struct link *l, const char *fmt, ...)
{
	_cleanup_free_ char *line = NULL;
	char *log = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&line, fmt, ap) < 0)
		line = NULL;
	va_end(ap);
	if (!line || asprintf(&log, "%s%s\n", l->log ? l->log : "", line) < 0)
		return;
	free(l->log);
	l->log = log;
}

int nvJitLinkVersion(unsigned *major, unsigned *minor);
extern __typeof__(nvJitLinkVersion) __nvJitLinkVersion
	__attribute__((alias("nvJitLinkVersion"), visibility("default")));
/* An error when there is no real one: who can do without then does. */
__attribute__((visibility("default"))) int nvJitLinkVersion(unsigned *major, unsigned *minor)
{
	__typeof__(&nvJitLinkVersion) f = REAL(Version);

	return f ? f(major, minor) : ERROR_INTERNAL;
}

/* ---- beginning and end ---- */

static void link_free(struct link *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->text[i].owned);
	free(l->text);
	free(l->log);
	free(l->ptx);
	free(l->image);
	free(l);
}

/* 90 of "sm_90a" or "compute_90"; 0: neither. */
static uint32_t arch_number(const char *target)
{
	const char *p = !strncmp(target, "sm_", 3) ? target + 3 : !strncmp(target, "compute_", 8) ? target + 8 : "";

	return (uint32_t)strtoul(p, NULL, 10);
}

/* The real library's handle, with the user's options, so that it is the one to judge them, and PTX as its result. */
CALL(Create, (struct link * *ret, uint32_t count, const char **options))
{
	__typeof__(&nvJitLinkCreate) create = REAL(Create);
	_cleanup_free_ const char **list = calloc(count + 2, sizeof(*list));
	struct link *l = calloc(1, sizeof(*l));
	bool ptx = false;
	uint32_t n = 0;
	int r = SUCCESS;

	if (!ret || (count && !options) || !l || !list) {
		free(l);
		return ret && (!count || options) ? ERROR_INTERNAL : ERROR_NULL_INPUT;
	}
	for (uint32_t i = 0; i < count; i++) {
		const char *o = options[i] ? options[i] : "";

		if (!strncmp(o, "-arch=", 6))
			l->arch = arch_number(o + 6);
		if (!strncmp(o, "-maxrregcount=", 14))
			l->max_registers = (uint32_t)strtoul(o + 14, NULL, 10);
		l->lto = l->lto || !strcmp(o, "-lto");
		ptx = ptx || !strcmp(o, "-ptx");
		list[n++] = o;
	}
	if (l->lto && !ptx)
		list[n++] = "-ptx";
	if (create)
		r = create((struct link **)&l->other, n, list);
	else if (!l->arch)
		r = ERROR_MISSING_ARCH;
	if (r)
		link_free(l);
	else
		*ret = l;
	return r;
}

CALL(Destroy, (struct link * *handle))
{
	__typeof__(&nvJitLinkDestroy) destroy = REAL(Destroy);

	if (!handle || !*handle)
		return ERROR_NULL_INPUT;
	if ((*handle)->other && destroy)
		destroy((struct link **)&(*handle)->other);
	link_free(*handle);
	*handle = NULL;
	return SUCCESS;
}

/* ---- inputs ---- */

static bool add_text(struct link *l, const char *text, size_t bytes)
{
	struct image_text *grown = reallocarray(l->text, l->count + 1, sizeof(*grown));
	char *copy = grown ? calloc(1, bytes + 1) : NULL;

	if (grown)
		l->text = grown;
	if (!copy)
		return false;
	memcpy(copy, text, bytes);
	l->text[l->count++] = (struct image_text){ .text = copy, .bytes = strlen(copy), .owned = copy };
	return true;
}

struct adding {
	struct link *link;
	const char *name;
	bool library; /* a member without PTX adds nothing and spoils nothing */
	int result;
};

/* Intermediate code, for the real library. */
static int add_lto(struct link *l, int type, const void *data, size_t bytes, const char *name)
{
	int (*add)(void *, int, const void *, size_t, const char *) =
		(__typeof__(add))real_symbol(&real, open_once, "nvJitLinkAddData");

	if (!add || !l->other) {
		say(l,
		    "%s: intermediate code (LTO-IR), for which NVIDIA's nvJitLink is needed, and none was found; "
		    "install the package %s, or name the library with %s",
		    name, real.package, real.variable);
		return ERROR_INTERNAL;
	}
	l->other_used = true;
	return add(l->other, type, data, bytes, name);
}

static int add_piece(void *ctx, const void *data, size_t bytes)
{
	struct adding *a = ctx;
	struct image_ptx ptx = { 0 };
	char why[512] = "";
	int r;

	if (a->link->lto && object_has_lto(data, bytes)) {
		a->result = add_lto(a->link, INPUT_FATBIN, data, bytes, a->name);
		return a->result;
	}
	r = image_find_ptx_linked(data, bytes, a->link->arch, &ptx, why, sizeof(why));
	if (r == IMAGE_NO_PTX && a->library)
		return 0;
	if (r) {
		say(a->link, "%s: %s", a->name, *why ? why : "no memory");
		a->result = r < 0 ? ERROR_INTERNAL : ERROR_INVALID_INPUT;
		return a->result;
	}
	for (size_t i = 0; !a->result && i < ptx.count; i++)
		a->result = add_text(a->link, ptx.text[i].text, ptx.text[i].bytes) ? SUCCESS : ERROR_INTERNAL;
	image_ptx_deinit(&ptx);
	return a->result;
}

static bool is_lto(const void *data, size_t bytes)
{
	uint32_t magic;

	if (bytes < sizeof(magic))
		return false;
	memcpy(&magic, data, sizeof(magic));
	return magic == LTO_MAGIC;
}

static int add_data(struct link *l, int type, const void *data, size_t bytes, const char *name)
{
	struct adding a = { .link = l, .name = name && *name ? name : "input" };
	int r;

	if (type == INPUT_LTOIR || (type == INPUT_ANY && is_lto(data, bytes)))
		return add_lto(l, INPUT_LTOIR, data, bytes, a.name);
	if ((type < INPUT_CUBIN || type > INPUT_LIBRARY) && type != INPUT_ANY) {
		say(l, "%s: inputs of type %d are not known here; give PTX, LTO-IR, fat binaries, objects or libraries",
		    a.name, type);
		return ERROR_UNRECOGNIZED_INPUT;
	}
	a.library = type == INPUT_LIBRARY || type == INPUT_OBJECT || type == INPUT_ANY;
	r = object_each(data, bytes, add_piece, &a);
	if (r && !a.result)
		say(l, "%s: damaged, or no archive, object or fat binary", a.name);
	return a.result ? a.result : r ? ERROR_INVALID_INPUT : SUCCESS;
}

CALL(AddData, (struct link * l, int type, const void *data, size_t bytes, const char *name))
{
	int r;

	if (!l || !data || !bytes)
		return ERROR_NULL_INPUT;
	if (l->image)
		return ERROR_INVALID_INPUT;
	r = add_data(l, type, data, bytes, name);
	l->refused = l->refused || r;
	return r;
}

CALL(AddFile, (struct link * l, int type, const char *path))
{
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	_cleanup_free_ char *data = NULL;
	struct stat st;

	if (!l || !path)
		return ERROR_NULL_INPUT;
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size || st.st_size > FILE_MOST) {
		say(l, "%s: cannot be read as a file of device code", path);
		return ERROR_INVALID_INPUT;
	}
	data = malloc((size_t)st.st_size);
	if (!data)
		return ERROR_INTERNAL;
	for (ssize_t at = 0, n; at < st.st_size; at += n) {
		n = read(fd, data + at, (size_t)(st.st_size - at));
		if (n <= 0)
			return ERROR_INVALID_INPUT;
	}
	return nvJitLinkAddData(l, type, data, (size_t)st.st_size, path);
}

/* ---- linking ---- */

/* The engine's library lies beside this one. */
static bool find_checker(struct checker *ret)
{
	char folder[PATH_MAX];
	const char *slash;
	Dl_info self;

	if (!dladdr((void *)(uintptr_t)find_checker, &self) || !(slash = strrchr(self.dli_fname, '/')) ||
	    snprintf(folder, sizeof(folder), "%.*s", (int)(slash - self.dli_fname), self.dli_fname) >= PATH_MAX)
		return false;
	return checker_open(ret, folder);
}

/* Intermediate code becomes PTX. */
static int complete_lto(struct link *l)
{
	int (*complete)(void *) = (__typeof__(complete))real_symbol(&real, open_once, "nvJitLinkComplete");
	int (*size)(void *, size_t *) = (__typeof__(size))real_symbol(&real, open_once, "nvJitLinkGetLinkedPtxSize");
	int (*fetch)(void *, char *) = (__typeof__(fetch))real_symbol(&real, open_once, "nvJitLinkGetLinkedPtx");
	int r;

	if (!complete || !size || !fetch) {
		say(l, "NVIDIA's nvJitLink that was found makes no PTX; use one of 12.0 or newer");
		return ERROR_INTERNAL;
	}
	r = complete(l->other);
	if (!r)
		r = size(l->other, &l->ptx_bytes);
	if (r)
		return r;
	l->ptx = calloc(1, l->ptx_bytes + 1);
	if (!l->ptx)
		return ERROR_INTERNAL;
	r = fetch(l->other, l->ptx);
	return r ? r : add_text(l, l->ptx, l->ptx_bytes) ? SUCCESS : ERROR_INTERNAL;
}

static int check(struct link *l)
{
	struct checker checker;
	_cleanup_free_ struct linker_text *list = calloc(l->count, sizeof(*list));
	char log[1024] = "";
	int r;

	if (!find_checker(&checker)) {
		say(l, "libmete-ptx.so is not beside this library; install all of mete");
		return ERROR_INTERNAL;
	}
	if (!list)
		return ERROR_INTERNAL;
	for (size_t i = 0; i < l->count; i++)
		list[i] = (struct linker_text){ l->text[i].text, l->text[i].bytes, "" };
	r = checker.check(list, l->count, l->arch, log, sizeof(log), NULL, NULL);
	if (r)
		say(l, "%s", log);
	return r == LINKER_OK		? SUCCESS
	       : r == LINKER_INVALID	? ERROR_PTX_COMPILE
	       : r == LINKER_UNRESOLVED ? ERROR_FINALIZE
					: ERROR_INTERNAL;
}

CALL(Complete, (struct link * l))
{
	int r = SUCCESS;

	if (!l)
		return ERROR_NULL_INPUT;
	if (l->image || l->refused)
		return ERROR_INVALID_INPUT;
	if (l->other_used)
		r = complete_lto(l);
	if (!r && !l->count) {
		say(l, "nothing to link");
		r = ERROR_INVALID_INPUT;
	}
	if (!r)
		r = check(l);
	if (r)
		return r;
	l->image = image_write(l->text, l->count, l->arch, l->max_registers, &l->image_bytes);
	return l->image ? SUCCESS : ERROR_INTERNAL;
}

/* ---- results ---- */

CALL(GetLinkedCubinSize, (struct link * l, size_t *ret))
{
	if (!l || !ret)
		return ERROR_NULL_INPUT;
	if (!l->image)
		return ERROR_INVALID_INPUT;
	*ret = l->image_bytes;
	return SUCCESS;
}

CALL(GetLinkedCubin, (struct link * l, void *ret))
{
	if (!l || !ret)
		return ERROR_NULL_INPUT;
	if (!l->image)
		return ERROR_INVALID_INPUT;
	memcpy(ret, l->image, l->image_bytes);
	return SUCCESS;
}

CALL(GetLinkedPtxSize, (struct link * l, size_t *ret))
{
	if (!l || !ret)
		return ERROR_NULL_INPUT;
	if (!l->ptx)
		return ERROR_INVALID_INPUT;
	*ret = l->ptx_bytes;
	return SUCCESS;
}

CALL(GetLinkedPtx, (struct link * l, char *ret))
{
	if (!l || !ret)
		return ERROR_NULL_INPUT;
	if (!l->ptx)
		return ERROR_INVALID_INPUT;
	memcpy(ret, l->ptx, l->ptx_bytes);
	return SUCCESS;
}

CALL(GetLinkedLTOIRSize, (struct link * l, size_t *ret))
{
	__typeof__(&nvJitLinkGetLinkedLTOIRSize) f = REAL(GetLinkedLTOIRSize);

	return !l ? ERROR_NULL_INPUT : f && l->other ? f(l->other, ret) : ERROR_INVALID_INPUT;
}

CALL(GetLinkedLTOIR, (struct link * l, void *ret))
{
	__typeof__(&nvJitLinkGetLinkedLTOIR) f = REAL(GetLinkedLTOIR);

	return !l ? ERROR_NULL_INPUT : f && l->other ? f(l->other, ret) : ERROR_INVALID_INPUT;
}

/* ---- logs: the real library's, if it worked, and ours ---- */

static int log_bytes(struct link *l, const char *call, const char *own, size_t *ret)
{
	int (*f)(void *, size_t *) = (__typeof__(f))real_symbol(&real, open_once, call);
	size_t bytes = 0;

	if (!l || !ret)
		return ERROR_NULL_INPUT;
	if (l->other && f && f(l->other, &bytes))
		bytes = 0;
	*ret = bytes + (own ? strlen(own) + 1 : 0);
	return SUCCESS;
}

static int log_copy(struct link *l, const char *size_call, const char *call, const char *own, char *ret)
{
	int (*f)(void *, char *) = (__typeof__(f))real_symbol(&real, open_once, call);
	size_t bytes = 0;

	if (!l || !ret)
		return ERROR_NULL_INPUT;
	log_bytes(l, size_call, NULL, &bytes);
	if (bytes && f && f(l->other, ret))
		bytes = 0;
	if (own)
		memcpy(ret + strnlen(ret, bytes), own, strlen(own) + 1);
	return SUCCESS;
}

CALL(GetErrorLogSize, (struct link * l, size_t *ret))
{
	return log_bytes(l, "nvJitLinkGetErrorLogSize", l ? l->log : NULL, ret);
}

CALL(GetErrorLog, (struct link * l, char *ret))
{
	return log_copy(l, "nvJitLinkGetErrorLogSize", "nvJitLinkGetErrorLog", l ? l->log : NULL, ret);
}

CALL(GetInfoLogSize, (struct link * l, size_t *ret))
{
	return log_bytes(l, "nvJitLinkGetInfoLogSize", NULL, ret);
}

CALL(GetInfoLog, (struct link * l, char *ret))
{
	return log_copy(l, "nvJitLinkGetInfoLogSize", "nvJitLinkGetInfoLog", NULL, ret);
}
