package jetstream

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
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

// leaders adds what the servers lead.
func (l *load) leaders(t testing.TB, c *Keyed[string]) {
	t.Helper()
	for i := range l {
		l[i].streams, l[i].consumers = 0, 0
	}
	for _, lane := range c.core.layout.Load().lanes {
		stream, err := lane.core.stream.handle.Info(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		consumer, err := lane.core.stream.consumer.Info(patient(t))
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
}

// A value costs the servers the same number of messages whatever the number of streams,
// and no request to their API; with several streams, they share the messages.
func TestKeyedLoad(t *testing.T) {
	t.Parallel()
	servers := threeServers(t)
	perValue := map[int]float64{}
	for _, n := range []int{1, 12} {
		values := 510 * n // the same load for each stream: the servers replicate in batches
		var clients [3]*Keyed[string]
		for i, s := range servers {
			clients[i] = openByKey(t, n, Options[string]{Name: fmt.Sprint("jobs-", n), URL: s.ClientURL(), Log: mute()})
		}
		var leaders load
		until(t, "the servers lead as many streams each", func() bool {
			leaders.leaders(t, clients[0])
			for i := range leaders {
				if n > 1 && (leaders[i].streams != n/3 || leaders[i].consumers != n/3) {
					return false
				}
			}
			return true
		})
		before := loadOf(t, servers)
		var group sync.WaitGroup
		for _, c := range clients {
			group.Go(func() {
				vs := numbered(values/3, 1)
				if k, err := c.SendBatch(context.Background(), vs); err != nil {
					t.Errorf("SendBatch: %d, %v", k, err)
				}
			})
		}
		group.Wait()
		sent := loadOf(t, servers)
		receiveAll(t, clients[:], int64(values))
		after := loadOf(t, servers)
		all, busiest, api := int64(0), int64(0), int64(0)
		for i := range after {
			messages := after[i].messages - before[i].messages
			all, busiest, api = all+messages, max(busiest, messages), api+after[i].api-before[i].api
			t.Logf("%d streams, server %d: leads %d and %d; messages per value: %.2f to send, %.2f to receive", n, i,
				leaders[i].streams, leaders[i].consumers, float64(sent[i].messages-before[i].messages)/float64(values), float64(after[i].messages-sent[i].messages)/float64(values))
		}
		t.Logf("%d streams: %.2f messages per value, %.2f at the busiest server; %d requests", n, float64(all)/float64(values), float64(busiest)/float64(values), api)
		if perValue[n] = float64(all) / float64(values); api > int64(values/20) {
			t.Errorf("%d streams: %d requests for %d values", n, api, values)
		}
		if n > 1 && (busiest > all*45/100 || perValue[n] > 1.6*perValue[1]) {
			t.Errorf("%d streams: %.2f messages per value instead of %.2f, of which the busiest server has %d%%", n, perValue[n], perValue[1], 100*busiest/all)
		}
	}
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
