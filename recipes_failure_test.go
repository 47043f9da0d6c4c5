package sluice_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/fan"
)

// recipes contains the recipes of the example files. Their senders stop only when the
// channel is closed, and job runs for each received value. Package workers tests its own
// recipes.
var recipes = map[string]func(ctx context.Context, job func() error) error{
	"fan-in": func(ctx context.Context, job func() error) error {
		lines := sluice.NewSharded[int](8, nil)
		defer lines.Close()
		for range 3 {
			lane := lines.Lane()
			go func() {
				defer lane.Close()
				sendBursts(lane)
			}()
		}
		values := lines.Values(ctx)
		for range values.All() {
			if err := job(); err != nil {
				return err
			}
		}
		return values.Err()
	},
	"fan-in of channels": func(ctx context.Context, job func() error) error {
		disk, network := sluice.NewBounded[int](8, nil), sluice.NewBounded[int](8, nil)
		go sendBursts(disk) // network has no values, so fan.In also waits
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		lines := sluice.NewBounded[int](8, nil)
		joined := make(chan error, 1)
		go func() {
			defer lines.Close()
			_, err := fan.In(ctx, lines, disk, network)
			joined <- err
		}()
		for range lines.Values(context.Background()).All() {
			if err := job(); err != nil {
				return err
			}
		}
		return <-joined // fan.In has closed lines, so Err of the loop is nil
	},
	"batches": func(ctx context.Context, job func() error) error {
		rows := sluice.NewElastic[int](8, nil)
		go sendBursts(rows)
		batches := batch.Receive(ctx, rows, 3, &batch.Options[int]{Linger: 50 * time.Millisecond})
		for range batches.All() {
			if err := job(); err != nil {
				return err
			}
		}
		return batches.Err()
	},
	"priority": func(ctx context.Context, job func() error) error {
		jobs := sluice.NewPriority[int](2, 8, nil)
		go sendBursts(jobs.Level(0))
		go sendBursts(jobs.Level(1))
		defer jobs.Close()
		values := jobs.Values(ctx)
		for range values.All() {
			if err := job(); err != nil {
				return err
			}
		}
		return values.Err()
	},
	"retries": func(ctx context.Context, job func() error) error {
		retries := sluice.NewDelay[int](8, nil)
		go func() {
			for {
				if _, err := retries.SendAfter(context.Background(), time.Second, 1); err != nil {
					return
				}
			}
		}()
		defer retries.Close()
		values := retries.Values(ctx)
		for range values.All() {
			if err := job(); err != nil {
				return err
			}
		}
		return values.Err()
	},
	"select loop": func(ctx context.Context, job func() error) error {
		events := sluice.NewElastic[int](8, nil)
		defer events.Close()
		go sendBursts(events)
		for {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case _, ok := <-events.Ready():
				for range events.Drain() {
					if err := job(); err != nil {
						return err
					}
				}
				if !ok {
					return nil
				}
			}
		}
	},
	"moved pipeline": func(ctx context.Context, job func() error) error {
		lines := sluice.NewBounded[int](8, nil)
		defer lines.Close()
		go func() {
			defer lines.Close()
			sendBursts(lines)
		}()
		values := lines.Values(ctx)
		for range values.All() {
			if err := job(); err != nil {
				return err
			}
		}
		return values.Err()
	},
}

// sendBursts sends values, more at once than the channels of the recipes hold, until the
// channel is closed. Its context never ends, so only Close frees it.
func sendBursts(s sluice.Sender[int]) {
	for {
		time.Sleep(time.Millisecond)
		for n := range 50 {
			if s.Send(context.Background(), n) != nil {
				return
			}
		}
	}
}

// TestRecipesFail: whatever ends a recipe, the caller gets the error, and no goroutine
// leaks: a blocked goroutine, such as a sender, fails the bubble.
func TestRecipesFail(t *testing.T) {
	planted := errors.New("planted")
	for name, recipe := range recipes {
		for _, ending := range []string{"error", "cancel", "panic"} {
			t.Run(name+" "+ending, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					n := 0
					job := func() error {
						if n++; n != 100 {
							return nil
						}
						switch ending {
						case "panic":
							panic(planted)
						case "cancel":
							cancel()
							return nil
						}
						return planted
					}
					var value any
					err := func() error {
						defer func() { value = recover() }()
						return recipe(ctx, job)
					}()
					time.Sleep(time.Minute) // sleeping senders send again
					want := map[string]error{"error": planted, "cancel": context.Canceled}[ending]
					if !errors.Is(err, want) || (value != nil) != (ending == "panic") {
						t.Errorf("error %v, panic %v", err, value)
					}
				})
			})
		}
	}
}

// TestShedLoadFails: no request waits, and a closed queue fails with ErrClosed, not
// ErrFull.
func TestShedLoadFails(t *testing.T) {
	requests := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
	for _, want := range []error{nil, sluice.ErrFull} {
		if err := requests.Send(t.Context(), 0); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	requests.Close()
	if err := requests.Send(t.Context(), 0); !errors.Is(err, sluice.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestFreshestValueFails: a writer never waits for a reader that has returned, and stops
// after Close.
func TestFreshestValueFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		price := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest})
		var writer sync.WaitGroup
		writer.Go(func() { sendBursts(price) })
		for range price.Values(t.Context()).All() {
			break
		}
		time.Sleep(time.Second)
		if s := price.Stats(); s.Sent < 1000 || s.SendWaits > 0 {
			t.Errorf("%d values sent, %d waits", s.Sent, s.SendWaits)
		}
		price.Close()
		writer.Wait()
	})
}

// TestBrokenRecipe: without Close, sendBursts blocks forever after a loop that ends early,
// which is the leak that TestRecipesFail looks for.
func TestBrokenRecipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := sluice.NewBounded[int](8, nil)
		go sendBursts(lines)
		for range lines.Values(t.Context()).All() {
			break
		}
		time.Sleep(time.Second)
		if waiting := lines.Stats().SendersWaiting; waiting != 1 {
			t.Errorf("%d senders wait, want 1, the leaked one", waiting)
		}
		lines.Close()
	})
}
