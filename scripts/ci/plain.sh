#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Without any CI system: the same gate in a few lines of shell. Three recordings, the counts of each
# against a committed baseline, and two budgets of our own.
#
#   scripts/ci/plain.sh python3 train.py --steps 100

set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for i in 1 2 3; do
	mkdir "$folder/$i"
	cudaspy run --quiet --output "$folder/$i/" -- "$@" >/dev/null
done
cudaspy check --baseline "${BASELINE:-cudaspy-baseline.json}" \
	--limit 'launches <= +0' \
	--limit 'pageable_copies = 0' \
	--limit 'failed_calls = 0' \
	"$folder"/*/
