#!/bin/sh
# best_isa.sh: prints which of the engine's instruction sets is the best of this machine (isa.c asks for the same).
flags=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1) "
has() {
	for flag; do
		case $flags in *" $flag "*) ;; *) return 1 ;; esac
	done
}
if has avx2 fma avx512f avx512bw avx512dq avx512vl; then
	echo avx512
elif has avx2 fma; then
	echo avx2
else
	echo base
fi
