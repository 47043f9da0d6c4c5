//go:build unix

package jetstream

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A fabric connects the sites of a cluster. What it does not deliver is not lost but late,
// as with TCP over a network that drops packets, unless the connection breaks first.
type fabric interface {
	// cut stops what goes from one site to another, in this direction only.
	cut(from, to int)
	// heal undoes all cuts.
	heal()
}

// A direction is what a site that is cut off cannot do.
type direction uint8

const (
	send direction = 1 << iota
	hear
)

// isolate cuts a site off from the two others.
func isolate(f fabric, site int, what direction) {
	for _, other := range []int{(site + 1) % 3, (site + 2) % 3} {
		if what&send != 0 {
			f.cut(site, other)
		}
		if what&hear != 0 {
			f.cut(other, site)
		}
	}
}

// A link carries bytes in one direction, for several connections.
type link struct {
	mu           sync.Mutex
	open         chan struct{} // closed unless the link is cut
	least, delay time.Duration // a chunk takes least, and up to delay more
}

func newLink() *link {
	l := &link{open: make(chan struct{})}
	close(l.open)
	return l
}

func (l *link) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.open:
		if cut {
			l.open = make(chan struct{})
		}
	default:
		if !cut {
			close(l.open)
		}
	}
}

func (l *link) setDelay(least, most time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.least, l.delay = least, most-least
}

// due returns when a chunk that is sent now arrives.
func (l *link) due() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.least+l.delay == 0 {
		return time.Time{}
	}
	return time.Now().Add(l.least + rand.N(l.delay+1))
}

// passable returns a channel that is closed while the link is not cut.
func (l *link) passable() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// A chunk is what one read returned.
type chunk struct {
	bytes []byte
	due   time.Time
}

// carry copies from one connection to another over the link, in order, in two goroutines
// of the group, until one of them ends. The other end learns of that over the link, too,
// so the group does not end while the link is cut.
func (l *link) carry(group *sync.WaitGroup, to, from net.Conn) {
	chunks, stopped := make(chan chunk, 1<<10), make(chan struct{})
	group.Go(func() {
		defer close(chunks)
		for {
			buf := make([]byte, 16<<10)
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			select {
			case chunks <- chunk{buf[:n], l.due()}:
			case <-stopped:
				return
			}
		}
	})
	group.Go(func() {
		defer to.Close()
		defer from.Close()
		defer close(stopped)
		for c := range chunks {
			if wait := time.Until(c.due); wait > 0 {
				time.Sleep(wait)
			}
			<-l.passable()
			if _, err := to.Write(c.bytes); err != nil {
				return
			}
		}
		<-l.passable()
	})
}

// proxies is a fabric on loopback: each connection between two sites passes through a
// proxy of its direction.
type proxies struct{ links [3][3]*link }

func (p *proxies) cut(from, to int) { p.links[from][to].setCut(true) }

func (p *proxies) heal() {
	p.each(func(l *link) { l.setCut(false) })
}

// slow has every chunk between two sites take from least to most.
func (p *proxies) slow(least, most time.Duration) {
	p.each(func(l *link) { l.setDelay(least, most) })
}

func (p *proxies) each(f func(l *link)) {
	for _, from := range p.links {
		for _, l := range from {
			f(l)
		}
	}
}

// newDistantCluster returns a cluster whose sites are connected by proxies. Clients
// prefer the server at their site.
func newDistantCluster(t testing.TB) (*cluster, *proxies) {
	t.Helper()
	c, p := newCluster(t), &proxies{}
	for i := range p.links {
		for j := range p.links[i] {
			p.links[i][j] = newLink()
		}
	}
	hidden := fmt.Sprint("127.0.0.1:", freePorts(t, 1)[0])
	for i := range 3 {
		routes, urls := []string(nil), []string{fmt.Sprint("nats://127.0.0.1:", c.roles[i].Server.Port)}
		for _, j := range []int{(i + 1) % 3, (i + 2) % 3} {
			to := c.roles[j].Server
			through := func(port int) string {
				return newLinkedProxy(t, fmt.Sprint("127.0.0.1:", port), p.links[i][j], p.links[j][i]).listener.Addr().String()
			}
			routes = append(routes, "nats-route://"+through(to.RoutePort))
			urls = append(urls, "nats://"+through(to.Port))
		}
		c.roles[i].Server.Routes, c.roles[i].Server.Hidden = routes, hidden
		c.at[i] = role{URL: strings.Join(urls, ","), InOrder: true}
	}
	c.network = p
	t.Cleanup(p.heal) // before the proxies end
	return c, p
}
