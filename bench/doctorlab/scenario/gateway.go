package main

// A goroutine that only passes values on.
var _ = register(scenario{
	Name: "gateway",
	About: "Three readers parse frames and send them to an intake, a goroutine that waits for a frame or for the " +
		"end and passes each on to the writer. It adds nothing: the readers could send to the writer " +
		"themselves, with one hand-off less per frame.",
	Channels: true,
	Sites: []site{{selecting, "main.(*frameGateway).intake"}, {send, "main.(*frameGateway).intake"}, {send, "main.(*frameGateway).read"},
		{receive, "main.(*frameGateway).write"}},
	Right: []string{removeHop, batch},
	builds: map[string]build{
		asFound:   func(s *service) { startGateway(s, 64, true) },
		buffer:    func(s *service) { startGateway(s, 4096, true) },
		removeHop: func(s *service) { startGateway(s, 64, false) },
		batch:     gatewayInBatches,
	},
})

const (
	gatewayReaders = 3
	gatewayBatch   = 64
	frameWork      = 150
	writeWork      = 60
)

type frameGateway struct {
	frames, parsed chan uint64
	quit           chan struct{}
}

func startGateway(s *service, capacity int, hop bool) {
	g := &frameGateway{parsed: make(chan uint64, capacity), quit: make(chan struct{})}
	g.frames = g.parsed
	if hop {
		g.frames = make(chan uint64, capacity)
		go g.intake()
	}
	forever(gatewayReaders, g.read)
	go g.write(s.counter())
}

func (g *frameGateway) read(i int) {
	for n := uint64(i); ; n++ {
		g.frames <- grind(n, frameWork)
	}
}

func (g *frameGateway) intake() {
	for {
		select {
		case frame := <-g.frames:
			g.parsed <- frame
		case <-g.quit:
			return
		}
	}
}

func (g *frameGateway) write(done *counter) {
	for frame := range g.parsed {
		sink(grind(frame, writeWork))
		done.add(1)
	}
}

// gatewayInBatches sends slices of frames, without the intake.
func gatewayInBatches(s *service) {
	parsed, done := make(chan []uint64, 4), s.counter()
	forever(gatewayReaders, func(i int) {
		for n := uint64(i); ; {
			frames := make([]uint64, 0, gatewayBatch)
			for range gatewayBatch {
				frames = append(frames, grind(n, frameWork))
				n++
			}
			parsed <- frames
		}
	})
	go func() {
		for frames := range parsed {
			for _, frame := range frames {
				sink(grind(frame, writeWork))
			}
			done.add(len(frames))
		}
	}()
}
