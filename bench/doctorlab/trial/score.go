package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/sluice-go/sluice/bench/command"
	"golang.org/x/sync/errgroup"
)

// A mark is the assessment of one answer.
type mark int

// The marks. An answer that was not asked for, such as the place of nothing, has none.
const (
	unasked mark = iota
	right
	abstained
	wrong
)

func (m mark) String() string { return [...]string{"-", "right", "none", "WRONG"}[m] }

func rightIf(ok bool) mark {
	if ok {
		return right
	}
	return wrong
}

// Marks are the marks of a diagnosis.
type marks struct {
	verdict  mark
	place    mark
	remedy   mark // the first
	gain     mark // whether the measured gain of the first remedy is in its range
	headroom mark // whether the measured one is within a factor of 1.5
	harmful  bool // any remedy that breaks the service
	missed   bool // called fine or idle, although a change pays
}

// judge compares a diagnosis with the truth:
//
//   - the verdict is one of the right ones; or the service works on, and a finding beside
//     the verdict has the name of the shape: a leak;
//   - the place is a function that it is right to name. A function of the lab that passes
//     calls on stands for its caller;
//   - the first remedy is right, or none is given where nothing should be changed;
//   - the gain is the measured one, for a remedy that is built, if a range is given.
func (l *lab) judge(s *description, d *diagnosis) (m marks) {
	beside := false // a leak
	for _, f := range d.Also {
		beside = beside || f.Kind == s.Shape && f.At != nil && s.has(f.At) == right
	}
	calm := d.Verdict == load || d.Verdict == idle
	switch {
	case slices.Contains(s.Verdicts, d.Verdict) || beside && calm:
		m.verdict = right
	case d.Verdict == undecided:
		m.verdict = abstained
	default:
		m.verdict = wrong
	}
	if len(s.Places) > 0 {
		switch {
		case beside && calm:
			m.place = right
		case d.Bottleneck == nil || d.Verdict == undecided:
			m.place = abstained
		default:
			m.place = s.has(&d.Bottleneck.At)
		}
	}
	best := d.best()
	switch {
	case best == "" && (len(s.Right) == 0 && !s.changeable() || slices.Contains(s.Verdicts, load)):
		m.remedy = right
	case best == "":
		m.remedy = abstained
	default:
		m.remedy = rightIf(slices.Contains(s.Right, best) || slices.Contains(s.Accept, best))
	}
	for _, r := range d.Remedies {
		m.harmful = m.harmful || slices.Contains(s.Harmful, r.Name)
	}
	if g, ok := l.gains.gain(s.Name, best); ok && m.remedy == right && d.Remedies[0].Gain != nil {
		predicted := d.Remedies[0].Gain
		m.gain = rightIf(predicted.Low <= g.Median && g.Median <= predicted.High)
	}
	if g, ok := l.gains.gain(s.Name, moreLoad); ok && d.Headroom != nil {
		m.headroom = rightIf(g.Median/1.5 <= *d.Headroom && *d.Headroom <= 1.5*g.Median)
	}
	m.missed = calm && len(s.Right) > 0
	return m
}

// changeable reports whether a change of the service is needed although none has a
// measured gain: what is stuck is.
func (s *description) changeable() bool { return slices.Contains(s.Built, release) }

// passing are functions of the lab that stand for their callers.
var passing = []string{"main.work", "main.hash", "main.keep", "main.spawn", "main.start", "main.forever", "main.numbers",
	"main.feed", "main.fill", "main.send", "main.recv", "main.take", "main.drain", "main.direct", "main.every", "main.bursts",
	"main.(*service).done", "main.(*service).again", "main.(*service).until", "main.(*service).loop", "main.(*service).callers",
	"main.(*service).grouped", "main.(*service).guarded", "main.(*service).keyed", "main.(*service).asker", "main.employ", "main.finish", "main.(*backlog).get"}

// home is where the lab is: its other packages stand for libraries.
const home = module + "/bench/doctorlab/"

// has reports whether it is right to name a place.
func (s *description) has(at *place) mark {
	for ; at != nil; at = at.Caller {
		function := strings.ReplaceAll(at.Function, "[...]", "")
		of := func(name string) bool { return function == name || strings.HasPrefix(function, name+".") }
		if slices.ContainsFunc(s.Places, func(p string) bool {
			name, closures := strings.CutSuffix(strings.ReplaceAll(p, "[...]", ""), ".*")
			return function == name || closures && of(name)
		}) {
			return right
		}
		if !strings.HasPrefix(function, home) && !slices.ContainsFunc(passing, of) {
			return wrong
		}
	}
	// The end of the calls that it names: right for a role that waits outside there.
	return rightIf(slices.Contains(s.Verdicts, outside) || slices.Contains(s.Verdicts, stage))
}

// short returns a function's name without the path of its package.
func short(function string) string { return strings.TrimPrefix(path.Base(function), "main.") }

// Marked counts the marks of a question.
type marked [4]int

func (t marked) asked() int { return t[right] + t[abstained] + t[wrong] }

// share returns a part of the asked, and 1 if nothing was.
func (t marked) share(marks ...mark) float64 {
	if t.asked() == 0 {
		return 1
	}
	n := 0
	for _, m := range marks {
		n += t[m]
	}
	return float64(n) / float64(t.asked())
}

func (t marked) String() string {
	return fmt.Sprintf("%d right, %d none, %d wrong", t[right], t[abstained], t[wrong])
}

// Named are services, once for each observation.
type named []string

func (n named) String() string {
	if len(n) == 0 {
		return "0"
	}
	slices.Sort(n)
	return fmt.Sprintf("%d: %s", len(n), strings.Join(slices.Compact(slices.Clone(n)), " "))
}

// A sheet is the score of one half.
type sheet struct {
	half                                   half
	verdict, place, remedy, gain, headroom marked
	harmful, missed                        named
	agree                                  marked            // of two observations of a service
	curve                                  [len(bins)]marked // of verdicts by stated probability
	lines, differ                          []string
}

// bins are the upper ends of stated probabilities.
var bins = [...]float64{0.5, 0.7, 0.85, 0.95, 1.01}

func (h *sheet) add(l *lab, s *description, d *diagnosis, m marks) {
	h.verdict[m.verdict]++
	h.place[m.place]++
	h.remedy[m.remedy]++
	h.gain[m.gain]++
	h.headroom[m.headroom]++
	if m.harmful {
		h.harmful = append(h.harmful, s.Name)
	}
	if m.missed {
		h.missed = append(h.missed, s.Name)
	}
	if d.Verdict != undecided {
		i := slices.IndexFunc(bins[:], func(end float64) bool { return *d.Probability < end })
		h.curve[max(i, 0)][rightIf(m.verdict == right)]++
	}
	h.lines = append(h.lines, l.line(s, d, m))
}

// compare counts whether two observations of a service agree on verdict and remedy.
func (h *sheet) compare(s *description, a, b *diagnosis) {
	same := a.Verdict == b.Verdict && a.best() == b.best()
	if h.agree[rightIf(same)]++; !same {
		h.differ = append(h.differ, fmt.Sprintf("%s (%s, %q; %s, %q)", s.Name, a.Verdict, a.best(), b.Verdict, b.best()))
	}
}

const header = "  service        shape             verdict place   remedy  gain"

// line is the line of one diagnosis.
func (l *lab) line(s *description, d *diagnosis, m marks) string {
	at := ""
	if d.Bottleneck != nil {
		at = fmt.Sprintf(" at %s:%d", short(d.Bottleneck.At.Function), d.Bottleneck.At.Line)
	}
	text := fmt.Sprintf("  %-14s %-17s %-7v %-7v %-7v %-7v %s %.2f%s", s.Name, s.Shape, m.verdict, m.place, m.remedy, m.gain, d.Verdict, *d.Probability, at)
	for _, r := range d.Remedies {
		text += ", " + r.Name
		if r.Gain != nil {
			text += fmt.Sprintf(" x%.1f to x%.1f", r.Gain.Low, r.Gain.High)
		}
		if g, ok := l.gains.gain(s.Name, r.Name); ok {
			text += fmt.Sprintf(" (measured x%.1f)", g.Median)
		}
	}
	if g, ok := l.gains.gain(s.Name, moreLoad); ok && d.Headroom != nil {
		text += fmt.Sprintf(", headroom x%.1f (measured x%.1f)", *d.Headroom, g.Median)
	}
	return text
}

// dues are the lines of the score with what is due on the half that the doctor was never
// changed for: a figure, and whether it is met.
var dues = []struct {
	text string
	of   func(*sheet) (figure any, met bool)
}{
	{"verdict: right at least 90%, wrong at most 4%", func(h *sheet) (any, bool) {
		return h.verdict, h.verdict.share(right) >= 0.9 && h.verdict.share(wrong) <= 0.04
	}},
	{"place: right at least 90%", func(h *sheet) (any, bool) { return h.place, h.place.share(right) >= 0.9 }},
	{"first remedy: right 75%, or none given 90%", func(h *sheet) (any, bool) {
		return h.remedy, h.remedy.share(right) >= 0.75 && h.remedy.share(right, abstained) >= 0.9
	}},
	{"gain: in the given range 80%", func(h *sheet) (any, bool) { return h.gain, h.gain.share(right) >= 0.8 }},
	{"harmful remedies: none", func(h *sheet) (any, bool) { return h.harmful, len(h.harmful) == 0 }},
	{"called fine or idle although a change gives x1.3: none", func(h *sheet) (any, bool) { return h.missed, len(h.missed) == 0 }},
	{"two observations agree: 90%", func(h *sheet) (any, bool) {
		return fmt.Sprintf("%d of %d", h.agree[right], h.agree.asked()), h.agree.share(right) >= 0.9
	}},
	{"headroom: within a factor of 1.5", func(h *sheet) (any, bool) { return h.headroom, true }},
}

// score runs the doctor on all observations below root and writes the scores.
func (l *lab) score(ctx context.Context, root string) error {
	halves, err := l.sheets(ctx, root)
	for _, h := range halves {
		if h.verdict.asked() > 0 && !h.write(l.stdout) && h.half == held {
			err = errBelow
		}
	}
	return err
}

// sheets scores both halves.
func (l *lab) sheets(ctx context.Context, root string) ([]*sheet, error) {
	folders, err := saved(root)
	if err != nil {
		return nil, command.Misused("%w", err)
	}
	diagnoses := make([][]*diagnosis, len(l.services))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, s := range l.services {
		own := make([]*diagnosis, len(folders[s.Name]))
		diagnoses[i] = own
		for n, folder := range folders[s.Name] {
			group.Go(func() (err error) {
				own[n], err = l.ask(ctx, folder)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	halves := []*sheet{{half: tuning}, {half: held}}
	for i, s := range l.services {
		h := halves[slices.IndexFunc(halves, func(h *sheet) bool { return h.half == s.Half })]
		for _, d := range diagnoses[i] {
			h.add(l, &s, d, l.judge(&s, d))
		}
		if len(diagnoses[i]) > 1 {
			h.compare(&s, diagnoses[i][0], diagnoses[i][1])
		}
	}
	return halves, nil
}

// write writes a sheet and reports whether it has all that is due.
func (h *sheet) write(w io.Writer) bool {
	fmt.Fprintf(w, "%s half\n%s\n", h.half, header)
	for _, line := range h.lines {
		fmt.Fprintln(w, line)
	}
	for _, d := range h.differ {
		fmt.Fprintf(w, "  differ: %s\n", d)
	}
	all := true
	for _, d := range dues {
		figure, met := d.of(h)
		below := ""
		if !met {
			below, all = "   BELOW", false
		}
		fmt.Fprintf(w, "%-56s %v%s\n", d.text, figure, below)
	}
	fmt.Fprint(w, "stated probability and share of right verdicts:         ")
	low := 0.0
	for i, end := range bins {
		if c := h.curve[i]; c.asked() > 0 {
			fmt.Fprintf(w, " %.2f to %.2f: %.2f of %d;", low, min(end, 1), c.share(right), c.asked())
		}
		low = end
	}
	fmt.Fprint(w, "\n\n")
	return all
}
