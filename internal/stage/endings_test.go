package stage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/workers"
)

// document is the page whose tables this file checks.
const document = "../../docs/recipes.md"

// The ways in which a stage ends.
const (
	closed   = "The input is closed"
	canceled = "The context is done"
	failed   = "A function or the input fails"
	panicked = "A function or the input panics"
	left     = "The reader of the results stops early"
)

var (
	endings  = []string{closed, canceled, failed, panicked, left}
	errInput = errors.New("planted")
)

const (
	turning = 10  // the value at which the ending happens
	ahead   = 400 // values that the sender sends before it pauses, more than the input holds
)

// A trial is one stage that ends in one way. Its sender and its stage run in a bubble of
// synctest, which fails if one of their goroutines stays.
type trial struct {
	*testing.T
	ctx          context.Context
	cancel       context.CancelFunc
	name, ending string
	in           *sluice.Bounded[int]

	mu       sync.Mutex
	reached  []int // values given to a function or to the reader of the results
	returned []int // values that the stage handed back
	by       string
	outcome  string // what the caller of the stage, or its next stage, got
	senders  string // what the sender got
}

// reach records that v arrived.
func (tr *trial) reach(vs ...int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.reached = append(tr.reached, vs...)
}

// handBack records that the stage handed vs back, and by what.
func (tr *trial) handBack(by string, vs ...int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(vs) > 0 {
		tr.returned, tr.by = append(tr.returned, vs...), by
	}
}

// ended classifies the error, or the panic, with which a stage has ended.
func (tr *trial) ended(err error, value any) {
	var p *workers.PanicError
	if e, ok := value.(error); ok && errors.As(e, &p) {
		value = p.Value
	}
	switch {
	case value == errInput:
		tr.outcome = "the panic"
	case value != nil:
		tr.outcome = fmt.Sprint("the panic ", value)
	case err == nil:
		tr.outcome = "nil"
	case errors.Is(err, context.Canceled):
		tr.outcome = "the context's error"
	case errors.Is(err, errInput):
		tr.outcome = "the error"
	case errors.Is(err, sluice.ErrClosed):
		tr.outcome = "`ErrClosed`"
	case errors.Is(err, sluice.ErrFull):
		tr.outcome = "`ErrFull`"
	default:
		tr.outcome = err.Error()
	}
}

// call calls the stage, and classifies how it ends.
func (tr *trial) call(stage func() error) {
	var err error
	defer func() { tr.ended(err, recover()) }()
	err = stage()
}

// work is the function of a stage. It brings about the ending at the turning point.
func (tr *trial) work(_ context.Context, v int) (int, error) {
	tr.reach(v)
	if v != turning {
		return v, nil
	}
	switch tr.ending {
	case canceled:
		tr.cancel()
		time.Sleep(time.Second) // a job that takes no notice
	case failed:
		return 0, errInput
	case panicked:
		panic(errInput)
	}
	return v, nil
}

// input is what a stage without a function of its own receives from: the channel, or, if
// the input is to fail or to panic, a stage that does.
func (tr *trial) input() sluice.BatchReceiver[int] {
	if tr.ending != failed && tr.ending != panicked {
		return tr.in
	}
	return workers.Map(context.Background(), tr.in, 1, tr.work, &workers.MapOptions[int]{
		Ordered: true, OnUnprocessed: func(v int) { tr.handBack("`OnUnprocessed`", v) },
	})
}

// send fills the input, and goes on after a pause, until it fails.
func (tr *trial) send(filled chan<- struct{}) {
	tr.senders = "wait"
	for v := 1; ; v++ {
		if v == ahead+1 && tr.ending == closed {
			tr.in.Close()
			tr.senders = "end"
			return
		}
		if v == ahead-4 {
			close(filled) // the input is nearly full
		}
		if v == ahead+1 {
			time.Sleep(time.Hour)
		}
		if err := tr.in.Send(context.Background(), v); err != nil {
			if errors.Is(err, sluice.ErrClosed) {
				tr.senders = "`ErrClosed`"
			} else {
				tr.senders = err.Error()
			}
			return
		}
	}
}

// run runs the stage, and accounts for every value.
func (tr *trial) run(stage func(*trial)) observation {
	tr.in = sluice.NewBounded[int](ahead-5, nil)
	tr.ctx, tr.cancel = context.WithCancel(context.Background())
	defer tr.cancel()
	filled := make(chan struct{})
	go tr.send(filled)
	<-filled
	stage(tr)
	time.Sleep(2 * time.Hour) // the sender goes on
	synctest.Wait()
	sent := int(tr.in.Stats().Sent)
	queued := slices.Collect(tr.in.Drain())

	all := slices.Concat(tr.reached, tr.returned, queued)
	slices.Sort(all)
	if unique := slices.Compact(slices.Clone(all)); len(all) != sent || len(unique) != sent {
		tr.Errorf("%s, %s: %d values sent; %d arrived, %d were handed back, %d are queued", tr.name, tr.ending, sent, len(tr.reached), len(tr.returned), len(queued))
	}
	seen := tr.observe(len(queued))
	tr.in.Close()
	for range tr.in.Drain() { // a sender that waits ends
	}
	return seen
}

// observe returns what was seen, with n values left in the channel.
func (tr *trial) observe(n int) observation {
	o := observation{inFlight: "arrive", queued: "arrive", senders: tr.senders, outcome: tr.outcome}
	if len(tr.returned) > 0 {
		o.inFlight = tr.by
	}
	if n > 0 {
		o.queued = "stay"
	}
	return o
}

// An observation is what became of the values that a stage had received and not passed on, of
// those still in the channel, of the senders, and what the caller of the stage got.
type observation struct{ inFlight, queued, senders, outcome string }

// usual has the rules of the document for every stage, which stand before its table.
var usual = map[string]observation{
	closed:   {queued: "arrive", senders: "end", outcome: "nil"},
	canceled: {queued: "stay", senders: "`ErrClosed`", outcome: "the context's error"},
	failed:   {queued: "stay", senders: "`ErrClosed`", outcome: "the error"},
	panicked: {queued: "stay", senders: "`ErrClosed`", outcome: "the panic"},
	left:     {queued: "stay", senders: "`ErrClosed`", outcome: "nil"},
}

// cell renders the values in flight, and where the observation differs from the rule.
func (o observation) cell(ending string) string {
	rule := usual[ending]
	parts := []string{o.inFlight}
	for _, part := range []struct{ name, seen, rule string }{
		{"queued", o.queued, rule.queued}, {"senders", o.senders, rule.senders}, {"result", o.outcome, rule.outcome},
	} {
		if part.seen != part.rule && part.seen != "-" {
			parts = append(parts, part.name+": "+part.seen)
		}
	}
	return strings.Join(parts, "; ")
}

// TestEndings runs every stage to each of its ends, and compares what happens with the table
// of the document. There, an error and a panic share a column, and the input that is closed has
// none: everything arrives.
func TestEndings(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var observed []string
	for _, s := range stages {
		cells := make(map[string]string)
		for _, ending := range endings {
			cells[ending] = "-"
			if slices.Contains(s.endings, ending) {
				cells[ending] = s.end(t, ending).cell(ending)
			}
		}
		if cells[failed] != cells[panicked] {
			t.Errorf("%s: %s after an error, and %s after a panic", s.name, cells[failed], cells[panicked])
		}
		if cells[closed] != "arrive" {
			t.Errorf("%s: %s after the last value", s.name, cells[closed])
		}
		observed = append(observed, fmt.Sprintf("| `%s` | %s | %s | %s |", s.name, cells[canceled], cells[failed], cells[left]))
	}
	compare(t, string(text), "Stages", observed)
}

// end runs a stage to one of its ends.
func (s *stage) end(t *testing.T, ending string) (o observation) {
	t.Run(s.name+"/"+ending, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tr := &trial{T: t, name: s.name, ending: ending}
			if s.own != nil {
				o = s.own(tr)
			} else {
				o = tr.run(s.run)
			}
		})
	})
	return o
}

// compare compares the rows of the table under a heading with what was observed.
func compare(t *testing.T, document, heading string, observed []string) {
	t.Helper()
	var documented []string
	_, section, _ := strings.Cut(document, "\n### "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n#")
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `") {
			documented = append(documented, strings.TrimSpace(line))
		}
	}
	if !slices.Equal(documented, observed) {
		t.Errorf("%q:\n%s\nobserved:\n%s", heading, strings.Join(documented, "\n"), strings.Join(observed, "\n"))
	}
}
