package pipeline

import (
	"fmt"
	"slices"
	"sync"
	"time"
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
// While a pipeline runs, the fields are read at slightly different moments, and
// lines in transit are missing; but no field ever decreases.
type Ledger struct {
	In        int64 // lines read
	Counted   int64
	Malformed int64 // including TooLong and Truncated
	TooLong   int64
	Truncated int64
	Rejected  int64 // because the queue had failed
	Shipped   int64
	Unshipped int64 // in tables that the sink did not accept

	Shared   bool
	Sent     int64 // to a shared queue: stored there
	Again    int64 // counted lines that a dead process may have counted before
	Doubtful int64 // lines that may be stored twice, or although they were rejected

	Connections int64 // open now
	Refused     int64 // connections above the maximum number
}

// Ledger returns the current account.
func (p *Pipeline) Ledger() Ledger {
	in, account := &p.intake, p.config.Queue.Account()
	if !account.Shared {
		account.Sent = 0 // the lines are counted here, which completes their account
	}
	return Ledger{
		Shared: account.Shared, Sent: account.Sent, Again: account.Again, Doubtful: account.Doubtful,
		In:          in.Lines.Load(),
		Counted:     p.counted.Load(),
		TooLong:     in.TooLong.Load(), // before Malformed, which includes them
		Truncated:   in.Truncated.Load(),
		Malformed:   in.Malformed.Load(),
		Rejected:    in.Rejected.Load(),
		Shipped:     p.shipped.Load(),
		Unshipped:   p.unshipped.Load(),
		Connections: in.Connections.Load(),
		Refused:     in.Refused.Load(),
	}
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
