package jetstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lossy is a channel whose servers forgot values in a power loss, but not that they
// had delivered them: those after the fifth of fifteen.
func lossy(t *testing.T) Options[int] {
	o := Options[int]{Name: "jobs", Dir: t.TempDir(), Log: mute()}
	c := open(t, o)
	mustSend(t, c, 0, 1, 2, 3, 4)
	leave(t, c)
	stored := filepath.Join(o.Dir, "jetstream", "$G", "streams", "jobs", "msgs")
	synced := filepath.Join(t.TempDir(), "msgs")
	if err := os.CopyFS(synced, os.DirFS(stored)); err != nil {
		t.Fatal(err)
	}
	c = open(t, o)
	mustSend(t, c, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
	for range 15 {
		if err := mustDeliver(t, c).AckConfirmed(patient(t)); err != nil {
			t.Fatal(err)
		}
	}
	leave(t, c)
	if err := os.RemoveAll(stored); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(stored, os.DirFS(synced)); err != nil {
		t.Fatal(err)
	}
	return o
}

// After such a loss numbers are given again. The consumer would pass over those values.
func TestLossAtOpen(t *testing.T) {
	t.Parallel()
	c := open(t, lossy(t))
	mustRecv(t, c, 0, 1, 2, 3, 4)
	mustSend(t, c, 20, 21)
	mustRecv(t, c, 20, 21)
	if w := c.Stats().Warning; !strings.Contains(w, "have lost values that they had confirmed") {
		t.Errorf("Stats.Warning: %q", w)
	}
}
