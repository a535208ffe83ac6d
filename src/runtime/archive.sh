#!/bin/sh
# archive.sh IN.a OUT.a: one archive with one object, in which only what programs may call is visible: the names of our
# own functions are nothing that a program could meet.
set -eu
object="$2.p.o"
${LD:-ld} -r --whole-archive "$1" -o "$object"
${OBJCOPY:-objcopy} --localize-hidden "$object"
rm -f "$2"
${AR:-ar} rcs "$2" "$object"
rm -f "$object"
