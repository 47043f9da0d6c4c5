package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctorNamesLabRun: beside a run of the lab, the doctor says which flag uses its
// prices, and does not use them by itself.
func TestDoctorNamesLabRun(t *testing.T) {
	contended, err := filepath.Abs(filepath.Join("testdata", "contended"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	doctor := func(flags ...string) string {
		t.Helper()
		status, stdout, stderr := sluice(t, 0, append(append([]string{"doctor"}, flags...), contended)...)
		if status != 0 {
			t.Fatalf("status %d: %s", status, stderr)
		}
		return strings.Join(strings.Fields(stdout), " ")
	}
	const reference = "Gains are for a reference machine; -prices takes yours."
	if text := doctor(); !strings.Contains(text, reference) {
		t.Errorf("without a run: %s", text)
	}
	before := doctor("-json")
	if err := os.Mkdir(usualOut, 0o755); err != nil {
		t.Fatal(err)
	}
	if text := doctor(); !strings.Contains(text, reference) {
		t.Errorf("an empty folder: %s", text)
	}
	if err := os.WriteFile(filepath.Join(usualOut, "results.json"), []byte("not even JSON"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text := doctor(); !strings.Contains(text, "Gains are for a reference machine; -prices sluice-lab takes the prices of your run of sluice lab.") {
		t.Errorf("beside a run: %s", text)
	}
	if text := doctor("-v"); !strings.Contains(text, "If it ran on the service's machine: -prices sluice-lab.") {
		t.Errorf("beside a run, -v: %s", text)
	}
	if after := doctor("-json"); after != before {
		t.Errorf("the document changed:\n%s\n%s", before, after)
	}
}
