//go:build unix

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// threeServers starts a cluster of three servers in this process.
func threeServers(t testing.TB) (servers []*server.Server) {
	t.Helper()
	ports := freePorts(t, 3)
	var routes []*url.URL
	for _, port := range ports {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: fmt.Sprint("127.0.0.1:", port)})
	}
	for i := range 3 {
		servers = append(servers, listening(t, func(o *server.Options) {
			o.ServerName, o.SyncAlways, o.Routes = string(rune('a'+i)), false, routes
			o.Cluster = server.ClusterOpts{Name: "three", Host: "127.0.0.1", Port: ports[i]}
		}))
	}
	return servers
}

// A load is what each of three servers did.
type load [3]struct {
	streams, consumers int   // that it leads
	messages           int64 // that it received, from clients and servers
	api                int64 // requests, without those for messages
}

// loadOf returns the load of the servers so far.
func loadOf(t testing.TB, servers []*server.Server) (l load) {
	t.Helper()
	for i, s := range servers {
		v, err := s.Varz(nil)
		if err != nil {
			t.Fatal(err)
		}
		js, err := s.Jsz(nil)
		if err != nil {
			t.Fatal(err)
		}
		l[i].messages, l[i].api = v.InMsgs, int64(js.API.Total)
	}
	return l
}

// leaders adds what the servers lead. It returns false during an election: no server answers then, or one
// answers that none leads.
func (l *load) leaders(t testing.TB, c *Keyed[string]) bool {
	t.Helper()
	for i := range l {
		l[i].streams, l[i].consumers = 0, 0
	}
	ctx, cancel := context.WithTimeout(patient(t), checkTimeout)
	defer cancel()
	for _, lane := range c.core.layout.Load().lanes {
		stream, err := lane.core.stream.handle.Info(ctx)
		if duringElection(err) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		consumer, err := lane.core.stream.consumer.Info(ctx)
		if duringElection(err) {
			return false
		}
		if err != nil {
			t.Fatal(err)
		}
		if name := stream.Cluster.Leader; name != "" {
			l[name[0]-'a'].streams++
		}
		if name := consumer.Cluster.Leader; name != "" {
			l[name[0]-'a'].consumers++
		}
	}
	return true
}

// duringElection reports whether err may be because no server leads: a leader that steps down drops the
// requests that it has.
func duringElection(err error) bool {
	var api *natsjs.APIError
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &api) && api.Code == http.StatusServiceUnavailable
}

// With several streams the servers share the messages, and it takes no more of them to send
// a value, and no request to the API of the servers. Not in short mode: they are many to
// start. How many messages it takes to receive depends on how much the servers replicate
// at once, so it is logged only.
func TestKeyedLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers")
	}
	t.Parallel()
	servers := threeServers(t)
	var sends, busiestSends [2]float64
	for run, n := range []int{1, 12} {
		values := 510 * n // the same load for each stream: the servers replicate in batches
		var clients [3]*Keyed[string]
		for i, s := range servers {
			clients[i] = openByKey(t, n, Options[string]{Name: fmt.Sprint("jobs-", n), URL: s.ClientURL(), Log: mute()})
		}
		awaitSpread(t, clients[0])
		before := loadOf(t, servers)
		sendAll(t, clients[:], values)
		sent := loadOf(t, servers)
		receiveAll(t, clients[:], int64(values))
		after := loadOf(t, servers)
		var all, busiest, api float64
		for i := range after {
			send := float64(sent[i].messages-before[i].messages) / float64(values)
			messages := float64(after[i].messages-before[i].messages) / float64(values)
			sends[run], busiestSends[run] = sends[run]+send, max(busiestSends[run], send)
			all, busiest, api = all+messages, max(busiest, messages), api+float64(after[i].api-before[i].api)
			t.Logf("%d streams, server %d: messages per value: %.2f to send, %.2f to receive", n, i, send, messages-send)
		}
		t.Logf("%d streams: %.2f messages per value, %.2f at the busiest server; %v requests", n, all, busiest, api)
		if api > float64(values/20) {
			t.Errorf("%d streams: %v requests for %d values", n, api, values)
		}
		if n > 1 && busiest > all*0.45 {
			t.Errorf("%d streams: %.2f of %.2f messages per value at one server", n, busiest, all)
		}
	}
	if sends[1] > 1.25*sends[0] || busiestSends[1] > 0.75*busiestSends[0] {
		t.Errorf("messages to send a value, and at the busiest server: %.2f, %.2f with one stream; %.2f, %.2f with 12",
			sends[0], busiestSends[0], sends[1], busiestSends[1])
	}
}

// awaitSpread waits until the servers lead as many streams and consumers each.
func awaitSpread(t testing.TB, c *Keyed[string]) {
	t.Helper()
	lanes := c.core.layout.Load().lanes
	until(t, "the leaders are spread", func() bool {
		var l load
		if !l.leaders(t, c) {
			return false
		}
		for i := range l {
			if len(lanes) > 1 && (l[i].streams != len(lanes)/3 || l[i].consumers != len(lanes)/3) {
				c.core.spread(patient(t), lanes) // again: there was an election
				return false
			}
		}
		return true
	})
}

// sendAll sends n values in all, with a sender for each channel.
func sendAll(t testing.TB, cs []*Keyed[string], n int) {
	var group sync.WaitGroup
	for _, c := range cs {
		group.Go(func() {
			if sent, err := c.SendBatch(patient(t), numbered(n/len(cs), 1)); err != nil {
				t.Errorf("SendBatch: %d, %v", sent, err)
			}
		})
	}
	group.Wait()
}

// Resize with several replicas: no value is lost or out of order, in a process that makes
// the change and in one that learns of it, and the old streams go.
func TestResizeCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers")
	}
	t.Parallel()
	servers := threeServers(t)
	o := Options[string]{Name: "jobs", URL: servers[0].ClientURL(), Log: mute()}
	c := openByKey(t, 2, o)
	o.URL = servers[1].ClientURL()
	other := openByKey(t, 2, o)
	want := numbered(20, 9)
	send := func(c *Keyed[string], vs []string) {
		if n, err := c.SendBatch(patient(t), vs); err != nil {
			t.Errorf("SendBatch: %d, %v", n, err)
		}
	}
	send(c, want[:60])
	var group sync.WaitGroup
	group.Go(func() {
		if err := c.Resize(patient(t), 3); err != nil {
			t.Errorf("Resize: %v", err)
		}
	})
	group.Go(func() {
		send(other, want[60:120])
		send(other, want[120:])
	})
	inOrder(t, recvKeyed(t, other, len(want)), want)
	group.Wait()
	other.Close()
	if _, err := c.Recv(patient(t)); err != sluice.ErrClosed {
		t.Errorf("Recv after Close: %v", err)
	}
	until(t, "the old streams are deleted", func() bool { return len(other.core.layout.Load().prior) == 0 })
}

// receiveAll receives n values in all, with a receiver for each channel.
func receiveAll(t testing.TB, cs []*Keyed[string], n int64) {
	ctx, cancel := context.WithCancel(patient(t))
	defer cancel()
	var received atomic.Int64
	var group sync.WaitGroup
	for _, c := range cs {
		group.Go(func() {
			for buf := make([]string, 256); ; {
				got, err := c.RecvBatch(ctx, buf)
				if received.Add(int64(got)) >= n {
					cancel()
				}
				if err != nil {
					if received.Load() != n {
						t.Errorf("RecvBatch: %v", err)
					}
					return
				}
			}
		})
	}
	group.Wait()
}
