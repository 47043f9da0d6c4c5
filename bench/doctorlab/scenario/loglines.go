package main

import (
	"fmt"
	"io"
	"time"
)

// A formatter behind many tailers.
var _ = register(scenario{
	Name: "loglines",
	About: "Twelve tailers send entries to one formatter, which formats lines with fmt and sends them to a " +
		"writer. The formatter is the bottleneck, and the other processor waits for it.",
	Instead: slowStage,
	Sites:   []site{{send, "main.(*loglines).tail"}, {receive, "main.(*loglines).format"}},
	Right:   []string{moreReceivers},
	builds: map[string]build{
		asFound:       func(s *service) { startLoglines(s, 32, 1) },
		buffer:        func(s *service) { startLoglines(s, 4096, 1) },
		moreReceivers: func(s *service) { startLoglines(s, 32, 4) },
	},
})

const tailers = 12

// An entry is a line of a log before formatting.
type entry struct {
	at      time.Time
	host    int
	status  uint64
	message string
}

type loglines struct {
	entries chan entry
	lines   chan []byte
}

func startLoglines(s *service, capacity, formatters int) {
	l := &loglines{entries: make(chan entry, capacity), lines: make(chan []byte, capacity)}
	go l.write(io.Discard, s.counter())
	for range formatters {
		go l.format()
	}
	forever(tailers, l.tail)
}

func (l *loglines) tail(host int) {
	at := time.Now()
	for n := uint64(host); ; n++ {
		l.entries <- entry{at: at.Add(time.Duration(n) * time.Millisecond), host: host, status: 200 + n%5*100, message: "served"}
	}
}

func (l *loglines) format() {
	for e := range l.entries {
		var fields [4]uint64
		for i := range fields {
			fields[i] = grind(e.status+uint64(i), 150)
		}
		l.lines <- fmt.Appendf(nil, "%s host-%02d %d %q %x\n", e.at.Format(time.RFC3339Nano), e.host, e.status, e.message, fields)
	}
}

func (l *loglines) write(w io.Writer, done *counter) {
	for line := range l.lines {
		if _, err := w.Write(line); err != nil {
			return
		}
		done.add(1)
	}
}
