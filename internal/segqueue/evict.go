package segqueue

// Evict removes and returns the oldest value if at least least values are queued, and least
// is positive. It counts as a receive. It holds the receive lock meanwhile, so no receiver comes
// between the look and the removal. A caller that keeps senders away can decide on the length of
// the queue: if Evict removes a value, no receive has taken place since Len was least.
func (e *Engine[T]) Evict(least int) (old T, ok bool) {
	var c call
	start := e.recv.lock()
	word := e.rescueReceiver(&c, start)
	if least < 1 || e.between(e.send.word.Load(), word) < uint64(least) {
		e.recv.unlock(word)
		if word != start { // it has received for another goroutine
			e.wakeSender()
		}
		return old, false
	}
	var buf [1]T
	n, _ := e.take(word, buf[:], nil, &c)
	return buf[0], n == 1
}
