package ramdir

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNew: the folder can be written to, and is gone after the test.
func TestNew(t *testing.T) {
	var dir string
	t.Run("", func(t *testing.T) {
		dir = New(t)
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("b"), 0o600); err != nil {
			t.Fatal(err)
		}
		if other := New(t); other == dir {
			t.Errorf("two folders are %s", dir)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("after the test: %v", err)
	}
}
