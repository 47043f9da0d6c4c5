package progress

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// In a bubble no time passes, however slow the machine is.
func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		display := New(&out, 4, false)
		for _, name := range []string{"first", "second"} {
			point := &measure.Point{Setting: measure.Setting{Name: name}}
			for range 2 {
				display.Start(point, "contender")
				display.Done()
			}
			time.Sleep(90 * time.Second)
		}
		display.Finish()
		if want := "  0%    0s  first\n 50%  1m30s  second\n"; out.String() != want {
			t.Errorf("progress reads\n%s", &out)
		}
	})
}

func TestBriefLines(t *testing.T) {
	var out bytes.Buffer
	display := New(&out, 200, true)
	for range 200 {
		display.Start(&measure.Point{Setting: measure.Setting{Name: "point"}}, "contender")
		display.Done()
	}
	if n := strings.Count(out.String(), "\n"); n != 10 || !strings.Contains(out.String(), "\n 90% ") {
		t.Errorf("%d lines, want one for each tenth:\n%s", n, &out)
	}
}

// A line wider than the terminal would scroll it.
func TestBarFitsTheTerminal(t *testing.T) {
	const width = 100
	var out bytes.Buffer
	display := newBar(&out, 200, width)
	point := &measure.Point{Setting: measure.Setting{Name: strings.Repeat("a long name ", 20)}}
	for range 200 {
		display.Start(point, "contender")
		display.Done()
	}
	display.Finish()
	longest := 0
	for line := range strings.FieldsFuncSeq(out.String(), func(r rune) bool { return r == '\r' || r == '\n' }) {
		longest = max(longest, utf8.RuneCountInString(line))
	}
	if longest == 0 || longest > width {
		t.Errorf("the longest line has %d characters, the terminal %d", longest, width)
	}
	if !strings.Contains(out.String(), "a long name") || !strings.Contains(out.String(), "…") {
		t.Errorf("the bar does not name the point:\n%q", out.String())
	}
	if !strings.HasSuffix(out.String(), "\r") && !strings.HasSuffix(out.String(), "\x1b[2K") {
		t.Errorf("the bar is not cleared at the end: %q", out.String()[max(0, out.Len()-60):])
	}
}

// When points are run longer, the percentage falls back, and never exceeds 100.
func TestMore(t *testing.T) {
	var out bytes.Buffer
	display := New(&out, 2, false)
	for _, name := range []string{"first", "second"} {
		display.Start(&measure.Point{Setting: measure.Setting{Name: name}}, "contender")
		display.Done()
		display.More(2)
	}
	display.Start(&measure.Point{Setting: measure.Setting{Name: "third"}}, "contender")
	if got := strings.Fields(out.String()); len(got) != 9 || got[3] != "25%" || got[6] != "33%" {
		t.Errorf("progress reads\n%s", &out)
	}
	bar := newBar(&out, 2, 80)
	bar.More(3)
	if got := bar.bar.GetMax(); got != 5 {
		t.Errorf("the bar ends at %d, want 5", got)
	}
}
