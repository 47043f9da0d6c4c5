package main

// Large values, which batches copy.
var _ = register(scenario{
	Name: "frames",
	About: "A camera sends frames of 256 bytes by value over a buffered channel to an encoder that looks at " +
		"a few of the bytes. Batches save transfers, but each batch is a new slice of 16 kB.",
	Channels: true,
	Sites:    []site{{send, "main.(*frames).camera"}, {receive, "main.(*frames).encode"}},
	Right:    []string{buffer, batch},
	builds: map[string]build{
		asFound: func(s *service) { startFrames(s, 0) },
		buffer:  func(s *service) { startFrames(s, 128) },
		batch:   framesInBatches,
		reuseSlices: func(s *service) {
			startFrameSlices(s, make(chan []frame, 8))
		},
	},
})

const frameBatch = 64

type frame [32]uint64

type frames struct{ shot chan frame }

func startFrames(s *service, capacity int) {
	f := &frames{make(chan frame, capacity)}
	go f.camera()
	go f.encode(s.counter())
}

func (f *frames) camera() {
	for n := uint64(1); ; {
		var next frame
		n = grind(n, 20)
		next[n%32] = n
		f.shot <- next
	}
}

func (f *frames) encode(done *counter) {
	for next := range f.shot {
		sink(grind(next[3]+next[17]|1, 20))
		done.add(1)
	}
}

func framesInBatches(s *service) { startFrameSlices(s, nil) }

// startFrameSlices sends slices, and takes used ones from spare, if there are
// any.
func startFrameSlices(s *service, spare chan []frame) {
	shot := make(chan []frame, 4)
	go func() {
		for n := uint64(1); ; {
			var next []frame
			select {
			case next = <-spare:
			default:
				next = make([]frame, frameBatch)
			}
			for i := range next {
				n = grind(n, 20)
				next[i][n%32] = n
			}
			shot <- next
		}
	}()
	done := s.counter()
	go func() {
		for next := range shot {
			for i := range next {
				sink(grind(next[i][3]+next[i][17]|1, 20))
			}
			done.add(len(next))
			select {
			case spare <- next:
			default:
			}
		}
	}()
}
