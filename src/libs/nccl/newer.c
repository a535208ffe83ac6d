/*
 * newer.c: the calls that NCCL exports beyond those of nccl.h of the version that nccl.toml was read from. Programs
 * that are linked against such a version name them (PyTorch does), and would not start without them.
 *
 * They serve communication that kernels begin by themselves, and suspension, which mete's library has not: each is
 * refused as NCCL refuses what a build of it cannot do. The names are those that the libraries of NCCL 2.28.9
 * and 2.32.3 export.
 */
#include "softdev/log.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { INVALID_USAGE = 5 }; /* ncclInvalidUsage of nccl.h */

#define EXPORTED __attribute__((visibility("default")))
#define REFUSED(name)                                                                                                  \
	EXPORTED int name(void);                                                                                       \
	int name(void)                                                                                                 \
	{                                                                                                              \
		static atomic_bool said;                                                                               \
		if (!atomic_exchange(&said, true))                                                                     \
			refused(#name);                                                                                \
		return INVALID_USAGE;                                                                                  \
	}                                                                                                              \
	EXPORTED int p##name(void) __attribute__((alias(#name)));
#define NOTHING(name)                                                                                                  \
	EXPORTED void name(void);                                                                                      \
	void name(void)                                                                                                \
	{                                                                                                              \
	}                                                                                                              \
	EXPORTED void p##name(void) __attribute__((alias(#name)));

static void refused(const char *name)
{
	log_line("%s: not supported by mete's NCCL (docs/libraries.md lists what is)", name);
}

/* ncclTeam_t of nccl_device.h: ranks, own rank, distance. A team of nobody. */
struct team {
	int ranks, rank, stride;
};

#define NO_TEAM(name)                                                                                                  \
	EXPORTED struct team name(void);                                                                               \
	struct team name(void)                                                                                         \
	{                                                                                                              \
		return (struct team){ 0 };                                                                             \
	}                                                                                                              \
	EXPORTED struct team p##name(void) __attribute__((alias(#name)));

REFUSED(ncclAllGatherConfig)
REFUSED(ncclAllReduceConfig)
REFUSED(ncclAlltoAllConfig)
REFUSED(ncclBroadcastConfig)
REFUSED(ncclGatherConfig)
REFUSED(ncclReduceConfig)
REFUSED(ncclReduceScatterConfig)
REFUSED(ncclScatterConfig)

REFUSED(ncclCommGetUniqueId)
REFUSED(ncclCommGrow)
REFUSED(ncclCommMemStats)
REFUSED(ncclCommQueryProperties)
REFUSED(ncclCommResume)
REFUSED(ncclCommSuspend)
REFUSED(ncclSetEncryption)

REFUSED(ncclDevCommCreate)
REFUSED(ncclDevCommDestroy)
REFUSED(ncclGetCftDeviceLeInfo)
REFUSED(ncclGetLsaDevicePointer)
REFUSED(ncclGetLsaMultimemDevicePointer)
REFUSED(ncclGetMultimemDeviceLeInfo)
REFUSED(ncclGetMultimemDevicePointer)
REFUSED(ncclGetPeerDeviceLeInfo)
REFUSED(ncclGetPeerDevicePointer)
REFUSED(ncclGinBarrierCreateRequirement)
REFUSED(ncclGinInboxA2ACreateRequirement)
REFUSED(ncclGinOutboxCreateRequirement)
REFUSED(ncclLLA2ACreateRequirement)
REFUSED(ncclLsaBarrierCreateRequirement)
REFUSED(ncclPutSignal)
REFUSED(ncclSignal)
REFUSED(ncclWaitSignal)
REFUSED(ncclWinGetUserPtr)

REFUSED(ncclParamBind)
REFUSED(ncclParamDumpAll)
REFUSED(ncclParamGet)
REFUSED(ncclParamGetAllParameterKeys)
REFUSED(ncclParamGetI16)
REFUSED(ncclParamGetI32)
REFUSED(ncclParamGetI64)
REFUSED(ncclParamGetI8)
REFUSED(ncclParamGetParameter)
REFUSED(ncclParamGetStr)
REFUSED(ncclParamGetU16)
REFUSED(ncclParamGetU32)
REFUSED(ncclParamGetU64)
REFUSED(ncclParamGetU8)

NO_TEAM(ncclTeamCft)
NO_TEAM(ncclTeamCftMultimem)
NO_TEAM(ncclTeamLsa)
NO_TEAM(ncclTeamRail)
NO_TEAM(ncclTeamWorld)

/* Ranks and slots are numbers, not results. */
NOTHING(ncclResetDebugInitInternal)
EXPORTED int ncclTeamRankToLsa(void);
EXPORTED int pncclTeamRankToLsa(void) __attribute__((alias("ncclTeamRankToLsa")));
EXPORTED int ncclTeamRankToWorld(void);
EXPORTED int pncclTeamRankToWorld(void) __attribute__((alias("ncclTeamRankToWorld")));
EXPORTED int ncclLLA2ACalcSlots(void);
EXPORTED int pncclLLA2ACalcSlots(void) __attribute__((alias("ncclLLA2ACalcSlots")));

int ncclTeamRankToLsa(void)
{
	return 0;
}

int ncclTeamRankToWorld(void)
{
	return 0;
}

int ncclLLA2ACalcSlots(void)
{
	return 0;
}
