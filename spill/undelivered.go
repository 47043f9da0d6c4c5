package spill

import "github.com/sluice-go/sluice"

// giveAll gives vs to the hook, if there is one. The caller holds no lock.
func (c *config[T]) giveAll(why sluice.Reason, vs ...T) {
	if c.undelivered != nil && len(vs) > 0 {
		inTurn(len(vs), func(i int) { c.undelivered(vs[i], why) })
	}
}

// inTurn calls f with 0 to n-1: see untilDone.
func inTurn(n int, f func(i int)) {
	i := 0
	untilDone(func() (more bool) {
		if i < n {
			i++
			f(i - 1)
		}
		return i < n
	})
}

// untilDone calls step, which calls the hook, until it returns false. A call that panics or ends
// the goroutine does not end that. Afterwards the first panic continues, or the goroutine ends.
func untilDone(step func() (more bool)) {
	var first any // panic
	again := func() {
		if first != nil {
			panic(first)
		}
	}
	for more := true; more; {
		func() {
			returned := false
			defer func() {
				if returned {
					return
				}
				p := recover()
				if p == nil { // Goexit: this deferred call is the rest of the loop
					defer again()
					untilDone(step)
				} else if first == nil {
					first = p
				}
			}()
			more = step()
			returned = true
		}()
	}
	again()
}
