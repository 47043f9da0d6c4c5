//go:build unix

package jetstream

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/sluice-go/sluice/internal/suite"
)

// threeServers starts a cluster of three servers in this process.
func threeServers(t testing.TB) (servers []*server.Server) {
	t.Helper()
	suite.Needs(t, "three NATS servers")
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
	messages int64 // that it received, from clients and servers
	api      int64 // requests, without those for messages
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

// With several streams a client sends no more messages for a value, and no request to the API of
// the servers. Not in short mode: they are many to start. How many messages the servers exchange
// depends on how much they replicate at once and for how long, and on the leaders that they chose, so
// that is logged only.
func TestKeyedLoad(t *testing.T) {
	t.Parallel()
	servers := threeServers(t)
	var sends [2]float64
	for run, n := range []int{1, 12} {
		values := 510 * n // the same load for each stream: the servers replicate in batches
		var clients [3]*Channel[string]
		for i, s := range servers {
			clients[i] = openByKey(t, n, Options[string]{Name: fmt.Sprint("jobs-", n), URL: s.ClientURL(), Log: mute()})
		}
		before, published := loadOf(t, servers), sentBy(clients[:])
		sendAll(t, clients[:], values)
		sends[run] = float64(sentBy(clients[:])-published) / float64(values)
		sent := loadOf(t, servers)
		receiveAll(t, clients[:], int64(values))
		after := loadOf(t, servers)
		var all, busiest, api float64
		for i := range after {
			send := float64(sent[i].messages-before[i].messages) / float64(values)
			messages := float64(after[i].messages-before[i].messages) / float64(values)
			all, busiest, api = all+messages, max(busiest, messages), api+float64(after[i].api-before[i].api)
			t.Logf("%d streams, server %d: messages per value: %.2f to send, %.2f to receive", n, i, send, messages-send)
		}
		t.Logf("%d streams: %.2f messages per value, %.2f at the busiest server, %.2f of clients to send it; %v requests", n, all, busiest, sends[run], api)
		if api > float64(values/20) {
			t.Errorf("%d streams: %v requests for %d values", n, api, values)
		}
	}
	if sends[1] > 1.25*sends[0] {
		t.Errorf("messages to send a value: %.2f with one stream, %.2f with 12", sends[0], sends[1])
	}
}

// sentBy returns how many messages the clients have sent so far.
func sentBy(cs []*Channel[string]) (n uint64) {
	for _, c := range cs {
		n += c.core.conn.nc.Stats().OutMsgs
	}
	return n
}

// sendAll sends n values in all, with a sender for each channel.
func sendAll(t testing.TB, cs []*Channel[string], n int) {
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

// receiveAll receives n values in all, with a receiver for each channel.
func receiveAll(t testing.TB, cs []*Channel[string], n int64) {
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
