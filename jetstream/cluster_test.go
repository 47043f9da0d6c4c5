//go:build unix

package jetstream

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
)

var allFaults = flag.Bool("cluster.all", false, "test the cluster with every fault, not only a dead leader")

// A process is this binary in another role.
type process struct {
	cmd   *exec.Cmd
	input io.Closer
	ended sync.WaitGroup // its output is read

	mu    sync.Mutex
	lines []string
}

// begin starts a process.
func begin(t testing.TB, r role) *process {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	input, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.input = input
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.ended.Go(func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.mu.Lock()
			p.lines = append(p.lines, lines.Text())
			p.mu.Unlock()
		}
	})
	return p
}

// finish waits for the process, having ended its input.
func (p *process) finish() error {
	_ = p.input.Close()
	p.ended.Wait()
	return p.cmd.Wait()
}

func (p *process) printed() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines...)
}

func (p *process) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.lines)
}

// A cluster is three servers, each a process.
type cluster struct {
	t     testing.TB
	roles [3]role
	nodes [3]*process // nil: dead
	urls  string
}

func newCluster(t testing.TB) *cluster {
	t.Helper()
	c := &cluster{t: t}
	var ports [6]int
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
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
	c.t.Cleanup(func() {
		for i := range c.nodes {
			c.kill(i)
		}
	})
}

func (c *cluster) begin(i int) {
	c.t.Helper()
	if c.nodes[i] == nil {
		c.nodes[i] = begin(c.t, c.roles[i])
	}
}

// kill is kill -9.
func (c *cluster) kill(i int) {
	if c.nodes[i] != nil {
		_ = c.nodes[i].cmd.Process.Kill()
		_ = c.nodes[i].finish()
		c.nodes[i] = nil
	}
}

// leader returns which node leads the stream, as seen by ch.
func (c *cluster) leader(ch *Channel[string]) (leader int) {
	c.t.Helper()
	until(c.t, "there is a leader", func() bool {
		info, err := ch.core.stream.Info(patient(c.t))
		if err != nil || info.Cluster == nil || info.Cluster.Leader == "" {
			return false
		}
		leader = int(info.Cluster.Leader[0] - 'a')
		return true
	})
	return leader
}

// faults are what happens to the cluster. Each leaves it whole.
var faults = []struct {
	name string
	do   func(c *cluster, ch *Channel[string], goesOn func())
}{
	{"leader killed", func(c *cluster, ch *Channel[string], goesOn func()) {
		dead := c.leader(ch)
		c.kill(dead)
		goesOn()
		c.begin(dead)
	}},
	{"follower killed", func(c *cluster, ch *Channel[string], goesOn func()) {
		dead := (c.leader(ch) + 1) % 3
		c.kill(dead)
		goesOn()
		c.begin(dead)
	}},
	{"leader stopped for 4 s", func(c *cluster, ch *Channel[string], goesOn func()) {
		p := c.nodes[c.leader(ch)].cmd.Process
		_ = p.Signal(syscall.SIGSTOP)
		time.Sleep(4 * time.Second)
		_ = p.Signal(syscall.SIGCONT)
	}},
	{"rolling restart", func(c *cluster, ch *Channel[string], goesOn func()) {
		for i := range c.nodes {
			_ = c.nodes[i].finish()
			c.nodes[i] = nil
			c.begin(i)
			goesOn()
		}
	}},
	{"all killed", func(c *cluster, ch *Channel[string], goesOn func()) {
		for i := range c.nodes {
			c.kill(i)
		}
		for i := range c.nodes {
			c.begin(i)
		}
	}},
}

// TestCluster: three servers, each a process, and what may happen to them under load
// from several senders and receivers, each a process. Every value is accounted for:
// what was sent arrives, though more than once perhaps.
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
			until(t, "the cluster is there", func() (ok bool) {
				var err error
				ch, err = Open(patient(t), &o)
				return err == nil
			})
			defer leave(t, ch)
			var senders, receivers []*process
			for i := range 3 {
				senders = append(senders, begin(t, role{Kind: "sender", URL: c.urls, Number: i}))
				receivers = append(receivers, begin(t, role{Kind: "receiver", URL: c.urls}))
			}
			goesOn := func() {
				for _, p := range append(senders[:3:3], receivers...) {
					from := p.count()
					until(t, "all go on", func() bool { return p.count() >= from+100 })
				}
			}
			goesOn()
			fault.do(c, ch, goesOn)
			goesOn()
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
				until(t, "a receiver sees the end", func() bool {
					lines := p.printed()
					return len(lines) > 0 && lines[len(lines)-1] == "="+sluice.ErrClosed.Error()
				})
				if err := p.finish(); err != nil {
					t.Errorf("a receiver: %v", err)
				}
			}
			account(t, senders, receivers)
		})
	}
}

// TestKilled: what the server inside has confirmed survives kill -9 of the process.
func TestKilled(t *testing.T) {
	t.Parallel()
	o := clusterChannel("")
	o.Dir = t.TempDir()
	sender := begin(t, role{Kind: "sender", Dir: o.Dir})
	until(t, "values are stored", func() bool { return sender.count() >= 200 })
	if err := sender.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = sender.finish() // it was killed
	c := open(t, o)
	arrived := map[string]bool{}
	c.Close()
	for v := range c.All(patient(t)) {
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
		t.Errorf("%d are stored", stored)
	}
}

// account checks that every value sent arrived, and reports what else there is to say.
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
			t.Errorf("%s arrived, which Send said is not stored", v)
		}
	}
	for v, n := range arrived {
		if sent[v] == 0 {
			t.Errorf("%s arrived, which nobody sent", v)
		}
		twice += n - 1
	}
	t.Logf("%d stored, %d unknown, %d lost, %d arrived once more; the longest outage of a sender %v",
		stored, unsure, lost, twice, outage)
	if lost > 0 || stored == 0 {
		t.Errorf("%d lost of %d", lost, stored)
	}
}
