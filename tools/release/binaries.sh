#!/usr/bin/env bash
# Builds the tool of a published version for each platform by GoReleaser, in bin/VERSION:
# archives, lists of their modules, and SHA256SUMS. All of it is built twice, in two
# clones with an empty build cache each, and must be the same byte for byte.
# It needs goreleaser and cyclonedx-gomod.
# Usage: binaries.sh VERSION
set -euo pipefail
version=${1:?the version is missing, such as v0.1.0}
top=$(git rev-parse --show-toplevel) to=$top/bin/$version
[ ! -e "$to" ] || { echo "binaries: $to exists: remove it first" >&2; exit 1; }
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

for n in one another; do
	git clone --quiet --branch "$version" -c advice.detachedHead=false "$top" "$work/$n"
	(
		cd "$work/$n"
		export GOCACHE=$work/cache-$n GOWORK=off GOFLAGS=-mod=readonly GORELEASER_CURRENT_TAG=$version
		bash "$top/tools/release/licenses.sh" cmd/sluice >LICENSES.txt
		printf "%s\n" LICENSES.txt dist >>.git/info/exclude
		goreleaser release --clean --skip=publish
	)
done
cd "$work/one/dist"
sha256sum --quiet --check SHA256SUMS
cmp SHA256SUMS "$work/another/dist/SHA256SUMS" || { echo "binaries: two builds of $version differ" >&2; exit 1; }

# Each binary is of the tagged commit, and has published modules only.
commit=$(git rev-parse HEAD)
for binary in */sluice*; do
	made=$(go version -m "$binary")
	for want in "cmd/sluice	$version	" "vcs.revision=$commit" vcs.modified=false; do
		[[ $made = *"$want"* ]] || { echo "binaries: $binary was not built with $want" >&2; exit 1; }
	done
	[[ $made != *"=>"* ]] || { echo "binaries: $binary has a replaced module" >&2; exit 1; }
done
mkdir -p "$to"
cp ./*.tar.gz ./*.zip ./*.cdx.json SHA256SUMS "$to"
echo "$(find "$to" -type f | wc -l) files in $to"
