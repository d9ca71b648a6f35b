# SPDX-License-Identifier: Apache-2.0
# CPythons of the versions that the machine has none of, for the tests of call sites: out of Debian's
# packages, unpacked into build/deps/pythons by setup_pythons.py.

python_list=$root/scripts/setup_pythons.txt

pythons_missing()
{
	python3 "$root/scripts/setup_pythons.py" --missing "$python_list" "$deps/pythons" 2>/dev/null
}

has_pythons()
{
	[ -z "$(pythons_missing)" ]
}

pythons_words()
{
	local missing

	missing=$(pythons_missing)
	printf 'CPython 3.9 to 3.15%s' "${missing:+; not here: $missing}"
}

fetch_pythons()
{
	if ! have dpkg-deb; then
		warn "no dpkg-deb here to unpack CPythons with"
		return 1
	fi
	say "fetching CPython $(pythons_missing) from Debian's packages (some 35 MB)"
	if ! python3 "$root/scripts/setup_pythons.py" "$python_list" "$deps/pythons" >"$work/pythons.log" 2>&1; then
		cat "$work/pythons.log" >>"$log"
		warn "could not fetch CPythons: $(tail -1 "$work/pythons.log" | cut -c1-200)"
		return 1
	fi
	cat "$work/pythons.log" >>"$log"
}
