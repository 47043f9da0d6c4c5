package main

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// Generators whose receiver leaves early.
var _ = register(scenario{
	Name: "secrets",
	About: "A scanner searches each pushed file for a password, with a generator of lines and one of " +
		"trimmed lines, and returns at the first match. The goroutines of both generators then block " +
		"forever in a send. In addition, sixty watchers of repositories wait as they should.",
	HeldOut:  true,
	Channels: true,
	Leak:     true,
	Sites:    []site{{send, "main.generate.func1"}, {send, "main.mapped.func1"}},
	Right:    []string{cancelWait, buffer},
	finite: map[string]finiteRun{
		asFound:    func(s *service, items int) uint64 { return runSecrets(s, items, &secrets{}) },
		cancelWait: func(s *service, items int) uint64 { return runSecrets(s, items, &secrets{stops: true}) },
		// Room for all lines: no send blocks, and the channels are collected.
		buffer: func(s *service, items int) uint64 { return runSecrets(s, items, &secrets{capacity: pushedLines}) },
	},
})

const (
	pushPause   = 15 * time.Millisecond
	pushedLines = 120
	watchers    = 60
	lastSecret  = 8000 // files after the first: the leaked memory stays below 100 MB
)

type secrets struct {
	capacity int
	stops    bool // a match stops the generators
}

func runSecrets(s *service, items int, scanner *secrets) (digest uint64) {
	pushes := make(chan int)
	quit := make(chan struct{})
	defer close(quit)
	for range watchers {
		go watch(quit, pushes)
	}
	pause := time.NewTicker(pushPause)
	defer pause.Stop()
	done := s.counter()
	for n := range items {
		<-pause.C
		digest = digest*31 + scanner.scan(pushed(n))
		done.add(1)
	}
	return digest
}

// watch waits for pushes to one repository, which never come.
func watch(quit <-chan struct{}, pushes <-chan int) {
	select {
	case n := <-pushes:
		sink(uint64(n) + 1)
	case <-quit:
	}
}

// pushed is a file. Two of three have a secret, up to lastSecret.
func pushed(n int) []string {
	lines := make([]string, pushedLines)
	for i := range lines {
		lines[i] = "  key" + strconv.Itoa(i) + " = value of " + strconv.Itoa(n) + "  "
	}
	if n%3 > 0 && n < lastSecret {
		lines[n%pushedLines/2] = "\tpassword = " + strconv.Itoa(n)
	}
	return lines
}

// scan returns a digest of the first secret in a file, 0 if it has none.
func (s *secrets) scan(file []string) uint64 {
	var stop chan struct{}
	if s.stops {
		stop = make(chan struct{})
		defer close(stop)
	}
	lines := generate(stop, s.capacity, file)
	for line := range mapped(stop, s.capacity, lines, strings.TrimSpace) {
		if value, ok := strings.CutPrefix(line, "password = "); ok {
			h := fnv.New64a()
			h.Write([]byte(value))
			return h.Sum64()
		}
	}
	return 0
}

// generate sends all items, or until stop is closed; a nil stop is never
// closed.
func generate[T any](stop <-chan struct{}, capacity int, items []T) <-chan T {
	out := make(chan T, capacity)
	if stop != nil {
		go sendUntil(stop, out, items)
		return out
	}
	go func() {
		defer close(out)
		for _, item := range items {
			out <- item
		}
	}()
	return out
}

// mapped sends f of each item, or until stop is closed.
func mapped[I, O any](stop <-chan struct{}, capacity int, in <-chan I, f func(I) O) <-chan O {
	out := make(chan O, capacity)
	if stop != nil {
		go mapUntil(stop, out, in, f)
		return out
	}
	go func() {
		defer close(out)
		for item := range in {
			out <- f(item)
		}
	}()
	return out
}

func sendUntil[T any](stop <-chan struct{}, out chan<- T, items []T) {
	defer close(out)
	for _, item := range items {
		select {
		case out <- item:
		case <-stop:
			return
		}
	}
}

func mapUntil[I, O any](stop <-chan struct{}, out chan<- O, in <-chan I, f func(I) O) {
	defer close(out)
	for item := range in {
		select {
		case out <- f(item):
		case <-stop:
			return
		}
	}
}
