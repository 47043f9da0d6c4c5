package engine

import (
	"errors"
	"runtime"
	"slices"
	"testing"
)

// A run is what became of Repeat: the steps, and how it ended.
type run struct {
	steps    []int
	panicked any
	exited   bool
}

// repeats calls Repeat with a step for each of ends: nil returns, exit calls Goexit, anything else is
// the value of a panic.
func repeats(ends ...any) (r run) {
	done := make(chan bool)
	go func() {
		defer close(done)
		returned := false
		defer func() {
			r.panicked = recover()
			r.exited = r.panicked == nil && !returned
		}()
		i := 0
		Repeat(func() bool {
			if i == len(ends) {
				return false
			}
			i++
			r.steps = append(r.steps, i)
			switch end := ends[i-1]; end {
			case nil:
			case exit:
				runtime.Goexit()
			default:
				panic(end)
			}
			return true
		})
		returned = true
	}()
	<-done
	return r
}

const exit = "exit"

// TestRepeat: each sequence of up to four steps that return, panic or exit.
func TestRepeat(t *testing.T) {
	for length := range 5 {
		for code := range 1 << (2 * length) {
			var ends []any
			var want run
			for i := range length {
				end := []any{nil, exit, i, errors.New("an error")}[code>>(2*i)&3]
				ends, want.steps = append(ends, end), append(want.steps, i+1)
				switch {
				case end == exit:
					want.exited = want.panicked == nil
				case end != nil && want.panicked == nil:
					want.panicked, want.exited = end, false
				}
			}
			if got := repeats(ends...); !slices.Equal(got.steps, want.steps) || got.panicked != want.panicked || got.exited != want.exited {
				t.Fatalf("%v: %+v, want %+v", ends, got, want)
			}
		}
	}
}

// TestRepeatMany: the stack does not grow with the number of panics.
func TestRepeatMany(t *testing.T) {
	ends := make([]any, 100_000)
	for i := range ends {
		ends[i] = i + 1
	}
	if r := repeats(ends...); r.panicked != 1 || len(r.steps) != len(ends) {
		t.Errorf("%d steps, panicked with %v", len(r.steps), r.panicked)
	}
}

// TestRepeatNilPanic: a panic with nil, which recover does not show under this setting, goes on.
func TestRepeatNilPanic(t *testing.T) {
	t.Setenv("GODEBUG", "panicnil=1")
	steps, returned := 0, false
	func() {
		defer func() { _ = recover() }()
		Repeat(func() bool {
			if steps++; steps == 1 {
				panic(nil)
			}
			return steps < 3
		})
		returned = true
	}()
	if steps < 3 || returned {
		t.Errorf("%d steps, returned %v", steps, returned)
	}
}

// TestSendEach: a failure of prepare, or an error, ends the batch; a panic of send does not.
func TestSendEach(t *testing.T) {
	refused := errors.New("refused")
	for _, test := range []struct {
		prepare, send []any // for each value: nil, an error, or the value of a panic
		sent          []int
		n             int
		err, panics   any
	}{
		{[]any{nil, nil, nil}, []any{nil, nil, nil}, []int{0, 1, 2}, 3, nil, nil},
		{[]any{nil, nil, nil}, []any{nil, refused, nil}, []int{0}, 1, refused, nil},
		{[]any{nil, refused, nil}, []any{nil, nil, nil}, []int{0}, 1, refused, nil},
		{[]any{nil, "p", nil}, []any{nil, nil, nil}, []int{0}, 0, nil, "p"},
		{[]any{nil, nil, nil}, []any{"s", nil, "t"}, []int{0, 1, 2}, 0, nil, "s"},
		{[]any{nil, "p", nil}, []any{"s", nil, nil}, []int{0}, 0, nil, "s"},
		{[]any{nil}, []any{"s"}, []int{0}, 0, nil, "s"},
		{[]any{"p"}, []any{nil}, nil, 0, nil, "p"},
		{nil, nil, nil, 0, nil, nil},
	} {
		vs := make([]int, len(test.send))
		for i := range vs {
			vs[i] = i
		}
		var sent []int
		end := func(how any) error {
			err, ok := how.(error)
			if how != nil && !ok {
				panic(how)
			}
			return err
		}
		func() {
			defer func() {
				if p := recover(); p != test.panics {
					t.Errorf("%v: panicked with %v", test, p)
				}
			}()
			n, err := SendEach(vs, func(v int) (int, error) { return -v, end(test.prepare[v]) }, func(v, p int) error {
				if p != -v {
					t.Errorf("%v: send of %d got %d", test, v, p)
				}
				if err, _ := test.send[v].(error); err == nil {
					sent = append(sent, v)
				}
				return end(test.send[v])
			})
			if test.panics != nil || n != test.n || err != test.err {
				t.Errorf("%v: %d, %v", test, n, err)
			}
		}()
		if !slices.Equal(sent, test.sent) {
			t.Errorf("%v: sent %v", test, sent)
		}
	}
}

// TestCallEachAllocs: one value is a plain call.
func TestCallEachAllocs(t *testing.T) {
	vs, sum := []int{1, 2, 3}, 0
	hook := func(v int) { sum += v }
	if n := testing.AllocsPerRun(100, func() { CallEach(hook, vs); CallEach(hook, vs[:1]); CallEach(hook, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
