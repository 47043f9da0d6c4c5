package jetstream

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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

// add records a delivery, unless it has expired: a receiver that paused for AckWait may come after
// another one, which has the value and those behind it. The last value of a key may be delivered
// again, as its acknowledgment may be lost.
func (h *history) add(d *Delivery[string]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d.InProgress() == ErrExpired {
		return
	}
	v := d.Value
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
// of the same keys and several receivers come and go, and receivers die with values in flight.
func TestKeyedHistory(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	o := Options[string]{
		Name: "jobs", URL: s.ClientURL(), Replicas: 1, Ordered: true, Capacity: 50, AckWait: time.Second, Log: mute(),
	}
	first := openByKey(t, 3, o)
	const keys, rounds = 12, 5
	var turns [keys]struct {
		sync.Mutex
		n int
	}
	h := &history{next: map[string]int{}}
	var senders, receivers sync.WaitGroup
	for i := range 3 {
		senders.Go(func() {
			for j := range rounds {
				c := openByKey(t, 3, o)
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
				c := openByKey(t, 3, o)
				for k := 0; k < 60; k++ {
					d, err := c.Deliveries().Recv(patient(t))
					if err == sluice.ErrClosed {
						return
					}
					if err != nil {
						t.Errorf("Recv: %v", err)
						return
					}
					if h.add(d); k == 59 && i == 0 && j < 2 {
						break // it dies
					}
					_ = d.Ack()
				}
				_ = c.Shutdown(patient(t))
			}
		})
	}
	senders.Wait()
	first.Close()
	receivers.Wait()
	sent := 0
	for i := range turns {
		sent += turns[i].n
	}
	t.Logf("%d values, %d redeliveries", sent, h.twin)
	if h.bad != nil || h.all != sent || sent != 3*rounds*40 {
		t.Errorf("%d of %d received; out of order: %v", h.all, sent, h.bad)
	}
}
