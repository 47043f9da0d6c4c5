package input

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// A poor listener runs out of file descriptors once.
type poor struct {
	net.Listener
	failed bool
}

func (p *poor) Accept() (net.Conn, error) {
	if !p.failed {
		p.failed = true
		return nil, errors.New("too many open files")
	}
	return p.Listener.Accept()
}

// TestAccepts: a failed accept does not end the service, and a client that has
// sent everything sees that the service has read it to the end.
func TestAccepts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	in, received := intake(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- TCP(&poor{Listener: listener}, Limits{Connections: 1})(ctx, in)
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, good); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the client reads %d bytes, %v", n, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	check(t, in, received(), 1, 0, 0, 0)
}
