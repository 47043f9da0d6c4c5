package stage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
)

// channelEndings are the rows of the table of a channel: what happens to a channel with these
// options, which has two values queued and room for no more, while a sender has a third one.
var channelEndings = []struct {
	name     string
	overflow sluice.Overflow
	maxAge   time.Duration
	end      func(queue)
}{
	{"`Close`", sluice.Block, 0, func(c queue) { c.Close() }},
	{"`Discard`", sluice.Block, 0, func(c queue) { c.Discard() }},
	{"`MaxAge`", sluice.Block, time.Minute, func(queue) { time.Sleep(90 * time.Second) }},
	{"`DropOldest`", sluice.DropOldest, 0, func(queue) {}},
	{"`Send` is canceled", sluice.Block, 0, nil},
}

// A queue is a channel with Discard.
type queue interface {
	sluice.Channel[int]
	Discard() int
}

// TestChannelEndings compares what happens to a channel with the table of the document.
func TestChannelEndings(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var observed []string
	for _, e := range channelEndings {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			gone := map[int]sluice.Reason{}
			hook := func(v int, why sluice.Reason) { gone[v] = why }
			var c queue = sluice.NewElastic(2, &sluice.ElasticOptions[int]{Overflow: e.overflow, OnUndelivered: hook})
			if e.maxAge > 0 {
				c = sluice.NewAged(2, &sluice.AgedOptions[int]{Overflow: e.overflow, OnUndelivered: hook, MaxAge: e.maxAge})
			}
			_, _ = c.SendBatch(ctx, []int{1, 2})
			result := make(chan error, 1)
			go func() { result <- c.Send(ctx, 3) }()
			synctest.Wait()
			if e.end == nil {
				cancel()
			} else {
				e.end(c)
			}
			sent := <-result
			arrived := slices.Collect(c.Drain())
			_, err := c.TryRecv()
			observed = append(observed, channelRow(t, e.name, gone, arrived, sent, err))
		})
	}
	compare(t, string(text), "A channel", observed)
}

// channelRow renders what became of the values 1 and 2, which were queued, of the sender of 3, and
// of the next receiver.
func channelRow(t *testing.T, name string, gone map[int]sluice.Reason, arrived []int, sent, received error) string {
	outcome := func(err error) string {
		switch {
		case errors.Is(err, sluice.ErrClosed):
			return "`ErrClosed`"
		case errors.Is(err, context.Canceled):
			return "the context's error"
		case err == nil || err == sluice.ErrEmpty:
			return "continue"
		}
		return err.Error()
	}
	queued := "arrive"
	switch why, lost := gone[1]; {
	case lost && len(gone) == 2:
		queued = fmt.Sprintf("handed to `OnUndelivered` as `%v`", why)
	case lost:
		queued = fmt.Sprintf("the oldest is handed to `OnUndelivered` as `%v`, the other arrives", why)
	}
	for _, v := range arrived {
		if _, lost := gone[v]; lost {
			t.Errorf("%s: %d arrived and was handed to OnUndelivered", name, v)
		}
	}
	want := 2
	if sent == nil {
		want = 3
	}
	if len(gone)+len(arrived) != want {
		t.Errorf("%s: %v arrived, %v were handed to OnUndelivered", name, arrived, gone)
	}
	return fmt.Sprintf("| %s | %s | %s | %s |", name, queued, outcome(sent), outcome(received))
}
