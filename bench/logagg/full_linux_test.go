package main

import (
	"strings"
	"testing"
)

// TestAsideFull: failing to keep a malformed line is an error, and all lines
// are counted.
func TestAsideFull(t *testing.T) {
	var out, errors strings.Builder
	status := run(t.Context(), []string{"-aside", "/dev/full", "-"}, streams{strings.NewReader("garbage\n"), &out, &errors})
	if status != 1 || !strings.Contains(errors.String(), "no space left") || !strings.Contains(errors.String(), "in 1 = counted 0 + malformed 1 ") {
		t.Errorf("status %d: %s", status, errors.String())
	}
}
