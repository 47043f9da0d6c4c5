package waitq

import (
	"time"

	"github.com/sluice-go/sluice/internal/park"
	"github.com/sluice-go/sluice/internal/selection"
)

// A List is a FIFO of waiting goroutines. The zero value is empty. A List has no lock: the
// lock of the queue or engine that it is a part of guards it, and the nodes in it.
//
//   - A node is in at most one list at a time. queued is set iff it is in one.
//   - A node belongs to its goroutine from Get to Put, and the lock guards what another
//     goroutine reads or writes meanwhile. The one that removes a node to serve its
//     goroutine delivers one token, and does not use the node afterwards.
//   - Put takes a node without a token: its goroutine has taken the token that was sent, or
//     none will be.
//   - A node of a Select belongs to the Select, and is never Put.
type List[V any] struct {
	first, last *Node[V]
	free        *Node[V] // reused, so that waiting does not allocate
	n           int32
	frees       uint8
}

// A Node is one goroutine that waits. Value is what its queue needs to know of it.
type Node[V any] struct {
	next, prev *Node[V]
	Parker     park.Parker
	Since      park.Since       // see Start
	Select     *selection.State // nil unless the goroutine waits in several queues
	Index      int32            // of the case, with Select
	queued     bool
	Value      V
}

// maxFree bounds the number of unused nodes that a List keeps.
const maxFree = 64

// Get returns a node in no list, with a zero Value. It allocates only if there is no unused one.
func (l *List[V]) Get() *Node[V] {
	n := l.free
	if n == nil {
		return newNode[V]()
	}
	l.free, n.next = n.next, nil
	l.frees--
	return n
}

func newNode[V any]() *Node[V] { return &Node[V]{Parker: park.NewParker()} }

// Put keeps n, which the caller must not use any more, for another goroutine.
func (l *List[V]) Put(n *Node[V]) {
	var zero V
	n.Value = zero
	n.Since.Reset()
	if l.frees < maxFree {
		n.next, l.free = l.free, n
		l.frees++
	}
}

// Len returns the number of nodes in l.
func (l *List[V]) Len() int { return int(l.n) }

// First returns the first node, or nil.
func (l *List[V]) First() *Node[V] { return l.first }

// Next returns the node after n, or nil.
func (n *Node[V]) Next() *Node[V] { return n.next }

// Queued reports whether n is in a list.
func (n *Node[V]) Queued() bool { return n.queued }

// Start returns when the goroutine of n began to wait.
func (n *Node[V]) Start() *park.Since {
	if n.Select != nil {
		return n.Select.Since()
	}
	return &n.Since
}

// Push appends n.
func (l *List[V]) Push(n *Node[V]) {
	n.queued = true
	n.prev = l.last
	if l.last == nil {
		l.first = n
	} else {
		l.last.next = n
	}
	l.last = n
	l.n++
}

// PushFront inserts n before all others: it was the first, and has to wait again.
func (l *List[V]) PushFront(n *Node[V]) {
	n.queued = true
	n.next = l.first
	if l.first == nil {
		l.last = n
	} else {
		l.first.prev = n
	}
	l.first = n
	l.n++
}

// Pop removes and returns the first node. There must be one.
func (l *List[V]) Pop() *Node[V] {
	n := l.first
	l.first, n.next = n.next, nil
	if l.first == nil {
		l.last = nil
	} else {
		l.first.prev = nil
	}
	n.queued = false
	l.n--
	return n
}

// Remove removes n, which is in l.
func (l *List[V]) Remove(n *Node[V]) {
	if n.prev == nil {
		l.Pop()
		return
	}
	n.prev.next = n.next
	if n.next == nil {
		l.last = n.prev
	} else {
		n.next.prev = n.prev
	}
	n.next, n.prev = nil, nil
	n.queued = false
	l.n--
}

// Oldest returns how long the first goroutine has waited at the time now, 0 if there is none.
func (l *List[V]) Oldest(now time.Duration) time.Duration {
	if l.first == nil {
		return 0
	}
	return l.first.Start().Age(now)
}

// Ages appends to ages how long each goroutine has waited, the first one first, until ages is
// full. It does not grow ages.
func (l *List[V]) Ages(ages []time.Duration, now time.Duration) []time.Duration {
	for n := l.first; n != nil && len(ages) < cap(ages); n = n.next {
		ages = append(ages, n.Start().Age(now))
	}
	return ages
}

// A Served is a list of nodes that were removed to serve their goroutines, which sleep. The holder of
// the lock adds them, and wakes them after it has released the lock, because each takes that at once.
// The zero value is empty.
type Served[V any] struct{ first, last *Node[V] }

// Add adds n, which is in no list.
func (s *Served[V]) Add(n *Node[V]) {
	if s.first == nil {
		s.first = n
	} else {
		s.last.next = n
	}
	s.last = n
}

// Empty reports whether there is no node.
func (s *Served[V]) Empty() bool { return s.first == nil }

// Take returns the nodes, and leaves none. The lock is held.
func (s *Served[V]) Take() Served[V] {
	all := *s
	*s = Served[V]{}
	return all
}

// Unpark delivers a token to each node, in the order of Add. From then on a node belongs to its
// goroutine.
func (s Served[V]) Unpark() {
	for n := s.first; n != nil; {
		next := n.next
		n.next = nil
		n.Parker.Unpark()
		n = next
	}
}
