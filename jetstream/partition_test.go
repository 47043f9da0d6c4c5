//go:build unix

package jetstream

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-go/sluice/internal/suite"
)

// partitions are faults of the network. In a busy rehearsal, the channel is closed during
// each, while what is cut off cannot hear of it. All but the first are in the long form.
var partitions = []fault{
	{"leader cut off", false, func(r *rehearsal) { r.partition(r.leader(r.ch), send|hear) }},
	{"follower cut off", false, func(r *rehearsal) { r.partition((r.leader(r.ch)+1)%3, send|hear) }},
	{"leader cannot send", false, func(r *rehearsal) { r.partition(r.leader(r.ch), send) }},
	{"leader cannot hear", false, func(r *rehearsal) { r.partition(r.leader(r.ch), hear) }},
	{"one link cut", false, func(r *rehearsal) { // both ends of it reach the third site
		i := r.leader(r.ch)
		r.network.cut(i, (i+1)%3)
		r.network.cut((i+1)%3, i)
		wait := r.closingIfBusy()
		time.Sleep(electedBy)
		r.network.heal()
		wait()
	}},
	{"flapping", false, func(r *rehearsal) {
		wait := func() {}
		const times = 12
		for n := range times {
			isolate(r.network, rand.N(3), []direction{send, hear, send | hear}[n%3])
			if n == times/2 {
				wait = r.closingIfBusy()
			}
			time.Sleep(rand.N(3 * time.Second)) // some are long enough for an election
			r.network.heal()
			time.Sleep(rand.N(2 * time.Second))
		}
		wait()
	}},
}

// partition cuts a site off until clients at the others make progress, then heals it.
func (r *rehearsal) partition(site int, what direction) {
	isolate(r.network, site, what)
	wait := r.closingIfBusy()
	if r.busy {
		time.Sleep(electedBy)
	} else {
		r.progress((site+1)%3, (site+2)%3)
	}
	r.network.heal()
	wait()
}

// Three sites with a server, a sender and a receiver each, while the network between them
// fails in various ways: no value is lost, no acknowledgment that was confirmed is
// forgotten, and the sites that reach each other go on.
func TestPartition(t *testing.T) {
	suite.Needs(t, "three NATS servers")
	t.Parallel()
	for _, p := range partitions {
		for _, busy := range []bool{false, true} {
			if (p.name != partitions[0].name || busy) && !*allFaults {
				continue
			}
			t.Run(named(p.name, busy), func(t *testing.T) {
				c, _ := newDistantCluster(t)
				rehearse(t, c, busy, p.do)
			})
		}
	}
	for _, busy := range []bool{false, true} {
		if !*allFaults {
			continue
		}
		t.Run(named("slow links", busy), func(t *testing.T) {
			c, network := newDistantCluster(t)
			c.pace = 100 * time.Millisecond // an acknowledgment takes as long
			rehearse(t, c, busy, func(r *rehearsal) {
				network.slow(50*time.Millisecond, 200*time.Millisecond)
				for _, p := range r.senders { // the receiver beside the leader may get most values
					from := p.count()
					p.until("it sends over slow links", func() bool { return p.count() >= from+100 })
				}
				r.closingIfBusy()()
				network.slow(0, 0) // or it takes minutes to drain
			})
		})
	}
}

func named(name string, busy bool) string {
	if busy {
		return name + ", busy"
	}
	return name
}

// A link delivers in order, after a delay, holds what it carries while it is cut, and ends
// with either connection.
func TestLink(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	there, back := newLink(), newLink()
	p := newLinkedProxy(t, s.Addr().String(), there, back)
	nc := client(t, p.url())
	got, err := nc.SubscribeSync("subject")
	if err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		if m, err := got.NextMsgWithContext(patient(t)); err != nil || string(m.Data) != want {
			t.Fatalf("received %v, %v, want %q", m, err, want)
		}
	}
	for _, l := range []*link{there, back} {
		l.setCut(true)
		if err := nc.Publish("subject", []byte("one")); err != nil {
			t.Fatal(err)
		}
		if err := nc.FlushTimeout(100 * time.Millisecond); err == nil {
			t.Error("an answer came over a link that is cut")
		}
		if n, _, _ := got.Pending(); n > 0 {
			t.Errorf("%d messages came over a link that is cut", n)
		}
		l.setCut(false)
		next("one")
	}
	there.setDelay(50*time.Millisecond, 60*time.Millisecond)
	begin := time.Now()
	for _, v := range []string{"a", "b", "c"} {
		if err := nc.Publish("subject", []byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range []string{"a", "b", "c"} {
		next(v)
	}
	if d := time.Since(begin); d < 50*time.Millisecond {
		t.Errorf("it took %v, less than the delay", d)
	}
	there.setCut(true)
	p.cut(false)
	there.setCut(false)
	until(t, "the client has another connection", nc.IsConnected)
}
