#!/usr/bin/env bash
# Prepares a version of all modules and proves that it can be installed. Run it in the repository.
#
#   release.sh v0.1.0 [PROXY]   proves the version, then adds its tags and a branch
#   release.sh check            proves the next version, and adds nothing
#
# All work is done in a temporary clone. Only after everything is proved are the tags, and the
# branch release-v0.1.0 with two commits, added to the repository, all or none of them. The working
# branch does not move, and nothing is pushed. PROXY is a new folder that keeps the module proxy
# that the proof has used.
#
# The first commit is the one that is tagged: in each go.mod the versions of the other modules, and
# no replace. The second one restores development, in which replace lets each module build beside
# the others.
#
# $APIDIFF is golang.org/x/exp/cmd/apidiff. Binaries are made by binaries.sh.
set -euo pipefail
shopt -s nullglob
export GOWORK=off

# The modules without a promised API. They can be downloaded, but are not for programs by others.
apart=" bench bench/doctorlab bench/logagg cmd/sluice examples/services stress "
tool=cmd/sluice

now=arguments
work=
finish() {
	status=$?
	[ -z "$work" ] || { chmod -R u+w "$work" && rm -rf "$work"; }
	[ "$status" = 0 ] || echo "release: ${version:-}: $now: failed" >&2
}
trap finish EXIT
die() { echo "release: $*" >&2; exit 1; }
step() { now=$1; echo "$version: $now"; }

[[ $# = 1 || $# = 2 && $1 != check ]] || die "usage: release.sh VERSION [PROXY], or release.sh check"
cd "$(git rev-parse --show-toplevel)"
source=$PWD version=$1 proxy=${2:-}

# later prints the higher one of two versions. A pre-release is lower than its release.
later() { printf '%s\n' "$@" | tr - '~' | sort -V | tail -n 1 | tr '~' -; }
last= # the highest version among the tags that HEAD contains
for tag in $(git tag --merged HEAD --list 'v*'); do last=$(later "$tag" "$last"); done
if [ "$version" = check ]; then
	version=v0.1.0 check=1
	[ -z "$last" ] || version=$(sed -E 's/^v([0-9]+)\.([0-9]+)\..*/echo v\1.$((\2+1)).0/' <<<"$last" | sh)
	[ -z "$(git status --porcelain)" ] || echo "note: there are uncommitted changes, and the last commit is what is checked"
	GIT_COMMITTER_NAME=$(git config user.name || echo "sluice release check")
	GIT_COMMITTER_EMAIL=$(git config user.email || echo release@sluice.invalid)
else
	check=
	[[ $version =~ ^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$ && ! $version =~ [0-9]{14}-[0-9a-f]{12}$ ]] ||
		die "invalid version \"$version\" (want a form such as v0.1.0 or v0.2.0-rc.1)"
	[[ $version =~ ^v[01]\. ]] || die "version $version: from v2 on, module paths must end with the major version, which this script does not do"
	[ -z "$(git status --porcelain)" ] || die "the working tree has uncommitted changes: $(git status --porcelain)"
	git show-ref --quiet "refs/heads/release-$version" && die "the branch release-$version exists: delete it if it is from an earlier attempt"
	for tag in $(git tag --list "$version" "*/$version"); do
		die "the tag $tag exists: choose another version, or delete it if it was never pushed"
	done
	[ "$(later "$version" "$last")" = "$version" ] || die "$version is not higher than $last, the last version of this branch"
	[[ -z $proxy || $proxy = /* && ! -e $proxy ]] || die "invalid proxy \"$proxy\" (want the absolute path of a folder that does not exist)"
	GIT_COMMITTER_NAME=$(git config user.name) && GIT_COMMITTER_EMAIL=$(git config user.email) ||
		die "git has no name and address for commits: set user.name and user.email"
fi
export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_AUTHOR_NAME=$GIT_COMMITTER_NAME GIT_AUTHOR_EMAIL=$GIT_COMMITTER_EMAIL

work=$(mktemp -d)
mkdir "$work"/{home,use,api}
git clone --quiet "$source" "$work/clone"
cd "$work/clone"
base=$(git rev-parse HEAD)

# Modules by others come from the module cache of this machine.
mine=$(go env GOMODCACHE) cache=$(go env GOCACHE)

# The settings with which the go command has nothing of this machine but the build cache. No version
# is in the checksum database before it is published; the modules by others were checked when they
# came to the cache that they are read from.
settings=(
	HOME="$work/home" GOPATH="$work/home/go" GOBIN="$work/bin" GOMODCACHE="$work/modules" GOCACHE="$cache"
	GOENV=off GOWORK=off GOTOOLCHAIN=local GOFLAGS="-mod=mod -trimpath -modcacherw"
	GOSUMDB=off GOPRIVATE= GONOPROXY= GONOSUMDB= GOINSECURE= GOVCS=
)
root=$(go list -m)
published=$work/published/cache/download
# origin takes the clone for the public repository: the go command downloads from its tags, by git,
# to a cache of their own.
origin=(
	GOPROXY=direct GOMODCACHE="$work/published" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
	GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$work/clone.insteadOf" GIT_CONFIG_VALUE_0="https://$root"
)
# user reads from what origin has downloaded. There is no way to the network.
user=(GOPROXY="file://$published,file://$mine/cache/download,off" GONOSUMDB="$root")
# developer has the clone as a working tree, and no version of its modules.
developer=(GOPROXY="file://$mine/cache/download,off" GOWORK= GOFLAGS="-mod=readonly -trimpath -modcacherw")

# with runs a command with one of these settings, in a folder.
with() { # settings, folder, command...
	local -n more=$1
	(cd "$2" && shift 2 && env "${settings[@]}" "${more[@]}" "$@")
}

# of prints the modules of the repository that a module requires.
of() { (cd "$1" && sed -nE "s#^(require)?[[:space:]]*($root(/[^ ]*)?) v.*#\2#p" go.mod); }
path() { [ "$1" = . ] && echo "$root" || echo "$root/$1"; }
tag() { [ "$1" = . ] && echo "$2" || echo "$1/$2"; }

# modules are the folders of go.work, and those of modules for users that go.work does not use,
# because nobody should have to download what these require to test the others. Each comes after
# those that it requires.
outside=(contrib/*/go.mod spill/otelstorag[e]/go.mod)
dirs=$(sed -nE 's#^[[:space:]]+(\./)?(\.|[^ ()]+)$#\2#p' go.work; printf '%s\n' ${outside[@]%/go.mod})
ordered=$(for dir in $dirs; do
	[ "$(cd "$dir" && go list -m)" = "$(path "$dir")" ] || die "$dir/go.mod: another module than $(path "$dir")"
	echo "$dir $dir"
	for required in $(of "$dir"); do echo "$(sed -E "s#^$root/?##; s#^\$#.#" <<<"$required") $dir"; done
done | tsort | grep -Fx "$dirs")
modules=($ordered)

# edit sets the versions of the modules in a go.mod, and drops its replace lines unless the second
# argument is keep. Other replace lines are an error: go install refuses a command whose module has
# one, and all consumers ignore them.
edit() { # folder, keep or drop
	local required ours
	ours=$(for m in "${modules[@]}"; do path "$m"; done)
	for required in $(of "$1" | grep -Fx "$ours"); do
		(cd "$1" && go mod edit -require="$required@$version")
	done
	for required in $(sed -nE 's#^(replace)?[[:space:]]*([^ ]+) => .*#\2#p' "$1/go.mod"); do
		grep -Fqx "$required" <<<"$ours" || die "$1/go.mod replaces $required: not in a release: programs that require this module would not"
		[ "$2" = keep ] || (cd "$1" && go mod edit -dropreplace="$required")
	done
}

# download downloads a version of modules as the go command of a user will.
download() { # version, folders
	local at=()
	for dir in "${@:2}"; do at+=("$(path "$dir")@$1"); done
	with origin "$work" go mod download "${at[@]}"
}

commit() { git add --all && git commit --quiet --allow-empty --message "$1"; }
tidy() { for dir in "${modules[@]}"; do with user "$dir" go mod tidy -diff; done; }

# program makes the folder of a program that requires a version of a module, and writes the API of
# the module, whose packages it builds. The module's go.sum is there, so all that the go command
# could ask a checksum database for are our versions, which none has before they are published.
program() { # folder, version
	local name=${1//\//-}-$2
	mkdir "$work/use/$name"
	sed -n '/^go /p' "$1/go.mod" | cat <(printf 'module example.com/user\n\n') - >"$work/use/$name/go.mod"
	git show "$(tag "$1" "$2"):$(tag "$1" go.sum)" >"$work/use/$name/go.sum" 2>/dev/null || true # there is none if it requires nothing
	with user "$work/use/$name" env GOSUMDB=sum.golang.org go get "$(path "$1")@$2"
	[[ $apart = *" $1 "* ]] || with user "$work/use/$name" "$APIDIFF" -m -w "$work/api/$name" "$(path "$1")"
}

step prepare
notes=$(sed -n '/^## Unreleased$/,/^## [^U]/p' CHANGELOG.md)
[ -n "$notes" ] || die 'CHANGELOG.md has no heading "## Unreleased"'
[ -n "$check" ] || grep -q '^\* ' <<<"$notes" || die 'CHANGELOG.md lists no changes under "## Unreleased"'
sed -i "0,/^## Unreleased$/s//## $version - $(date -u +%F)/" CHANGELOG.md
perl -0pi -e 's/Not published yet.*?\.\s+//s' README.md docs/releases.md
sed -i "/^go mod edit -replace=${root//\//\\/}=/d; s#^go get $root@v0.0.0\$#go get $root@latest#; s#^go -C ../sluice/$tool install .\$#go install $root/$tool@latest#" README.md
for line in "go get $root@latest" "go install $root/$tool@latest"; do
	grep -qx "$line" README.md || die "README.md has no line \"$line\", and none to install from a checkout"
done
# Otherwise the go command would look for the versions of a release elsewhere, before they are published.
for dir in "${modules[@]}"; do GOWORK= go work edit -replace="$(path "$dir")@$version=./$dir"; done
for dir in "${modules[@]}"; do # go mod tidy reads the modules of the dependencies' tests, too
	(cd "$dir" && go mod download && go mod tidy -diff)
done
# The go.sum of a module has the hashes of those that it requires, so these are downloaded first: each
# module from a commit of its own. Then one commit replaces all of them. That does not change a
# hash: the files of a module do not include the modules below its folder.
for dir in "${modules[@]}"; do
	edit "$dir" drop
	with user "$dir" go mod tidy
	commit "one module"
	git tag --force --no-sign "$(tag "$dir" "$version")" >/dev/null
	download "$version" "$dir"
done
git reset --quiet --soft "$base"
commit "release $version"
for dir in "${modules[@]}"; do
	git tag --force --annotate --message "$(path "$dir")@$version" "$(tag "$dir" "$version")" >/dev/null
done

step "download from the tags"
rm -rf "$work/published" "$work/modules/$root" "$work/modules/cache/download/$root"
download "$version" "${modules[@]}"

step go.work # all packages and tests can be built in a working tree, before the module cache has a module of it
with developer . go list -deps -test work >/dev/null

step go.sum
tidy

step "go get"
for dir in "${modules[@]}"; do program "$dir" "$version"; done

step "go install"
with user "$work" go install "$root/$tool@$version"
said=$("$work/bin/${tool##*/}" version)
[[ $said = "sluice $version, "* ]] || die "sluice version prints \"$said\" (want \"sluice $version, \" first)"
with user "$work" go run "$root/$tool@$version" lab direct-send -quick -o "$work/lab"
for name in results.txt results.json report.html; do
	[ -s "$work/lab/$name" ] || die "the lab wrote no $name"
done

step documents
with developer . go test ./docs

step compatibility
[ -n "$last" ] || echo "no earlier version to compare with"
series() { grep -oE '^v[0-9]+\.[0-9]+' <<<"$1"; }
for dir in ${last:+"${modules[@]}"}; do
	[[ $apart != *" $dir "* ]] && git show-ref --quiet "refs/tags/$(tag "$dir" "$last")" || continue
	download "$last" "$dir"
	program "$dir" "$last"
	apis=("$work/api/${dir//\//-}-$last" "$work/api/${dir//\//-}-$version")
	changes=$("$APIDIFF" -m "${apis[@]}") breaks=$("$APIDIFF" -m -incompatible "${apis[@]}")
	[ -z "$changes" ] || echo "$(path "$dir") since $last: $changes"
	[[ -z $breaks || $version = v0.* || ${last%%.*} != "${version%%.*}" ]] || die "$version needs a new major version after $last ($(path "$dir"): $breaks)"
	[[ $(series "$last") != "$(series "$version")" || -z $breaks && ( -z $changes || $version = v0.* ) ]] ||
		die "$version must raise the minor version of $last ($(path "$dir"): $breaks$changes)"
done

step development # each go.mod as before, with the released versions, and a place in the changelog
git read-tree --reset -u "$base"
git checkout --quiet "$version" -- CHANGELOG.md README.md docs/releases.md
for dir in "${modules[@]}"; do edit "$dir" keep; done
sed -i '0,/^## /s//## Unreleased\n\n## /' CHANGELOG.md
commit "after $version: replace and unreleased changes"
tidy

now=publish
if [ -n "$check" ]; then
	echo "$version could be released: ${#modules[@]} modules"
	exit
fi
if [ -n "$proxy" ]; then
	cp -r "$published" "$proxy"
	printf '%s has the modules. To use them:\n\texport GOPROXY=file://%s,https://proxy.golang.org,direct GONOSUMDB=%s\n' "$proxy" "$proxy" "$root"
fi
tags=$(for dir in "${modules[@]}"; do tag "$dir" "$version"; done)
git -C "$source" fetch --quiet --atomic --no-tags "$work/clone" "HEAD:refs/heads/release-$version" $(sed 's#.*#refs/tags/&:refs/tags/&#' <<<"$tags")
cat <<END
$version is proved. The repository has its ${#modules[@]} tags and the branch release-$version; nothing was pushed. To publish:
	git merge --ff-only release-$version
	git push --atomic origin HEAD $(echo $tags)
To discard:
	git branch -D release-$version && git tag -d $(echo $tags)
END
