package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A Mark is the assessment of an answer, or Unasked.
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

// questions are the columns of the score.
var questions = [...]string{"channels?", "what", "where", "remedy", "gain"}

// markWidth is the width of a question or mark in columns.
const markWidth = 9

// Marks are the marks of one fixture, one per question.
type Marks [len(questions)]Mark

// judge compares a diagnosis with the truth:
//
//   - "channels?" is the verdict;
//   - "what", for a bottleneck other than channels or for a leak, is the kind
//     of the first finding;
//   - "where" is the operation of the first finding about channels, or of the
//     first other finding if channels are not at fault but an operation is,
//     such as the queue in front of a slow stage. A receive and a range count
//     as equal, because the compiler chooses between them;
//   - "remedy" is the first remedy;
//   - "gain" is whether the measured gain of that remedy lies in the predicted
//     range. It is not asked for a remedy that no scenario builds, or that the
//     doctor gives no figure for.
func judge(t *Truth, o *diagnosis) (m Marks) {
	p := &t.Scenario
	yes, decided := o.channels()
	m[0] = mark(decided && (yes == p.Channels || t.open))
	if cause := p.cause(); cause != "" {
		m[1] = mark(o.kind() == cause || t.limited && o.kind() == cpuLimit)
	}
	if len(p.Sites) > 0 {
		chief := o.chief(p.Channels)
		m[2] = mark(chief != nil && chief.At != nil && slices.ContainsFunc(p.Sites, chief.At.is))
	}
	best := o.best()
	m[3] = mark(slices.Contains(p.Right, best.Name))
	if g, ok := t.gain(best.Name); ok && !p.Leak && best.Gain.High > 0 && g.Rounds != 1 { // one round is no figure
		m[4] = mark(best.Gain.Low <= g.Median && g.Median <= best.Gain.High)
	}
	return m
}

// is reports whether the doctor's operation is the right one.
func (w *where) is(p place) bool {
	op := w.Op
	if op == "range" {
		op = "receive"
	}
	user, _, _ := strings.Cut(w.User, " (") // the caller of a wrapper, with file and line
	return op == p.Op && (w.Function == p.Func || user == p.Func)
}

// A set is a set of fixtures with the bar that it must reach.
type set struct {
	name string
	bar  [len(questions)]float64 // shares of right answers, from 0 to 1
}

// The bars. The bar of the held-out set was fixed before any rule had seen it.
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
	missed []string  // one line per wrong answer
	wide   []float64 // high over low of each range that "gain" asked about
	silent int       // first remedies without a figure
}

func (s *sheet) add(t *Truth, o *diagnosis) {
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
	if o.best().Gain.High == 0 {
		s.silent++
	}
	s.lines = append(s.lines, line(t, o, m))
	for i, mark := range m {
		if mark == Wrong {
			s.missed = append(s.missed, fmt.Sprintf("%s, %s: %s", t.Scenario.Name, questions[i], miss(i, t, o)))
		}
	}
}

// miss describes a wrong answer and the right one.
func miss(question int, t *Truth, o *diagnosis) string {
	p, best := &t.Scenario, o.best()
	switch questions[question] {
	case "channels?":
		return fmt.Sprintf("verdict %q, but channels at fault: %v", o.Verdict, p.Channels)
	case "what":
		return fmt.Sprintf("found %q, want %q", o.kind(), p.cause())
	case "where":
		said := "nowhere"
		if chief := o.chief(p.Channels); chief != nil && chief.At != nil {
			said = chief.At.Op + " in " + chief.At.Function
		}
		return fmt.Sprintf("found %s, want %s in %s", said, p.Sites[0].Op, p.Sites[0].Func)
	case "remedy":
		return fmt.Sprintf("suggested %q, want %s", best.Name, strings.Join(p.Right, " or "))
	}
	g, _ := t.gain(best.Name)
	return fmt.Sprintf("%s predicted x%.2f to x%.2f, measured x%.2f", best.Name, best.Gain.Low, best.Gain.High, g.Median)
}

// line is one fixture's line: its marks, the diagnosis and the measured gain.
func line(t *Truth, o *diagnosis, m Marks) string {
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

// reached reports whether the share of right answers reaches the bar for each
// question.
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

// compareSets writes the scores of all sets side by side, and every miss.
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
			return fmt.Sprintf("%2d of %2d, bar %.0f%%", s.right[i], s.asked[i], 100*s.set.bar[i])
		})
	}
	// A wide range is easily right.
	row("high over low", func(s *sheet) string {
		if len(s.wide) == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f (median)", median(s.wide))
	})
	row("no figure", func(s *sheet) string { return fmt.Sprintf("%d of %d", s.silent, len(s.lines)) })
	row("", func(s *sheet) string {
		return atTheBar(s.reached())
	})
	for _, s := range sheets {
		for _, missed := range s.missed {
			fmt.Fprintf(w, "%s miss: %s\n", s.set.name, missed)
		}
	}
}

// A board is the scores of one form: a sheet per set.
type board struct {
	form   form
	sheets []*sheet
}

// sheet returns the sheet of a set, or nil if no fixture of it has the form.
func (b *board) sheet(of set) *sheet {
	i := slices.IndexFunc(b.sheets, func(s *sheet) bool { return s.set.name == of.name })
	if i < 0 {
		return nil
	}
	return b.sheets[i]
}

// write writes the sheets and their comparison.
func (b *board) write(w io.Writer) {
	fmt.Fprintf(w, "form %s: %s\n", b.form.name, b.form.about)
	for _, s := range b.sheets {
		s.write(w)
	}
	compareSets(w, b.sheets)
	fmt.Fprintln(w)
}

// score runs the doctor on every form of every fixture below root and writes
// the boards, one per form, and the agreement of repeated captures.
func score(ctx context.Context, w io.Writer, program, root string) (*scores, error) {
	scratch, remove, err := workspace()
	if err != nil {
		return nil, err
	}
	defer remove()
	dirs, err := fixtures(root)
	if err != nil {
		return nil, err
	}
	all := new(scores)
	for _, f := range forms {
		b, err := scoreForm(ctx, program, dirs, f, scratch)
		if err != nil {
			return nil, err
		}
		if len(b.sheets) > 0 {
			all.boards = append(all.boards, b)
			b.write(w)
		}
	}
	if all.agreement, err = agree(ctx, program, dirs); err != nil {
		return nil, err
	}
	all.summary(w)
	return all, nil
}

// scoreForm scores one form of the fixtures that have it.
func scoreForm(ctx context.Context, program string, dirs []string, f form, scratch string) (*board, error) {
	tuning, heldOut := &sheet{set: tuningSet}, &sheet{set: heldOutSet}
	truths, folders := []*Truth{}, []string{}
	for _, dir := range dirs {
		t, err := readTruth(dir)
		if err != nil {
			return nil, err
		}
		folder, err := f.folder(dir, scratch)
		if err != nil {
			return nil, err
		}
		if folder != "" {
			truths, folders = append(truths, t), append(folders, folder)
		}
	}
	diagnoses, err := askAll(ctx, program, folders)
	if err != nil {
		return nil, err
	}
	for i, t := range truths {
		s := tuning
		if t.Scenario.HeldOut {
			s = heldOut
		}
		if f.name == quotaForm.name {
			t = t.onQuota()
		}
		s.add(t, diagnoses[i])
	}
	b := &board{form: f}
	b.sheets = slices.DeleteFunc([]*sheet{tuning, heldOut}, func(s *sheet) bool { return len(s.lines) == 0 })
	return b, nil
}

// askAll runs the doctor on each folder, on all cores.
func askAll(ctx context.Context, program string, folders []string) ([]*diagnosis, error) {
	diagnoses, failures := make([]*diagnosis, len(folders)), make([]error, len(folders))
	next := make(chan int, len(folders))
	for i := range folders {
		next <- i
	}
	close(next)
	var done sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for i := range next {
				diagnoses[i], failures[i] = ask(ctx, program, folders[i])
			}
		})
	}
	done.Wait()
	return diagnoses, errors.Join(failures...)
}
