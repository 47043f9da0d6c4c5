package jetstream

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
)

// A history is what receivers got, in the order in which they got it.
type history struct {
	mu   sync.Mutex
	next map[string]int // number of the next value of a key
	all  int
	bad  []string
	twin int // redeliveries
}

// add records a delivery. The last value of a key may be delivered again, as its
// acknowledgment may be lost.
func (h *history) add(v string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key, text, _ := strings.Cut(v, ":")
	switch n, _ := strconv.Atoi(text); n {
	case h.next[key]:
		h.next[key]++
		h.all++
	case h.next[key] - 1:
		h.twin++
	default:
		h.bad = append(h.bad, fmt.Sprintf("%s after %d", v, h.next[key]-1))
	}
}

// With Ordered, the order of each key is kept, and nothing is lost, while several senders
// of the same keys and several receivers come and go, receivers die with values in flight,
// and Resize is called under load, by processes that die at its steps.
func TestKeyedHistory(t *testing.T) {
	t.Parallel()
	o := keyedOptions(t)
	o.Ordered, o.Limit = true, 50
	first := openByKey(t, 2, o)
	const keys, rounds = 12, 5
	var turns [keys]struct {
		sync.Mutex
		n int
	}
	h := &history{next: map[string]int{}}
	resized := make(chan struct{})
	var senders, receivers sync.WaitGroup
	for i := range 3 {
		senders.Go(func() {
			for j := 0; ; j++ {
				select {
				case <-resized:
					return
				default:
				}
				c := openByKey(t, 1, o)
				for k := range 40 {
					turn := &turns[(i+j+k)%keys]
					turn.Lock() // senders of one key take turns
					err := c.Send(patient(t), fmt.Sprintf("k%d:%d", (i+j+k)%keys, turn.n))
					turn.n++
					turn.Unlock()
					if err != nil {
						t.Errorf("Send: %v", err)
					}
				}
				_ = c.Shutdown(patient(t))
			}
		})
		receivers.Go(func() {
			for j := 0; ; j++ {
				c := openByKey(t, 1, o)
				for k := 0; k < 60; k++ {
					d, err := c.Deliveries().Recv(patient(t))
					if err == sluice.ErrClosed {
						return
					}
					if err != nil {
						t.Errorf("Recv: %v", err)
						return
					}
					if h.add(d.Value); k == 59 && i == 0 && j < 2 {
						break // it dies
					}
					_ = d.Ack()
				}
				_ = c.Shutdown(patient(t))
			}
		})
	}
	steps := []string{"none", "commit", "seal", "settled", "none"}
	for i := range rounds {
		c := openByKey(t, 1, o)
		dieAt(c, steps[i])
		err := c.Resize(patient(t), []int{3, 5, 2, 4, 1}[i])
		if died := steps[i] != "none"; died != errors.Is(err, errDied) {
			t.Errorf("Resize: %v", err)
		}
		if err := c.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		until(t, "the old streams are deleted", func() bool { return len(first.core.layout.Load().prior) == 0 })
	}
	close(resized)
	senders.Wait()
	first.Close()
	receivers.Wait()
	sent := 0
	for i := range turns {
		sent += turns[i].n
	}
	t.Logf("%d values, %d redeliveries", sent, h.twin)
	if h.bad != nil || h.all != sent || sent == 0 {
		t.Errorf("%d of %d received; out of order: %v", h.all, sent, h.bad)
	}
}
