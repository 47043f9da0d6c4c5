//go:build unix

package jetstream

import (
	"context"
	"encoding/json"
	"slices"
	"syscall"
	"testing"

	"github.com/sluice-go/sluice"
)

// A rehearsal is a cluster under load: a sender and a receiver at each site, each a
// process. Its ledger accounts for every value.
type rehearsal struct {
	*cluster
	ch                 *Channel[string] // of the test, which reaches all servers
	busy, closed       bool
	paused             bool // a server was stopped for a while
	senders, receivers [3]*process
	all                []*process // senders and receivers, those that have ended included
}

// rehearse starts a cluster and the load, calls do, and accounts for all values. A busy
// rehearsal has redeliveries and dead letters all the time.
func rehearse(t *testing.T, c *cluster, busy bool, do func(r *rehearsal)) {
	t.Helper()
	c.start()
	r := &rehearsal{cluster: c, busy: busy}
	o := clusterChannel(c.urls)
	var err error
	defer func() {
		if err != nil {
			t.Log(err)
		}
	}()
	until(t, "the cluster has started", func() bool {
		r.ch, err = Open(patient(t), &o)
		return err == nil
	})
	defer leave(t, r.ch)
	defer r.explainFailure()
	for i := range 3 {
		r.senders[i], r.receivers[i] = r.client("sender", i), r.client("receiver", i)
	}
	r.progress()
	do(r)
	if !r.closed {
		r.progress()
	}
	r.end().check(t)
}

// client starts a client at a site.
func (r *rehearsal) client(kind string, site int) *process {
	client := r.at[site]
	client.Kind, client.Number, client.Busy, client.Pace = kind, len(r.all), r.busy, r.pace
	p := begin(r.t, client)
	r.all = append(r.all, p)
	return p
}

// enough is how many more lines of a client are progress. With all faults, and while sites do
// not hear each other, more of them, so that the cut lasts longer than an election.
func (r *rehearsal) enough() int {
	if *allFaults || r.network != nil {
		return 100
	}
	return 30
}

// progress waits until the clients at some sites have made progress, at all by default.
// After Close senders make none, and receivers only until the channel is drained.
func (r *rehearsal) progress(sites ...int) {
	r.t.Helper()
	if r.closed {
		return
	}
	for i := range 3 {
		if sites != nil && !slices.Contains(sites, i) {
			continue
		}
		for _, p := range []*process{r.senders[i], r.receivers[i]} {
			from := p.count()
			p.until("it makes progress", func() bool { return p.count() >= from+r.enough() })
		}
	}
}

// closing begins to close the channel. The result is closed when Close has returned.
func (r *rehearsal) closing() <-chan struct{} {
	r.closed = true
	done := make(chan struct{})
	go func() { defer close(done); r.ch.Close() }()
	return done
}

// closingIfBusy is closing in a busy rehearsal.
func (r *rehearsal) closingIfBusy() (wait func()) {
	if !r.busy {
		return func() {}
	}
	closed := r.closing()
	return func() { <-closed }
}

// end ends the load, closes the channel, waits until it is drained, and returns the ledger.
func (r *rehearsal) end() *ledger {
	r.t.Helper()
	for _, p := range r.senders {
		if err := p.finish(); err != nil {
			r.t.Errorf("a sender: %v", err)
		}
	}
	r.ch.Close()
	if err := r.ch.Send(patient(r.t), "late"); err != sluice.ErrClosed {
		r.t.Errorf("Send after Close: %v", err)
	}
	for _, p := range r.receivers {
		p.untilEnd()
		if err := p.finish(); err != nil {
			r.t.Errorf("a receiver: %v", err)
		}
	}
	l := newLedger()
	l.oldLeaders = r.network != nil || r.paused
	for _, p := range r.all {
		if err := l.read(p.role.Kind, p.String(), p.printed()); err != nil {
			r.t.Error(err)
		}
	}
	if r.busy {
		l.dead = deadOf(r.t, r.ch)
	}
	return l
}

// explainFailure logs the state of the stream, and has the receivers print their stacks, if
// the test has failed.
func (r *rehearsal) explainFailure() {
	if !r.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()
	info, err := r.ch.core.stream.handle.Info(ctx)
	text, _ := json.Marshal(info)
	r.t.Logf("the stream: %s, %v", text, err)
	consumer, err := r.ch.core.stream.consumer.Info(ctx)
	text, _ = json.Marshal(consumer)
	r.t.Logf("its consumer: %s, %v", text, err)
	for _, p := range r.receivers {
		p.mayEnd()
		_ = p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.ended
	}
}

// deadOf drains the dead letters of a channel.
func deadOf(t testing.TB, ch *Channel[string]) map[string]int {
	t.Helper()
	dead, err := ch.DeadLetters(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer leave(t, dead)
	dead.Close()
	values, counts := dead.Values(patient(t)), map[string]int{}
	for v := range values.All() {
		counts[v]++
	}
	if err := values.Err(); err != nil {
		t.Error(err)
	}
	return counts
}
