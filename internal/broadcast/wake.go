package broadcast

// fanout is the number of subscriptions that a publisher wakes, and then each goroutine
// that was woken. 2 and 1024 cost 1.5 times as much; with 32 a publisher takes longer.
const fanout = 8

// A list is a circular list of the subscriptions that wait, guarded by the lock of the Hub. The
// node of the list itself has no subscription.
//
//   - since is the tail when the subscription was put there. It does not fall from one node to the
//     next, as tail does not fall. So those that are to be woken, because a value was
//     published since, are the first ones, and a value makes all of them such at once.
type list[T any] struct{ node[T] }

type node[T any] struct {
	prev, next *node[T] // nil if it is in no list
	of         *Subscription[T]
	since      uint64
}

func (l *list[T]) init() { l.prev, l.next = &l.node, &l.node }

// due returns the first node if it is to be woken, now that there are tail values, or nil.
func (l *list[T]) due(tail uint64) *node[T] {
	if n := l.next; n != &l.node && n.since != tail {
		return n
	}
	return nil
}

// push appends n, which is in no list.
func (l *list[T]) push(n *node[T], tail uint64) {
	n.since, n.prev, n.next = tail, l.prev, &l.node
	n.prev.next, n.next.prev = n, n
}

// pushDue inserts n, which is in no list, at the front: it is due from the next value on.
func (l *list[T]) pushDue(n *node[T]) {
	n.since, n.prev, n.next = 0, &l.node, l.next
	n.prev.next, n.next.prev = n, n
}

// unlist takes n out of its list, if it is in one.
func (n *node[T]) unlist() {
	if n.next == nil {
		return
	}
	n.prev.next, n.next.prev = n.next, n.prev
	n.prev, n.next = nil, nil
}

// pop takes subscriptions that are due from the list until it has fanout of them in whose wait
// queue a goroutine is. The caller wakes these without the lock.
func (h *Hub[T]) pop(woken *[fanout]*Subscription[T]) (n int) {
	tail := h.tail.Load()
	for due := h.waiting.due(tail); n < fanout && due != nil; due = h.waiting.due(tail) {
		due.unlist()
		if !due.of.receivers.Idle() {
			woken[n] = due.of
			n++
		}
	}
	if pending := h.waiting.due(tail) != nil; pending != h.pending.Load() {
		h.pending.Store(pending)
	}
	return n
}

// wakeNext wakes the next subscriptions. Each goroutine calls it after it has left the
// wait queue of a subscription, and before it parks there again.
func (h *Hub[T]) wakeNext() {
	if !h.pending.Load() {
		return
	}
	var woken [fanout]*Subscription[T]
	h.acquire()
	n := h.pop(&woken)
	h.lock.Unlock()
	for _, s := range woken[:n] {
		s.receivers.Wake()
	}
}

// enlist ensures that the next value wakes a goroutine in the wait queue of s. It reports
// false if that need not wait: there is a value, or an error.
func (s *Subscription[T]) enlist() bool {
	h := s.hub
	h.acquire()
	defer h.lock.Unlock()
	if s.at[member] < 0 || h.closed.Load() || s.hasValue() {
		return false
	}
	switch {
	case s.listed.next != nil:
	case s.filter != nil:
		s.unlisted = true
	default:
		h.waiting.push(&s.listed, h.tail.Load())
	}
	return true
}

// pass is called when a goroutine has left the wait queue of s, where others wait. It wakes
// one of them if there is a value for it.
func (s *Subscription[T]) pass() {
	if !s.enlist() {
		s.receivers.Wake()
	}
}
