package segqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/internal/callsite"
	"github.com/sluice-go/sluice/internal/engine"
)

// samples returns the number of samples of a side, which are so new that each counts nearly one.
func samples(s *callsite.Side) (n int) {
	for _, site := range s.Sites() {
		n += int(site.Weight + 0.5)
	}
	return n
}

// TestSamples: samples are taken in the first operation, before a goroutine parks, by the
// sender into a long queue, and in the first operation after Stats; in no other.
func TestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sites := callsite.New()
		e := New(engine.Config[int]{Limit: 1000, Sites: sites})
		want := func(when string, send, receive int) {
			t.Helper()
			if s, r := samples(sites.Send), samples(sites.Receive); s != send || r != receive {
				t.Errorf("%s: %d and %d samples, want %d and %d", when, s, r, send, receive)
			}
			time.Sleep(100 * time.Millisecond)
		}
		move := func() {
			_ = e.TrySend(1)
			_, _ = e.TryRecv()
		}
		move()
		want("the first operations", 1, 1)
		move()
		want("the next ones", 1, 1)
		go func() { _, _ = e.Recv(context.Background()) }()
		synctest.Wait()
		want("a receiver that parks", 1, 2)
		_ = e.TrySend(1)
		synctest.Wait()
		for range 300 {
			_ = e.TrySend(1)
		}
		want("a long queue", 2, 2)
		_ = e.Stats()
		move()
		want("after Stats", 3, 3)
		move()
		want("at last", 3, 3)
	})
}
