package fan_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/fan"
)

// anyKind returns a channel of each kind, by name.
func anyKind() map[string]sluice.Channel[int] {
	return map[string]sluice.Channel[int]{
		"Rendezvous": sluice.NewRendezvous[int](nil),
		"Bounded 1":  sluice.NewBounded[int](1, nil),
		"Bounded 64": sluice.NewBounded[int](64, nil),
		"Elastic":    sluice.NewElastic[int](sluice.Unlimited, nil),
	}
}

// full fills c with nines.
func full(c sluice.Channel[int]) sluice.Channel[int] {
	for range c.Cap() {
		_ = c.TrySend(9)
	}
	return c
}

// mustPanic requires that f panics with a text that names function and contains words.
func mustPanic(t *testing.T, function string, words []string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		message, ok := recover().(string)
		if !ok {
			t.Errorf("no panic with a text")
			return
		}
		for _, word := range append(words, function+": ") {
			if !strings.Contains(message, word) {
				t.Errorf("panic %q does not contain %q", message, word)
			}
		}
	}()
	f()
}

// TestUnmadeSenders: a sender that no constructor made is refused before a value is
// received.
func TestUnmadeSenders(t *testing.T) {
	ctx := context.Background()
	for word, s := range map[string]sluice.BatchSender[int]{
		"nil sender":              nil,
		"*sluice.Rendezvous[int]": (*sluice.Rendezvous[int])(nil),
		"*sluice.Bounded[int]":    (*sluice.Bounded[int])(nil),
		"*sluice.Elastic[int]":    (*sluice.Elastic[int])(nil),
		"*sluice.Sharded[int]":    new(sluice.Sharded[int]),
		"*sluice.Lane[int]":       (*sluice.Lane[int])(nil),
	} {
		from := sluice.NewBounded[int](1, nil)
		_ = from.TrySend(1)
		mustPanic(t, "In", []string{word}, func() { _, _ = fan.In[int](ctx, s, from) })
		if from.Len() != 1 {
			t.Errorf("%s: a value is lost", word)
		}
	}
}

// sink is a sender for which a nil pointer will do.
type sink struct{ sluice.Sender[int] }

func (*sink) Send(context.Context, int) error { return nil }

// TestInNilSender: a nil pointer of a type outside of sluice may be a sender.
func TestInNilSender(t *testing.T) {
	c := sluice.NewBounded[int](1, nil)
	_ = c.TrySend(1)
	c.Close()
	if unsent, err := fan.In(context.Background(), (*sink)(nil), c); unsent != nil || err != nil || c.Len() != 0 {
		t.Errorf("%v, %v", unsent, err)
	}
}
