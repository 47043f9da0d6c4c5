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

	"github.com/sluice-go/sluice/internal/suite"
)

var allFaults = flag.Bool("cluster.all", false, "test the cluster with every fault and rehearsal, not only with a few")

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

var serverLogs = flag.Bool("cluster.log", false, "print warnings and errors of the servers")

// A cluster is three servers, each a process. What has the number i, its clients included,
// is at site i.
type cluster struct {
	t       testing.TB
	roles   [3]role
	nodes   [3]*process   // nil if dead
	urls    string        // for clients that reach all servers
	at      [3]role       // what a client at a site needs
	network fabric        // between the sites; or nil
	pace    time.Duration // of each sender
}

// The pace of senders: shortPace in the tests of every day, to spare the CPU; longPace
// by hand.
const (
	shortPace = 20 * time.Millisecond
	longPace  = time.Millisecond
)

// newCluster returns a cluster that is not started. Its parts reach each other directly.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	suite.Needs(t, "three NATS servers")
	c := &cluster{t: t, pace: shortPace}
	if *allFaults || *upgradeFrom != "" {
		c.pace = longPace
	}
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
		c.roles[i] = role{Kind: "server", Server: serverRole{
			Name: name, Port: ports[i], RoutePort: ports[3+i], Routes: routes, Dir: filepath.Join(dir, name),
		}}
		c.at[i] = role{URL: c.urls}
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
		c.roles[i].Server.Log = *serverLogs
		c.nodes[i] = begin(c.t, c.roles[i])
	}
}

func (c *cluster) kill(i int) {
	c.nodes[i].kill()
	c.nodes[i] = nil
}

// killAll kills all servers at once.
func (c *cluster) killAll() {
	for _, node := range c.nodes {
		node.mayEnd()
		_ = node.cmd.Process.Kill()
	}
	for i := range c.nodes {
		c.kill(i)
	}
}

// restart ends a server as an operator does, and starts it again.
func (c *cluster) restart(i int) {
	c.t.Helper()
	if err := c.nodes[i].finish(); err != nil {
		c.t.Errorf("a server: %v", err)
	}
	c.nodes[i] = nil
	c.begin(i)
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

// whole waits until all replicas of the stream have what the leader has.
func (c *cluster) whole(ch *Channel[string]) {
	c.t.Helper()
	until(c.t, "the cluster is complete", func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), checkTimeout)
		defer cancel()
		info, err := ch.core.stream.handle.Info(ctx)
		if err != nil || info.Cluster == nil || info.Cluster.Leader == "" || len(info.Cluster.Replicas) != 2 {
			return false
		}
		for _, peer := range info.Cluster.Replicas {
			if peer.Offline || !peer.Current {
				return false
			}
		}
		return true
	})
}

// A fault happens to the cluster, which is complete again after it. If closes is
// set, it happens while the channel is being closed.
type fault struct {
	name   string
	closes bool
	do     func(r *rehearsal)
}

var faults = []fault{
	{"leader killed", false, func(r *rehearsal) {
		dead := r.leader(r.ch)
		r.kill(dead)
		r.progress()
		r.begin(dead)
	}},
	{"follower killed", false, func(r *rehearsal) {
		dead := (r.leader(r.ch) + 1) % 3
		r.kill(dead)
		r.progress()
		r.begin(dead)
	}},
	{"leader stopped for 4 s", false, func(r *rehearsal) {
		r.paused = true
		p := r.nodes[r.leader(r.ch)].cmd.Process
		_ = p.Signal(syscall.SIGSTOP)
		time.Sleep(4 * time.Second)
		_ = p.Signal(syscall.SIGCONT)
	}},
	{"rolling restart", false, func(r *rehearsal) {
		for i := range r.nodes {
			r.restart(i)
			r.progress()
		}
	}},
	{"all killed", false, func(r *rehearsal) {
		r.killAll()
		r.start()
	}},
	{"leader stopped as Close begins", true, func(r *rehearsal) {
		r.paused = true
		p := r.nodes[r.leader(r.ch)].cmd.Process
		closed := r.closing()
		time.Sleep(rand.N(5 * time.Millisecond)) // sometimes before the servers received it, sometimes after
		_ = p.Signal(syscall.SIGSTOP)
		time.Sleep(electedBy)
		_ = p.Signal(syscall.SIGCONT)
		<-closed
	}},
	{"leader killed after Close", true, func(r *rehearsal) {
		dead := r.leader(r.ch)
		<-r.closing()
		r.kill(dead)
		time.Sleep(rand.N(electedBy))
		r.begin(dead)
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
		t.Run(fault.name, func(t *testing.T) { rehearse(t, newCluster(t), false, fault.do) })
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
