package main

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
)

// bar is the least share of right verdicts for the fixtures, most of the tuning
// half: a doctor that is below has lost something.
const bar = 0.9

// TestFixtures scores the doctor on the observations in the repository.
func TestFixtures(t *testing.T) {
	suite.Needs(t, "the doctor's program, which it builds")
	var out bytes.Buffer
	l := &lab{stdout: &out, services: all()}
	var err error
	if l.doctor, err = build(t.Context(), t.TempDir(), doctorProgram); err != nil {
		t.Fatal(err)
	}
	if l.gains, err = readGains("../gains.json"); err != nil {
		t.Fatal(err)
	}
	halves, err := l.sheets(t.Context(), "testdata")
	if err != nil {
		t.Fatal(err)
	}
	all := &sheet{half: "both"}
	for _, h := range halves {
		for m := range h.verdict {
			all.verdict[m] += h.verdict[m]
		}
		all.harmful = append(all.harmful, h.harmful...)
		all.missed = append(all.missed, h.missed...)
		h.write(&out)
	}
	if all.verdict.asked() == 0 || all.verdict.share(right) < bar || len(all.harmful)+len(all.missed) > 0 {
		t.Errorf("verdicts: %v; harmful: %v; called fine: %v\n%s", all.verdict, all.harmful, all.missed, out.String())
	}
}

// most is the most that all fixtures may take in the repository, in bytes.
const most = 4 << 20

func TestFixturesAreSmall(t *testing.T) {
	var size int64
	err := filepath.WalkDir("testdata", func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil || size > most {
		t.Errorf("the fixtures take %d kB (want at most %d), %v", size>>10, most>>10, err)
	}
}
