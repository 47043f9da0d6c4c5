package main

import (
	"io"
	"net"
)

// One busy shard of eight, which waits for its replica.
var _ = register(scenario{
	Name: "ingest",
	About: "Ten connections send readings to eight shards by tenant, each with a goroutine and a queue. A shard " +
		"waits a millisecond for its replica, over TCP, for each reading. One tenant has nine tenths of the " +
		"readings: its queue is full and the connections wait there, while the other shards are idle.",
	Instead: skew,
	Sites:   []site{{send, "main.(*ingest).connection"}, {receive, "main.(*ingest).shard"}},
	Right:   []string{balanceKeys},
	builds: map[string]build{
		asFound:     func(s *service) { startIngest(s, 16, byTenant) },
		buffer:      func(s *service) { startIngest(s, 1024, byTenant) },
		balanceKeys: func(s *service) { startIngest(s, 16, byReading) },
	},
})

const ingestShards = 8

type ingest struct {
	shards [ingestShards]chan uint64
	choose func(uint64) uint64
	store  string // address of the replicas
}

// byTenant sends nine tenths of the readings to one shard.
func byTenant(reading uint64) uint64 {
	if reading%10 != 0 {
		return 3
	}
	return reading / 10
}

func byReading(reading uint64) uint64 { return reading >> 7 }

func startIngest(s *service, capacity int, choose func(uint64) uint64) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic("ingest: its replicas cannot listen: " + err.Error())
	}
	go store(listener)
	g := &ingest{choose: choose, store: listener.Addr().String()}
	for i := range g.shards {
		g.shards[i] = make(chan uint64, capacity)
		go g.shard(i, s.counter())
	}
	forever(10, g.connection)
}

func (g *ingest) connection(i int) {
	for reading := uint64(i); ; {
		reading = grind(reading, 100)
		g.shards[g.choose(reading)%ingestShards] <- reading
	}
}

func (g *ingest) shard(i int, done *counter) {
	replica, err := net.Dial("tcp", g.store)
	if err != nil {
		panic("ingest: a replica does not answer: " + err.Error())
	}
	defer replica.Close()
	for reading := range g.shards[i] {
		if replicate(replica, reading) != nil {
			return
		}
		done.add(1)
	}
}

// replicate sends a reading and waits for the response.
func replicate(replica net.Conn, reading uint64) error {
	var body [512]byte
	body[0] = byte(reading)
	if _, err := replica.Write(body[:]); err != nil {
		return err
	}
	_, err := io.ReadFull(replica, body[:1])
	return err
}
