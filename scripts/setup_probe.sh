# SPDX-License-Identifier: Apache-2.0
# Probes of scripts/setup: each tells by its exit status whether one thing is there.
# They look for what the build uses, not for packages: a compiler from elsewhere does as well.

# One run of the preprocessor tells of all headers; a run for each would take most of the time.
read_headers()
{
	local header

	headers=$(
		for header in stdio.h cmocka.h demangle.h elfutils/libdwfl.h jansson.h libiberty/demangle.h lttng/tracepoint.h \
			sqlite3.h uthash.h zlib.h; do
			printf '#if __has_include(<%s>)\n|%s|\n#endif\n' $header $header
		done | gcc -E -P -x c - 2>/dev/null
	)
}

has_header()
{
	case $headers in *"|$1|"*) return 0 ;; esac
	return 1
}

has_gcc()
{
	have gcc && has_header stdio.h
}

has_binutils()
{
	have nm && have readelf && have objdump
}

# A header of C++ alone.
has_toml()
{
	have g++ && echo '#include <toml++/toml.h>' | g++ -std=c++17 -E -x c++ - >/dev/null 2>&1
}

# Of the Python that runs Debian's pytest.
has_greenlet()
{
	/usr/bin/python3 -c 'import greenlet' 2>/dev/null || python3 -c 'import greenlet' 2>/dev/null
}

has_yaml()
{
	/usr/bin/python3 -c 'import yaml' 2>/dev/null || python3 -c 'import yaml' 2>/dev/null
}

has_pytest()
{
	have pytest-3 || have pytest
}

# As tests/tests.mk asks.
has_xdist()
{
	"$(command -v pytest-3 || command -v pytest)" --help 2>/dev/null </dev/null | grep -q loadgroup
}

has_python()
{
	python3 -c 'import sys, zipfile, zlib; sys.exit(sys.version_info < (3, 6))' 2>/dev/null
}

# has_library HEADER NAME. The linker knows folders the compiler does not name, so it is asked last.
has_library()
{
	local path

	has_header "$1" || return 1
	path=$(gcc -print-file-name="lib$2.so" 2>/dev/null) || return 1
	[ "$path" != "lib$2.so" ] && return 0
	echo 'int main(void) { return 0; }' | gcc -x c - -x none "-l$2" -o /dev/null 2>/dev/null
}

# The archive, with its header where Debian or where Fedora has it.
has_iberty()
{
	[ -f "$(gcc -print-file-name=libiberty.a 2>/dev/null)" ] &&
		{ has_header libiberty/demangle.h || has_header demangle.h; }
}

has_fuzzer()
{
	local folder

	folder=$(clang -print-resource-dir 2>/dev/null) || return 1
	compgen -G "$folder/lib/*/libclang_rt.fuzzer*.a" >/dev/null
}

has_cross()
{
	local path

	path=$(aarch64-linux-gnu-gcc -print-file-name=crt1.o 2>/dev/null) || return 1
	[ "$path" != crt1.o ]
}

# The version of the list of wheels, which no other lays out C files like.
has_clang_format()
{
	local version

	version=$(sed -n 's/^clang-format *clang-format==\([0-9.]*\) .*/\1/p' "$wheels")
	{ clang-format --version || "clang-format-${version%%.*}" --version; } 2>/dev/null |
		grep -qwF "version $version" || has_wheels clang-format
}

has_pyflakes()
{
	/usr/bin/python3 -m pyflakes --version >/dev/null 2>&1 || python3 -m pyflakes --version >/dev/null 2>&1
}

# The folder of a toolkit as the Makefile finds it.
cuda_home()
{
	local folder

	if [ -n "${CUDA_HOME:-}" ]; then
		case $CUDA_HOME in
		/*) printf '%s' "${CUDA_HOME%/}" ;;
		*) printf '%s/%s' "$root" "${CUDA_HOME%/}" ;;
		esac
		return
	fi
	for folder in /usr/local/cuda /opt/cuda /usr/local/cuda-* "$deps/cuda"; do
		if [ -e "$folder/include/cuda.h" ]; then
			printf '%s' "$folder"
			return
		fi
	done
}

# CUDA_VERSION of the toolkit in a folder, 0 where there is none.
cuda_version()
{
	local first second version

	while read -r first second version _; do
		if [ "$first $second" = '#define CUDA_VERSION' ]; then
			printf '%d' "$version"
			return
		fi
	done 2>/dev/null <"$1/include/cuda.h"
	printf 0
}

# Distributions split toolkits into packages, so that one header does not prove the others.
lacking_header()
{
	local header

	for header in cuda.h cudaProfiler.h cudaTypedefs.h cuda_runtime_api.h crt/host_defines.h; do
		if [ ! -e "$1/include/$header" ]; then
			printf '%s' $header
			return
		fi
	done
}

has_cuda_headers()
{
	local home

	home=$(cuda_home)
	[ -n "$home" ] && [ -z "$(lacking_header "$home")" ] || return 1
	[ "$(cuda_version "$home")" -ge 12000 ] || return 1
	if [ "$home" = "$deps/cuda" ]; then has_wheels headers; fi
}

# Whether the toolkit is, or would be, the one that setup_cuda.sh puts together.
own_toolkit()
{
	local home

	home=$(cuda_home)
	[ -z "$home" ] || [ "$home" = "$deps/cuda" ]
}

has_own_nvcc()
{
	has_wheels headers && has_wheels nvcc && [ -e "$deps/cuda/lib/stubs/libcuda.so" ]
}

has_nvcc()
{
	if [ -n "${NVCC:-}" ] && have "$NVCC"; then return 0; fi
	if ! own_toolkit && [ -x "$(cuda_home)/bin/nvcc" ]; then return 0; fi
	has_own_nvcc
}

# A toolkit of the machine that has headers alone builds cudaspy; an nvcc is fetched beside it only
# for the tests.
nvcc_level()
{
	if own_toolkit; then printf base; else printf test; fi
}

has_cupti()
{
	has_wheels cupti
}

# Beside a toolkit of the machine another version's CUPTI would be of no use.
cupti_level()
{
	if own_toolkit; then printf base; else printf none; fi
}

# The toolkit's, another of the machine's, or those that setup_cuda.sh fetches.
has_nvtx()
{
	gcc -E -isystem "$(cuda_home)/include" -isystem "$deps/nvtx/include" \
		-include nvtx3/nvToolsExt.h -x c /dev/null >/dev/null 2>&1
}

# Ubuntu's package is a stub that wants snaps; tests skip where it does not start.
has_browser()
{
	have chromium || have chromium-browser || have google-chrome
}

has_cudart()
{
	has_wheels "cudart/$1"
}

cuda_words()
{
	local home version header

	home=$(cuda_home)
	version=$(cuda_version "$home")
	header=$(lacking_header "$home")
	if [ -z "$home" ]; then
		printf 'no toolkit found'
	elif [ "$version" = 0 ]; then
		printf 'no include/cuda.h in %s' "$home"
	else
		printf 'CUDA %d.%d in %s' $((version / 1000)) $((version % 1000 / 10)) "$home"
		if [ -n "$header" ]; then printf ', but no include/%s there' "$header"; fi
	fi
}

nvcc_words()
{
	local file

	for file in "${NVCC:-}" "$(cuda_home)/bin/nvcc" "$deps/cuda/bin/nvcc"; do
		if [ -n "$file" ] && have "$file"; then
			printf '%s' "$file"
			return
		fi
	done
	printf 'builds the samples for a real GPU'
}
