package jetstream

import (
	"net"
	"sync"
	"testing"
)

// A proxy stands between a client and its server, and can drop what passes.
type proxy struct {
	to       string
	listener net.Listener
	all      sync.WaitGroup
	there    *link // to the server; or nil
	back     *link // to the client; or nil

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	deaf  bool              // what the server sends is dropped
	mute  bool              // what the client sends is dropped
	edit  func(sent []byte) // changes what the client sends; or nil
	shut  bool              // new connections are rejected
}

func newProxy(t testing.TB, to string) *proxy { return newLinkedProxy(t, to, nil, nil) }

// newLinkedProxy returns a proxy whose bytes pass over links.
func newLinkedProxy(t testing.TB, to string, there, back *link) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{to: to, listener: l, there: there, back: back, conns: map[net.Conn]struct{}{}}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.cut(true)
		p.all.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil || !p.keep(in, out) {
			_ = in.Close()
			if out != nil {
				_ = out.Close()
			}
			continue
		}
		p.start(p.there, out, in, false)
		p.start(p.back, in, out, true)
	}
}

func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return false
	}
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
	return true
}

// start passes on what comes from one side, over a link if there is one.
func (p *proxy) start(over *link, to, from net.Conn, fromServer bool) {
	if over == nil {
		p.all.Go(func() { p.pass(to, from, fromServer) })
		return
	}
	over.carry(&p.all, to, from)
}

func (p *proxy) pass(to, from net.Conn, fromServer bool) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		swallow := p.deaf && fromServer || p.mute && !fromServer
		if !fromServer && p.edit != nil {
			p.edit(buf[:n])
		}
		p.mu.Unlock()
		if !swallow {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deafen drops what the server sends from now on.
func (p *proxy) deafen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = true
}

// silence drops what the client sends from now on.
func (p *proxy) silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = true
}

// cut breaks all connections; if shut, new ones are rejected.
func (p *proxy) cut(shut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut, p.deaf, p.mute = shut, false, false
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}
