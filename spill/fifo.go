package spill

// A fifo is a queue in a slice. Elements that were removed are cleared at once; when
// they are half of the slice, the rest moves to the front. So push and pop are O(1)
// amortized, and memory is proportional to the length.
type fifo[E any] struct {
	all  []E
	head int
}

func (q *fifo[E]) len() int { return len(q.all) - q.head }

func (q *fifo[E]) push(e E) { q.all = append(q.all, e) }

// first returns the oldest element. The queue must not be empty.
func (q *fifo[E]) first() E { return q.all[q.head] }

// at returns element i, counted from the oldest. There must be one.
func (q *fifo[E]) at(i int) E { return q.all[q.head+i] }

// pop removes the oldest element and returns it. The queue must not be empty.
func (q *fifo[E]) pop() E {
	var none E
	e := q.all[q.head]
	q.all[q.head] = none
	q.head++
	if q.head*2 >= len(q.all) {
		rest := q.all[q.head:]
		if cap(q.all) > 64 && len(rest)*4 < cap(q.all) {
			q.all = append(make([]E, 0, 2*len(rest)), rest...)
		} else {
			n := copy(q.all, rest)
			clear(q.all[n:])
			q.all = q.all[:n]
		}
		q.head = 0
	}
	return e
}
