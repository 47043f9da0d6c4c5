//go:build unix

package jetstream

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
)

// A contender moves values through a stream.
type contender struct {
	name             string
	stream, consumer string
	// send and batch store n values, one by one or in batches; value may be
	// overwritten in between.
	send  func(ctx context.Context, value []byte, n int, stamp func([]byte)) error
	batch func(ctx context.Context, value []byte, n int, stamp func([]byte)) error
	// receive receives n values, acknowledges each, and passes them to got.
	receive func(ctx context.Context, n int, got func([]byte)) error
}

// plain is the client library, used as its documentation shows: synchronous
// publishing, or asynchronous with a bounded window; a consumer with its own
// prefetch.
func plain(b *testing.B, nc *nats.Conn, replicas int) contender {
	js, err := natsjs.New(nc, natsjs.WithPublishAsyncMaxPending(256))
	if err != nil {
		b.Fatal(err)
	}
	name := fmt.Sprint("plain-", opened.Add(1))
	stream, err := js.CreateStream(b.Context(), natsjs.StreamConfig{
		Name: name, Subjects: []string{name}, Retention: natsjs.WorkQueuePolicy, Discard: natsjs.DiscardNew, Replicas: replicas,
		Duplicates: defaultDedupeWindow,
	})
	if err != nil {
		b.Fatal(err)
	}
	consumer, err := stream.CreateConsumer(b.Context(), natsjs.ConsumerConfig{Durable: "c", AckPolicy: natsjs.AckExplicitPolicy, MaxAckPending: maxInFlight})
	if err != nil {
		b.Fatal(err)
	}
	var ids ids
	return contender{
		name: "plain", stream: name, consumer: "c",
		send: func(ctx context.Context, value []byte, n int, stamp func([]byte)) error {
			for range n {
				stamp(value)
				if _, err := js.Publish(ctx, name, value, natsjs.WithMsgID(ids.next())); err != nil {
					return err
				}
			}
			return nil
		},
		batch: func(ctx context.Context, value []byte, n int, stamp func([]byte)) error {
			for range n {
				stamp(value)
				if _, err := js.PublishAsync(name, slices.Clone(value), natsjs.WithMsgID(ids.next()), natsjs.WithStallWait(time.Minute)); err != nil {
					return err
				}
			}
			<-js.PublishAsyncComplete()
			return nil
		},
		receive: func(ctx context.Context, n int, got func([]byte)) error {
			messages, err := consumer.Messages()
			if err != nil {
				return err
			}
			defer messages.Stop()
			for range n {
				m, err := messages.Next()
				if err != nil {
					return err
				}
				got(m.Data())
				if err := m.Ack(); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// ids are identities as a user of the client library makes them.
type ids struct {
	mu sync.Mutex
	n  int
}

func (i *ids) next() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	return fmt.Sprint("sender.", i.n)
}

func ours(b *testing.B, nc *nats.Conn, replicas int) contender {
	c := open(b, Options[[]byte]{Conn: nc, Replicas: replicas, Log: mute()})
	return contender{
		name: "sluice", stream: c.core.config.name, consumer: consumerName,
		send: func(ctx context.Context, value []byte, n int, stamp func([]byte)) error {
			for range n {
				stamp(value)
				if err := c.Send(ctx, value); err != nil {
					return err
				}
			}
			return nil
		},
		batch: func(ctx context.Context, value []byte, n int, stamp func([]byte)) error {
			vs := make([][]byte, min(n, 256))
			for left := n; left > 0; left -= len(vs) {
				vs = vs[:min(left, len(vs))]
				for i := range vs {
					stamp(value)
					vs[i] = slices.Clone(value)
				}
				if _, err := c.SendBatch(ctx, vs); err != nil {
					return err
				}
			}
			return nil
		},
		receive: func(ctx context.Context, n int, got func([]byte)) error {
			for range n {
				v, err := c.Recv(ctx)
				if err != nil {
					return err
				}
				got(v)
			}
			return nil
		},
	}
}

// both returns the contenders under equal conditions: in a cluster, the leader of a
// stream is random, and a leader other than the server of the client adds one hop.
func both(b *testing.B, nc *nats.Conn, replicas int) []contender {
	b.Helper()
	contenders := []contender{plain(b, nc, replicas), ours(b, nc, replicas)}
	if replicas == 1 {
		return contenders
	}
	js, err := natsjs.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	here := nc.ConnectedServerName()
	lead := func(stepDown string, leader func() (*natsjs.ClusterInfo, error)) {
		until(b, "the server of the client is the leader", func() bool {
			info, err := leader()
			if err != nil || info.Leader == here {
				return err == nil
			}
			// The request fails while there is no leader; then it is repeated.
			_, _ = nc.Request(natsjs.DefaultAPIPrefix+stepDown, fmt.Appendf(nil, `{"placement":{"preferred":%q}}`, here), time.Second)
			time.Sleep(100 * time.Millisecond)
			return false
		})
	}
	for _, c := range contenders {
		lead("STREAM.LEADER.STEPDOWN."+c.stream, func() (*natsjs.ClusterInfo, error) {
			stream, err := js.Stream(patient(b), c.stream)
			if err != nil {
				return nil, err
			}
			return stream.CachedInfo().Cluster, nil
		})
		lead("CONSUMER.LEADER.STEPDOWN."+c.stream+"."+c.consumer, func() (*natsjs.ClusterInfo, error) {
			consumer, err := js.Consumer(patient(b), c.stream, c.consumer)
			if err != nil {
				return nil, err
			}
			return consumer.CachedInfo().Cluster, nil
		})
	}
	return contenders
}

// BenchmarkAgainstPlain moves values from senders to one receiver, by the client
// library and by a channel, in turn. For each it reports medians over the rounds:
// messages per second, and the median and the 99th percentile of the time from the
// call of Send to the receive, in microseconds; and the ratio of the speeds.
// -benchtime=6x runs six rounds.
func BenchmarkAgainstPlain(b *testing.B) {
	for _, where := range []string{"embedded", "cluster"} {
		for _, size := range []int{16, 1024} {
			for _, way := range []struct {
				name       string
				senders, n int
				batch      bool
			}{
				{"one by one", 4, 2000, false},
				{"batches", 1, 4000, true},
			} {
				b.Run(fmt.Sprintf("%s/%d bytes/%s", where, size, way.name), func(b *testing.B) {
					nc, replicas := benchServer(b, where)
					contenders := both(b, nc, replicas)
					speeds, p50s, p99s := [2][]float64{}, [2][]float64{}, [2][]float64{}
					for b.Loop() {
						for i, c := range contenders {
							speed, p50, p99 := round(b, c, way.senders, way.n, size, way.batch)
							speeds[i] = append(speeds[i], speed)
							p50s[i] = append(p50s[i], p50)
							p99s[i] = append(p99s[i], p99)
						}
					}
					for i, c := range contenders {
						b.ReportMetric(median(speeds[i]), c.name+"-msg/s")
						b.ReportMetric(median(p50s[i]), c.name+"-p50-µs")
						b.ReportMetric(median(p99s[i]), c.name+"-p99-µs")
					}
					b.ReportMetric(median(speeds[1])/median(speeds[0]), "ratio")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// round moves n values, and returns messages per second, and percentiles in µs.
func round(b *testing.B, c contender, senders, n, size int, batch bool) (speed, p50, p99 float64) {
	b.Helper()
	ctx := patient(b)
	begin := time.Now()
	delays := make([]float64, 0, n)
	stamp := func(v []byte) { binary.LittleEndian.PutUint64(v, uint64(time.Since(begin))) }
	send := c.send
	if batch {
		send = c.batch
	}
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			if err := send(ctx, make([]byte, size), n/senders, stamp); err != nil {
				b.Error(err)
			}
		})
	}
	err := c.receive(ctx, n, func(v []byte) {
		sent := time.Duration(binary.LittleEndian.Uint64(v))
		delays = append(delays, float64(time.Since(begin)-sent)/1e3)
	})
	if err != nil {
		b.Fatal(err)
	}
	total := time.Since(begin)
	all.Wait()
	slices.Sort(delays)
	return float64(n) / total.Seconds(), delays[n/2], delays[n*99/100]
}

func median(vs []float64) float64 {
	slices.Sort(vs)
	return vs[len(vs)/2]
}

// benchServer returns a connection to one server in this process that syncs every
// write, or to three servers in processes of their own.
func benchServer(b *testing.B, where string) (*nats.Conn, int) {
	b.Helper()
	if where == "embedded" {
		s, err := server.NewServer(&server.Options{
			DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: b.TempDir(), SyncAlways: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		s.Start()
		b.Cleanup(func() { stop(s) })
		nc, err := nats.Connect("", nats.InProcessServer(s))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(nc.Close)
		return nc, 1
	}
	c := newCluster(b)
	c.start()
	var nc *nats.Conn
	until(b, "the cluster has started", func() (ok bool) {
		ch, err := Open(patient(b), &Options[int]{Name: "there", URL: c.urls, Log: mute()})
		if err != nil {
			return false
		}
		leave(b, ch)
		nc = client(b, c.urls)
		return true
	})
	return nc, 3
}
