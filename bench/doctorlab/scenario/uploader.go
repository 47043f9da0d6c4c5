package main

import (
	"io"
	"net"
	"time"
)

// One receiver that waits for another service.
var _ = register(scenario{
	Name: "slow-upload",
	About: "Four sources fill a queue that one uploader drains: it writes each item to a store over TCP " +
		"and waits a millisecond for the response. CPU is idle; everything waits for the store.",
	Instead: downstreamIO,
	Sites:   []site{{send, "main.(*uploader).source"}, {receive, "main.(*uploader).upload"}},
	Ask:     []string{"trace"},
	Right:   []string{moreReceivers},
	builds: map[string]build{
		asFound:       func(s *service) { startUploader(s, 64, 1) },
		buffer:        func(s *service) { startUploader(s, 4096, 1) },
		moreReceivers: func(s *service) { startUploader(s, 64, 4) },
	},
})

const (
	uploaderSources = 4
	storeTakes      = time.Millisecond
)

type uploader struct {
	items chan uint64
	store string // its address
}

func startUploader(s *service, capacity, uploaders int) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		panic("slow-upload: its store cannot listen: " + err.Error())
	}
	go store(listener)
	u := &uploader{items: make(chan uint64, capacity), store: listener.Addr().String()}
	for range uploaders {
		go u.upload(s.counter())
	}
	forever(uploaderSources, u.source)
}

func (u *uploader) source(i int) {
	for v := uint64(i); ; {
		v = grind(v, 2000)
		u.items <- v
	}
}

func (u *uploader) upload(done *counter) {
	conn, err := net.Dial("tcp", u.store)
	if err != nil {
		panic("slow-upload: its store does not answer: " + err.Error())
	}
	defer conn.Close()
	var body [512]byte
	var answer [1]byte
	for v := range u.items {
		body[0] = byte(v)
		if _, err := conn.Write(body[:]); err != nil {
			return
		}
		if _, err := io.ReadFull(conn, answer[:]); err != nil {
			return
		}
		done.add(1)
	}
}

// store responds to each item after a delay. It represents another machine.
func store(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			var body [512]byte
			for {
				if _, err := io.ReadFull(conn, body[:]); err != nil {
					return
				}
				time.Sleep(storeTakes)
				if _, err := conn.Write(body[:1]); err != nil {
					return
				}
			}
		}()
	}
}
