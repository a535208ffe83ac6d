/*
 * move_kind.c: whether another server's worker has devices of the same kind: what the program has been told of its
 * devices stays true there. The worker tells of itself as at the beginning of a session (remote/snapshot.h); what the
 * program was told lies in the memo. Only what says where a device is may differ, and there may be more memory.
 */
#include "remote/client/move.h"

#include "cuda_remote.h"
#include "remote/snapshot.h"

#include <stdio.h>
#include <string.h>

#define KEPT_BYTES 512u

/* Where a device is, and what it shares with others of its machine. */
static const int places[] = { CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,	 CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
			      CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID,
			      CU_DEVICE_ATTRIBUTE_NUMA_ID,	 CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID };

struct kept {
	uint8_t bytes[KEPT_BYTES];
	size_t size;
};

static void *room(void *arg, size_t bytes)
{
	struct kept *kept = arg;

	kept->size = bytes;
	return bytes <= sizeof(kept->bytes) ? kept->bytes : NULL;
}

static int32_t first_int(const void *at, size_t bytes)
{
	int32_t value = 0;

	if (bytes >= sizeof(value))
		memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t first_word(const void *at, size_t bytes)
{
	uint64_t value = 0;

	if (bytes >= sizeof(value))
		memcpy(&value, at, sizeof(value));
	return value;
}

static bool is_place(int attribute)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i] == attribute)
			return true;
	return false;
}

/* One answer beside the one that the program has. */
static bool is_same(struct move *m, const struct snapshot_entry *e, const void *request, const uint8_t *reply,
		    const struct kept *kept)
{
	int attribute;

	switch (e->call) {
	case CUDA_CALL_cuDeviceGetCount:
		if (first_int(reply, e->reply_bytes) == first_int(kept->bytes, kept->size))
			return true;
		return move_refused(m, "%s: it gives %d devices, and the program has %d", move_server(m),
				    first_int(reply, e->reply_bytes), first_int(kept->bytes, kept->size));
	case CUDA_CALL_cuDriverGetVersion:
		if (first_int(reply, e->reply_bytes) >= first_int(kept->bytes, kept->size))
			return true;
		return move_refused(m, "%s: its driver is of version %d, and the program's of %d", move_server(m),
				    first_int(reply, e->reply_bytes), first_int(kept->bytes, kept->size));
	case CUDA_CALL_cuDeviceGetName:
		if (e->reply_bytes == kept->size && !memcmp(reply, kept->bytes, kept->size))
			return true;
		return move_refused(m,
				    "%s: its device is of another kind than the program's: a move needs a device of "
				    "the same name",
				    move_server(m));
	case CUDA_CALL_cuDeviceTotalMem_v2:
		if (first_word(reply, e->reply_bytes) >= first_word(kept->bytes, kept->size))
			return true;
		return move_refused(m, "%s: it gives %llu bytes of memory, and the program was given %llu",
				    move_server(m), (unsigned long long)first_word(reply, e->reply_bytes),
				    (unsigned long long)first_word(kept->bytes, kept->size));
	case CUDA_CALL_cuDeviceGetAttribute:
		attribute = (int)first_word(request, e->request_bytes);
		if (is_place(attribute) || first_int(reply, e->reply_bytes) == first_int(kept->bytes, kept->size))
			return true;
		return move_refused(m,
				    "%s: its device is of another kind than the program's: attribute %d of "
				    "cuDeviceGetAttribute is %d there and %d here",
				    move_server(m), attribute, first_int(reply, e->reply_bytes),
				    first_int(kept->bytes, kept->size));
	default:
		return true;
	}
}

static bool all_same(struct move *m, struct remote_reader *in)
{
	while (in->used < in->size) {
		struct snapshot_entry e;
		const void *request, *reply, *unused;
		struct memo_key key;
		struct kept kept;
		int32_t result;
		size_t bytes;

		remote_get(in, &e, sizeof(e));
		request = remote_take(in, e.request_bytes);
		reply = remote_take(in, e.reply_bytes);
		if (in->bad)
			return move_refused(m, "%s: it does not speak as this mete does", move_server(m));
		key = (struct memo_key){ .call = e.call, .bytes = request, .size = remote_padded(e.request_bytes) };
		if (memo_find(&m->session->memo, &key, &result, room, &kept, &unused, &bytes)) {
			kept.size = e.reply_bytes < bytes ? e.reply_bytes : bytes;
			if (!is_same(m, &e, request, reply, &kept))
				return false;
		}
	}
	return true;
}

bool move_is_alike(struct move *m)
{
	struct link_answer answer;
	struct remote_reader in;
	CUresult r = move_request(m, CALL_OPEN, 0, NULL, 0, &answer);
	bool alike = false;

	if (r == CUDA_SUCCESS) {
		in = (struct remote_reader){ .data = answer.body, .size = answer.bytes };
		alike = all_same(m, &in);
	} else {
		move_refused(m, "%s: it was lost on the way", move_server(m));
	}
	link_done(&answer);
	return alike;
}
