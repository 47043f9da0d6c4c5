package main

import (
	"io"
	"net"
)

// Fetchers that wait for the network, and a collector.
var _ = register(scenario{
	Name: "crawler",
	About: "Six fetchers receive pages from a frontier, request each from a server that takes a " +
		"millisecond, and send the links to a collector. The service waits for the server while " +
		"processors are idle.",
	Instead: downstreamIO,
	Sites:   []site{{receive, "main.(*crawler).fetch"}, {send, "main.(*crawler).seed"}},
	Right:   []string{moreReceivers},
	builds: map[string]build{
		asFound:       func(s *service) { startCrawler(s, 6, 0) },
		buffer:        func(s *service) { startCrawler(s, 6, 1024) },
		moreReceivers: func(s *service) { startCrawler(s, 24, 0) },
	},
})

type crawler struct {
	frontier chan uint64
	found    chan uint64
	server   string
}

func startCrawler(s *service, fetchers, capacity int) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic("crawler: its server cannot listen: " + err.Error())
	}
	go store(listener)
	c := &crawler{frontier: make(chan uint64, capacity), found: make(chan uint64, capacity), server: listener.Addr().String()}
	for range fetchers {
		go c.fetch()
	}
	go c.seed()
	go c.collect(s.counter())
}

func (c *crawler) seed() {
	for page := uint64(1); ; page++ {
		c.frontier <- page
	}
}

func (c *crawler) fetch() {
	conn, err := net.Dial("tcp", c.server)
	if err != nil {
		panic("crawler: its server does not answer: " + err.Error())
	}
	defer conn.Close()
	var request [512]byte
	var answer [1]byte
	for page := range c.frontier {
		request[0] = byte(page)
		if _, err := conn.Write(request[:]); err != nil {
			return
		}
		if _, err := io.ReadFull(conn, answer[:]); err != nil {
			return
		}
		c.found <- grind(page, 5000) // the links in the page
	}
}

func (c *crawler) collect(done *counter) {
	seen := make(map[uint64]int)
	for link := range c.found {
		seen[link%10_000]++
		done.add(1)
	}
}
