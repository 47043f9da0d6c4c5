package main

import "reflect"

// A select whose cases are only known at run time.
var _ = register(scenario{
	Name: "feeds",
	About: "A reader waits for any of 40 feeds with reflect.Select, because the number of feeds may " +
		"change. Each price costs a poll of all of them.",
	Channels: true,
	Sites:    []site{{selecting, "main.(*feeds).read"}, {send, "main.(*feeds).feed"}},
	Right:    []string{mergeChannels},
	builds: map[string]build{
		asFound: func(s *service) { startFeeds(s, 4) },
		buffer:  func(s *service) { startFeeds(s, 512) },
		mergeChannels: func(s *service) {
			merged := make(chan uint64, 128)
			f := new(feeds)
			for i := range f.in {
				f.in[i] = merged
			}
			forever(len(f.in), f.feed)
			done := s.counter()
			go func() {
				for price := range merged {
					f.last[price%40] = price
					done.add(1)
				}
			}()
		},
	},
})

type feeds struct {
	in   [40]chan uint64
	last [40]uint64
}

func startFeeds(s *service, capacity int) {
	f := new(feeds)
	for i := range f.in {
		f.in[i] = make(chan uint64, capacity)
	}
	forever(len(f.in), f.feed)
	go f.read(s.counter())
}

func (f *feeds) feed(i int) {
	for price := uint64(i); ; {
		price = grind(price, 100)
		f.in[i] <- price
	}
}

func (f *feeds) read(done *counter) {
	cases := make([]reflect.SelectCase, len(f.in))
	for i, in := range f.in {
		cases[i] = reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(in)}
	}
	for {
		i, price, ok := reflect.Select(cases)
		if !ok {
			return
		}
		f.last[i] = price.Uint()
		done.add(1)
	}
}
