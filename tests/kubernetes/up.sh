#!/bin/bash
# up.sh FOLDER [COMMAND...]: a Kubernetes cluster (1.20.2) that is there while COMMAND runs, and gone afterwards.
#
# What it consists of lies in FOLDER/bin; what is missing there is made first (make.sh). Without a COMMAND it is bash, for
# looking around: kubectl works, and $METE_CLUSTER is the folder with the logs. METE_TEST_NODES says how many nodes there
# are, at present 1 or 2. It needs root. The cluster has mounts, processes and a network of its own, so it sees nothing of
# this machine's kubelet or containers, and reaches no network; when COMMAND ends, or up.sh is killed, all processes end.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 1 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 2; }
"$here/make.sh" "$1" > /dev/null || exit 1
bin=$(cd "$1/bin" && pwd)
shift
[ $# -gt 0 ] || set -- bash -i

work=$(mktemp -d /tmp/mete-cluster-XXXXXX)
# The shell is the first process of the new namespace: it takes the orphans that containerd leaves. They all end with
# unshare, and it ends with this script.
setpriv --pdeathsig KILL unshare -m -p -f -n --propagation private --mount-proc --kill-child bash -c \
	'python3 -B "$0" "$@"; exit $?' "$here/cluster.py" "$bin" "$work" "$@" <&0 &
child=$!
trap 'kill -KILL $child' TERM INT HUP
wait $child
status=$?
trap '' TERM INT HUP
for folder in /sys/fs/cgroup/*/k8s.io /sys/fs/cgroup/k8s.io; do
	[ ! -d "$folder" ] || find "$folder" -depth -type d -exec rmdir {} + 2> /dev/null
done
rm -rf "$work"
exit $status
