package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"
)

// A connection pool that is too small.
var _ = register(scenario{
	Name: "accounts",
	About: "Twenty-four concurrent requests query a database over TCP, which takes two milliseconds per " +
		"query. A channel of four tokens limits the connections, so the requests wait there, although " +
		"the time is spent in the queries. The database could serve more at once.",
	Instead: exhaustedPool,
	Sites:   []site{{send, "main.borrow"}, {send, "main.(*accountDesk).look"}},
	Right:   []string{largerPool, buffer, moreReceivers},
	finite: map[string]finiteRun{
		asFound: func(s *service, items int) uint64 { return runAccounts(s, items, 4) },
		// The capacity of the channel is the number of tokens, and so the size of
		// the pool.
		buffer:        func(s *service, items int) uint64 { return runAccounts(s, items, accountRequests) },
		largerPool:    func(s *service, items int) uint64 { return runAccounts(s, items, accountRequests) },
		moreReceivers: accountsByWorkers,
	},
})

const (
	accountRequests = 24 // concurrent
	queryTakes      = 2 * time.Millisecond
)

// A balance is the database's response, in JSON.
type balance struct {
	Account uint64 `json:"account"`
	Owner   string `json:"owner"`
	Cents   int64  `json:"cents"`
}

// digest does not depend on the order of balances.
func (b balance) digest() uint64 { return b.Account*31 + uint64(b.Cents) + uint64(len(b.Owner)) }

// A bankConn is one connection to the database.
type bankConn struct {
	net.Conn
	answers *bufio.Reader
}

func dialBank(address string) (*bankConn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &bankConn{conn, bufio.NewReader(conn)}, nil
}

func (c *bankConn) query(account uint64) (b balance, err error) {
	if _, err = c.Write(append(strconv.AppendUint(nil, account, 10), '\n')); err != nil {
		return b, err
	}
	line, err := c.answers.ReadBytes('\n')
	if err != nil {
		return b, err
	}
	return b, json.Unmarshal(line, &b)
}

// A bankPool holds the unused connections.
type bankPool struct {
	address string
	tokens  chan struct{} // one per connection in use
	mu      sync.Mutex
	idle    []*bankConn
}

// borrow calls f with a connection, once one is available.
func borrow[T any](p *bankPool, f func(*bankConn) (T, error)) (answer T, err error) {
	p.tokens <- struct{}{}
	defer func() { <-p.tokens }()
	conn, err := p.take()
	if err != nil {
		return answer, err
	}
	answer, err = f(conn)
	if err != nil {
		conn.Close()
		return answer, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, conn)
	return answer, nil
}

func (p *bankPool) take() (*bankConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		conn := p.idle[last]
		p.idle = p.idle[:last]
		return conn, nil
	}
	return dialBank(p.address)
}

type accountDesk struct {
	pool *bankPool
	done *counter
}

func runAccounts(s *service, items, connections int) uint64 {
	database := startBank()
	defer database.Close()
	pool := &bankPool{address: database.Addr().String(), tokens: make(chan struct{}, connections)}
	var requests sync.WaitGroup
	var digests [accountRequests]uint64
	for i := range digests {
		a := &accountDesk{pool: pool, done: s.counter()}
		requests.Go(func() { digests[i] = a.serve(i, items) })
	}
	requests.Wait()
	for _, conn := range pool.idle {
		conn.Close()
	}
	return total(digests[:])
}

// serve handles every n-th request.
func (a *accountDesk) serve(first, items int) (digest uint64) {
	for n := first; n < items; n += accountRequests {
		b, err := a.look(uint64(n))
		if err != nil {
			panic("accounts: its database does not answer: " + err.Error())
		}
		digest += b.digest()
		a.done.add(1)
	}
	return digest
}

func (a *accountDesk) look(account uint64) (balance, error) {
	return borrow(a.pool, func(conn *bankConn) (balance, error) { return conn.query(account) })
}

func total(digests []uint64) (sum uint64) {
	for _, d := range digests {
		sum += d
	}
	return sum
}

// accountsByWorkers has no tokens: many workers have one connection each.
func accountsByWorkers(s *service, items int) uint64 {
	database := startBank()
	defer database.Close()
	wanted := make(chan uint64)
	var workers sync.WaitGroup
	var digests [accountRequests]uint64
	for i := range digests {
		done := s.counter()
		workers.Go(func() {
			conn, err := dialBank(database.Addr().String())
			if err != nil {
				panic("accounts: its database does not answer: " + err.Error())
			}
			defer conn.Close()
			for account := range wanted {
				b, err := conn.query(account)
				if err != nil {
					panic("accounts: its database does not answer: " + err.Error())
				}
				digests[i] += b.digest()
				done.add(1)
			}
		})
	}
	for n := range items {
		wanted <- uint64(n)
	}
	close(wanted)
	workers.Wait()
	return total(digests[:])
}

// startBank starts the database, which represents another machine.
func startBank() net.Listener {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic("accounts: its database cannot listen: " + err.Error())
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerQueries(conn)
		}
	}()
	return listener
}

func answerQueries(conn net.Conn) {
	defer conn.Close()
	queries := bufio.NewScanner(conn)
	for queries.Scan() {
		time.Sleep(queryTakes)
		// It fails if the client has gone, and so does the next Scan.
		fmt.Fprintf(conn, `{"account":%s,"owner":"owner of %[1]s","cents":9%[1]s}`+"\n", queries.Text())
	}
}
