package jetstream

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

// keyedOptions are the options of processes of one channel at one server.
func keyedOptions(t testing.TB) Options[string] {
	s := listening(t, nil)
	return Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, AckWait: time.Second, NackDelay: -1, Log: mute()}
}

// deafen has c learn of no change of the record, except from refused sends.
func deafen(t testing.TB, c *Keyed[string]) {
	t.Helper()
	c.core.refreshing.Store(true)
	if err := c.core.updates.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
}

// dieAt has c die before a step of a resize.
func dieAt(c *Keyed[string], step string) {
	f := func(name string) error {
		if name == step {
			return errDied
		}
		return nil
	}
	c.core.step.Store(&f)
}

func mustSendKeyed(t testing.TB, c *Keyed[string], vs ...string) {
	t.Helper()
	for _, v := range vs {
		if err := c.Send(patient(t), v); err != nil {
			t.Fatalf("Send: %v", err)
		}
	}
}

// recvKeyed receives n values.
func recvKeyed(t testing.TB, c *Keyed[string], n int) (vs []string) {
	t.Helper()
	for range n {
		v, err := c.Recv(patient(t))
		if err != nil {
			t.Fatalf("Recv after %v: %v", vs, err)
		}
		vs = append(vs, v)
	}
	return vs
}

func (n *connection) streamNames(t testing.TB) (names []string) {
	for name := range n.js.StreamNames(patient(t)).Name() {
		names = append(names, name)
	}
	return names
}

// leftovers returns the names of the streams that the record does not have.
func leftovers(t testing.TB, c *Keyed[string]) (names []string) {
	t.Helper()
	r, _, err := c.core.records.read(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{c.core.records.config.name: true}
	for _, g := range append(r.Prior, r.Current) {
		for _, config := range c.core.config.lanes(g) {
			known[config.name] = true
		}
	}
	for _, name := range c.core.conn.streamNames(t) {
		if !known[name] {
			names = append(names, name)
		}
	}
	return names
}

// A process that dies at any step of Resize leaves a channel that works: another one
// completes the change, or makes it again, and no value is lost or out of order.
func TestResizeDies(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"plan", "create", "commit", "seal", "settled", "retire", "forget"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			o := keyedOptions(t)
			dying, other := openByKey(t, 2, o), openByKey(t, 2, o)
			want := numbered(8, 6)
			mustSendKeyed(t, other, want[:16]...)
			dieAt(dying, step)
			err := dying.Resize(patient(t), 3)
			var got []string
			if step == "retire" || step == "forget" {
				if err != nil {
					t.Fatal(err)
				}
				until(t, "the change is known", func() bool { return other.Stats().Lanes.Count == 3 })
				got = recvKeyed(t, dying, 16)
				until(t, "the old streams are drained", func() bool {
					_, _ = dying.TryRecv()
					return step == "retire" || len(dying.core.conn.streamNames(t)) == 4
				})
			} else if err != errDied {
				t.Fatalf("Resize: %v", err)
			}
			if err := dying.Shutdown(patient(t)); err != nil {
				t.Fatal(err)
			}
			mustSendKeyed(t, other, want[16:32]...)
			later := openByKey(t, 2, o)
			mustSendKeyed(t, later, want[32:40]...)
			// It is too early to clean up after the dead process; now it is not.
			if _, _, err := other.core.records.update(patient(t), func(r *record) error {
				for i := range r.Planned {
					r.Planned[i].Planned -= int64(2 * planLife / time.Second)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := other.core.refresh(patient(t), nil); err != nil {
				t.Fatal(err)
			}
			if err := other.Resize(patient(t), 3); err != nil {
				t.Fatal(err)
			}
			mustSendKeyed(t, later, want[40:]...)
			got = append(got, recvKeyed(t, other, len(want)-len(got))...)
			inOrder(t, got, want)
			until(t, "the old streams are deleted", func() bool {
				_, err := later.TryRecv()
				return err == sluice.ErrEmpty && len(later.core.layout.Load().prior) == 0
			})
			if n := later.Stats().Lanes.Count; n != 3 {
				t.Errorf("%d streams", n)
			}
			if names := leftovers(t, later); names != nil {
				t.Errorf("streams are left: %v", names)
			}
		})
	}
}

// A sender that does not know of a Resize is refused by the old streams, sealed or deleted,
// and sends to the new ones.
func TestResizeUnheard(t *testing.T) {
	t.Parallel()
	o := keyedOptions(t)
	c, sealed, deleted := openByKey(t, 2, o), openByKey(t, 2, o), openByKey(t, 2, o)
	deafen(t, sealed)
	deafen(t, deleted)
	want := numbered(6, 6)
	mustSendKeyed(t, deleted, want[:6]...)
	if err := c.Resize(patient(t), 4); err != nil {
		t.Fatal(err)
	}
	if n, err := sealed.SendBatch(patient(t), want[6:18]); n != 12 || err != nil {
		t.Fatalf("SendBatch: %d, %v", n, err)
	}
	got := recvKeyed(t, c, 18)
	until(t, "the old streams are deleted", func() bool {
		_, err := c.TryRecv()
		return err == sluice.ErrEmpty && len(leftovers(t, c)) == 0 && len(c.core.layout.Load().prior) == 0
	})
	mustSendKeyed(t, deleted, want[18:24]...)
	if n, err := deleted.SendBatch(patient(t), want[24:]); n != 12 || err != nil {
		t.Fatalf("SendBatch: %d, %v", n, err)
	}
	inOrder(t, append(got, recvKeyed(t, c, 18)...), want)
	c.Close()
	if err := deleted.Send(patient(t), "k0:late"); err != sluice.ErrClosed {
		t.Errorf("Send after Close: %v", err)
	}
}

// A value in flight delays the values of its keys in the new streams, and no others.
func TestResizeWaits(t *testing.T) {
	t.Parallel()
	o := keyedOptions(t)
	o.AckWait = time.Minute
	c := openByKey(t, 2, o)
	low, high := keyIn(0, 2), keyIn(1, 2)
	mustSendKeyed(t, c, low+":0")
	d, err := c.Deliveries().Recv(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Resize(patient(t), 4); err != nil {
		t.Fatal(err)
	}
	mustSendKeyed(t, c, low+":1", high+":1")
	if v := recvKeyed(t, c, 1)[0]; v != high+":1" {
		t.Errorf("received %s, its key has a value in flight", v)
	}
	if v, err := c.TryRecv(); err != sluice.ErrEmpty {
		t.Errorf("TryRecv: %q, %v", v, err)
	}
	if err := d.Ack(); err != nil {
		t.Fatal(err)
	}
	if v := recvKeyed(t, c, 1)[0]; v != low+":1" {
		t.Errorf("received %s", v)
	}
}

// keyIn returns a key of lane i of n.
func keyIn(i, n int) string {
	for j := 0; ; j++ {
		if key := "key" + strconv.Itoa(j); laneOf(hashKey(key), n) == i {
			return key
		}
	}
}

// Two processes that resize at once: one of them succeeds, and the streams of the other
// are deleted. The same holds for processes that create the channel at once.
func TestResizeAtOnce(t *testing.T) {
	t.Parallel()
	o := keyedOptions(t)
	var cs [4]*Keyed[string]
	var group sync.WaitGroup
	for i := range cs {
		group.Go(func() { cs[i] = openByKey(t, 2+i, o) })
	}
	group.Wait()
	n := cs[0].Stats().Lanes.Count
	for _, c := range cs {
		if c.Stats().Lanes.Count != n {
			t.Errorf("%d and %d streams", n, c.Stats().Lanes.Count)
		}
	}
	var errs [4]error
	for i := range cs {
		group.Go(func() { errs[i] = cs[i].Resize(patient(t), 7+i) })
	}
	group.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, errOvertaken) {
			t.Errorf("Resize: %v", err)
		}
	}
	if won == 0 {
		t.Errorf("no Resize succeeded: %v", errs)
	}
	if names := leftovers(t, cs[0]); names != nil {
		t.Errorf("streams are left: %v", names)
	}
}

// Resize and OpenKeyed reject what makes no sense.
func TestResizeErrors(t *testing.T) {
	t.Parallel()
	o := keyedOptions(t)
	c := openByKey(t, 2, o)
	for range maxPrior {
		if err := c.Resize(patient(t), 5-c.Stats().Lanes.Count); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Resize(patient(t), 4); err == nil || !strings.Contains(err.Error(), "not drained") {
		t.Errorf("Resize with many undrained streams: %v", err)
	}
	c.Close()
	if err := c.Resize(patient(t), 3); err != sluice.ErrClosed {
		t.Errorf("Resize after Close: %v", err)
	}
	for _, n := range []int{0, maxStreams + 1} {
		if err := c.Resize(patient(t), n); err == nil {
			t.Errorf("Resize(%d) succeeded", n)
		}
		if _, err := OpenKeyed(patient(t), n, beforeColon, &o); err == nil {
			t.Errorf("OpenKeyed with %d streams succeeded", n)
		}
	}
	less := o
	less.Limit = 7
	if _, err := OpenKeyed(patient(t), 2, beforeColon, &less); err == nil || !strings.Contains(err.Error(), "another Limit") {
		t.Errorf("OpenKeyed with another Limit: %v", err)
	}
	long := o
	long.Name = strings.Repeat("a", maxKeyedName+1)
	if _, err := OpenKeyed(patient(t), 1, beforeColon, &long); err == nil {
		t.Error("a long Name is accepted")
	}
	if err := c.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := c.Resize(patient(t), 2); err != ErrShutdown {
		t.Errorf("Resize after Shutdown: %v", err)
	}
	if err := c.Send(patient(t), "k:1"); err != ErrShutdown {
		t.Errorf("Send after Shutdown: %v", err)
	}
	if _, err := c.Recv(patient(t)); err != ErrShutdown {
		t.Errorf("Recv after Shutdown: %v", err)
	}
}
