// Package park is the only place in which a goroutine waits: how it is put to
// sleep, how it is woken, and how a wait is cancelled.
package park

// A Parker puts one goroutine at a time to sleep until a token arrives. The
// token may arrive first; there is at most one. Each wait of an engine owns one
// Parker, so that a token never reaches a goroutine it was not meant for.
//
// It is a channel with one slot: the cheapest wait that the runtime offers,
// that a context can cancel and that testing/synctest sees as blocked.
// sync.Cond costs the same and cannot be cancelled; sync.Mutex and
// sync.WaitGroup cost half as much again.
type Parker struct {
	token chan struct{}
}

// NewParker returns a parker without a token. It allocates.
func NewParker() Parker { return Parker{make(chan struct{}, 1)} }

// Park waits for the token and takes it. It returns false, without the token,
// if done is closed first. A nil done is never closed.
func (p Parker) Park(done <-chan struct{}) bool {
	if done == nil {
		<-p.token
		return true
	}
	select {
	case <-p.token:
		return true
	case <-done:
		return false
	}
}

// Unpark puts the token down. It never waits: the engines unpark a parker once
// for each time that it was announced as parked.
func (p Parker) Unpark() { p.token <- struct{}{} }
