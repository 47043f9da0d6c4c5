package host

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Version returns the module version that this program was built from, its commit, or
// both, or "" if neither is known. go run stamps no commit: then git is asked for
// the one of the source, once: it may be slow, and the source may change meanwhile.
var Version = sync.OnceValue(version)

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if v := stamped(info); v != "" {
		return v
	}
	executable, err := os.Executable()
	_, source, _, known := runtime.Caller(0)
	if err != nil || !known || !builtJustNow(executable) {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), gitTakes)
	defer cancel()
	return checkedOut(ctx, filepath.Dir(source))
}

// stamped returns the version and the commit that the build stamped. Between two
// versions the build makes one up from the commit, which says no more than that.
func stamped(info *debug.BuildInfo) string {
	revision, modified := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = short(setting.Value)
		case setting.Key == "vcs.modified" && setting.Value == "true":
			modified = withChanges
		}
	}
	version := info.Main.Version
	if version == "(devel)" || revision != "" && strings.Contains(version, revision) {
		version = ""
	}
	switch {
	case revision == "":
		return version
	case version == "" || modified != "":
		return "commit " + revision + modified
	}
	return version + " (commit " + revision + ")"
}

const withChanges = " with changes"

func short(revision string) string { return revision[:min(12, len(revision))] }

// builtJustNow reports whether go run or go test built this executable from the
// source as it is now: an older one may be of another commit than the source.
func builtJustNow(executable string) bool {
	return strings.Contains(filepath.ToSlash(executable), "/go-build")
}

// gitTakes is the longest that git may take: its files may be on a slow network. git is
// killed then, so it must not hold a lock.
const gitTakes = 2 * time.Second

// checkedOut returns the commit of the working tree with the folder dir, or "".
func checkedOut(ctx context.Context, dir string) string {
	git := func(args ...string) ([]byte, error) {
		return exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", dir}, args...)...).Output()
	}
	revision, err := git("rev-parse", "HEAD")
	if err != nil {
		return ""
	}
	changes, err := git("status", "--porcelain")
	modified := ""
	if err != nil || len(changes) > 0 {
		modified = withChanges
	}
	return "commit " + short(strings.TrimSpace(string(revision))) + modified
}
