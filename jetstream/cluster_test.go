//go:build unix

package jetstream

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

var allFaults = flag.Bool("cluster.all", false, "test the cluster with every fault, not only a dead leader")

// A cluster is three servers, each a process.
type cluster struct {
	t     testing.TB
	roles [3]role
	nodes [3]*process // nil if dead
	urls  string
}

// freePorts returns ports for servers that start later, and restart on the same
// ports. They are outside of the range of ephemeral ports: otherwise another
// connection could take the port of a server while it is down.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	const first, count = 20_000, 12_000 // ephemeral ports begin at 32768 on Linux, at 49152 elsewhere
	for tries := 0; len(ports) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+rand.N(count)))
		if err == nil {
			defer l.Close() // not earlier: all ports must differ
			ports = append(ports, l.Addr().(*net.TCPAddr).Port)
		} else if tries == count {
			t.Fatal(err)
		}
	}
	return ports
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t}
	ports := freePorts(t, 6)
	var routes, urls []string
	for i := range c.roles {
		routes = append(routes, fmt.Sprint("nats-route://127.0.0.1:", ports[3+i]))
		urls = append(urls, fmt.Sprint("nats://127.0.0.1:", ports[i]))
	}
	c.urls = strings.Join(urls, ",")
	dir := t.TempDir()
	for i := range c.roles {
		name := string(rune('a' + i))
		c.roles[i] = role{Kind: "server", Name: name, Port: ports[i], RoutePort: ports[3+i], Routes: routes, Dir: filepath.Join(dir, name)}
	}
	return c
}

func (c *cluster) start() {
	for i := range c.nodes {
		c.begin(i)
	}
}

func (c *cluster) begin(i int) {
	c.t.Helper()
	if c.nodes[i] == nil {
		c.nodes[i] = begin(c.t, c.roles[i])
	}
}

func (c *cluster) kill(i int) {
	c.nodes[i].kill()
	c.nodes[i] = nil
}

// leader returns the index of the node that leads the stream, as seen by ch. A
// request is dropped while there is no leader, so each has a timeout.
func (c *cluster) leader(ch *Channel[string]) (leader int) {
	c.t.Helper()
	until(c.t, "the stream has a leader", func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), checkTimeout)
		defer cancel()
		info, err := ch.core.stream.handle.Info(ctx)
		if err != nil || info.Cluster == nil || info.Cluster.Leader == "" {
			return false
		}
		leader = int(info.Cluster.Leader[0] - 'a')
		return true
	})
	return leader
}

// A fault happens to the cluster, which is complete again after it. If closes is
// set, it happens while the channel is being closed.
type fault struct {
	name   string
	closes bool
	do     func(c *cluster, ch *Channel[string], progress func())
}

var faults = []fault{
	{"leader killed", false, func(c *cluster, ch *Channel[string], progress func()) {
		dead := c.leader(ch)
		c.kill(dead)
		progress()
		c.begin(dead)
	}},
	{"follower killed", false, func(c *cluster, ch *Channel[string], progress func()) {
		dead := (c.leader(ch) + 1) % 3
		c.kill(dead)
		progress()
		c.begin(dead)
	}},
	{"leader stopped for 4 s", false, func(c *cluster, ch *Channel[string], progress func()) {
		p := c.nodes[c.leader(ch)].cmd.Process
		_ = p.Signal(syscall.SIGSTOP)
		time.Sleep(4 * time.Second)
		_ = p.Signal(syscall.SIGCONT)
	}},
	{"rolling restart", false, func(c *cluster, ch *Channel[string], progress func()) {
		for i := range c.nodes {
			if err := c.nodes[i].finish(); err != nil {
				c.t.Errorf("a server: %v", err)
			}
			c.nodes[i] = nil
			c.begin(i)
			progress()
		}
	}},
	{"all killed", false, func(c *cluster, ch *Channel[string], progress func()) {
		for i := range c.nodes {
			c.kill(i)
		}
		for i := range c.nodes {
			c.begin(i)
		}
	}},
	{"leader stopped as Close begins", true, func(c *cluster, ch *Channel[string], progress func()) {
		p := c.nodes[c.leader(ch)].cmd.Process
		closed := make(chan struct{})
		go func() { defer close(closed); ch.Close() }()
		time.Sleep(rand.N(5 * time.Millisecond)) // sometimes before the servers received it, sometimes after
		_ = p.Signal(syscall.SIGSTOP)
		time.Sleep(electedBy)
		_ = p.Signal(syscall.SIGCONT)
		<-closed
	}},
	{"leader killed after Close", true, func(c *cluster, ch *Channel[string], progress func()) {
		dead := c.leader(ch)
		ch.Close()
		c.kill(dead)
		time.Sleep(rand.N(electedBy))
		c.begin(dead)
	}},
}

// electedBy is a time by which servers have usually elected another leader.
const electedBy = 10 * time.Second

// TestCluster runs three servers, with several senders and receivers, each a
// process, and causes faults under load. Every value is accounted for: a value that
// was sent arrives, at least once.
func TestCluster(t *testing.T) {
	t.Parallel()
	for _, fault := range faults {
		if fault.name != faults[0].name && !*allFaults {
			continue
		}
		t.Run(fault.name, func(t *testing.T) {
			c := newCluster(t)
			c.start()
			o := clusterChannel(c.urls)
			var ch *Channel[string]
			var err error
			defer func() {
				if err != nil {
					t.Log(err)
				}
			}()
			until(t, "the cluster has started", func() bool {
				ch, err = Open(patient(t), &o)
				return err == nil
			})
			defer leave(t, ch)
			var senders, receivers []*process
			for i := range 3 {
				senders = append(senders, begin(t, role{Kind: "sender", URL: c.urls, Number: i}))
				receivers = append(receivers, begin(t, role{Kind: "receiver", URL: c.urls}))
			}
			progress := func() {
				for _, p := range append(senders[:3:3], receivers...) {
					from := p.count()
					p.until("it makes progress", func() bool { return p.count() >= from+100 })
				}
			}
			progress()
			fault.do(c, ch, progress)
			if !fault.closes {
				progress()
			}
			for _, p := range senders {
				if err := p.finish(); err != nil {
					t.Errorf("a sender: %v", err)
				}
			}
			ch.Close()
			if err := ch.Send(patient(t), "late"); err != sluice.ErrClosed {
				t.Errorf("Send after Close: %v", err)
			}
			for _, p := range receivers {
				p.until("it reports the end", func() bool {
					lines := p.printed()
					return len(lines) > 0 && lines[len(lines)-1] == theEnd
				})
				if err := p.finish(); err != nil {
					t.Errorf("a receiver: %v", err)
				}
			}
			account(t, senders, receivers)
		})
	}
}

// Values that the embedded server confirmed survive kill -9 of the process.
func TestKilled(t *testing.T) {
	t.Parallel()
	o := clusterChannel("")
	o.Dir = t.TempDir()
	sender := begin(t, role{Kind: "sender", Dir: o.Dir})
	sender.until("values are stored", func() bool { return sender.count() >= 200 })
	sender.kill()
	c := open(t, o)
	arrived := map[string]bool{}
	c.Close()
	for v := range c.Values(patient(t)).All() {
		arrived[v] = true
	}
	stored := 0
	for _, line := range sender.printed() {
		if v, ok := strings.CutPrefix(line, "+"); ok {
			if stored++; !arrived[v] {
				t.Errorf("%s is lost", v)
			}
		}
	}
	if stored < 200 {
		t.Errorf("%d values are stored", stored)
	}
}

// account checks that every value that was sent arrived, and logs a summary.
func account(t *testing.T, senders, receivers []*process) {
	t.Helper()
	sent, outage := map[string]byte{}, time.Duration(0)
	for _, p := range senders {
		for _, line := range p.printed() {
			if ms, ok := strings.CutPrefix(line, "~"); ok {
				d, err := time.ParseDuration(ms + "ms")
				if err != nil {
					t.Fatal(err)
				}
				outage = max(outage, d)
				continue
			}
			sent[line[1:]] = line[0]
		}
	}
	arrived := map[string]int{}
	for _, p := range receivers {
		lines := p.printed()
		for _, v := range lines[:len(lines)-1] {
			arrived[v]++
		}
	}
	stored, unsure, lost, twice := 0, 0, 0, 0
	for v, sign := range sent {
		switch {
		case sign == '+':
			if stored++; arrived[v] == 0 {
				lost++
			}
		case sign == '?':
			unsure++
		case arrived[v] > 0:
			t.Errorf("%s arrived, although its Send failed", v)
		}
	}
	for v, n := range arrived {
		if sent[v] == 0 {
			t.Errorf("%s arrived, and was never sent", v)
		}
		twice += n - 1
	}
	t.Logf("%d stored, %d unknown, %d lost, %d duplicates; longest outage of a sender %v",
		stored, unsure, lost, twice, outage)
	if lost > 0 || stored == 0 {
		t.Errorf("%d lost of %d", lost, stored)
	}
}
