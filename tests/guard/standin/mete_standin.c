// SPDX-License-Identifier: GPL-2.0
/*
 * mete_standin.c: a stand-in for a GPU's kernel driver, for tests of the guard in a virtual machine. It is no driver of
 * any device: it counts.
 *
 * Nodes under a major number of its own (255: control, 0 to 7: devices), one memory of 16 GiB (a number), and the
 * handful of calls that the guard judges, with the numbers and layouts of NVIDIA's resource manager: clients, devices,
 * memory by its three calls, free, dup, memory information, slices, the call within a call. What matters for the guard
 * is as in the published driver: the argument is copied once and then handed to one function; what it points to is
 * copied later, by another function, at a moment when the program can have changed it; a reply is copied back by a
 * third; a client belongs to the control file that made it, and all goes when that file is released. A reply that
 * cannot be copied back leaves the object that was made. Parameters can come as a message instead of a structure. A
 * device's object is made only for a process that has a device's node open itself; the caller's own pages are found by
 * its address, and their first word is counted up.
 *
 * Two more drivers stand here in one module with it. One is as nvidia-uvm (minors 0 and 1 of a major number of its own;
 * calls by plain numbers): what it maps of a client's memory it holds by a name of its own, until it unmaps it or its
 * file is released. It does so by two functions of the core, which the layer calls in its name. The other is as
 * nvidia-drm: a node of the kernel's graphics, which takes memory by a call of its own.
 *
 * NVIDIA compiles its core apart from the kernel's build (src/nvidia/Makefile of its open kernel modules: no -pg), and
 * links it with a layer that the kernel's build compiles (kernel-open/nvidia). The core's functions, rm_ioctl among
 * them, have no entry that the kernel's tracing knows, so neither fentry nor a kprobe event is attached to them. Here
 * the two functions that stand for the core's are `notrace`, which has the same effect.
 *
 * /proc/mete_standin: "used peak objects calls"; writing to it sets the peak to what is used; a 1 makes the driver
 * slow, anything else fast again.
 */
#include <linux/cdev.h>
#include <linux/file.h>
#include <linux/fdtable.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/highmem.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define CONTROL 255
#define TOTAL (16ull << 30)
#define OK 0
#define NO_RIGHT 0x1b
#define DUPLICATE 0x19
#define INVALID 0x1f
#define NO_MEMORY 0x51
#define GRAPHICS_MAJOR 226 /* DRM_MAJOR */
#define GRAPHICS_MINOR 128 /* the first render node */
#define MAP_EXTERNAL 33	   /* calls of nvidia-uvm */
#define UNMAP_EXTERNAL 66
#define GRAPHICS_TAKE 0x45

struct standin_file {
	bool control, has_client;
	struct standin_file *registered; /* the control file of a device's */
};

struct memory {
	u64 bytes;
	unsigned int refs;
};

struct object {
	struct list_head link;
	struct hlist_node by_name;
	struct standin_file *file; /* of a client */
	u32 client, handle, parent, class;
	u64 slice;
	struct memory *memory;
};

static LIST_HEAD(objects);
static DEFINE_HASHTABLE(names, 12);
static DEFINE_MUTEX(lock);
static u64 used, peak;
static atomic64_t calls;
static unsigned int object_count;
static u32 next_handle = 0xcaf00001;
static int major;
static bool slow; /* by what is written to the file in /proc: 1 */
static int uvm_major;
static struct cdev cdev, uvm_cdev, graphics_cdev;
static bool graphics_there;

/* --- what the guard attaches to, or to the calls of; the names stand in its table of drivers --- */

u32 standin_copy_from_user(void *to, const void __user *from, u32 n);
u32 standin_copy_to_user(void __user *to, const void *from, u32 n);
u32 standin_ioctl(void *stack, void *state, struct standin_file *file, u32 number, void *data, u32 size);
void standin_cleanup(void *stack, void *state, struct standin_file *file);
u32 standin_dup_memory(void *stack, void *device, u32 client, u32 handle, u32 *ret_name, void *info);
u32 standin_free_dup(void *stack, void *device, u32 name);
u32 standin_uvm_dup(u32 client, u32 handle, u32 *ret_name);
u32 standin_uvm_free_dup(u32 name);

noinline u32 standin_copy_from_user(void *to, const void __user *from, u32 n)
{
	barrier();
	return copy_from_user(to, from, n) ? INVALID : OK;
}

noinline u32 standin_copy_to_user(void __user *to, const void *from, u32 n)
{
	barrier();
	return copy_to_user(to, from, n) ? INVALID : OK;
}

/* --- objects --- */

static struct object *find(u32 client, u32 handle)
{
	struct object *o;

	hash_for_each_possible(names, o, by_name, client ^ handle)
		if (o->client == client && o->handle == handle)
			return o;
	return NULL;
}

static void drop(struct object *o)
{
	if (o->memory && !--o->memory->refs) {
		used -= o->memory->bytes;
		kfree(o->memory);
	}
	list_del(&o->link);
	hash_del(&o->by_name);
	object_count--;
	kfree(o);
}

static bool below(const struct object *o, u32 handle)
{
	for (int depth = 0; o && depth < 8; depth++) {
		if (o->handle == handle)
			return true;
		if (o->parent == o->handle)
			return false;
		o = find(o->client, o->parent);
	}
	return false;
}

static void drop_tree(u32 client, u32 handle)
{
	struct object *o, *next;
	bool again;

	/* Memory has nothing below it. */
	o = find(client, handle);
	if (o && o->memory) {
		drop(o);
		return;
	}
	if (handle == client) {
		list_for_each_entry_safe(o, next, &objects, link)
			if (o->client == client)
				drop(o);
		return;
	}
	do {
		/* Leaves first: what others are below of is found through what is above. */
		again = false;
		list_for_each_entry_safe(o, next, &objects, link) {
			struct object *child;
			bool leaf = true;

			if (o->client != client || (handle != client && !below(o, handle)))
				continue;
			list_for_each_entry(child, &objects, link)
				if (child != o && child->client == client && child->parent == o->handle)
					leaf = false;
			if (leaf) {
				drop(o);
				again = true;
				break;
			}
		}
	} while (again);
}

static struct object *add(u32 client, u32 parent, u32 *handle, u32 class)
{
	struct object *o = kzalloc(sizeof *o, GFP_KERNEL);

	if (!o)
		return NULL;
	if (!*handle)
		*handle = next_handle++;
	o->client = class == 0x41 ? *handle : client;
	o->handle = *handle;
	o->parent = parent;
	o->class = class;
	list_add(&o->link, &objects);
	hash_add(names, &o->by_name, o->client ^ o->handle);
	object_count++;
	return o;
}

static struct standin_file *control_of(struct standin_file *f)
{
	return f->registered ? f->registered : f;
}

static bool owns(struct standin_file *f, u32 client)
{
	struct object *c = find(client, client);

	return c && c->file == control_of(f);
}

static u64 page_of(u64 size, u32 attr, u32 attr2)
{
	/* Pages of 4 KiB, too, are taken from the device by 64 KiB. */
	switch (attr >> 23 & 3) {
	case 1:
	case 2:
		return 65536;
	case 3:
		return (attr2 >> 20 & 3) == 3 ? 256ull << 30 : (attr2 >> 20 & 3) == 2 ? 512u << 20 : 2u << 20;
	}
	return size >= 2u << 20 ? 2u << 20 : 65536;
}

/* A driver takes its time, and others wait for its lock meanwhile. */
static void take_time(void)
{
	if (slow)
		usleep_range(2000, 4000);
}

/* A size may be padded to the alignment that it is asked for. Here it is with ALIGNMENT_FORCE, and not with _HINT. */
static void pad(u64 *size, u32 flags, u64 alignment)
{
	if (flags & 0x100 && alignment && alignment <= TOTAL && *size <= TOTAL)
		*size = (*size + alignment - 1) / alignment * alignment;
}

static u32 take(u32 client, u32 parent, u32 *handle, u64 *size, u32 attr, u32 attr2);

/*
 * What a caller asks for. The answer is less than what was taken in two cases: pages of 4 KiB, of which it tells the
 * size by pages; and an address of the caller's choice (a flag), where all is taken up to the alignment.
 */
static u32 take_asked(u32 client, u32 parent, u32 *handle, u64 *size, u64 alignment, u32 flags, u32 attr, u32 attr2)
{
	u64 asked = *size;
	u32 status;

	pad(size, flags & 0x10 ? 0x100 : flags, alignment);
	status = take(client, parent, handle, size, attr, attr2);
	if (flags & 0x10)
		*size = asked;
	else if ((attr >> 23 & 3) == 1)
		*size = (asked + 4095) & ~4095ull;
	return status;
}

static u32 take(u32 client, u32 parent, u32 *handle, u64 *size, u32 attr, u32 attr2)
{
	u64 page = page_of(*size, attr, attr2), bytes = (*size + page - 1) & ~(page - 1);
	struct object *o;
	struct memory *m;

	if (*size > TOTAL || bytes > TOTAL - used)
		return NO_MEMORY;
	if (!find(client, parent) || (*handle && find(client, *handle)))
		return INVALID;
	m = kzalloc(sizeof *m, GFP_KERNEL);
	o = m ? add(client, parent, handle, 0x40) : NULL;
	if (!o) {
		kfree(m);
		return NO_MEMORY;
	}
	take_time();
	m->bytes = bytes;
	m->refs = 1;
	o->memory = m;
	used += bytes;
	if (used > peak)
		peak = used;
	*size = bytes;
	return OK;
}

/* --- calls; `d` is the kernel's copy of the argument by words --- */

static const struct file_operations operations;

static int is_device(const void *unused, struct file *file, unsigned int fd)
{
	const struct standin_file *f = file->f_op == &operations ? file->private_data : NULL;

	return f && !f->control;
}

static bool has_device_open(void)
{
	return iterate_fd(current->files, 0, is_device, NULL);
}

/* As a device would write to them. */
static u32 count_up(u64 address)
{
	struct page *page;
	u32 *word;

	if (get_user_pages_fast(address, 1, FOLL_WRITE, &page) != 1)
		return INVALID;
	word = kmap_local_page(page);
	++*word;
	kunmap_local(word);
	set_page_dirty_lock(page);
	put_page(page);
	return OK;
}

static u32 alloc(struct standin_file *f, u32 *d, u32 call_size)
{
	u32 client = d[0], parent = d[1], class = d[3];
	void __user *from = (void __user *)(unsigned long)*(u64 *)(d + 4);
	struct {
		u32 words[11], unused;
		u64 low, high, size, rest[7];
	} p;
	struct object *o;
	u32 status;

	if (class == 0 || class == 1 || class == 0x41) {
		if (d[2] && find(d[2], d[2]))
			return DUPLICATE;
		o = add(0, 0, &d[2], 0x41);
		if (!o)
			return NO_MEMORY;
		o->file = f;
		f->has_client = true;
		o->parent = o->handle;
		return OK;
	}
	if (!owns(f, client) || (class == 0x80 && !has_device_open()))
		return NO_RIGHT;
	if (class == 0xa06c)
		take_time();
	/* 0x42: extended memory, with the same parameters. */
	if (class == 0xfd || class == 0xda) {
		/*
		 * It holds the memory that it is given, whoever frees that. (For 0xfd the manager has a control for it;
		 * a semaphore surface, 0xda, is given it by its parameters, and makes a name of its own.)
		 */
		u32 handles[4] = { d[8] };
		struct object *held;

		if (class == 0xda && standin_copy_from_user(handles, from, sizeof handles))
			return INVALID;
		held = find(client, handles[0]);
		if (!held || !held->memory || !find(client, parent))
			return INVALID;
		o = add(client, parent, &d[2], class);
		if (!o)
			return NO_MEMORY;
		o->memory = held->memory;
		o->memory->refs++;
		return OK;
	}
	if (class != 0x40 && class != 0x42)
		return find(client, parent) && !(d[2] && find(client, d[2])) && add(client, parent, &d[2], class) ?
			       OK :
			       INVALID;
	/*
	 * Parameters as a message (a flag): not the manager's form, but like it not the structure. Eight bytes to tell
	 * it, then the size.
	 */
	if (call_size == 48 && d[9] & 1) {
		if (standin_copy_from_user(&p, from, 16))
			return INVALID;
		return take(client, parent, &d[2], (u64 *)&p.words[2], 0, 0);
	}
	if (standin_copy_from_user(&p, from, 120))
		return INVALID;
	status = take_asked(client, parent, &d[2], &p.size, p.rest[0], p.words[2], p.words[6], p.words[7]);
	return status ? status : standin_copy_to_user(from, &p, 120);
}

static u32 alloc_memory(struct standin_file *f, u32 *d)
{
	u64 size = *(u64 *)(d + 8) + 1;

	if (!owns(f, d[0]))
		return NO_RIGHT;
	if (d[3] == 0x71 && count_up(*(u64 *)(d + 6)))
		return INVALID;
	if (d[3] != 0x40 && (d[4] >> 8 & 0xf) != 2)
		return add(d[0], d[1], &d[2], d[3]) ? OK : INVALID;
	return take(d[0], d[1], &d[2], &size, 0, 0);
}

static u32 heap(struct standin_file *f, u32 *d)
{
	u64 *size = (u64 *)(d + (d[2] == 14 ? 20 : 22));
	u32 attr = d[d[2] == 6 ? 16 : 14], attr2 = d[d[2] == 14 ? 34 : 36];
	struct object *o;

	if (!owns(f, d[0]))
		return NO_RIGHT;
	switch (d[2]) {
	case 3:
		o = find(d[0], d[11]);
		if (!o)
			return INVALID;
		drop_tree(d[0], d[11]);
		return OK;
	case 1:
	case 2:
	case 6:
	case 14:
	case 19:
		/* Addresses alone (a flag), or the host's memory (the location): no memory of the device. */
		if (d[13] & 0x80000 || (attr >> 25 & 3) == 1)
			return add(d[0], d[1], &d[11], 0x3e) ? OK : NO_MEMORY;
		/* By height and pitch: the size is an answer. */
		if (d[2] == 6)
			*size = (u64)d[14] * (u64)(s32)d[15];
		return take_asked(d[0], d[1], &d[11], size, size[1], d[13], attr, attr2);
	}
	return OK;
}

static u32 dup(struct standin_file *f, u32 *d)
{
	struct object *source = find(d[3], d[4]), *o;

	if (!owns(f, d[0]))
		return NO_RIGHT;
	if (!source || !find(d[0], d[1]) || (d[2] && find(d[0], d[2])))
		return INVALID;
	o = add(d[0], d[1], &d[2], source->class);
	if (!o)
		return NO_MEMORY;
	o->memory = source->memory;
	if (o->memory)
		o->memory->refs++;
	return OK;
}

static u32 fb_info(void __user *from, u32 size)
{
	u32 *list = kzalloc(4 + 128 * 8, GFP_KERNEL), status = OK;

	if (!list)
		return NO_MEMORY;
	if (size != 4 + 128 * 8 || standin_copy_from_user(list, from, size) || list[0] > 128)
		status = INVALID;
	for (u32 i = 0; !status && i < list[0]; i++)
		switch (list[1 + 2 * i]) {
		case 7:
		case 8:
		case 9:
		case 0x20:
			list[2 + 2 * i] = TOTAL >> 10;
			break;
		case 0x16:
			list[2 + 2 * i] = (TOTAL - used) >> 10;
			break;
		case 0x0b:
			list[2 + 2 * i] = 384;
			break;
		}
	if (!status)
		status = standin_copy_to_user(from, list, size);
	kfree(list);
	return status;
}

static u32 control(struct standin_file *f, u32 *d)
{
	void __user *from = (void __user *)(unsigned long)*(u64 *)(d + 4);
	struct object *o = find(d[0], d[1]);
	u64 slice;

	if (!owns(f, d[0]) || !o)
		return NO_RIGHT;
	switch (d[2]) {
	case 0x20801303:
		return fb_info(from, d[6]);
	case 0xa06c0103:
		if (standin_copy_from_user(&slice, from, 8))
			return INVALID;
		o->slice = slice;
		return standin_copy_to_user(from, &slice, 8);
	case 0xa06c0104:
		return standin_copy_to_user(from, &o->slice, 8);
	}
	return OK;
}

/* On the wrong kind of node, or with another size, a call is refused by its value: the status stays as it was. */
static u32 call(struct standin_file *f, u32 number, u32 *d, u32 size)
{
	static const struct {
		u32 number, sizes[2];
		bool control;
	} calls_known[] = {
		{ 0x27, { 56, 56 }, false }, { 0x29, { 16, 16 }, true },   { 0x2a, { 32, 32 }, true },
		{ 0x2b, { 32, 48 }, true },  { 0x34, { 28, 28 }, true },   { 0x4a, { 184, 184 }, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(calls_known); i++)
		if (calls_known[i].number == number &&
		    ((size != calls_known[i].sizes[0] && size != calls_known[i].sizes[1]) ||
		     calls_known[i].control != f->control))
			return INVALID;
	switch (number) {
	case 0x27:
		d[10] = alloc_memory(f, d);
		break;
	case 0x29:
		if (!owns(f, d[0])) {
			d[3] = INVALID;
			break;
		}
		/* As the manager (RS_COMPATABILITY_MODE): what is not there is free. */
		if (find(d[0], d[2]))
			drop_tree(d[0], d[2]);
		d[3] = OK;
		break;
	case 0x2a:
		d[7] = control(f, d);
		break;
	case 0x2b:
		d[size == 32 ? 7 : 10] = alloc(f, d, size);
		break;
	case 0x34:
		d[6] = dup(f, d);
		break;
	case 0x4a:
		d[5] = heap(f, d);
		break;
	}
	return OK;
}

noinline notrace u32 standin_ioctl(void *stack, void *state, struct standin_file *f, u32 number, void *data, u32 size)
{
	u32 r;

	atomic64_inc(&calls);
	mutex_lock(&lock);
	r = call(f, number, data, size);
	mutex_unlock(&lock);
	return r;
}

noinline notrace void standin_cleanup(void *stack, void *state, struct standin_file *f)
{
	struct object *o;
	bool again = f->has_client;

	mutex_lock(&lock);
	while (again) {
		again = false;
		list_for_each_entry(o, &objects, link)
			if (o->class == 0x41 && o->file == f) {
				drop_tree(o->handle, o->handle);
				again = true;
				break;
			}
	}
	mutex_unlock(&lock);
}

/* --- what another driver holds of a client's memory --- */

/* By a name below the core's own client, which no program's is. */
#define CORE_CLIENT 0xfeed0001

noinline notrace __noclone u32 standin_dup_memory(void *stack, void *device, u32 client, u32 handle, u32 *ret_name,
						  void *info)
{
	struct object *source, *o;
	u32 r = INVALID;

	take_time();
	mutex_lock(&lock);
	source = find(client, handle);
	*ret_name = 0;
	o = source && source->memory ? add(CORE_CLIENT, CORE_CLIENT, ret_name, 0x40) : NULL;
	if (o) {
		o->memory = source->memory;
		o->memory->refs++;
		r = OK;
	}
	mutex_unlock(&lock);
	return r;
}

noinline notrace __noclone u32 standin_free_dup(void *stack, void *device, u32 name)
{
	struct object *o;

	mutex_lock(&lock);
	o = find(CORE_CLIENT, name);
	if (o)
		drop(o);
	mutex_unlock(&lock);
	return o ? OK : INVALID;
}

/* The layer's, which the other driver calls. */
noinline u32 standin_uvm_dup(u32 client, u32 handle, u32 *ret_name)
{
	u32 r = standin_dup_memory(NULL, &uvm_cdev, client, handle, ret_name, NULL);

	barrier();
	return r;
}

noinline u32 standin_uvm_free_dup(u32 name)
{
	u32 r = standin_free_dup(NULL, &uvm_cdev, name);

	barrier();
	return r;
}

struct uvm_name {
	struct list_head link;
	u32 name;
};

struct uvm_file {
	struct mutex lock;
	struct list_head names;
};

static int uvm_open(struct inode *inode, struct file *file)
{
	struct uvm_file *f = kzalloc(sizeof *f, GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	INIT_LIST_HEAD(&f->names);
	file->private_data = f;
	return 0;
}

/* 0: each. */
static bool uvm_unmap(struct uvm_file *f, u32 name)
{
	struct uvm_name *n, *next;
	bool found = false;

	mutex_lock(&f->lock);
	list_for_each_entry_safe(n, next, &f->names, link) if (!name || n->name == name)
	{
		standin_uvm_free_dup(n->name);
		list_del(&n->link);
		kfree(n);
		found = true;
	}
	mutex_unlock(&f->lock);
	return found;
}

static u32 uvm_map(struct uvm_file *f, u32 client, u32 handle, u32 *ret_name)
{
	struct uvm_name *n = kzalloc(sizeof *n, GFP_KERNEL);
	u32 r = n ? standin_uvm_dup(client, handle, &n->name) : NO_MEMORY;

	if (r) {
		kfree(n);
		return r;
	}
	*ret_name = n->name;
	mutex_lock(&f->lock);
	list_add(&n->link, &f->names);
	mutex_unlock(&f->lock);
	return OK;
}

static int uvm_release(struct inode *inode, struct file *file)
{
	uvm_unmap(file->private_data, 0);
	kfree(file->private_data);
	return 0;
}

/* The argument by words: client, handle, the driver's name, status. */
static long uvm_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct uvm_file *f = file->private_data;
	void __user *from = (void __user *)argument;
	u32 d[4];

	if (copy_from_user(d, from, sizeof d))
		return -EFAULT;
	if (command == MAP_EXTERNAL)
		d[3] = uvm_map(f, d[0], d[1], &d[2]);
	else if (command == UNMAP_EXTERNAL)
		d[3] = uvm_unmap(f, d[2]) ? OK : INVALID;
	else
		return -EINVAL;
	return copy_to_user(from, d, sizeof d) ? -EFAULT : 0;
}

static const struct file_operations uvm_operations = {
	.owner = THIS_MODULE,
	.open = uvm_open,
	.release = uvm_release,
	.unlocked_ioctl = uvm_ioctl,
};

/* --- the graphics node: what a file of it takes is its own --- */

static int graphics_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(sizeof(u64), GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static void graphics_count(u64 *own, u64 bytes, bool take)
{
	mutex_lock(&lock);
	used += take ? bytes : -bytes;
	*own += take ? bytes : -bytes;
	if (used > peak)
		peak = used;
	mutex_unlock(&lock);
}

static int graphics_release(struct inode *inode, struct file *file)
{
	u64 *own = file->private_data;

	graphics_count(own, *own, false);
	kfree(own);
	return 0;
}

static long graphics_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	u64 bytes;

	if (_IOC_NR(command) != GRAPHICS_TAKE || get_user(bytes, (u64 __user *)argument))
		return -EINVAL;
	if (bytes > TOTAL)
		return -ENOMEM;
	graphics_count(file->private_data, bytes, true);
	return 0;
}

static const struct file_operations graphics_operations = {
	.owner = THIS_MODULE,
	.open = graphics_open,
	.release = graphics_release,
	.unlocked_ioctl = graphics_ioctl,
	.compat_ioctl = graphics_ioctl,
};

/* --- files --- */

static int standin_open(struct inode *inode, struct file *file)
{
	struct standin_file *f = kzalloc(sizeof *f, GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	f->control = iminor(inode) == CONTROL;
	file->private_data = f;
	return 0;
}

static int standin_release(struct inode *inode, struct file *file)
{
	struct standin_file *f = file->private_data;

	/* What is watched of the file has been told by now, and the driver has freed nothing yet. */
	if (slow)
		usleep_range(20000, 30000);
	standin_cleanup(NULL, NULL, f);
	kfree(f);
	return 0;
}

static int register_control(struct standin_file *f, int fd)
{
	struct file *other = fget(fd);
	struct standin_file *c = other && other->f_op == &operations ? other->private_data : NULL;
	int r = c && c->control ? 0 : -EINVAL;

	/* The driver holds the other file; here the tests keep it open. */
	if (!r)
		f->registered = c;
	if (other)
		fput(other);
	return r;
}

static long standin_unlocked_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	u32 number = _IOC_NR(command), size = _IOC_SIZE(command);
	void __user *from = (void __user *)argument;
	struct standin_file *f = file->private_data;
	u64 words[64] = { 0 };
	long r;

	if (number == 211) {
		struct {
			u32 number, size;
			u64 from;
		} x;

		if (size != sizeof x || copy_from_user(&x, from, sizeof x))
			return -EINVAL;
		number = x.number;
		size = x.size;
		from = (void __user *)(unsigned long)x.from;
	}
	if (size > sizeof words)
		return -EINVAL;
	if (copy_from_user(words, from, size))
		return -EFAULT;
	if (number == 201)
		return register_control(f, *(int *)words);
	r = standin_ioctl(NULL, NULL, f, number, words, size) == OK ? 0 : -EINVAL;
	return copy_to_user(from, words, size) ? -EFAULT : r;
}

/* As NVIDIA's: a program waits for events on the file. There are none here. */
static __poll_t standin_poll(struct file *file, poll_table *wait)
{
	return 0;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.poll = standin_poll,
	.open = standin_open,
	.release = standin_release,
	.unlocked_ioctl = standin_unlocked_ioctl,
	.compat_ioctl = standin_unlocked_ioctl,
};

static ssize_t show(struct file *file, char __user *to, size_t n, loff_t *at)
{
	char text[120];
	int length;

	mutex_lock(&lock);
	length = scnprintf(text, sizeof text, "%llu %llu %u %lld\n", used, peak, object_count,
			   (long long)atomic64_read(&calls));
	mutex_unlock(&lock);
	return simple_read_from_buffer(to, n, at, text, length);
}

static ssize_t reset(struct file *file, const char __user *from, size_t n, loff_t *at)
{
	char c = 0;

	if (n && get_user(c, from))
		return -EFAULT;
	mutex_lock(&lock);
	slow = c == '1';
	peak = used;
	mutex_unlock(&lock);
	return n;
}

static const struct proc_ops shown = { .proc_read = show, .proc_write = reset };

/* A range of numbers with its operations; *number 0: any. */
static int node_make(int *number, unsigned int first, unsigned int count, const char *name, struct cdev *node,
		     const struct file_operations *with)
{
	dev_t at = MKDEV(*number, first);
	int r = *number ? register_chrdev_region(at, count, name) : alloc_chrdev_region(&at, first, count, name);

	if (r)
		return r;
	*number = MAJOR(at);
	cdev_init(node, with);
	r = cdev_add(node, at, count);
	if (r)
		unregister_chrdev_region(at, count);
	return r;
}

static void node_drop(int number, unsigned int first, unsigned int count, struct cdev *node)
{
	cdev_del(node);
	unregister_chrdev_region(MKDEV(number, first), count);
}

static int __init standin_init(void)
{
	int graphics = GRAPHICS_MAJOR, r = node_make(&major, 0, 256, "mete-standin", &cdev, &operations);

	if (r)
		return r;
	r = node_make(&uvm_major, 0, 2, "mete-standin-uvm", &uvm_cdev, &uvm_operations);
	if (r) {
		node_drop(major, 0, 256, &cdev);
		return r;
	}
	/* Where the kernel has graphics of its own, the number is theirs. */
	graphics_there =
		!node_make(&graphics, GRAPHICS_MINOR, 1, "mete-standin-graphics", &graphics_cdev, &graphics_operations);
	proc_create("mete_standin", 0666, NULL, &shown);
	return 0;
}

static void __exit standin_exit(void)
{
	remove_proc_entry("mete_standin", NULL);
	if (graphics_there)
		node_drop(GRAPHICS_MAJOR, GRAPHICS_MINOR, 1, &graphics_cdev);
	node_drop(uvm_major, 0, 2, &uvm_cdev);
	node_drop(major, 0, 256, &cdev);
}

module_init(standin_init);
module_exit(standin_exit);
MODULE_DESCRIPTION("a stand-in for a GPU's driver, for tests; it counts and does nothing else");
MODULE_VERSION("570.0");
MODULE_LICENSE("GPL");
