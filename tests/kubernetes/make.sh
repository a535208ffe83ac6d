#!/bin/bash
# make.sh FOLDER [judge]: puts into FOLDER/bin what a Kubernetes cluster of one machine needs, all of it from Debian's packages.
#
# kube-apiserver, kube-scheduler and kubelet 1.20.2 are compiled from bookworm's source package, the last one that holds
# them, with bookworm's Go; containerd 1.7, its shim, ctr and etcd are trixie's, runc and kubectl are bookworm's. Nothing
# is installed: packages are unpacked below FOLDER. It takes some minutes on two cores and 3 GB while it works, and
# leaves 400 MB. What is there already is not made again.
#
# With `judge`: FOLDER/bin/judge alone, compiled from judge/main.go with sid's Go and the packages that kubelet and the
# API server of today are made of. It speaks to the agent as they do (judge_test.py). Sid changes from day to day.
set -euo pipefail

[ $# = 1 ] || [ "$*" = "$1 judge" ] || { echo "usage: $0 FOLDER [judge]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
bin=$folder/bin work=$folder/work
# The archives that this machine's apt uses, unless others are named.
# shellcheck disable=SC2016 # apt's own words
archives=$(apt-get indextargets --format '$(REPO_URI)' "Identifier: Packages" | sort -u)
mirror=${METE_TEST_MIRROR:-$(grep -v security <<< "$archives" | head -n 1 || true)}
security=${METE_TEST_SECURITY:-$(grep security <<< "$archives" | head -n 1 || true)}
if [ -z "$mirror" ] || [ -z "$security" ]; then
	echo "$0: apt knows no archive of Debian or of its security updates; name them by METE_TEST_MIRROR and METE_TEST_SECURITY" >&2
	exit 2
fi
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p "$bin" "$work"

# suite SUITE: an apt root of its own for a suite, so that the machine's own packages are not touched.
suite() {
	local root=$work/$1
	[ -f "$root/ready" ] && return
	mkdir -p "$root"/{etc/apt/preferences.d,state/lists/partial,cache/archives/partial}
	: > "$root/status"
	{
		echo "deb [signed-by=$keys] $mirror $1 main"
		echo "deb-src [signed-by=$keys] $mirror $1 main"
		[ "$1" = sid ] || echo "deb [signed-by=$keys] $security $1-security main"
		[ "$1" = sid ] || echo "deb-src [signed-by=$keys] $security $1-security main"
	} > "$root/sources.list"
	apt_of "$1" apt-get -q update
	touch "$root/ready"
}

# apt_of SUITE COMMAND...: a command of apt's with that root.
apt_of() {
	local root=$work/$1
	shift
	local command=$1
	shift
	"$command" -o Dir::Etc="$root/etc/apt" -o Dir::Etc::sourcelist="$root/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State="$root/state" -o Dir::State::status="$root/status" -o Dir::Cache="$root/cache" \
		-o APT::Sandbox::User=root -o Acquire::Check-Valid-Until="$([ "$(basename "$root")" = sid ] && echo false || echo true)" "$@"
}

# unpack SUITE PACKAGE...: the packages' files below FOLDER/work/SUITE/files.
unpack() {
	local root=$work/$1 name
	suite "$1"
	shift
	mkdir -p "$root/debs" "$root/files"
	(cd "$root/debs" && apt_of "$(basename "$root")" apt-get -q download "$@")
	for name in "$root"/debs/*.deb; do
		dpkg-deb -x "$name" "$root/files"
		rm "$name"
	done
}

take() { install -m 755 "$1" "$bin/$(basename "$1")"; }

if [ "${2:-}" = judge ]; then
	[ -x "$bin/judge" ] && exit
	unpack sid golang-1.26-go golang-1.26-src golang-google-{grpc,protobuf,genproto}-dev \
		golang-golang-x-{crypto,net,sys,text}-dev golang-gopkg-{inf.v0,yaml.v2}-dev \
		golang-k8s-{api,apimachinery,klog,kube-openapi,utils,sigs-json,sigs-randfill,sigs-structured-merge-diff-v6}-dev \
		golang-github-{kubernetes-kubelet,golang-protobuf-1-5,gogo-protobuf,fxamacker-cbor,x448-float16,go-logr-logr}-dev \
		golang-github-{json-iterator-go,modern-go-concurrent,modern-go-reflect2}-dev
	files=$work/sid/files
	mkdir -p "$work/go/src"
	ln -sfn "$here/judge" "$work/go/src/judge"
	GOPATH=$work/go:$files/usr/share/gocode GOROOT=$files/usr/lib/go-1.26 GO111MODULE=off GOPROXY=off GOTOOLCHAIN=local \
		GOCACHE=$work/gocache CGO_ENABLED=0 GOMAXPROCS=${GOMAXPROCS:-2} \
		"$files/usr/lib/go-1.26/bin/go" build -trimpath -ldflags '-s -w' -o "$bin/judge" judge
	rm -rf "$work"
	echo "made: $bin/judge"
	exit
fi

if [ ! -x "$bin/containerd" ] || [ ! -x "$bin/etcd" ]; then
	unpack trixie containerd etcd-server
	for name in containerd containerd-shim-runc-v2 ctr etcd; do
		take "$work/trixie/files/usr/bin/$name"
	done
fi
if [ ! -x "$bin/runc" ] || [ ! -x "$bin/kubectl" ]; then
	unpack bookworm runc kubernetes-client
	take "$work/bookworm/files/usr/sbin/runc"
	take "$work/bookworm/files/usr/bin/kubectl"
fi

servers="kube-apiserver kube-scheduler kubelet"
missing=
for name in $servers; do
	[ -x "$bin/$name" ] || missing="$missing cmd/$name"
done
if [ -n "$missing" ]; then
	unpack bookworm golang-1.19-go golang-1.19-src rsync libpopt0 golang-github-modern-go-reflect2-dev
	files=$work/bookworm/files
	source=$work/source
	if [ ! -f "$source/Makefile" ]; then
		(cd "$work" && apt_of bookworm apt-get -q --download-only source kubernetes)
		rm -rf "$source"
		dpkg-source --no-check -x "$work"/kubernetes_*.dsc "$source"
	fi
	# The reflect2 in that tree reads Go's maps by hand, as they were before Go 1.18: the API server dies of it.
	rm -f "$source"/vendor/github.com/modern-go/reflect2/*.{go,s}
	cp "$files"/usr/share/gocode/src/github.com/modern-go/reflect2/*.{go,s} \
		"$source/vendor/github.com/modern-go/reflect2/"
	rm -f "$source"/vendor/github.com/modern-go/reflect2/*_test.go
	# A generator that was cut off while it was made is an empty file, which make would keep.
	find "$source/_output" -type f -size 0 -path '*/bin/*' -delete 2> /dev/null || true
	mkdir -p "$source/.go/src/k8s.io"
	ln -sfn ../../.. "$source/.go/src/k8s.io/kubernetes"
	cat > "$work/version" <<-END
		KUBE_GIT_COMMIT='faecb196815e248d3ecfb03c680a4507229c2a56'
		KUBE_GIT_TREE_STATE='clean'
		KUBE_GIT_VERSION='v1.20.2'
		KUBE_GIT_MAJOR='1'
		KUBE_GIT_MINOR='20'
	END
	cd "$source/.go/src/k8s.io/kubernetes"
	for lib in "$files"/usr/lib/*-linux-gnu; do
		export LD_LIBRARY_PATH=$lib
	done
	export GOPATH=$source/.go GOROOT=$files/usr/lib/go-1.19 GOPROXY=off GOCACHE=$work/gocache CGO_ENABLED=0 \
		KUBE_GIT_VERSION_FILE=$work/version GOMAXPROCS=${GOMAXPROCS:-2} KUBE_GOLDFLAGS='-s -w'
	export PATH=$GOROOT/bin:$files/usr/bin:$PATH
	# Of what is generated the tree lacks one file alone. `make all` would generate the rest anew, for half of the time.
	make -f Makefile.generated_files CALLED_FROM_MAIN_MAKEFILE=1 OUT_DIR=_output BIN_DIR=_output/bin META_DIR=.make \
		PRJ_SRC_PATH=k8s.io/kubernetes GENERATED_FILE_PREFIX=zz_generated. KUBE_VERBOSE=1 SHELL=/bin/bash \
		pkg/generated/openapi/zz_generated.openapi.go
	# shellcheck disable=SC2086 # a word a server
	hack/make-rules/build.sh $missing
	for name in $servers; do
		[ ! -f "_output/local/go/bin/$name" ] || take "_output/local/go/bin/$name"
	done
	cd "$folder"
fi
rm -rf "$work"
echo "made: $bin"
