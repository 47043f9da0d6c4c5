package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
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

// go run stamps nothing, so git is asked.
func TestCheckedOut(t *testing.T) {
	dir := t.TempDir()
	if got := checkedOut(dir); got != "" {
		t.Errorf("outside a repository: %q", got)
	}
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "first")
	want := "commit " + short(git("rev-parse", "HEAD"))
	if got := checkedOut(dir); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := checkedOut(dir); got != want+" with changes" {
		t.Errorf("with a new file: %q", got)
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
