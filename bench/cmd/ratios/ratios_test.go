package main

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/contender"
	"github.com/sluice-go/sluice/bench/results"
	"github.com/sluice-go/sluice/bench/rounds"
	"github.com/sluice-go/sluice/bench/workload"
)

// quick returns the settings of a very short measurement.
func quick(t *testing.T, args ...string) settings {
	t.Helper()
	s, err := parse(append([]string{"-procs", "2", "-rounds", "2", "-time", "100us"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pair returns a row of one workload with the given contenders.
func pair(reference, ours contender.Contender) row {
	w := workload.OneWay(128, 1, 1)
	return row{name: "pair", work: w, refWork: w, reference: reference, ours: ours, floor: 1, goal: 2}
}

// Both contenders of every row can do its work, and its goal is above its
// floor.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	rows := table(t.Context())
	for _, r := range rows {
		if seen[r.String()] {
			t.Errorf("two rows have the name %q", r)
		}
		seen[r.String()] = true
		if !r.work.Can(r.ours) || !r.refWork.Can(r.reference) {
			t.Errorf("%s: its contenders cannot do it", r)
		}
		least := 1.0
		if few := regexp.MustCompile(`^(Rendezvous|Bounded [1248]) \d+(->|x)\d+$`); few.MatchString(r.String()) {
			least = 0.95
		}
		if strings.HasPrefix(r.name, "ctx ") && r.work.Capacity <= 8 && r.name != "ctx Elastic" {
			least = 1.3
		}
		if strings.HasPrefix(r.name, "Priority") {
			least = 0.7 // of a Bounded: a receive looks at each level
			if strings.HasSuffix(r.name, "heap") {
				least = 3
			}
		}
		if r.floorAt(1) != least || r.floor < least || r.goal <= r.floor {
			t.Errorf("%s: floor %v, %v with one P (want %v), goal %v", r, r.floor, r.floorAt(1), least, r.goal)
		}
		if r.work.Senders != r.refWork.Senders || r.work.Receivers != r.refWork.Receivers {
			t.Errorf("%s: the reference works in another shape", r)
		}
	}
	for _, name := range []string{
		"Rendezvous 8x8", "Bounded 1 1->1", "Bounded 1024 one to one 1->1", "Elastic 1->10", "Elastic 8x8 batches",
		"Rendezvous ping-pong", "ctx Bounded 128 8->1", "Elastic against pump 1->1", "Pipe against pump 1->1",
		"Bounded 2 1->1", "Bounded 4 1->10", "Bounded 8 8x8", "ctx Rendezvous 8->1", "ctx Bounded 8 8x8",
		"batch.Sender 64 8->1", "batch.Sender 64 and batch.Receive, linger 1->1",
	} {
		if !seen[name] {
			t.Errorf("no row %q", name)
		}
	}
	if got := choose(rows, regexp.MustCompile("^Bounded 1 ")); len(got) != 4 {
		t.Errorf("%d rows of Bounded 1, not 4", len(got))
	}
}

func TestMeasureAllKeepsGOMAXPROCS(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	s := quick(t, "-procs", "1,3")
	var shown []int
	lines := measureAll(t.Context(), s, []row{pair(contender.Native(), contender.Native())}, func(l line) {
		shown = append(shown, runtime.GOMAXPROCS(0))
		if l.err != nil || len(l.ratios) != 2 || !(l.refNs > 0) || !(l.oursNs > 0) {
			t.Errorf("incomplete line: %+v", l)
		}
	})
	if len(lines) != 2 || !slices.Equal(shown, []int{1, 3}) {
		t.Errorf("%d lines, shown at GOMAXPROCS %v", len(lines), shown)
	}
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Errorf("GOMAXPROCS is %d, and was %d", after, before)
	}
}

// stuck is a channel that carries nothing until it is released.
type stuck struct {
	contender.Channel
	released <-chan struct{}
}

func (s stuck) Drain() contender.Tally {
	<-s.released
	return s.Channel.Drain()
}

func stuckContender(released <-chan struct{}) contender.Contender {
	return contender.Contender{Name: "stuck", Make: func(capacity int) contender.Channel {
		return stuck{contender.Native().Make(capacity), released}
	}}
}

// lossy loses a value.
type lossy struct{ contender.Channel }

func (l lossy) SendRange(lo, hi uint64) { l.Channel.SendRange(lo+1, hi) }

func lossyContender() contender.Contender {
	return contender.Contender{Name: "lossy", Make: func(capacity int) contender.Channel {
		return lossy{contender.Native().Make(capacity)}
	}}
}

// A contender that hangs or loses values gets no figure, on either side, and
// the next row is measured nevertheless.
func TestNoFigureWithoutTheWork(t *testing.T) {
	released := make(chan struct{})
	defer close(released)
	native := contender.Native()
	check := func(l line, want string) {
		t.Helper()
		if l.err == nil || !strings.Contains(l.err.Error(), want) || l.verdict() != "no figure" {
			t.Errorf("the error is %v and the verdict %q", l.err, l.verdict())
		}
		if !strings.Contains(l.String(), want) {
			t.Errorf("it does not contain %q: %s", want, l)
		}
	}

	rows := []row{pair(native, lossyContender()), pair(lossyContender(), native), pair(native, native)}
	lines := measureAll(t.Context(), quick(t), rows, func(line) {})
	if len(lines) != len(rows) {
		t.Fatalf("%d lines of %d", len(lines), len(rows))
	}
	check(lines[0], "lossy: received")
	check(lines[1], "lossy: received")
	if lines[2].err != nil {
		t.Errorf("native has no figure: %v", lines[2])
	}

	// Only the stuck contender runs, so the timeout may be short.
	stuck, err := measure(t.Context(), quick(t, "-timeout", "10ms"), pair(stuckContender(released), native), 2)
	if err != nil {
		t.Fatal(err)
	}
	check(stuck, "stuck: hangs: not done with 1000 values after 10ms")
}

// An interrupt ends the measurement, even of work that hangs, and keeps the
// completed lines.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	released := make(chan struct{})
	defer close(released)
	native := contender.Native()
	hangs := contender.Contender{Name: "stuck", Make: func(capacity int) contender.Channel {
		cancel()
		return stuckContender(released).Make(capacity)
	}}
	lines := measureAll(ctx, quick(t, "-timeout", "1h"), []row{pair(native, native), pair(native, hangs), pair(native, native)}, func(line) {})
	if len(lines) != 1 || lines[0].err != nil {
		t.Errorf("%d lines were measured before the interrupt, not 1: %v", len(lines), lines)
	}
}

func TestVerdicts(t *testing.T) {
	for _, one := range []struct {
		procs   int
		ratio   float64
		err     error
		verdict string
	}{
		{2, 1.99, nil, "falls short"},
		{2, 2, nil, "pass"},
		{2, 2.99, nil, "pass"},
		{2, 3, nil, "goal"},
		{1, 0.99, nil, "falls short"},
		{1, 1, nil, "pass"},
		{8, 9, nil, "pass"}, // goals are set at 2 only
		{2, 9, errors.New("lost"), "no figure"},
	} {
		l := line{row: row{floor: 2, goal: 3}, procs: one.procs, ratios: []float64{one.ratio}, err: one.err}
		if got := l.verdict(); got != one.verdict {
			t.Errorf("%+v: %q", one, got)
		}
	}
}

// The ratio is the median of the ratios of the rounds, not the ratio of the
// medians.
func TestRatioIsTakenWithinARound(t *testing.T) {
	var l line
	l.fill([]*entry{{ns: []float64{10, 100, 30}}, {ns: []float64{5, 100, 10}}, {ns: []float64{20, 100, 15}}})
	if !slices.Equal(l.ratios, []float64{1, 2, 3}) || l.refNs != 30 || l.oursNs != 10 {
		t.Errorf("%+v", l)
	}
	if len(l.peers) != 1 || l.peers[0].ns != 20 || l.peers[0].ratio != 1 {
		t.Errorf("peers: %+v", l.peers)
	}
}

func TestMedian(t *testing.T) {
	for _, one := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := rounds.Median(one.values); got != one.want {
			t.Errorf("median of %v: %v", one.values, got)
		}
	}
	if got := rounds.Median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing: %v", got)
	}
}

func TestParseRefusesNonsense(t *testing.T) {
	for _, args := range [][]string{
		{"-rows", "("}, {"-procs", "0"}, {"-procs", "1,,2"}, {"-procs", "two"}, {"-rounds", "0"},
		{"-time", "0s"}, {"-time", "soon"}, {"-timeout", "-1s"}, {"row"},
	} {
		if s, err := parse(args); err == nil {
			t.Errorf("%v was taken as %+v", args, s)
		}
	}
}

// With one core there is no transfer between cores, and the table shows a dash.
func TestNoLine(t *testing.T) {
	if text := (line{lineNs: math.NaN()}).lineText(); text != "-" {
		t.Errorf("the table shows %q", text)
	}
}

// A peer is compared in a row only if it does what the row is about.
func TestPeersOf(t *testing.T) {
	for _, one := range []struct{ row, peers string }{
		{"^Bounded 128 1->1$", "xsync MPMC, xsync SPSC"},
		{"^Bounded 128 8x8$", "xsync MPMC"},
		{"^Elastic 8->1$", "chanx, chann, eapache, xsync UMPSC"},
		{"^Elastic 1->10$", "chanx, chann, eapache"},
		{"^Rendezvous 1->1$", ""},
		{"^Elastic 1->1 batches$", ""},
		{"^ctx Elastic 1->1$", ""},
		{"^Elastic against pump 1->1$", ""},
	} {
		rows := choose(table(t.Context()), regexp.MustCompile(one.row))
		if len(rows) != 1 {
			t.Fatalf("%d rows match %s", len(rows), one.row)
		}
		var names []string
		for _, p := range peersOf(rows[0]) {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, ", "); got != one.peers {
			t.Errorf("beside %s: %s", rows[0], got)
		}
	}
}

// Rows that are a section of their own replace only that section.
func TestSection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := os.WriteFile(path, []byte("# Body\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := report(t.Context(), quick(t, "-rows", "^Bounded [24] 1->1$", "-procs", "1,2", "-section", "Few slots", "-o", path)); err != nil {
			t.Fatal(err)
		}
	}
	document, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(document), "# Body\n") {
		t.Errorf("%v, the body is gone:\n%s", err, document)
	}
	for text, want := range map[string]int{"\n## Few slots\n": 1, "| Bounded 2 1->1 | 1 | native |": 1, "| Bounded 4 1->1 | 2 | native |": 1} {
		if got := strings.Count(string(document), text); got != want {
			t.Errorf("%q is in the document %d times, not %d:\n%s", text, got, want, document)
		}
	}
	if _, err := parse([]string{"-section", "Few slots"}); err == nil {
		t.Error("-section was accepted without -o")
	}
}

// The Markdown states everything that a figure depends on, and reports missing
// figures.
func TestMarkdown(t *testing.T) {
	s := quick(t, "-peers")
	var lines []line
	for _, r := range choose(table(t.Context()), regexp.MustCompile("^Bounded 128 1->1$|^Elastic against pump 1->1$")) {
		l, err := measure(t.Context(), s, r, 2)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	lines = append(lines, line{row: pair(contender.Native(), contender.Native()), procs: 8, err: errors.New("lost a value")})
	var b strings.Builder
	writeMarkdown(&b, document{
		settings: s,
		host:     results.Host{CPU: "Abacus 1", Cores: 3, System: "linux/wood", Go: "go9", Commit: "abc"},
		began:    time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC),
		asked:    9,
		lines:    lines,
	})
	text := b.String()
	for _, want := range []string{
		"Abacus 1, 3 cores, linux/wood", "Go: go9", "commit: abc", "2031-02-03 04:05 UTC", "2 rounds of 100µs",
		"Interrupted: 3 of 9", "## GOMAXPROCS=2", "## GOMAXPROCS=8", "| Bounded 128 1->1 | native | 2.00 | 3.00 |",
		"no figure: lost a value", "| xsync MPMC | xsync SPSC |", "- xsync MPMC: polls", "corrected: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not contain %q:\n%s", want, text)
		}
	}
}
