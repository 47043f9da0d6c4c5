package main

// Batches whose allocation is the cost.
var _ = register(scenario{
	Name: "blocks",
	About: "A reader already sends slices of 256 samples of 48 bytes to three goroutines that add them up. It " +
		"makes a new slice for each, and allocation and garbage collection take most of the CPU time.",
	Instead: garbageCollection,
	Right:   []string{reuseSlices},
	builds: map[string]build{
		asFound:     func(s *service) { startBlocks(s, nil) },
		buffer:      func(s *service) { startBlocks(s, nil) },
		reuseSlices: func(s *service) { startBlocks(s, make(chan []blockSample, 32)) },
	},
})

type blockSample struct {
	at   uint64
	tags [4]*uint64
	v    uint64
}

type blocks struct {
	full  chan []blockSample
	spare chan []blockSample
}

func startBlocks(s *service, spare chan []blockSample) {
	b := &blocks{make(chan []blockSample, 16), spare}
	go b.read()
	for range 3 {
		go b.add(s.counter())
	}
}

// next returns an empty slice.
func (b *blocks) next() []blockSample {
	select {
	case block := <-b.spare:
		return block[:0]
	default:
		return make([]blockSample, 0, 256)
	}
}

func (b *blocks) read() {
	tag := new(uint64)
	for n := uint64(0); ; {
		block := b.next()
		for range 256 {
			n++
			block = append(block, blockSample{at: n, tags: [4]*uint64{tag}, v: n})
		}
		b.full <- block
	}
}

func (b *blocks) add(done *counter) {
	for block := range b.full {
		sum := uint64(1)
		for i := range block {
			sum += block[i].v ^ block[i].at
		}
		sink(sum | 1)
		done.add(len(block))
		select {
		case b.spare <- block:
		default:
		}
	}
}
