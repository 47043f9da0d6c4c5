package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"
)

func TestStamped(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123"}
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "false"}}}, "commit 0123456789ab"},
		{debug.BuildInfo{Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}}, "commit 0123456789ab with changes"},
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{revision}}, "v1.2.3 (commit 0123456789ab)"},
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3+dirty"}, Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}}, "commit 0123456789ab with changes"},
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.4-0.20261124033933-0123456789ab"}, Settings: []debug.BuildSetting{revision}}, "commit 0123456789ab"},
		{debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, ""},
	} {
		if got := stamped(&test.info); got != test.want {
			t.Errorf("%+v: %q, want %q", test.info, got, test.want)
		}
	}
}

// gitIn returns a function that runs git in dir.
func gitIn(t *testing.T, dir string) func(args ...string) string {
	return func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
}

// go run stamps nothing, so git is asked.
func TestCheckedOut(t *testing.T) {
	dir := t.TempDir()
	if got := checkedOut(t.Context(), dir); got != "" {
		t.Errorf("outside a repository: %q", got)
	}
	git := gitIn(t, dir)
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	want := "commit " + short(git("rev-parse", "HEAD"))
	if got := checkedOut(t.Context(), dir); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := checkedOut(t.Context(), dir); got != want+" with changes" {
		t.Errorf("with a new file: %q", got)
	}
}

// The index is not written, even when a file has another time than the index says: git
// would lock it, and leave the lock behind if it takes too long and is killed.
func TestCheckedOutLocksNothing(t *testing.T) {
	dir := t.TempDir()
	file, index := filepath.Join(dir, "file"), filepath.Join(dir, ".git", "index")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	git := gitIn(t, dir)
	git("init", "-q")
	git("add", "file")
	git("commit", "-q", "-m", "first")
	if err := os.Chtimes(file, time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	contents := func() string {
		t.Helper()
		text, err := os.ReadFile(index)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := contents()
	if got, want := checkedOut(t.Context(), dir), "commit "+short(git("rev-parse", "HEAD")); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if contents() != before {
		t.Error("the index was written")
	}
	if git("status", "--porcelain"); contents() == before {
		t.Error("git status itself does not write the index: this test cannot fail")
	}
}

func TestBuiltJustNow(t *testing.T) {
	for executable, want := range map[string]bool{
		"/tmp/go-build123/b001/exe/sluice": true, "/home/user/.cache/go-build/ab/abc-d/sluice": true, "/usr/local/bin/sluice": false,
	} {
		if got := builtJustNow(executable); got != want {
			t.Errorf("%s: %v", executable, got)
		}
	}
}
