package main

import "sync"

// A goroutine for each value, without a channel.
var _ = register(scenario{
	Name: "notifier",
	About: "Four senders notify the members of a group: a goroutine per member formats the message for half a " +
		"microsecond and stores it in a slice, and a wait group ends the round. No channel is involved; " +
		"goroutines are started and ended for too little work.",
	HeldOut: true,
	Instead: perValue,
	Right:   []string{workerPool, batch, fuseStages},
	builds: map[string]build{
		asFound:    func(s *service) { startNotifier(s, notifyEach) },
		batch:      func(s *service) { startNotifier(s, notifySlices) },
		fuseStages: func(s *service) { startNotifier(s, notifyInPlace) },
		workerPool: func(s *service) { startNotifier(s, notifyPool()) },
	},
})

const notifierMembers = 48

func startNotifier(s *service, notify func(first uint64, letters []uint64)) {
	forever(4, func(i int) {
		done := s.counter()
		letters := make([]uint64, notifierMembers)
		for n := uint64(i); ; n++ {
			notify(n, letters)
			for _, letter := range letters {
				sink(letter)
			}
			done.add(notifierMembers)
		}
	})
}

func letter(n uint64) uint64 { return grind(n, 250) }

func notifyEach(first uint64, letters []uint64) {
	var all sync.WaitGroup
	for i := range letters {
		all.Add(1)
		go func() {
			defer all.Done()
			letters[i] = letter(first + uint64(i))
		}()
	}
	all.Wait()
}

func notifyInPlace(first uint64, letters []uint64) {
	for i := range letters {
		letters[i] = letter(first + uint64(i))
	}
}

func notifySlices(first uint64, letters []uint64) {
	var all sync.WaitGroup
	for half := range 2 {
		part := letters[half*notifierMembers/2 : (half+1)*notifierMembers/2]
		all.Go(func() { notifyInPlace(first, part) })
	}
	all.Wait()
}

// notifyPool returns a function that passes slices of members to long-lived
// goroutines.
func notifyPool() func(uint64, []uint64) {
	type job struct {
		first uint64
		part  []uint64
		all   *sync.WaitGroup
	}
	jobs := make(chan job, 64)
	for range 2 {
		go func() {
			for j := range jobs {
				notifyInPlace(j.first, j.part)
				j.all.Done()
			}
		}()
	}
	return func(first uint64, letters []uint64) {
		var all sync.WaitGroup
		for at := 0; at < len(letters); at += 16 {
			all.Add(1)
			jobs <- job{first, letters[at : at+16], &all}
		}
		all.Wait()
	}
}
