package pipeline

import (
	"fmt"
	"time"
)

// A Ledger is the account of all lines. After Run has returned it is balanced:
//
//	In      = Counted + Malformed + Rejected + Dropped
//	Counted = Shipped + Unshipped
//
// Of a queue that is apart, which other processes or other lives of this one share, what
// was read here need not be counted here:
//
//	In      = Sent + Malformed + Rejected + Dropped
//	Counted = Shipped + Unshipped
//
// While a pipeline runs, its figures are of slightly different moments, and what is on
// its way is missing; but none of them ever falls.
type Ledger struct {
	In        int64 // lines read
	Counted   int64
	Malformed int64 // TooLong and Truncated among them
	TooLong   int64
	Truncated int64
	Rejected  int64 // for want of room, by the policy reject
	Dropped   int64 // for want of room, by a policy that drops
	Shipped   int64
	Unshipped int64 // in tables that the sink never took

	Apart    bool
	Sent     int64 // to a queue that is apart: stored there
	Again    int64 // of the counted, lines that may have been counted before, by who died
	Doubtful int64 // lines that may be stored twice, or though they were rejected

	Connections int64 // open now
	Refused     int64 // connections, for there were too many
	Slow        int64 // connections, for no line was complete in time
}

// Ledger returns the account as it is now.
func (p *Pipeline) Ledger() Ledger {
	in, apart := &p.intake, p.config.Queue.Account()
	if !apart.Apart {
		apart.Sent = 0 // it is counted here, and that is enough of an account
	}
	return Ledger{
		Apart: apart.Apart, Sent: apart.Sent, Again: apart.Again, Doubtful: apart.Doubtful,
		In:          in.Lines.Load(),
		Counted:     p.counted.Load(),
		TooLong:     in.TooLong.Load(), // before Malformed, of which they are a part
		Truncated:   in.Truncated.Load(),
		Malformed:   in.Malformed.Load(),
		Rejected:    in.Rejected.Load(),
		Dropped:     p.config.Queue.Dropped(),
		Shipped:     p.shipped.Load(),
		Unshipped:   p.unshipped.Load(),
		Connections: in.Connections.Load(),
		Refused:     in.Refused.Load(),
		Slow:        in.Slow.Load(),
	}
}

// Balanced returns what is wrong with the account of a pipeline that has ended.
func (l Ledger) Balanced() error {
	if out := l.passed() + l.Malformed + l.Rejected + l.Dropped; l.In != out {
		return fmt.Errorf("%d lines were read, but there is an account of %d: %v", l.In, out, l)
	}
	if out := l.Shipped + l.Unshipped; l.Counted != out {
		return fmt.Errorf("%d lines were counted, but there is an account of %d: %v", l.Counted, out, l)
	}
	return nil
}

// passed is how many of the lines read here went the way that they are to go.
func (l Ledger) passed() int64 {
	if l.Apart {
		return l.Sent
	}
	return l.Counted
}

// String is the account in two lines, and one for each doubt.
func (l Ledger) String() string {
	word := "counted"
	if l.Apart {
		word = "sent"
	}
	text := fmt.Sprintf("in %d = %s %d + malformed %d + rejected %d + dropped %d\ncounted %d = shipped %d + not shipped %d",
		l.In, word, l.passed(), l.Malformed, l.Rejected, l.Dropped, l.Counted, l.Shipped, l.Unshipped)
	if l.Again > 0 {
		text += fmt.Sprintf("\nof the counted %d had been delivered before: at most these are counted twice", l.Again)
	}
	if l.Doubtful > 0 {
		text += fmt.Sprintf("\nof %d it is not known how often they are stored: never, once or twice", l.Doubtful)
	}
	return text
}

// Delay returns the q-quantile, q from 0 to 1, of the time from when the bytes of a line
// were read until it was counted, over the last few thousand that were sampled.
func (p *Pipeline) Delay(q float64) time.Duration { return p.delays.quantile(q) }
