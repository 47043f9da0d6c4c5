package pipeline

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/input"
	"github.com/sluice-go/sluice/bench/logagg/queue"
)

// A Ledger is the account of all lines. After Run has returned it is balanced:
//
//	In      = Counted + Malformed + Rejected
//	Counted = Shipped + Unshipped
//
// With a queue that is shared with other processes, or outlives this one, lines
// read here may be counted elsewhere:
//
//	In      = Sent + Malformed + Rejected
//	Counted = Shipped + Unshipped
//
// While a pipeline runs, the parts are read at slightly different moments, and
// lines in transit are missing; but no count of lines ever decreases.
type Ledger struct {
	input.Counts
	queue.Account
	Counted   int64
	Shipped   int64
	Unshipped int64 // in tables that the sink did not accept
}

// Ledger returns the current account.
func (p *Pipeline) Ledger() Ledger {
	l := Ledger{p.intake.Counts(), p.config.Queue.Account(), p.counted.Load(), p.shipped.Load(), p.unshipped.Load()}
	if !l.Shared {
		l.Sent = 0 // the lines are counted here, which completes their account
	}
	return l
}

// Balanced returns an error if the account of a pipeline that has ended is
// unbalanced.
func (l Ledger) Balanced() error {
	if out := l.passed() + l.Malformed + l.Rejected; l.In != out {
		return fmt.Errorf("read %d lines, but the account contains %d: %v", l.In, out, l)
	}
	if out := l.Shipped + l.Unshipped; l.Counted != out {
		return fmt.Errorf("counted %d lines, but the account contains %d: %v", l.Counted, out, l)
	}
	return nil
}

// passed returns the number of lines read here that were counted or sent.
func (l Ledger) passed() int64 {
	if l.Shared {
		return l.Sent
	}
	return l.Counted
}

// String formats the account in two lines, and one line for each other count that is not 0.
func (l Ledger) String() string {
	word := "counted"
	if l.Shared {
		word = "sent"
	}
	text := fmt.Sprintf("in %d = %s %d + malformed %d + rejected %d\ncounted %d = shipped %d + not shipped %d",
		l.In, word, l.passed(), l.Malformed, l.Rejected, l.Counted, l.Shipped, l.Unshipped)
	for _, more := range []struct {
		n    int64
		text string
	}{
		{l.TooLong, "of the malformed lines, %d were too long"},
		{l.Truncated, "of the malformed lines, %d were cut off"},
		{l.Refused, "%d connections were refused"},
		{l.Again, "of the counted lines, %d had been delivered before: at most these are counted twice"},
		{l.Doubtful, "%d lines have an unknown outcome: stored never, once or twice"},
	} {
		if more.n > 0 {
			text += "\n" + fmt.Sprintf(more.text, more.n)
		}
	}
	return text
}

// remembered is the number of delays kept: enough for a 99th percentile, few
// enough to represent the last moments.
const remembered = 4096

// delays are the latest ones, in nanoseconds.
type delays struct {
	mu  sync.Mutex
	ns  [remembered]int64
	met int // total number of delays added
}

func (d *delays) add(ns int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ns[d.met%remembered] = ns
	d.met++
}

// quantile returns 0 as long as there are no delays.
func (d *delays) quantile(q float64) time.Duration {
	d.mu.Lock()
	sorted := slices.Clone(d.ns[:min(d.met, remembered)])
	d.mu.Unlock()
	if len(sorted) == 0 {
		return 0
	}
	slices.Sort(sorted)
	return time.Duration(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)])
}

// Delay returns the q-quantile, q from 0 to 1, of the time from reading a
// line's bytes to counting the line, over the last few thousand samples.
func (p *Pipeline) Delay(q float64) time.Duration { return p.delays.quantile(q) }
