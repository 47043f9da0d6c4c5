package jetstream

import (
	"testing"

	"github.com/sluice-go/sluice"
)

// Close during Resize: before the commit, Resize fails and its streams are deleted; after
// it, the new streams are closed, too. Receivers get every value, then ErrClosed.
func TestResizeCloses(t *testing.T) {
	t.Parallel()
	for step, lanes := range map[string]int{"commit": 2, "seal": 3, "settled": 3} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			o := keyedOptions(t)
			c, other := openByKey(t, 2, o), openByKey(t, 2, o)
			want := numbered(6, 2)
			mustSendKeyed(t, c, want...)
			closes := func(name string) error {
				if name != step {
					return nil
				}
				return other.CloseContext(patient(t))
			}
			c.core.step.Store(&closes)
			err := c.Resize(patient(t), 3)
			if refused := step == "commit"; refused != (err == sluice.ErrClosed) || !refused && err != nil {
				t.Errorf("Resize: %v", err)
			}
			if err := c.Send(patient(t), "k:late"); err != sluice.ErrClosed {
				t.Errorf("Send: %v", err)
			}
			later := openByKey(t, 2, o)
			inOrder(t, drainAll(t, later), want)
			if _, err := c.Recv(patient(t)); err != sluice.ErrClosed {
				t.Errorf("Recv: %v", err)
			}
			if names := leftovers(t, later); names != nil || later.Stats().Lanes.Count != lanes {
				t.Errorf("%d streams, want %d; %v are left", later.Stats().Lanes.Count, lanes, names)
			}
		})
	}
}

// A process that dies in Close, after it has changed the record, has closed the channel:
// the others seal the streams.
func TestCloseDies(t *testing.T) {
	t.Parallel()
	o := keyedOptions(t)
	c, deaf := openByKey(t, 2, o), openByKey(t, 2, o)
	deafen(t, deaf)
	mustSendKeyed(t, deaf, "k:1")
	if _, _, err := c.core.records.update(patient(t), func(r *record) error {
		r.Closed = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	inOrder(t, drainAll(t, c), []string{"k:1"})
	if err := deaf.Send(patient(t), "k:2"); err != sluice.ErrClosed {
		t.Errorf("Send: %v", err)
	}
	if n, err := deaf.SendBatch(patient(t), []string{"k:2", "l:3"}); n != 0 || err != sluice.ErrClosed {
		t.Errorf("SendBatch: %d, %v", n, err)
	}
}
