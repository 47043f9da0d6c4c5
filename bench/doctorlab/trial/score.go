package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Mark is a right or a wrong answer, or none where there was no question.
type Mark int

// The marks.
const (
	Unasked Mark = iota
	Wrong
	Right
)

func (m Mark) String() string { return [...]string{"-", "WRONG", "right"}[m] }

func mark(right bool) Mark {
	if right {
		return Right
	}
	return Wrong
}

// The questions, as the score prints them.
var questions = [...]string{"channels?", "what", "where", "remedy", "gain"}

// markWidth is the columns that a question or a mark takes.
const markWidth = 9

// Marks are the marks of one fixture, one for each question.
type Marks [len(questions)]Mark

// judge compares what the doctor said with what is true.
//
// "what" asks, where channels are not the problem, what is, and of a leak whether it
// is found to be one: the kind of the first finding. "where" asks for the operation of the first finding on channels, or where these are
// not the problem and there is a place all the same, such as the queue in front of a
// slow stage, of the first finding that is not on channels. A receive and a range
// are one: the runtime tells them apart by the compiler's choice. "remedy"
// asks for the first remedy that is named. "gain" asks whether what was measured of
// that remedy lies in the range that was predicted for it; a remedy that no scenario
// has built is not asked for.
func judge(t *Truth, o *opinion) (m Marks) {
	p := &t.Scenario
	yes, said := o.channels()
	m[0] = mark(said && yes == p.Channels)
	if cause := p.cause(); cause != "" {
		m[1] = mark(o.kind() == cause)
	}
	if len(p.Sites) > 0 {
		chief := o.chief(p.Channels)
		m[2] = mark(chief != nil && chief.At != nil && slices.ContainsFunc(p.Sites, chief.At.is))
	}
	best := o.best()
	m[3] = mark(slices.Contains(p.Right, best.Name))
	if g, ok := t.gain(best.Name); ok && !p.Leak {
		m[4] = mark(best.Gain.Low <= g.Median && g.Median <= best.Gain.High)
	}
	return m
}

// is reports whether the doctor's place is the true one. Its functions have their
// package's path in front, the scenarios' only main.
func (w *where) is(p place) bool {
	op := w.Op
	if op == "range" {
		op = "receive"
	}
	return op == p.Op && w.Function == p.Func
}

// A set is fixtures that are scored together, with the bar that it must reach.
type set struct {
	name string
	bar  [len(questions)]float64 // parts of the right answers, from 0 to 1
}

// The bars. That of the held-out set was set before any rule had seen it.
var (
	tuningSet  = set{"tuning", [...]float64{0.9, 0.8, 0.85, 0.8, 0.6}}
	heldOutSet = set{"held-out", [...]float64{0.8, 0.6, 0.6, 0.6, 0.4}}
)

// A sheet is the score of one set.
type sheet struct {
	set    set
	right  [len(questions)]int
	asked  [len(questions)]int
	lines  []string
	missed []string  // a line for each wrong answer
	wide   []float64 // of each range that "gain" asked about, its high over its low
}

func (s *sheet) add(t *Truth, o *opinion) {
	m := judge(t, o)
	for i, mark := range m {
		if mark != Unasked {
			s.asked[i]++
		}
		if mark == Right {
			s.right[i]++
		}
	}
	if best := o.best(); m[len(m)-1] != Unasked && best.Gain.Low > 0 {
		s.wide = append(s.wide, best.Gain.High/best.Gain.Low)
	}
	s.lines = append(s.lines, line(t, o, m))
	for i, mark := range m {
		if mark == Wrong {
			s.missed = append(s.missed, fmt.Sprintf("%s, %s: %s", t.Scenario.Name, questions[i], miss(i, t, o)))
		}
	}
}

// miss says what the doctor said to a question, and what is true.
func miss(question int, t *Truth, o *opinion) string {
	p, best := &t.Scenario, o.best()
	switch questions[question] {
	case "channels?":
		return fmt.Sprintf("said %q, and channels are the problem: %v", o.Verdict, p.Channels)
	case "what":
		return fmt.Sprintf("found %q, and it is %q", o.kind(), p.cause())
	case "where":
		said := "nowhere"
		if chief := o.chief(p.Channels); chief != nil && chief.At != nil {
			said = chief.At.Op + " in " + chief.At.Function
		}
		return fmt.Sprintf("said %s, and it is %s in %s", said, p.Sites[0].Op, p.Sites[0].Func)
	case "remedy":
		return fmt.Sprintf("said %q, and right is %s", best.Name, strings.Join(p.Right, " or "))
	}
	g, _ := t.gain(best.Name)
	return fmt.Sprintf("%s was to give x%.2f to x%.2f, and gave x%.2f", best.Name, best.Gain.Low, best.Gain.High, g.Median)
}

// line is one fixture's line: its marks, and what was said beside what is true.
func line(t *Truth, o *opinion, m Marks) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-18s", t.Scenario.Name)
	for _, mark := range m {
		fmt.Fprintf(&b, " %-*s", markWidth, mark)
	}
	best := o.best()
	fmt.Fprintf(&b, "  %s: %s x%.2f (%.2f to %.2f)", o.Verdict, best.Name, best.Gain.Mid, best.Gain.Low, best.Gain.High)
	if g, ok := t.gain(best.Name); ok {
		fmt.Fprintf(&b, ", measured x%.2f", g.Median)
	}
	return b.String()
}

// reached reports whether each question's share of right answers is at the bar.
func (s *sheet) reached() bool {
	for i := range questions {
		if float64(s.right[i]) < s.set.bar[i]*float64(s.asked[i]) {
			return false
		}
	}
	return true
}

func (s *sheet) write(w io.Writer) {
	fmt.Fprintf(w, "%s set\n  %-18s", s.set.name, "")
	for _, q := range questions {
		fmt.Fprintf(w, " %-*s", markWidth, q)
	}
	fmt.Fprintln(w)
	for _, line := range s.lines {
		fmt.Fprintln(w, line)
	}
}

// compareSets writes what all sets reached, side by side, and every miss.
func compareSets(w io.Writer, sheets []*sheet) {
	const column = 22
	row := func(head string, cell func(*sheet) string) {
		line := fmt.Sprintf("%-14s", head)
		for _, s := range sheets {
			line += fmt.Sprintf("  %-*s", column, cell(s))
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
	row("", func(s *sheet) string { return s.set.name + " set" })
	for i, q := range questions {
		row(q, func(s *sheet) string {
			return fmt.Sprintf("%2d of %2d, bar %.0f %%", s.right[i], s.asked[i], 100*s.set.bar[i])
		})
	}
	// A wide range is easily right.
	row("high over low", func(s *sheet) string {
		if len(s.wide) == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f in the median", median(s.wide))
	})
	row("", func(s *sheet) string {
		if s.reached() {
			return "at the bar"
		}
		return "BELOW THE BAR"
	})
	for _, s := range sheets {
		for _, missed := range s.missed {
			fmt.Fprintf(w, "%s miss: %s\n", s.set.name, missed)
		}
	}
}

// score asks the doctor about every fixture below root, and writes the sheets, one
// for each set that has fixtures there, and both side by side. It returns them.
func score(ctx context.Context, w io.Writer, program, root string) ([]*sheet, error) {
	dirs, err := fixtures(root)
	if err != nil {
		return nil, err
	}
	tuning, heldOut := &sheet{set: tuningSet}, &sheet{set: heldOutSet}
	for _, dir := range dirs {
		t, err := readTruth(dir)
		if err != nil {
			return nil, err
		}
		o, err := ask(ctx, program, dir)
		if err != nil {
			return nil, err
		}
		if t.Scenario.HeldOut {
			heldOut.add(t, o)
		} else {
			tuning.add(t, o)
		}
	}
	sheets := slices.DeleteFunc([]*sheet{tuning, heldOut}, func(s *sheet) bool { return len(s.lines) == 0 })
	for _, s := range sheets {
		s.write(w)
	}
	compareSets(w, sheets)
	return sheets, nil
}
