/*
 * classify.c: see classify.h. Tables by number of the call, class of the object, number of the control; numbers and
 * layouts with their sources in rm/interface.h.
 *
 * Compiled twice, the second time for the kernel's virtual machine: no loops without a constant end, no recursion, no
 * calls of libraries, and every offset a constant.
 */
#include "guard/classify.h"
#include "rm/interface.h"

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define ABSURD_BYTES (1ull << 46)

/* Sources of the numbers' sizes: struct nv_ioctl_* of kernel-open/common/inc/nv-ioctl.h, and escape.c. 0: any. */
static uint32_t size_of(uint32_t number)
{
	switch (number) {
	case RM_ESC_ALLOC_MEMORY:
		return sizeof(struct rm_alloc_memory);
	case RM_ESC_FREE:
		return sizeof(struct rm_free);
	case RM_ESC_CONTROL:
		return sizeof(struct rm_control);
	case RM_ESC_DUP:
		return sizeof(struct rm_dup);
	case RM_ESC_HEAP:
		return sizeof(struct rm_heap);
	default:
		return 0;
	}
}

/* Calls that take no memory, give none back and stay with the caller's own objects. */
static _Bool is_plain(uint32_t number)
{
	switch (number) {
	case RM_ESC_SHARE:
	case RM_ESC_IDLE_CHANNELS:
	case RM_ESC_MAP_MEMORY:
	case RM_ESC_UNMAP_MEMORY:
	case RM_ESC_EVENT_DATA:
	case RM_ESC_CONTEXT_DMA:
	case RM_ESC_MAP_DMA:
	case RM_ESC_UNMAP_DMA:
	case RM_ESC_MAPPING_INFO:
	case RM_ESC_CARD_INFO:
	case RM_ESC_REGISTER_FD:
	case RM_ESC_EVENT:
	case RM_ESC_EVENT_FREE:
	case RM_ESC_VERSION:
	case RM_ESC_ATTACH_GPUS:
	case RM_ESC_SYSTEM:
	case RM_ESC_NUMA:
	case RM_ESC_OPEN_COMPLETE:
		return 1;
	default:
		return 0;
	}
}

static _Bool is_engine(uint32_t class)
{
	switch (class & 0xff) {
	case RM_ENGINE_CLASS_INLINE:
	case RM_ENGINE_CLASS_DOORBELL:
	case RM_ENGINE_CLASS_GRAPHICS:
	case RM_ENGINE_CLASS_SECURITY:
	case RM_ENGINE_CLASS_DECODER:
	case RM_ENGINE_CLASS_COPY:
	case RM_ENGINE_CLASS_ENCODER:
	case RM_ENGINE_CLASS_COMPUTE:
	case RM_ENGINE_CLASS_JPEG:
	case RM_ENGINE_CLASS_FLOW:
		return class >= 0x9000 && class <= 0xffff;
	default:
		return 0;
	}
}

/* Classes of objects that take no memory by a size, and hold none whose name is gone. */
static _Bool is_plain_class(uint32_t class)
{
	switch (class) {
	case RM_CLASS_SYSTEM_MEMORY:
	case RM_PLAIN_CONTEXT_DMA:
	case RM_PLAIN_TIMER:
	case RM_PLAIN_EVENT:
	case RM_PLAIN_FABRIC_SESSION:
	case RM_PLAIN_MANAGEMENT:
	case RM_PLAIN_DEVICELESS:
	case RM_PLAIN_BOOST:
	case RM_PLAIN_ADDRESSES:
	case RM_PLAIN_OS_PAGES:
	case RM_PLAIN_DISPLAY:
	case RM_PLAIN_CALLBACK:
	case RM_PLAIN_OS_EVENT:
	case RM_PLAIN_CALLBACK_EX:
	case RM_PLAIN_DEBUG_BUFFER:
	case RM_PLAIN_USER_SHARED:
	case RM_PLAIN_IMEX_SESSION:
	case RM_PLAIN_BINAPI:
	case RM_PLAIN_BINAPI_PRIVILEGED:
	case RM_PLAIN_DIAGNOSIS:
	case RM_PLAIN_P2P:
	case RM_PLAIN_THIRD_PARTY_P2P:
	case RM_PLAIN_DEFERRED:
	case RM_PLAIN_HEAP_ADDRESSES:
	case RM_PLAIN_DEBUGGER:
	case RM_PLAIN_PERFBUFFER:
	case RM_PLAIN_MPS:
	case RM_PLAIN_TWOD:
	case RM_PLAIN_CONTEXT_SHARE:
	case RM_PLAIN_DISPLAY_SOFTWARE:
	case RM_PLAIN_TIMED_SEMAPHORE:
	case RM_PLAIN_ZBC:
	case RM_PLAIN_PROFILER:
	case RM_PLAIN_EVENT_BUFFER:
	case RM_PLAIN_SUBDEVICE_FIRST ... RM_PLAIN_SUBDEVICE_LAST:
	case RM_PLAIN_VASPACE:
	case RM_PLAIN_ENCODER_SESSION:
	case RM_PLAIN_CAPTURE_SESSION:
	case RM_PLAIN_PROFILER_CONTEXT:
	case RM_PLAIN_PROFILER_DEVICE:
	case RM_PLAIN_MIG_INSTANCE:
	case RM_PLAIN_MIG_COMPUTE:
	case RM_PLAIN_MIG_CONFIG:
	case RM_PLAIN_MIG_MONITOR:
	case RM_PLAIN_CONFIDENTIAL:
	case RM_PLAIN_COUNTERS:
		return 1;
	default:
		return 0;
	}
}

/*
 * By the page size that the attributes ask for (NVOS32_ATTR_PAGE_SIZE, NVOS32_ATTR2_PAGE_SIZE_HUGE). Pages of 4 KiB
 * come from the allocator of physical memory by 64 KiB, and the answer does not say so (vidmemPmaAllocate).
 */
static uint64_t granule(uint64_t size, uint32_t attr, uint32_t attr2)
{
	switch (RM_ATTR_PAGE(attr)) {
	case RM_PAGE_4K:
	case RM_PAGE_BIG:
		return KIB(64);
	case RM_PAGE_HUGE:
		if (RM_ATTR2_HUGE(attr2) == RM_HUGE_256G)
			return GIB(256);
		return RM_ATTR2_HUGE(attr2) == RM_HUGE_512M ? MIB(512) : MIB(2);
	default: /* the manager's choice: the largest page that the size fills */
		return size >= MIB(2) ? MIB(2) : KIB(64);
	}
}

GUARD_API uint64_t guard_charge(uint64_t size, uint32_t attr, uint32_t attr2)
{
	uint64_t g = granule(size, attr, attr2);

	if (size > ABSURD_BYTES)
		return UINT64_MAX;
	return (size + g - 1) & ~(g - 1);
}

/* The manager may pad a size to the alignment that it is asked for; its answer says whether it has. */
static uint64_t padded(uint64_t size, uint32_t flags, uint64_t alignment, const struct guard_terms *t)
{
	if (t->flags & GUARD_ANSWERED || !(flags & RM_HEAP_FLAG_ALIGN) || !alignment || size > ABSURD_BYTES)
		return size;
	return alignment > ABSURD_BYTES ? UINT64_MAX : (size + alignment - 1) / alignment * alignment;
}

static void charge(struct guard_plan *p, uint64_t size, uint32_t attr, uint32_t attr2)
{
	p->effect = GUARD_MEMORY;
	p->bytes = guard_charge(size, attr, attr2);
	if (p->bytes == UINT64_MAX) {
		p->bytes = 0;
		p->reason = GUARD_ABSURD;
	}
}

/*
 * What a program asks for. At an address of its choice the driver takes all up to the alignment, and does not say so; a
 * program has no use for that but with addresses alone.
 */
static void charge_asked(struct guard_plan *p, uint64_t size, uint32_t flags, uint64_t alignment, uint32_t attr,
			 uint32_t attr2, const struct guard_terms *t)
{
	if (flags & RM_HEAP_FLAG_FIXED)
		p->reason = GUARD_ADDRESS;
	else
		charge(p, padded(size, flags, alignment, t), attr, attr2);
}

static void alloc(const struct rm_alloc *a, uint32_t size, const struct guard_terms *t, struct guard_plan *p)
{
	int status = rm_alloc_status(t->branch, size);

	if (status < 0) {
		p->reason = GUARD_UNKNOWN_SIZE;
		return;
	}
	p->status_at = (uint8_t)(24 + 4 * status);
	p->object_at = 8;
	p->client = a->client;
	p->parent = a->parent;
	p->object = a->object;
	p->class = a->class;
	switch (a->class) {
	case RM_CLASS_ROOT:
	case RM_CLASS_ROOT_PLAIN:
	case RM_CLASS_CLIENT:
		p->class = RM_CLASS_CLIENT;
		p->effect = GUARD_PARENT;
		break;
	case RM_CLASS_DEVICE:
	case RM_CLASS_SUBDEVICE:
		p->effect = GUARD_PARENT;
		break;
	case RM_CLASS_MEMORY:
	case RM_CLASS_EXTENDED:
		if (rm_alloc_serialized(t->branch, size, a)) {
			p->reason = GUARD_SERIALIZED;
			return;
		}
		p->effect = GUARD_MEMORY;
		p->nested = GUARD_NESTED_MEMORY;
		p->pointer = a->parameters;
		p->nested_bytes = GUARD_NESTED_BYTES;
		break;
	case RM_CLASS_GROUP:
		p->effect = GUARD_GROUP;
		break;
	case RM_CLASS_REGISTERS:
	case RM_CLASS_SYSTEM_LIST:
	case RM_CLASS_FB_LIST:
	case RM_CLASS_OBJECT_LIST:
	case RM_CLASS_PHYSICAL:
		p->reason = GUARD_CLASS;
		break;
	case RM_CLASS_EXPORT:
	case RM_CLASS_FLA:
	case RM_CLASS_FABRIC:
	case RM_CLASS_FABRIC_IMPORT:
	case RM_CLASS_FABRIC_REF:
	case RM_CLASS_MULTICAST:
	case RM_CLASS_SEMAPHORES:
	case RM_CLASS_MAPPER:
		if (!(t->flags & GUARD_MAY_EXPORT))
			p->reason = GUARD_EXPORT;
		break;
	default:
		if (rm_class_is_channel(a->class))
			p->effect = GUARD_CHANNEL;
		else if (!is_engine(a->class) && !is_plain_class(a->class))
			p->reason = GUARD_UNKNOWN_CLASS;
		break;
	}
}

static void alloc_memory(const struct rm_alloc_memory *a, const struct guard_terms *t, struct guard_plan *p)
{
	p->status_at = 40;
	p->object_at = 8;
	p->client = a->client;
	p->parent = a->parent;
	p->object = a->object;
	p->class = a->class;
	if (a->class == RM_CLASS_REGISTERS || a->class == RM_CLASS_FB_LIST || a->class == RM_CLASS_SYSTEM_LIST ||
	    a->class == RM_CLASS_OBJECT_LIST || a->class == RM_CLASS_PHYSICAL)
		p->reason = GUARD_CLASS;
	else if (a->class == RM_CLASS_MEMORY || a->class == RM_CLASS_EXTENDED ||
		 RM_MEMORY_FLAGS_LOCATION(a->flags) == RM_MEMORY_VIDEO)
		charge(p, a->limit + 1 ? a->limit + 1 : UINT64_MAX, 0, 0);
	else if (a->class == RM_CLASS_FLA)
		p->reason = t->flags & GUARD_MAY_EXPORT ? GUARD_FINE : GUARD_EXPORT;
	else if (a->class != RM_CLASS_SYSTEM_MEMORY && a->class != RM_PLAIN_ADDRESSES && a->class != RM_PLAIN_OS_PAGES)
		p->reason = GUARD_UNKNOWN_CLASS;
}

/* A surface by its height and pitch: what the manager works its size out from, and afterwards that size. */
static uint64_t tiled_size(const uint8_t *bytes, uint64_t answered, const struct guard_terms *t)
{
	uint64_t height = *(const uint32_t *)(bytes + RM_HEAP_TILED_HEIGHT_AT);
	int64_t pitch = *(const int32_t *)(bytes + RM_HEAP_TILED_PITCH_AT);

	return t->flags & GUARD_ANSWERED ? answered : pitch < 0 ? UINT64_MAX : height * (uint64_t)pitch;
}

static void heap(const struct rm_heap *h, const uint8_t *bytes, const struct guard_terms *t, struct guard_plan *p)
{
	uint64_t size = *(const uint64_t *)(bytes + RM_HEAP_SIZE_AT);
	uint32_t attr = *(const uint32_t *)(bytes + RM_HEAP_ATTR_AT);
	uint32_t attr2 = *(const uint32_t *)(bytes + RM_HEAP_ATTR2_AT);
	uint64_t alignment = *(const uint64_t *)(bytes + RM_HEAP_ALIGNMENT_AT);

	p->status_at = 20;
	p->client = h->client;
	p->parent = h->parent;
	p->object = h->object;
	switch (h->function) {
	case RM_HEAP_FREE:
		p->effect = GUARD_FREE;
		return;
	case RM_HEAP_INFO:
	case RM_HEAP_ALIGNMENT:
	case RM_HEAP_OS_DESCRIPTOR: /* the program's own pages */
		return;
	case RM_HEAP_ALLOC_RANGE:
		size = *(const uint64_t *)(bytes + RM_HEAP_RANGE_SIZE_AT);
		attr2 = *(const uint32_t *)(bytes + RM_HEAP_RANGE_ATTR2_AT);
		alignment = *(const uint64_t *)(bytes + RM_HEAP_RANGE_ALIGNMENT_AT);
		break;
	case RM_HEAP_ALLOC_TILED:
		attr = *(const uint32_t *)(bytes + RM_HEAP_TILED_ATTR_AT);
		size = tiled_size(bytes, size, t);
		break;
	case RM_HEAP_ALLOC_SIZE:
		break;
	default:
		p->reason = GUARD_HEAP;
		return;
	}
	p->object_at = 44;
	p->class = RM_CLASS_MEMORY;
	if (h->flags & RM_HEAP_FLAG_VIRTUAL || RM_ATTR_LOCATION(attr) == RM_LOCATION_PCI)
		return;
	p->taken = 1;
	charge_asked(p, size, h->flags, alignment, attr, attr2, t);
}

/* A control whose parameters are judged. */
static void control_nested(const struct rm_control *c, enum guard_nested nested, uint32_t size, struct guard_plan *p)
{
	if (c->flags & RM_CONTROL_SERIALIZED) {
		p->reason = GUARD_SERIALIZED;
		return;
	}
	if (c->parameters_size != size) {
		p->reason = GUARD_UNKNOWN_SIZE;
		return;
	}
	p->nested = nested;
	p->pointer = c->parameters;
	p->nested_bytes = size;
}

/* Of a channel while it runs: slices that are not too long, and nothing else. */
static uint32_t property_reason(const struct rm_property *q, const struct guard_terms *t)
{
	if (q->property != RM_PROPERTY_ENGINE_SLICE && q->property != RM_PROPERTY_HOST_SLICE)
		return GUARD_SCHEDULING;
	return q->value > t->slice_most_us ? GUARD_SLICE : GUARD_FINE;
}

/* Controls by which a tenant could give itself more of a device than it has, or reach past its own objects. */
static void control(const struct rm_control *c, const struct guard_terms *t, struct guard_plan *p)
{
	p->status_at = 28;
	p->client = c->client;
	p->object = c->object;
	p->class = c->command;
	switch (c->command) {
	case RM_GROUP_SET_SLICE:
		control_nested(c, GUARD_NESTED_SLICE, sizeof(struct rm_slice), p);
		break;
	case RM_DEVICE_CHANNEL_PROPERTY:
		control_nested(c, GUARD_NESTED_PROPERTY, sizeof(struct rm_property), p);
		break;
	case RM_GROUP_PREEMPT:
	case RM_GROUP_SET_INTERLEAVE:
	case RM_GROUP_REALTIME:
	case RM_CHANNEL_SET_INTERLEAVE:
	case RM_CHANNEL_RESTART_RUNLIST:
	case RM_SUBDEVICE_SCHED_POLICY:
	case RM_SUBDEVICE_DISABLE:
	case RM_DEVICE_STOP_RUNLIST:
	case RM_DEVICE_START_RUNLIST:
		p->reason = GUARD_SCHEDULING;
		break;
	case RM_CLIENT_EXPORT:
	case RM_CLIENT_IMPORT:
	case RM_CLIENT_EXPORT_MANY:
	case RM_CLIENT_IMPORT_MANY:
	case RM_SUBDEVICE_DMABUF:
		if (!(t->flags & GUARD_MAY_EXPORT))
			p->reason = GUARD_EXPORT;
		break;
	case RM_SUBDEVICE_FB_INFO:
		p->nested = GUARD_NESTED_FB_INFO;
		p->pointer = c->parameters;
		break;
	default:
		break;
	}
}

GUARD_API void guard_classify(const struct guard_call *call, const struct guard_terms *terms, struct guard_plan *ret)
{
	const void *bytes = call->bytes;
	uint32_t must = size_of(call->number);

	*ret = (struct guard_plan){ .status_at = GUARD_NO_PLACE, .object_at = GUARD_NO_PLACE };
	if (!rm_branch_known(terms->branch)) {
		ret->reason = GUARD_UNKNOWN_BRANCH;
		return;
	}
	if (must && call->size != must) {
		ret->reason = GUARD_UNKNOWN_SIZE;
		return;
	}
	switch (call->number) {
	case RM_ESC_ALLOC:
		alloc(bytes, call->size, terms, ret);
		break;
	case RM_ESC_ALLOC_MEMORY:
		alloc_memory(bytes, terms, ret);
		break;
	case RM_ESC_HEAP:
		heap(bytes, call->bytes, terms, ret);
		break;
	case RM_ESC_CONTROL:
		control(bytes, terms, ret);
		break;
	case RM_ESC_FREE: {
		const struct rm_free *f = bytes;

		ret->effect = GUARD_FREE;
		ret->status_at = 12;
		ret->client = f->client;
		ret->parent = f->parent;
		ret->object = f->object;
		break;
	}
	case RM_ESC_DUP: {
		const struct rm_dup *d = bytes;

		ret->effect = GUARD_DUP;
		ret->status_at = 24;
		ret->object_at = 8;
		ret->client = d->client;
		ret->parent = d->parent;
		ret->object = d->object;
		ret->source_client = d->source_client;
		ret->source_object = d->source_object;
		break;
	}
	case RM_ESC_TRANSFER:
		ret->reason = GUARD_TRANSFER;
		break;
	case RM_ESC_DMABUF:
		if (!(terms->flags & GUARD_MAY_EXPORT))
			ret->reason = GUARD_EXPORT;
		break;
	default:
		if (!is_plain(call->number))
			ret->reason = call->number < RM_ESC_CARD_INFO ? GUARD_ESCAPE : GUARD_UNKNOWN_CALL;
		break;
	}
}

GUARD_API void guard_classify_nested(struct guard_plan *plan, const struct guard_terms *terms, const uint8_t *nested)
{
	const struct rm_memory *m = (const void *)nested;

	if (plan->nested == GUARD_NESTED_MEMORY) {
		charge_asked(plan, m->size, m->flags, m->alignment, m->attr, m->attr2, terms);
	} else if (plan->nested == GUARD_NESTED_SLICE) {
		if (((const struct rm_slice *)m)->us > terms->slice_most_us)
			plan->reason = GUARD_SLICE;
	} else if (plan->nested == GUARD_NESTED_PROPERTY) {
		plan->reason = property_reason((const void *)nested, terms);
	}
}

GUARD_API void guard_channel(struct guard_plan *plan, _Bool in_group)
{
	if (plan->effect != GUARD_CHANNEL)
		return;
	plan->effect = in_group ? GUARD_NOTHING : GUARD_GROUP;
	if (!in_group)
		plan->class = RM_CLASS_GROUP;
}

GUARD_API _Bool guard_rewrite(uint32_t index, uint32_t *data_kib, uint64_t quota, uint64_t used)
{
	uint64_t kib;

	switch (index) {
	case RM_FB_RAM_SIZE:
	case RM_FB_TOTAL_RAM_SIZE:
	case RM_FB_HEAP_SIZE:
	case RM_FB_USABLE_RAM_SIZE:
		kib = quota >> 10;
		break;
	case RM_FB_HEAP_FREE:
	case RM_FB_LARGEST_FREE:
		kib = quota > used ? (quota - used) >> 10 : 0;
		break;
	default:
		return 0;
	}
	if (kib >= *data_kib)
		return 0;
	*data_kib = (uint32_t)kib;
	return 1;
}

#ifndef __bpf__
const char *guard_reason_text(uint32_t reason)
{
	static const char *const texts[GUARD_REASONS] = {
		[GUARD_FINE] = "may pass",
		[GUARD_UNKNOWN_CALL] = "a call that this version does not know",
		[GUARD_UNKNOWN_SIZE] = "a size of the call that this version does not know",
		[GUARD_UNKNOWN_BRANCH] = "a driver branch that this version does not know",
		[GUARD_TRANSFER] = "a call within a call (NV_ESC_IOCTL_XFER_CMD)",
		[GUARD_ESCAPE] = "a call that reaches past the tenant's own objects",
		[GUARD_CLASS] = "an object that names device memory by address",
		[GUARD_HEAP] = "a function of the heap whose memory cannot be charged",
		[GUARD_SCHEDULING] = "a control that changes how channels are scheduled",
		[GUARD_SLICE] = "a longer time slice than the tenant may have",
		[GUARD_EXPORT] = "memory that leaves or enters the tenant, or is held beside its name",
		[GUARD_ABSURD] = "a size that no device has",
		[GUARD_QUOTA] = "the quota",
		[GUARD_FOREIGN] = "an object of another tenant, or of nobody whom the guard knows",
		[GUARD_DEVICE] = "a device that the tenant has not",
		[GUARD_FULL] = "the guard's tables are full",
		[GUARD_CHANGED] = "the call was changed while the kernel copied it",
		[GUARD_UNREADABLE] = "an argument that cannot be read",
		[GUARD_COMPAT] = "a call of a 32-bit program",
		[GUARD_OVER] = "the tenant's grant has ended",
		[GUARD_GROUPS] = "more channel groups than the tenant may have",
		[GUARD_SERIALIZED] = "parameters in a form that this version does not read",
		[GUARD_UNKNOWN_CLASS] = "a class of object that this version does not know",
		[GUARD_ADDRESS] = "device memory at an address of the program's choice",
	};

	return reason < GUARD_REASONS ? texts[reason] : "unknown";
}
#endif
