package broadcast

// fanout is the number of subscriptions that a publisher wakes, and then each goroutine
// that was woken: see ADR 25.
const fanout = 8

// A list is a circular list of subscriptions, guarded by the lock of the Hub. The node of the
// list itself has no subscription. To take a node out, its list need not be known, and two
// lists are joined in constant time.
type list[T any] struct{ node[T] }

type node[T any] struct {
	prev, next *node[T] // nil if it is in no list
	of         *Subscription[T]
}

func (l *list[T]) init() { l.prev, l.next = &l.node, &l.node }

func (l *list[T]) empty() bool { return l.next == &l.node }

// push appends n, which is in no list.
func (l *list[T]) push(n *node[T]) {
	n.prev, n.next = l.prev, &l.node
	n.prev.next, n.next.prev = n, n
}

// take appends all nodes of other, which is not empty.
func (l *list[T]) take(other *list[T]) {
	first, last := other.next, other.prev
	first.prev, last.next = l.prev, &l.node
	first.prev.next, l.prev = first, last
	other.init()
}

// unlist takes n out of its list, if it is in one.
func (n *node[T]) unlist() {
	if n.next == nil {
		return
	}
	n.prev.next, n.next.prev = n.next, n.prev
	n.prev, n.next = nil, nil
}

// pop takes subscriptions from the list waking until it has fanout of them in whose wait
// queue a goroutine is. The caller wakes these without the lock.
func (h *Hub[T]) pop(woken *[fanout]*Subscription[T]) (n int) {
	for n < fanout && !h.waking.empty() {
		s := h.waking.next.of
		s.listed.unlist()
		if !s.receivers.Idle() {
			woken[n] = s
			n++
		}
	}
	if pending := !h.waking.empty(); pending != h.pending.Load() {
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
	if s.listed.next == nil {
		h.idle.push(&s.listed)
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
