/*
 * visible.c: which of the workers' devices the program sees, and in which order: CUDA_VISIBLE_DEVICES, with the rules
 * of the driver. Indices count the devices of all servers, in the order of METE_REMOTE.
 */
#include "remote/client/visible.h"

#include "remote/client/call.h"
#include "remote/client/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct place {
	struct session *session;
	int32_t local;
};

static struct place all[SESSION_DEVICES];
static int all_count;
static int shown[SESSION_DEVICES]; /* the program's number -> place in all[] */
static int shown_count;

void visible_add(struct session *session, int32_t count)
{
	for (int32_t i = 0; i < count && all_count < (int)SESSION_DEVICES; i++)
		all[all_count++] = (struct place){ session, i };
}

static bool uuid_text(const struct place *p, char text[48])
{
	struct client_call c;
	uint8_t u[16] = { 0 };

	client_request_to(&c, CUDA_CALL_cuDeviceGetUuid_v2, p->session);
	if (client_begin_memo(&c)) {
		remote_put(&c.out, &p->local, sizeof p->local);
		remote_put_present(&c.out, u);
		client_send(&c);
	}
	if (c.result == CUDA_SUCCESS)
		remote_get(&c.in, u, sizeof u);
	snprintf(text, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
		 u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
	return client_end(&c) == CUDA_SUCCESS;
}

/* An index. -1: it names no device. */
static int by_index(const char *entry, size_t n)
{
	int index = 0;

	for (size_t i = 0; i < n; i++) {
		if (entry[i] < '0' || entry[i] > '9' || index > (int)SESSION_DEVICES)
			return -1;
		index = index * 10 + (entry[i] - '0');
	}
	return index < all_count ? index : -1;
}

/* A UUID, or the beginning of one that no other device shares. */
static int by_uuid(const char *entry, size_t n)
{
	int found = -1;

	if (n < 5 || strncasecmp(entry, "GPU-", 4))
		return -1;
	for (int i = 0; i < all_count; i++) {
		char text[48];

		if (!uuid_text(&all[i], text) || n > strlen(text) || strncasecmp(text, entry, n))
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static bool is_shown(int place)
{
	for (int i = 0; i < shown_count; i++)
		if (shown[i] == place)
			return true;
	return false;
}

/* A bad entry ends the list; an entry given twice makes the whole list empty. */
static void choose(const char *list)
{
	for (;;) {
		size_t n;
		int place;

		list += strspn(list, " \t");
		n = strcspn(list, ",");
		while (n && (list[n - 1] == ' ' || list[n - 1] == '\t'))
			n--;
		place = n && list[0] >= '0' && list[0] <= '9' ? by_index(list, n) : by_uuid(list, n);
		if (place < 0)
			return;
		if (is_shown(place)) {
			shown_count = 0;
			return;
		}
		shown[shown_count++] = place;
		list += strcspn(list, ",");
		if (!*list++)
			return;
	}
}

int visible_choose(void)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");

	shown_count = 0;
	if (list) {
		choose(list);
		return shown_count;
	}
	for (; shown_count < all_count; shown_count++)
		shown[shown_count] = shown_count;
	return shown_count;
}

void visible_forget(void)
{
	all_count = shown_count = 0;
}

struct session *visible_all(int device, int32_t *ret_local)
{
	if (device < 0 || device >= all_count)
		return NULL;
	*ret_local = all[device].local;
	return all[device].session;
}

int visible_all_count(void)
{
	return all_count;
}

struct session *visible_find(CUdevice device, int32_t *ret_local)
{
	if (device < 0 || device >= shown_count)
		return NULL;
	*ret_local = all[shown[device]].local;
	return all[shown[device]].session;
}

CUdevice visible_name(const struct session *session, int32_t local)
{
	for (int i = 0; i < shown_count; i++)
		if (all[shown[i]].session == session && all[shown[i]].local == local)
			return i;
	return CU_DEVICE_INVALID;
}
