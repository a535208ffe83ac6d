// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0
/*
 * files.bpf.h: the owner of a file: the tenant that opened it, whichever process has it later. Included by guard.bpf.c.
 */
#pragma once

static bool device_of(struct file *file, uint32_t *ret_major, uint32_t *ret_minor)
{
	struct inode *inode = file->f_inode;

	if ((inode->i_mode & KIND) != CHARACTER)
		return false;
	*ret_major = inode->i_rdev >> 20;
	*ret_minor = inode->i_rdev & 0xfffff;
	return true;
}

/* The mark of a file; never NULL, which the verifier cannot know. */
static uint32_t *mark_of(uint64_t file)
{
	uint32_t at;

	/* For the verifier half a pointer is a number, and a whole one is not. */
	__asm__ volatile("%0 = %1" : "=w"(at) : "w"((uint32_t)file));
	at = (at >> 8 ^ at >> 20) & (GUARD_MARKS_MOST - 1);
	return bpf_map_lookup_elem(&guard_marks, &at);
}

/* The account to which a file belongs; 0: no tenant has opened it. */
static uint64_t account_of_file(uint64_t file)
{
	uint32_t *mark = mark_of(file);
	uint64_t *account = mark && !*(volatile uint32_t *)mark ? NULL : bpf_map_lookup_elem(&guard_files, &file);

	return account ? *account & ~GUARD_POOLED : 0;
}

static int file_come(struct guard_tenant *t, uint32_t *mark, uint64_t file, uint64_t account)
{
	bool pooled = __sync_fetch_and_add(&t->files, 1) >= GUARD_OWN_FILES;
	struct guard_pool *pool = pool_get();

	if (pooled)
		account |= GUARD_POOLED;
	/* The mark is set first and removed last, so it is never missing. */
	__sync_fetch_and_add(mark, 1);
	if (pool && t->files <= GUARD_TENANT_FILES && !(pooled && pool->files >= GUARD_POOL_FILES) &&
	    !bpf_map_update_elem(&guard_files, &file, &account, BPF_NOEXIST)) {
		if (pooled)
			__sync_fetch_and_add(&pool->files, 1);
		return 0;
	}
	__sync_fetch_and_sub(mark, 1);
	__sync_fetch_and_sub(&t->files, 1);
	return -ENOMEM;
}

static int file_freed(uint64_t key)
{
	uint64_t account = account_of_file(key), *value;
	struct guard_pool *pool = NULL;
	uint32_t *mark = mark_of(key);
	struct guard_tenant *t;
	struct work *w;

	if (!account)
		return 0;
	value = bpf_map_lookup_elem(&guard_files, &key);
	if (value && *value & GUARD_POOLED)
		pool = pool_get();
	/* If the kernel did not report the end of the release. */
	w = work_of_current();
	if (w)
		file_leave(w);
	t = tenant_find(account);
	if (bpf_map_delete_elem(&guard_files, &key))
		return 0;
	if (mark)
		__sync_fetch_and_sub(mark, 1);
	if (pool)
		__sync_fetch_and_sub(&pool->files, 1);
	if (t)
		__sync_fetch_and_sub(&t->files, 1);
	return 0;
}

static bool may_use(const struct guard_limits *l, uint32_t minor)
{
	return minor == CONTROL_MINOR || (minor < 64 && l->devices >> minor & 1);
}

static int open_device(struct guard_config *c, uint64_t file, uint32_t minor)
{
	uint64_t account = account_of_current();
	uint32_t *mark = mark_of(file);
	struct guard_tenant *t;
	struct guard_limits *l;

	/* Left by a file at the same address whose end was not reported. */
	if (guard_options.traced && account_of_file(file) != account)
		file_freed(file);
	if (!account)
		return c->flags & GUARD_STRICT && (uint32_t)bpf_get_current_uid_gid() ? -EPERM : 0;
	t = tenant_find(account);
	l = limits_find(account);
	if (!t || !l || !mark)
		return -EPERM;
	if (!may_use(l, minor)) {
		refused(t, GUARD_DEVICE);
		return -EPERM;
	}
	/* While one set of programs takes over from another, both run here. */
	if (bpf_map_lookup_elem(&guard_files, &file))
		return 0;
	if (file_come(t, mark, file, account)) {
		refused(t, GUARD_FULL);
		return -ENOMEM;
	}
	return 0;
}

static int file_opened(struct file *file)
{
	uint32_t major, minor;
	struct guard_config *c;

	if (!device_of(file, &major, &minor))
		return 0;
	c = config_get();
	if (!c)
		return 0;
	if (major == c->major)
		return open_device(c, (uint64_t)file, minor);
	/* The second node of nvidia-uvm shows other processes' events. */
	if (c->uvm_major && major == c->uvm_major && minor && account_of_current())
		return -EPERM;
	return 0;
}

SEC("?lsm/file_open")
int BPF_PROG(guard_open, struct file *file, int ret)
{
	return ret ? ret : file_opened(file);
}

SEC("?fmod_ret/security_file_open")
int BPF_PROG(guard_open_traced, struct file *file, int ret)
{
	return ret ? ret : UNDISTURBED(file_opened(file));
}

SEC("?lsm/file_free_security")
int BPF_PROG(guard_file_free, struct file *file)
{
	return file_freed((uint64_t)file);
}

SEC("?fentry/security_file_free")
int BPF_PROG(guard_free_traced, struct file *file)
{
	return UNDISTURBED(file_freed((uint64_t)file));
}
