//go:build !race

package bridge_test

import (
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bridge"
)

// A Send that waits while the channel is closed fails with ErrClosed. The race detector
// reports a close and a send at the same time, as it does for built-in channels.
func TestSenderWaitsUntilClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bridge.NewSender(make(chan int))
		err := make(chan error)
		go func() { err <- s.Send(t.Context(), 1) }()
		synctest.Wait()
		s.Close()
		if got := <-err; got != sluice.ErrClosed {
			t.Errorf("Send = %v", got)
		}
	})
}
