//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"testing"

	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

// Two runs at once would replace each other's files.
func TestTwoRunsInOneDirectory(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, 3, small)
	release, err := report.Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{append(small, "-o", dir), {"lab", "-resume", "-o", dir}} {
		refuses(t, dir, "another run of sluice lab is writing to "+dir, args...)
	}
	release()
	resume(t, dir)
}
