package chain

import "github.com/sluice-go/sluice/internal/engine"

// Hold takes the locks of both sides, in the order send, receive, as does a send
// that drops the oldest value: nothing moves until Release.
func (e *Engine[T]) Hold() {
	e.send.lock()
	e.recv.lock()
}

// Release ends a Hold.
func (e *Engine[T]) Release() {
	e.recv.unlock(e.recv.word.Load() &^ (locked | sleepers))
	e.send.unlock(e.send.word.Load() &^ (locked | sleepers))
}

// Held is Stats under Hold.
func (e *Engine[T]) Held() engine.Stats {
	s, r := e.send.word.Load(), e.recv.word.Load()
	tail, head := s&^flags, r&^flags
	dropped := e.dropped.Load()
	length := e.queued(tail, head)
	e.send.high = max(e.send.high, e.recv.high, uint64(length))
	out := engine.Stats{
		Name:      e.name,
		Len:       length,
		Cap:       int(e.limit),
		Lanes:     1,
		Sent:      tail >> shift,
		Received:  head >> shift,
		Dropped:   dropped,
		HighWater: int(e.send.high),
		Closed:    s&closed != 0,
	}
	if e.overflow == engine.DropOldest {
		out.Received -= dropped // a value dropped moved the head, too
	}
	if e.elastic != nil {
		out.Bytes = e.elastic.held()
	} else {
		out.Bytes = int64(len(e.send.buf)) * int64(sizeOf[T]())
	}
	out.SendersWaiting, out.SendWaits, out.SendWaitTime = e.senders.Counts()
	out.ReceiversWaiting, out.RecvWaits, out.RecvWaitTime = e.receivers.Counts()
	return out
}
