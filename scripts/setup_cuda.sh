# SPDX-License-Identifier: Apache-2.0
# Packages from PyPI for scripts/setup: NVIDIA's where the machine has no toolkit of its own, clang-format.
# pip only downloads; nothing is installed into anybody's Python.

# Where the packages of a group go.
group_folder()
{
	case $1 in
	cudart/* | nvtx | clang-format) printf '%s' "$deps/$1" ;;
	*) printf '%s' "$deps/cuda" ;;
	esac
}

# A package is marked when it is completely unpacked, so that an interrupted set-up goes on there.
wheel_mark()
{
	printf '%s/.have/%s' "$(group_folder "$1")" "$2"
}

has_wheels()
{
	local group package

	while read -r group package _; do
		if [ "$group" = "$1" ]; then
			[ -e "$(wheel_mark "$group" "$package")" ] || return 1
		fi
	done <"$wheels"
}

# A Python that has pip: the user's own may be one without.
find_pip()
{
	for pip_python in python3 /usr/bin/python3; do
		"$pip_python" -m pip --version >/dev/null 2>&1 && return 0
	done
	return 1
}

pip_reason()
{
	if [ $offline = 1 ]; then
		printf 'no connection to the package index'
		return
	fi
	grep -E '^(ERROR|WARNING):' "$log" | grep -v 'pip version' | tail -1 | cut -c1-200
}

# fetch_wheel PACKAGE==VERSION PLATFORM SHA256: the wheel's path in wheel.
fetch_wheel()
{
	local package=$1 platform=$2 hash=$3 status

	wheel=$(compgen -G "$work/$hash/*.whl") && return 0
	say "fetching ${package/==/ } from PyPI"
	printf '%s --hash=sha256:%s\n' "$package" "$hash" >"$work/requirement.txt"
	PIP_REQUIRE_VIRTUALENV=0 PIP_DISABLE_PIP_VERSION_CHECK=1 "$pip_python" -m pip download \
		--no-deps --only-binary=:all: --platform "${platform}_$machine" --retries 2 \
		--require-hashes --requirement "$work/requirement.txt" --dest "$work/$hash" \
		</dev/null >"$work/pip.log" 2>&1
	status=$?
	cat "$work/pip.log" >>"$log"
	if [ $status = 0 ]; then
		wheel=$(compgen -G "$work/$hash/*.whl")
		return
	fi
	# pip says "no matching distribution" even where it reached nothing at all.
	if grep -q 'Retrying (Retry(total=0' "$work/pip.log"; then offline=1; fi
	return 1
}

# Packages of several releases do not make a toolkit: what an earlier scripts/setup left goes first.
discard_old_toolkit()
{
	local mark

	for mark in "$deps"/cuda/.have/*; do
		if [ -e "$mark" ] && ! grep -qF -- " ${mark##*/} " "$wheels"; then
			say "removing the toolkit of an earlier set-up (${mark##*/})"
			rm -rf "$deps/cuda"
			return
		fi
	done
}

fetch_group()
{
	local wanted_group=$1 group package platform x86 arm hash how dest

	while read -r group package platform x86 arm; do
		[ "$group" = "$wanted_group" ] || continue
		[ -e "$(wheel_mark "$group" "$package")" ] && continue
		hash=$x86
		if [ "$machine" = aarch64 ]; then hash=$arm; fi
		how=toolkit dest=$(group_folder "$group")
		case $group in cudart/*) how=cudart ;; clang-format) how=program ;; esac
		case $failed in *" $hash "*) return 1 ;; esac
		if ! fetch_wheel "$package" "$platform" "$hash"; then
			failed+="$hash "
			warn "could not fetch ${package/==/ }: $(pip_reason) (all of it: $log)"
			return 1
		fi
		if [ $how = toolkit ]; then discard_old_toolkit; fi
		if ! python3 scripts/setup_unpack.py $how "$dest" "$wheel" >>"$log" 2>&1; then
			warn "could not unpack $wheel into $dest: $(tail -1 "$log")"
			return 1
		fi
		rm -f "$dest/.have/${package%%==*}=="*
		mkdir -p "$dest/.have" && : >"$(wheel_mark "$group" "$package")" || return 1
	done <"$wheels"
}

# A toolkit has a libcuda to link programs with where there is no driver; the packages have none.
# It holds every name that cuda.h declares, and fails if it is ever called.
make_stub()
{
	local stubs=$deps/cuda/lib/stubs
	local symbols name

	mkdir -p "$stubs"
	symbols=$(printf '%s\n' '#define __CUDA_API_VERSION_INTERNAL' '#include <cuda.h>' \
		'#include <cudaProfiler.h>' |
		gcc -E -P -I "$deps/cuda/include" -x c - | python3 scripts/setup_unpack.py symbols)
	[ -n "$symbols" ] || return 1
	# 34 is CUDA_ERROR_STUB_LIBRARY.
	for name in $symbols; do printf 'int %s(void) { return 34; }\n' $name; done |
		gcc -shared -fPIC -O1 -Wl,-soname,libcuda.so.1 -o "$stubs/libcuda.so" -x c -
}

finish_toolkit()
{
	if ! python3 scripts/setup_unpack.py links "$deps/cuda" "$machine" >>"$log" 2>&1 ||
		! make_stub >>"$log" 2>&1; then
		warn "could not complete the toolkit in $deps/cuda: $(tail -1 "$log")"
	fi
}

# fetch holds the names of the items that are missing.
fetch_cuda()
{
	local name

	case $machine in
	x86_64 | aarch64) ;;
	*) warn "NVIDIA has no packages for $machine"; return ;;
	esac
	if ! find_pip; then
		warn "cannot fetch from PyPI: no pip here"
		return
	fi
	work=$deps/work.$$
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work"
	offline=0 failed=' '
	for name in "${fetch[@]}"; do
		if [ $offline = 1 ]; then break; fi
		case $name in
		# One of the machine that is too old or incomplete hides ours: told at the end.
		'CUDA headers') if own_toolkit; then fetch_toolkit headers; fi ;;
		nvcc) fetch_toolkit headers nvcc ;;
		CUPTI) fetch_toolkit cupti ;;
		'NVTX headers') fetch_group nvtx ;;
		clang-format*) fetch_group clang-format ;;
		HTA*) fetch_python_readers ;;
		'other CPythons') fetch_pythons ;;
		pprof) fetch_program pprof golang-go ;;
		promtool) fetch_program promtool promtool ;;
		cudart\ *) fetch_group "cudart/${name#cudart }" ;;
		esac
	done
	rm -rf "$work"
}

fetch_toolkit()
{
	local group

	for group in "$@"; do
		fetch_group "$group" || break
	done
	if [ -e "$deps/cuda/include/cuda.h" ]; then finish_toolkit; fi
}

cuda_way_out()
{
	if ! own_toolkit; then
		warn "the toolkit used would be: $(cuda_words);" \
			"cudaspy needs CUDA 12 or newer, complete:" \
			"set CUDA_HOME to such a toolkit, or to $deps/cuda to have one fetched"
	else
		warn "install a CUDA toolkit, 12 or newer, and set CUDA_HOME to its folder," \
			"or give \`python3 -m pip download\` a way to PyPI;" \
			"then run scripts/setup again"
	fi
}
