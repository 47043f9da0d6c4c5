package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// saved puts a run into a directory.
func saved(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := pretended(false).Save(dir); err != nil {
		t.Fatal(err)
	}
}

func fresh(t *testing.T, dir string) string {
	t.Helper()
	path, release, err := Fresh(dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
	return path
}

func TestFresh(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "lab")
	if got := fresh(t, dir); got != dir {
		t.Errorf("without a run: %s", got)
	}
	if got := fresh(t, dir+"/"); got != dir {
		t.Errorf("an empty directory: %s", got)
	}
	if got := Newest(dir); got != dir {
		t.Errorf("the newest of none is %s", got)
	}
	saved(t, dir)
	second := fresh(t, dir)
	if second != dir+"-2" {
		t.Errorf("after one run: %s", second)
	}
	saved(t, second)
	// Files of others are never touched.
	if err := os.WriteFile(dir+"-3", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"-4", 0o777); err != nil {
		t.Fatal(err)
	}
	fifth := fresh(t, dir)
	if fifth != dir+"-5" {
		t.Errorf("after two runs and two other files: %s", fifth)
	}
	if got := Newest(dir); got != second {
		t.Errorf("the newest is %s, want %s", got, second)
	}
	for _, n := range []string{"5", "10"} {
		saved(t, dir+"-"+n)
	}
	if got := Newest(dir); got != dir+"-10" {
		t.Errorf("the newest is %s", got)
	}
	if text, err := os.ReadFile(dir + "-3"); err != nil || string(text) != "mine" {
		t.Errorf("%s-3 has %q, %v", dir, text, err)
	}
}

// A second run does not disturb one that is still writing.
func TestFreshRefusesWhileAnotherRunWrites(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	_, release, err := Fresh(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	saved(t, dir)
	if path, release, err := Fresh(dir); err == nil || !strings.Contains(err.Error(), "another run of sluice lab is writing to "+dir) {
		t.Errorf("%s, %v", path, err)
		release()
	}
}
