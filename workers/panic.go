package workers

import (
	"fmt"
	"runtime"

	"github.com/sluice-go/sluice/internal/workpool"
)

// A PanicError is the value with which [Run], and the methods of [Results], panic
// after a panic of f. Its Error has both fields, in many lines; print Value for a short
// message.
type PanicError struct {
	Value any    // of the panic
	Stack []byte // of the worker's goroutine
}

// Error returns the value and the stack.
func (p *PanicError) Error() string {
	return fmt.Sprintf("%v\n\ngoroutine of a worker:\n\n%s", p.Value, p.Stack)
}

// Unwrap returns Value if it is an error.
func (p *PanicError) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// raise returns the error of an outcome, or panics or exits as f did.
func raise(o workpool.Outcome) error {
	repanic(o)
	if o.Exited {
		runtime.Goexit()
	}
	return o.Err
}

// repanic panics if f did. A panic that comes from workers further up in a pipeline
// keeps its stack.
func repanic(o workpool.Outcome) {
	switch value := o.Panic.(type) {
	case nil:
	case *PanicError:
		panic(value)
	default:
		panic(&PanicError{value, o.Stack})
	}
}
