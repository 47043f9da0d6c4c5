package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// put writes empty files below dir.
func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A bare form without a capture is the full one without what few services show.
func TestFormFolder(t *testing.T) {
	fixture, scratch := filepath.Join(t.TempDir(), "pains"), t.TempDir()
	put(t, fixture, "full/capture.json", "full/cpu.pprof", "full/goroutine.txt", "full/metrics.json",
		"full/metrics-before.json", "full/mutex.pprof", "full/mutex-before.pprof", "full/block.pprof", "full/trace.out")
	folder := func(f form) string {
		t.Helper()
		dir, err := f.folder(fixture, scratch)
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	if got := folder(fullForm); got != filepath.Join(fixture, "full") {
		t.Errorf("full is in %q", got)
	}
	if got := folder(quotaForm); got != "" {
		t.Errorf("a quota form that was not captured is in %q", got)
	}
	entries, err := os.ReadDir(folder(bareForm))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if want := []string{"capture.json", "cpu.pprof", "goroutine.txt"}; !slices.Equal(names, want) {
		t.Errorf("derived %q, want %q", names, want)
	}
	put(t, fixture, "bare/cpu.pprof")
	if got := folder(bareForm); got != filepath.Join(fixture, "bare") {
		t.Errorf("a captured bare form is in %q", got)
	}
}

// The bare capture is the first of the repeats.
func TestRepeated(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "full/a", "bare/a", "bare-2/a", "bare-5/a", "bare-6/a")
	var names []string
	for _, folder := range repeated(dir) {
		names = append(names, filepath.Base(folder))
	}
	if want := []string{"bare", "bare-2", "bare-5"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func TestAgreement(t *testing.T) {
	const other = `{"verdict": "no", "findings": [{"kind": "CPU bound"}]}`
	of := func(texts ...string) (all []*diagnosis) {
		for _, text := range texts {
			all = append(all, diagnosed(t, text))
		}
		return all
	}
	a := new(agreement)
	a.add("same", of(batchIt, batchIt, batchIt, batchIt, batchIt))
	a.add("most", of(batchIt, batchIt, other, batchIt, batchIt))
	if !a.reached() || a.agree != 2 {
		t.Errorf("%d of %d agree", a.agree, a.services)
	}
	// The same verdict with another finding first is another diagnosis.
	another := strings.Replace(batchIt, `"kind": "other"`, `"kind": "hot"`, 1)
	a.add("split", of(batchIt, batchIt, batchIt, another, another))
	if a.reached() || a.agree != 2 || a.services != 3 {
		t.Errorf("%d of %d agree", a.agree, a.services)
	}
	var out bytes.Buffer
	a.write(&out)
	for _, want := range []string{
		"for 2 of 3 services, bar 95%: BELOW THE BAR\n",
		"differ: most: 4 yes other, 1 no CPU bound\n",
		"differ: split: 3 yes other, 2 yes hot\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "same:") {
		t.Errorf("captures that agree are listed:\n%s", out.String())
	}
}

// One form below the bar is enough.
func TestScoresReached(t *testing.T) {
	good, bad := &sheet{set: tuningSet}, &sheet{set: tuningSet}
	good.add(pains(), diagnosed(t, batchIt))
	bad.add(pains(), diagnosed(t, `{"verdict": "no"}`))
	all := &scores{boards: []*board{{fullForm, []*sheet{good}}}, agreement: new(agreement)}
	if !all.reached() {
		t.Error("not reached")
	}
	all.boards = append(all.boards, &board{bareForm, []*sheet{bad}})
	if all.reached() {
		t.Error("the bare form is below the bar")
	}
	if all.board(bareForm) == nil || all.board(quotaForm) != nil || all.board(fullForm).sheet(heldOutSet) != nil {
		t.Error("a form or set without fixtures has a score")
	}
	var out bytes.Buffer
	all.summary(&out)
	if want := "bare  tuning    channels? 0/1, what 0/0, where 0/1, remedy 0/1, gain 0/0: BELOW THE BAR\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not in\n%s", want, out.String())
	}
	all.boards, all.agreement = all.boards[:1], &agreement{services: 1}
	if all.reached() {
		t.Error("the repeats do not agree")
	}
}
