# shellcheck shell=bash
# steps.sh: what ./demo and ./check share: installing packages, and running a step with its progress shown.
#
# step TITLE COMMAND... runs a command with its output in $logs/TITLE.log (blanks become dashes) and a line on the screen
# that is alive while it runs; when it fails the end of the log is shown. Value: the command's status.

logs=${logs:-build/logs}

if [ -t 1 ]; then
	bold=$'\e[1m' plain=$'\e[0m' again=$'\r\e[K'
else
	bold='' plain='' again=$'\n'
fi

say() { printf '%s%s%s\n' "$bold" "$*" "$plain"; }

# The last line of a log that says something, cut to the width of a screen.
last_words() { tr '\r' '\n' < "$1" | grep -v '^[[:space:]]*$' | tail -1 | cut -c1-90; }

step() {
	local title=$1 log status began=$SECONDS shown=0 pid
	shift
	mkdir -p "$logs"
	log=$logs/${title//[ \/]/-}.log
	printf '%s ...' "$title"
	"$@" > "$log" 2>&1 < /dev/null &
	pid=$!
	while kill -0 "$pid" 2> /dev/null; do
		sleep 0.2
		if [ $((SECONDS - began)) -ge $((shown + 2)) ]; then
			shown=$((SECONDS - began))
			# On a screen the line is rewritten; in a log a line every 20 s is enough.
			if [ -t 1 ]; then
				printf '%s%s ... %d s  %s' "$again" "$title" "$shown" "$(last_words "$log")"
			elif [ $((shown % 20)) -lt 2 ]; then
				printf ' %d s' "$shown"
			else
				printf '.'
			fi
		fi
	done
	status=0
	wait "$pid" || status=$?
	if [ -t 1 ]; then
		printf '%s%s ... ' "$again" "$title"
	fi
	if [ "$status" = 0 ]; then
		printf ' done (%d s)\n' $((SECONDS - began))
	else
		printf ' FAILED (status %d); the end of %s:\n' "$status" "$log"
		tail -30 "$log" | sed 's/^/    /'
	fi
	return "$status"
}

# Installs the packages of packaging/packages that carry one of the given words and are missing.
install_packages() {
	local word name missing=() as_root=()
	for word in "$@"; do
		for name in $(sed -n "s/^$word //p" packaging/packages); do
			dpkg-query -W -f='${Status}' "$name" 2> /dev/null | grep -q 'ok installed' || missing+=("$name")
		done
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if ! command -v apt-get > /dev/null; then
		say "This machine has no apt-get. Please install by hand what these packages of Debian stand for, then start again: ${missing[*]}"
		return 1
	fi
	if [ "$(id -u)" != 0 ]; then
		if ! command -v sudo > /dev/null; then
			say "Missing packages: ${missing[*]}. Install them as root (apt-get install ${missing[*]}), then start again."
			return 1
		fi
		as_root=(sudo)
		sudo -v || return 1
	fi
	echo "Missing packages: ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	step "reading the list of packages" "${as_root[@]}" apt-get -q update || return 1
	step "installing ${#missing[@]} packages" "${as_root[@]}" apt-get -q -y --no-install-recommends install "${missing[@]}"
}

# configure FOLDER [MESON OPTION...]: makes the build folder, or brings it up to date.
configure() {
	local folder=$1
	shift
	if [ -f "$folder/build.ninja" ] && [ -f "$folder/meson-private/coredata.dat" ]; then
		meson configure "$folder" "$@" && return 0
		rm -rf "$folder"
	fi
	meson setup "$folder" "$@"
}
