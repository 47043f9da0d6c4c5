package loopdisk

import (
	"os"
	"path/filepath"
	"testing"
)

// A power cut keeps what was synced, and loses what was not.
func TestCut(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: mounting a file system takes root")
	}
	dir := t.TempDir()
	d := Disk{Image: filepath.Join(dir, "image"), At: filepath.Join(dir, "mounted")}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(d.At, 0o700))
	must(d.Format())
	must(d.Mount())
	mounted := true
	defer func() {
		if mounted {
			must(d.Unmount())
		}
	}()
	write := func(name string, sync bool) {
		f, err := os.Create(filepath.Join(d.At, name))
		must(err)
		_, err = f.WriteString(name)
		must(err)
		if sync {
			must(f.Sync())
		}
		must(f.Close())
	}
	write("synced", true)
	write("lost", false)
	must(d.Cut())
	if _, err := os.Create(filepath.Join(d.At, "late")); err == nil {
		t.Error("a file was created after the cut")
	}
	must(d.Unmount())
	mounted = false
	must(d.Mount())
	mounted = true
	if text, err := os.ReadFile(filepath.Join(d.At, "synced")); string(text) != "synced" {
		t.Errorf("the file that was synced has %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(d.At, "lost")); err == nil && len(text) > 0 {
		t.Errorf("the file that was not synced has %q", text)
	}
}

// Errors of a command have its output.
func TestCommand(t *testing.T) {
	t.Parallel()
	if err := (Disk{Image: filepath.Join(t.TempDir(), "none", "image")}).Format(); err == nil {
		t.Error("Format of an image in no directory succeeded")
	}
	if err := (Disk{At: filepath.Join(t.TempDir(), "none")}).Cut(); err == nil {
		t.Error("Cut of what is not mounted succeeded")
	}
	if err := command("false"); err == nil {
		t.Error("a command that fails succeeded")
	}
}
