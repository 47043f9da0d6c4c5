package spill

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
)

// TestCloseIsOneMoment: between the steps of Close, no receive finds the channel empty
// but open once a send has failed with ErrClosed.
func TestCloseIsOneMoment(t *testing.T) {
	for name, values := range map[string]int{"direct": 0, "spilling": 3} {
		t.Run(name, func(t *testing.T) {
			c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 8, Codec: fixed{}})
			for v := range uint64(values) {
				if err := c.TrySend(v); err != nil {
					t.Fatal(err)
				}
			}
			between := 0
			c.sealing = func() {
				between++
				sent := c.TrySend(9)
				for c.head.Len() > 0 { // the lock is held: Recv would wait for it
					_, _ = c.head.TryRecv()
				}
				if _, err := c.TryRecv(); sent == sluice.ErrClosed && err != sluice.ErrClosed {
					t.Errorf("TrySend: %v, and then TryRecv: %v", sent, err)
				}
			}
			c.Close()
			for range values {
				_, _ = c.TryRecv()
			}
			if between != 1 {
				t.Fatalf("head was closed %d times", between)
			}
		})
	}
}

// TestFailureIsOneMoment: a receive during a failure does not find the channel empty but
// open either.
func TestFailureIsOneMoment(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 8, Codec: fixed{}})
	broken := errors.New("broken")
	received := make(chan error, 1)
	c.sealing = func() {
		go func() {
			_, err := c.TryRecv()
			received <- err
		}()
		for i := 0; i < 10_000 && len(received) == 0; i++ { // until it waits for the lock
			runtime.Gosched()
		}
	}
	c.mu.Lock()
	c.fail(broken)
	c.mu.Unlock()
	if err := <-received; err != broken {
		t.Errorf("TryRecv during a failure: %v", err)
	}
}

// overtaken is a context that is done. While a receive looks at it, another goroutine makes
// the channel spill.
type overtaken struct {
	context.Context
	meanwhile func()
}

func (o overtaken) Done() <-chan struct{} {
	o.meanwhile()
	return o.Context.Done()
}

func (o overtaken) Err() error {
	o.meanwhile()
	return o.Context.Err()
}

// TestCanceledBesideSpill: a receive whose context is done, and that found head empty, gets
// the record that is on disk by now.
func TestCanceledBesideSpill(t *testing.T) {
	for name, receive := range map[string]func(*Elastic[uint64], context.Context) (uint64, error){
		"Recv": (*Elastic[uint64]).Recv,
		"RecvBatch": func(c *Elastic[uint64], ctx context.Context) (uint64, error) {
			buf := make([]uint64, 1)
			_, err := c.RecvBatch(ctx, buf)
			return buf[0], err
		},
	} {
		c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 8, Codec: fixed{}})
		var once sync.Once
		v, err := receive(c, overtaken{never, func() {
			once.Do(func() {
				for v := range uint64(2) {
					if err := c.TrySend(v); err != nil {
						t.Error(err)
					}
				}
				_, _ = c.head.TryRecv() // a receiver that has yet to move the record
			})
		}})
		if v != 1 || err != nil {
			t.Errorf("%s: %d, %v, want 1", name, v, err)
		}
	}
}
