package main

import "context"

// A pool that is the right size.
var _ = register(scenario{
	Name: "codecs",
	About: "Twenty requests share a pool of two codecs, acquired in a select with a context, on a machine of " +
		"two cores. A codec computes for 200 µs: eighteen requests wait for one, and both cores are busy. " +
		"More codecs would not make it faster.",
	Instead: cpuBound,
	Right:   []string{noChange},
	builds: map[string]build{
		asFound:    func(s *service) { startCodecs(s, 2) },
		largerPool: func(s *service) { startCodecs(s, 16) },
	},
})

type codec struct{ state uint64 }

type codecs struct{ free chan *codec }

func startCodecs(s *service, n int) {
	p := &codecs{free: make(chan *codec, n)}
	for i := range n {
		p.free <- &codec{uint64(i)}
	}
	for range 20 {
		go p.transcode(context.Background(), s.counter())
	}
}

func (p *codecs) acquire(ctx context.Context) (*codec, error) {
	select {
	case c := <-p.free:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *codecs) transcode(ctx context.Context, done *counter) {
	for {
		c, err := p.acquire(ctx)
		if err != nil {
			return
		}
		c.encode()
		p.free <- c
		done.add(1)
	}
}

func (c *codec) encode() { c.state = grind(c.state, 100_000) }
