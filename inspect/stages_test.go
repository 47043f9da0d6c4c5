package inspect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// TestStages: the functions that send and receive are stages, for each kind.
func TestStages(t *testing.T) {
	for _, k := range namedKinds() {
		c := k.make(t.Name() + "/" + k.kind)
		channels := inspect.Channels()
		at := slices.IndexFunc(channels, func(l inspect.Channel) bool { return l.Name == t.Name()+"/"+k.kind })
		id := channels[at].ID
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			drainAll(t, c)
		}()
		fill(t, c)
		c.Close()
		<-drained
		got := map[string]inspect.Stage{}
		for _, s := range inspect.Stages() {
			if slices.Contains(s.Sends, id) || slices.Contains(s.Receives, id) {
				got[s.Name] = s
			}
		}
		sender, receiver := got["inspect_test.TestStages"], got["inspect_test.drainAll"]
		if len(got) != 2 || !slices.Contains(sender.Sends, id) || !slices.Contains(receiver.Receives, id) ||
			!strings.HasSuffix(receiver.File, "stages_test.go") || receiver.Line == 0 || !strings.HasSuffix(receiver.Function, "inspect_test.drainAll") {
			t.Errorf("%s: %+v, want TestStages to send and drainAll to receive", k.kind, got)
		}
	}
}

//go:noinline
func fill(t *testing.T, c sluice.Channel[int]) {
	for i := range 10 {
		if err := c.Send(t.Context(), i); err != nil {
			t.Error(err)
		}
	}
}

//go:noinline
func drainAll(t *testing.T, c sluice.Channel[int]) {
	for range c.Values(t.Context()).All() {
	}
}
