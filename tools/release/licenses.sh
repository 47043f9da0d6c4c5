#!/usr/bin/env bash
# Prints the licenses of all modules in a command, on all platforms, after those of the
# repository and of Go: most demand that their text comes with a binary.
# Usage: licenses.sh FOLDER
set -euo pipefail
cd "$1"

# licenses prints the files of a folder that state its license.
licenses() { # name, folder
	printf '%s\n\n' "$1"
	find "$2" -maxdepth 1 -type f | LC_ALL=C sort | grep -iE '/(licen[cs]e|copying|notice|patents)(\.[a-z]+)?$' | xargs -d '\n' cat ||
		{ echo "licenses: $1 has no license in $2" >&2; exit 1; }
	echo
}

licenses sluice "$(git rev-parse --show-toplevel)"
licenses "Go's standard library" "$(go env GOROOT)"
root=$(go list -m)
modules=$(for system in darwin linux windows; do
	GOOS=$system CGO_ENABLED=0 go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' .
done | LC_ALL=C sort -u)
while read -r path version folder; do
	[ -n "$path" ] || continue # there are none
	case $path in ${root%/cmd/*} | "${root%/cmd/*}"/*) continue ;; esac # the repository's own
	licenses "$path $version" "$folder"
done <<<"$modules"
