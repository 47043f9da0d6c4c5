package priority

import (
	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
	"github.com/sluice-go/sluice/internal/waitq"
)

// An entry is how a Select waits for room to send.
type entry[T any] struct {
	e      *Engine[T]
	value  *T // its level is that of the value, if there is a LevelOf
	level  int
	in     *waitq.Entry // in the queue of level
	queued bool
}

// Join implements engine.Entry.
func (p *entry[T]) Join(s *selection.State, index int) {
	if !p.queued {
		level := p.level
		if p.value != nil {
			level = p.e.levelOf(*p.value, "Select")
		}
		if p.in == nil || level != p.level {
			p.level = level
			p.in = waitq.NewEntry(&p.e.levels[level].senders, passesOn)
		}
		p.queued = true
		p.e.asleep.Add(1)
	}
	p.in.Join(s, index)
}

// Leave implements engine.Entry. The wake-up that the Select may hold goes to the queue whose
// turn it is.
func (p *entry[T]) Leave() {
	if !p.queued {
		return
	}
	p.queued = false
	p.in.Leave()
	p.e.asleep.Add(-1)
	p.e.passOn()
	p.e.disarmRoom()
}

// Tally implements engine.Entry.
func (p *entry[T]) Tally() *park.Tally { return p.e.levels[p.level].senders.Tally() }

// isAble reports whether a receiver could proceed.
func (e *Engine[T]) isAble() bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.able()
}

// passesOn is for an entry that leaves the wake-up to Leave above: the queue itself would wake
// the next one of the same level, out of turn and perhaps beside another sender.
func passesOn() bool { return false }
