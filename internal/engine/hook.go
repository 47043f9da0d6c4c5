package engine

// Repeat calls step until it returns false. A step that panics or calls runtime.Goexit does not
// stop the others: they run as deferred calls. Then the first panic goes on, from the stack on
// which it began, so that its trace is complete; later ones are dropped. A Goexit goes on, too, if
// the first panic is recovered. After such a step, Repeat asks for another one, so a step counts
// its work before it calls code of the user.
func Repeat(step func() (more bool)) {
	if !repeat(step) {
		panic(nil) // what has been recovered; nil only under GODEBUG=panicnil=1
	}
}

func repeat(step func() bool) (over bool) {
	defer func() {
		if over {
			return
		}
		first := recover()
		if first == nil { // a Goexit, which runs deferred calls and nothing else
			repeat(step)
			return
		}
		defer panic(first) // even if one of the others calls Goexit
		rest(step)
	}()
	for step() {
	}
	return true
}

// rest is Repeat, except that it drops all panics.
func rest(step func() bool) {
	over := false
	defer func() {
		if !over { // a Goexit, also one that went on after a panic above it was recovered
			rest(step)
		}
	}()
	for !over {
		over = quietly(step)
	}
}

func quietly(step func() bool) (over bool) {
	defer func() { _ = recover() }()
	for step() {
	}
	return true
}

// Both calls first and then second, as Repeat does.
func Both(first, second func()) {
	calls := 0
	Repeat(func() bool {
		switch calls++; calls {
		case 1:
			first()
		case 2:
			second()
		}
		return calls < 2
	})
}

// CallEach calls hook with each value of vs, as Repeat does.
func CallEach[T any](hook func(T), vs []T) {
	if len(vs) == 1 {
		hook(vs[0])
		return
	}
	next := 0
	Repeat(func() bool {
		if next == len(vs) {
			return false
		}
		next++
		hook(vs[next-1])
		return true
	})
}

// SendEach sends the values of vs one after another, under a policy that drops values, and returns
// how many were sent. prepare, unless it is nil, returns what send gets beside the value. If that
// fails or panics, no further value is sent. If send panics, it has sent its value, and the others
// are sent all the same, as Repeat does.
func SendEach[T, P any](vs []T, prepare func(T) (P, error), send func(T, P) error) (n int, err error) {
	next := func() bool {
		var p P
		if prepare != nil {
			i := n
			n = len(vs) // if it panics
			if p, err = prepare(vs[i]); err != nil {
				n = i
				return false
			}
			n = i
		}
		n++
		if err = send(vs[n-1], p); err != nil {
			n--
		}
		return err == nil
	}
	if len(vs) == 1 {
		next()
		return n, err
	}
	Repeat(func() bool { return n < len(vs) && err == nil && next() })
	return n, err
}
