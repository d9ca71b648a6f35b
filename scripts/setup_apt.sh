# SPDX-License-Identifier: Apache-2.0
# Debian's packages for scripts/setup. What is required goes in one apt-get run; what is optional is
# installed apart, so that a package a distribution lacks takes nothing else with it.

apt_updated=0
apt_denied=0
apt_stale=0

# As root, or with sudo where it needs no password or somebody is there to type it.
find_root()
{
	as_root=()
	[ "$(id -u)" = 0 ] && return 0
	have sudo || return 1
	as_root=(sudo)
	sudo -n true 2>/dev/null || [ -t 0 ]
}

apt_get()
{
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 \
		apt-get -o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1 9>&-
}

apt_update()
{
	[ $apt_updated = 0 ] || return 0
	apt_updated=1
	say "${as_root[*]:+sudo }apt-get update"
	# Without this mode apt-get calls it a success when it reached no server.
	if ! apt_get -o APT::Update::Error-Mode=any update; then
		apt_stale=1
		warn "apt-get update failed: $(apt_reason)"
	fi
}

apt_reason()
{
	grep -E '^(E|Err|W):' "$log" | tail -1 | cut -c1-200
}

# Those of the packages named that can be installed, one a line.
apt_known()
{
	apt-cache policy "$@" 2>/dev/null | awk '
		/^[^ ].*:$/ { name = substr($0, 1, length($0) - 1) }
		/^  Candidate:/ && $2 != "(none)" { print name }'
}

# Sets known and unknown. Lists that are absent or old are brought up to date before giving up.
apt_sort()
{
	local name

	for _ in 1 2; do
		known=$(apt_known "$@")
		unknown=()
		for name in "$@"; do
			grep -qxF -- "$name" <<<"$known" || unknown+=("$name")
		done
		if [ ${#unknown[@]} = 0 ] || [ $apt_updated = 1 ]; then break; fi
		apt_update
	done
	known=($known)
}

# A package may have left the servers since the lists were fetched: one more try with new lists.
apt_try()
{
	apt_get install -y --no-install-recommends "$@" && return 0
	[ $apt_updated = 0 ] || return 1
	apt_update
	apt_get install -y --no-install-recommends "$@"
}

# With clang's version the name of the package changes that holds its runtime libraries.
fuzzer_package()
{
	local major name

	case $levels in *' test '*) ;; *) return ;; esac
	[ $mode = install ] && have apt-cache || return
	if has_fuzzer; then return; fi
	major=$(clang -dumpversion 2>/dev/null)
	if [ -z "$major" ]; then
		major=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-//p')
	fi
	major=${major%%[.$'\n']*}
	[ -n "$major" ] || return
	for name in libclang-rt-$major-dev libclang-common-$major-dev; do
		if [ -n "$(apt_known $name)" ]; then
			printf '%s' $name
			return
		fi
	done
}

apt_install()
{
	local name known unknown

	if [ ${#apt_required[@]} = 0 ] && [ ${#apt_optional[@]} = 0 ]; then return; fi
	if ! have apt-get; then
		apt_denied=1
		warn "no apt-get here; Debian's names of what is missing:" \
			"${apt_required[*]} ${apt_optional[*]}"
		return
	fi
	if ! find_root; then
		apt_denied=1
		# What is required is named once more, with the same line, at the end.
		if [ ${#apt_required[@]} = 0 ]; then apt_way_out "${apt_optional[@]}"; fi
		return
	fi
	if [ ${#apt_required[@]} -gt 0 ]; then
		apt_sort "${apt_required[@]}"
		if [ ${#unknown[@]} -gt 0 ]; then
			warn "apt-get knows no package ${unknown[*]}" \
				"(on Ubuntu: is the component universe enabled?)"
		fi
		if [ ${#known[@]} -gt 0 ]; then
			say "${as_root[*]:+sudo }apt-get install ${known[*]}"
			apt_try "${known[@]}" ||
				warn "apt-get failed: $(apt_reason) (all of it: $log)"
		fi
	fi
	if [ ${#apt_optional[@]} -gt 0 ]; then apt_install_optional; fi
}

apt_install_optional()
{
	apt_sort "${apt_optional[@]}"
	if [ ${#unknown[@]} -gt 0 ]; then
		say "not known to apt-get, going on without: ${unknown[*]}"
	fi
	[ ${#known[@]} -gt 0 ] || return
	say "${as_root[*]:+sudo }apt-get install ${known[*]} (optional)"
	apt_try "${known[@]}" && return
	for name in "${known[@]}"; do
		apt_try "$name" || say "could not install $name, going on without: $(apt_reason)"
	done
}

apt_way_out()
{
	local line="apt-get update && apt-get install -y --no-install-recommends $*"

	if ! have apt-get; then
		warn "install what Debian calls: $*"
	elif [ $apt_denied = 1 ] && have sudo; then
		warn "run: sudo sh -c '$line'"
	elif [ $apt_denied = 1 ]; then
		warn "run as root: $line"
	else
		warn "see $log; then: $line"
	fi
}
