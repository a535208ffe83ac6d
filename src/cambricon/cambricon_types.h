/*
 * cambricon_types.h: the types of Cambricon's CNDrv and CNRT, as far as handled calls need them. Names, layouts and
 * values are those of the CNDrv and CNRT developer guides (cambricon.com/docs, CNDrv 2.7 to 2.15, CNRT 6.7); they were
 * not compared with an installed header.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Both levels return numbers of one list: CNRT passes on CNDrv's (cnrtErrorNoMem is CN_MEMORY_ERROR_OUT_OF_MEMORY). */
typedef int CNresult;
#define CN_SUCCESS 0
#define CN_ERROR_NOT_READY 1
#define CN_ERROR_NOT_INITIALIZED 100002
#define CN_ERROR_DEINITIALIZED 100003
#define CN_OPS_ERROR_NOT_SUPPORTED 100050
#define CN_MEMORY_ERROR_OUT_OF_MEMORY 100100

typedef uint64_t CNaddr, CNmemGenericAllocationHandle;
typedef int CNdev;
typedef void *CNcontext, *CNqueue, *CNnotifier, *CNtaskTopo, *CNtaskTopoEntity;

/* Names of default queues; 0 is the one that the program was built for, by default the legacy one. */
#define CN_QUEUE_TYPE_PER_THREAD ((CNqueue)1)
#define CN_QUEUE_TYPE_LEGACY ((CNqueue)2)

typedef struct CNmemLocation {
	int type; /* 1: a device */
	int id;
} CNmemLocation;
#define CN_MEM_LOCATION_TYPE_DEVICE 1

typedef struct CNmemAllocationProp {
	int type, requestedHandleTypes;
	CNmemLocation location;
	unsigned char allocFlags[2];
} CNmemAllocationProp;

typedef struct CNinvokeConfig {
	unsigned int dimx, dimy, dimz;
	int c;
	unsigned int reserved;
	CNqueue hqueue;
	void *attrs;
	unsigned int numAttrs;
} CNinvokeConfig;

typedef struct cnrtDim3_t {
	unsigned int x, y, z;
} cnrtDim3_t;
