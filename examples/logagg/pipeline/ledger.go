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

	Connections int64 // open now
	Refused     int64 // connections, for there were too many
	Slow        int64 // connections, for no line was complete in time
}

// Ledger returns the account as it is now.
func (p *Pipeline) Ledger() Ledger {
	in := &p.intake
	return Ledger{
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
	if out := l.Counted + l.Malformed + l.Rejected + l.Dropped; l.In != out {
		return fmt.Errorf("%d lines were read, but there is an account of %d: %v", l.In, out, l)
	}
	if out := l.Shipped + l.Unshipped; l.Counted != out {
		return fmt.Errorf("%d lines were counted, but there is an account of %d: %v", l.Counted, out, l)
	}
	return nil
}

// String is the account in two lines.
func (l Ledger) String() string {
	return fmt.Sprintf("in %d = counted %d + malformed %d + rejected %d + dropped %d\ncounted %d = shipped %d + not shipped %d",
		l.In, l.Counted, l.Malformed, l.Rejected, l.Dropped, l.Counted, l.Shipped, l.Unshipped)
}

// Delay returns the q-quantile, q from 0 to 1, of the time from when the bytes of a line
// were read until it was counted, over the last few thousand that were sampled.
func (p *Pipeline) Delay(q float64) time.Duration { return p.delays.quantile(q) }
