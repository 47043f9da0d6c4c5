package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A form is what a service shows when it is captured. Services in the field
// show less than a scenario can, and run on less than a whole machine, so
// every form has the same bars.
type form struct {
	name  string
	about string
}

// The forms. Each is a folder of the fixture, beside the truth.
var (
	fullForm  = form{"full", "metrics, a mutex profile, and the profiles that the scenario asks for"}
	bareForm  = form{"bare", "net/http/pprof alone: no metrics, no mutex profile rate"}
	quotaForm = form{"quota", "bare, on a CPU quota of 0.3 cores"}
)

// forms are the forms that are scored on all questions.
var forms = []form{fullForm, bareForm, quotaForm}

// repeats is the number of captures of one service that should agree: the bare
// one, and the others beside it.
const repeats = 5

// repeatFolder returns the name of the folder of a repeat, from 1. The first is
// the bare capture.
func repeatFolder(n int) string {
	if n == 1 {
		return bareForm.name
	}
	return fmt.Sprintf("%s-%d", bareForm.name, n)
}

// repeatForm names the repeats after the bare capture.
const repeatForm = "repeats"

// allForms lists everything that can be captured.
var allForms = strings.Join([]string{fullForm.name, bareForm.name, quotaForm.name, repeatForm}, ",")

// wants reports whether a list of forms has one.
func wants(list, name string) bool { return slices.Contains(strings.Split(list, ","), name) }

func checkForms(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if !wants(allForms, name) {
			return fmt.Errorf("unknown form %q (want some of %s)", name, allForms)
		}
	}
	return nil
}

// folder returns the folder of a fixture with this form, or "" if it was not
// captured. Without a bare capture, it is derived from the full one in scratch.
func (f form) folder(fixture, scratch string) (string, error) {
	dir := filepath.Join(fixture, f.name)
	if captured(dir) {
		return dir, nil
	}
	if f.name != bareForm.name || !captured(filepath.Join(fixture, fullForm.name)) {
		return "", nil
	}
	derived := filepath.Join(scratch, filepath.Base(fixture))
	return derived, derive(filepath.Join(fixture, fullForm.name), derived)
}

// captured reports whether a capture was saved in dir.
func captured(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// shownByFew are the prefixes of files that a service with nothing but
// net/http/pprof does not have.
var shownByFew = []string{"metrics", "mutex", "block", "trace"}

// derive copies a full capture without what only few services show.
func derive(full, to string) error {
	entries, err := os.ReadDir(full)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for _, entry := range entries {
		if few(entry.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(full, entry.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, entry.Name()), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func few(name string) bool {
	for _, prefix := range shownByFew {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
