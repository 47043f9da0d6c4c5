package park

import "sync/atomic"

// A Patience learns whether it pays to pause, before joining a line, in the
// hope that the other side is at work on another P.
//
// While it is, a short pause without a look at what it writes lets it get on at
// full speed, and then there is a run of values, or of room, to be had: the two
// sides stay parallel and exchange cache lines once a run. When it is not, the
// pause is lost: it may even wait for this P. So each pause that came to
// nothing lowers the credit, and without credit only one wait in 64 tries: two
// goroutines that exchange single values lose nothing worth mentioning.
type Patience struct {
	credit atomic.Int32
	probes atomic.Uint32
}

const (
	maxCredit = 8
	probe     = 64
)

// Worthwhile reports whether to pause.
func (p *Patience) Worthwhile() bool {
	return p.credit.Load() > 0 || p.probes.Add(1)%probe == 0
}

// Learn is told whether a pause has paid.
func (p *Patience) Learn(paid bool) {
	credit := p.credit.Load()
	switch {
	case paid && credit < maxCredit:
		p.credit.Store(credit + 2)
	case !paid && credit > 0:
		p.credit.Store(credit - 1)
	}
}

// Delay passes time without touching memory: n dependent multiplications, about
// a nanosecond each.
//
//go:noinline
func Delay(n int) uint64 {
	x := uint64(n)
	for range n {
		x = x*6364136223846793005 + 1
	}
	return x
}
