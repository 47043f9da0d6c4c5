package main

import (
	"context"
	"time"
)

// A semaphore whose holders wait.
var _ = register(scenario{
	Name: "workspaces",
	About: "Forty builds take a slot of a semaphore of three, by a send in a select with a context, and give " +
		"it back by a receive in another function. A build waits two milliseconds for a remote cache while " +
		"it holds the slot, and computes for ten microseconds.",
	HeldOut: true,
	Instead: exhaustedPool,
	Sites:   []site{{selecting, "main.(*workspaces).enter"}},
	Right:   []string{largerPool},
	builds: map[string]build{
		asFound:    func(s *service) { startWorkspaces(s, 3) },
		largerPool: func(s *service) { startWorkspaces(s, 24) },
	},
})

type workspaces struct{ slots chan struct{} }

func startWorkspaces(s *service, slots int) {
	w := &workspaces{slots: make(chan struct{}, slots)}
	forever(40, func(i int) {
		done := s.counter()
		for n := uint64(i); ; n++ {
			if w.enter(context.Background()) != nil {
				return
			}
			buildOne(n)
			w.leave()
			done.add(1)
		}
	})
}

func (w *workspaces) enter(ctx context.Context) error {
	select {
	case w.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *workspaces) leave() { <-w.slots }

// buildOne waits for the remote cache and computes.
func buildOne(n uint64) {
	time.Sleep(2 * time.Millisecond)
	sink(grind(n, 5000))
}
