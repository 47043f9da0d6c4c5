package main

import (
	"context"
	"io"
	"net"
)

// A connection pool made of a channel.
var _ = register(scenario{
	Name: "database",
	About: "Forty-eight requests share four connections, which are the values of a channel. Acquire receives " +
		"one in a select with the request's context; Release, another function, sends it back. A query " +
		"takes a millisecond in the database, which would serve more at once.",
	Instead: exhaustedPool,
	Sites:   []site{{selecting, "main.(*connPool).Acquire"}},
	Right:   []string{largerPool},
	builds: map[string]build{
		asFound:    func(s *service) { startDatabase(s, 4, 4) },
		buffer:     func(s *service) { startDatabase(s, 4, 256) },
		largerPool: func(s *service) { startDatabase(s, 32, 32) },
	},
})

type connPool struct{ free chan net.Conn }

func startDatabase(s *service, connections, capacity int) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic("database: it cannot listen: " + err.Error())
	}
	go store(listener)
	p := &connPool{free: make(chan net.Conn, capacity)}
	for range connections {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			panic("database: it does not answer: " + err.Error())
		}
		p.free <- conn
	}
	for range 48 {
		go p.serve(context.Background(), s.counter())
	}
}

// Acquire returns a connection once one is free.
func (p *connPool) Acquire(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-p.free:
		return conn, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Release returns a connection to the pool.
func (p *connPool) Release(conn net.Conn) { p.free <- conn }

func (p *connPool) serve(ctx context.Context, done *counter) {
	for {
		if p.request(ctx) != nil {
			return
		}
		done.add(1)
	}
}

func (p *connPool) request(ctx context.Context) error {
	conn, err := p.Acquire(ctx)
	if err != nil {
		return err
	}
	defer p.Release(conn)
	return query(conn)
}

// query sends a statement and waits for its result.
func query(conn net.Conn) error {
	var statement [512]byte
	if _, err := conn.Write(statement[:]); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, statement[:1])
	return err
}
