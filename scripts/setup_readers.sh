# SPDX-License-Identifier: Apache-2.0
# The readers of the exports for scripts/setup: programs that people use, which the tests run on what
# cudaspy writes. All of it goes into build/deps/readers; nothing is installed into the machine.

readers=$deps/readers
reader_list=$root/scripts/setup_readers.txt

# The Python that runs Debian's pytest, else the user's.
reader_python()
{
	if [ -x /usr/bin/python3 ]; then printf /usr/bin/python3; else command -v python3; fi
}

# Which list was installed for which Python.
reader_mark()
{
	printf '%s %s' "$("$(reader_python)" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" \
		"$(sha256sum <"$reader_list" | cut -c1-64)"
}

has_python_readers()
{
	[ "$(cat "$readers/python/.have" 2>/dev/null)" = "$(reader_mark)" ]
}

has_pprof()
{
	have pprof || [ -x "$readers/bin/pprof" ]
}

has_promtool()
{
	have promtool || [ -x "$readers/bin/promtool" ]
}

fetch_python_readers()
{
	local python

	# pip of the Python that will import them, or one that can install for it.
	python=$(reader_python)
	"$python" -m pip --version >/dev/null 2>&1 || python=$pip_python
	say "fetching the readers of exports from PyPI (85 MB)"
	rm -rf "$readers/python" "$work/readers"
	if ! PIP_REQUIRE_VIRTUALENV=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
		"$python" -m pip install --target "$work/readers" --no-deps --no-compile \
		--only-binary=:all: --no-cache-dir --retries 2 --require-hashes --requirement "$reader_list" \
		</dev/null >"$work/pip.log" 2>&1; then
		cat "$work/pip.log" >>"$log"
		if grep -q 'Retrying (Retry(total=0' "$work/pip.log"; then offline=1; fi
		warn "could not fetch the readers of exports: $(pip_reason) (all of it: $log)"
		return 1
	fi
	mkdir -p "$readers" && mv "$work/readers" "$readers/python" && reader_mark >"$readers/python/.have"
}

# fetch_program NAME PACKAGE: one program out of Debian's package, which would bring a service or 400
# MB of a compiler with it. apt-get checks what it fetches.
fetch_program()
{
	local name=$1 package=$2 file path

	if ! have apt-get || ! have dpkg-deb; then
		warn "no apt-get here; Debian has $name in its package $package"
		return 1
	fi
	if [ -z "$(apt_known "$package" prometheus)" ] && find_root; then apt_update; fi
	case $package in
	golang-go) package=$(golang_package) ;;
	promtool) package=$(apt_known promtool prometheus | head -1) ;;
	esac
	if [ -z "$package" ] || [ -z "$(apt_known "$package")" ]; then
		warn "could not fetch $name: apt-get knows no package that has it"
		return 1
	fi
	say "fetching $name from Debian's package $package"
	mkdir -p "$work/$name" "$readers/bin"
	if ! (cd "$work/$name" && apt-get -qq download "$package") >>"$log" 2>&1 9>&-; then
		warn "could not fetch $name: $(apt_reason)"
		return 1
	fi
	file=$(compgen -G "$work/$name/*.deb") || return 1
	path=$(dpkg-deb -c "$file" | sed -n "s|^-rwx.* \(\./[^ ]*/$name\)\$|\1|p" | head -1)
	if [ -z "$path" ]; then
		warn "could not fetch $name: $package does not have it"
		return 1
	fi
	dpkg-deb --fsys-tarfile "$file" 2>>"$log" | tar -xO "$path" >"$work/$name/program" || return 1
	chmod 755 "$work/$name/program" && mv "$work/$name/program" "$readers/bin/$name"
}

# golang-1.19-go, golang-1.24-go: what golang-go stands for. Debian 12 has promtool in prometheus.
golang_package()
{
	apt-cache depends golang-go 2>/dev/null | sed -n 's/.*Depends: \(golang-[0-9.]*-go\)$/\1/p' | head -1
}
