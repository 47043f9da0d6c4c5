package batch

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// refusing is a channel that is full for good.
type refusing struct{ sluice.BatchSender[*int] }

func (refusing) SendBatch(context.Context, []*int) (int, error) { return 0, sluice.ErrFull }

// Close stops the timer even if its flush fails: a timer would keep a closed Sender alive.
func TestSenderCloseStopsTimer(t *testing.T) {
	b := NewSender[*int](refusing{}, 3, &Options[*int]{Linger: time.Hour})
	_ = b.Send(t.Context(), new(int))
	if err := b.Close(t.Context()); err != sluice.ErrFull {
		t.Errorf("Close: %v", err)
	}
	if b.timer.Stop() {
		t.Error("a timer runs after Close")
	}
}
