package main

import "sync"

// A forwarding goroutine per source.
var _ = register(scenario{
	Name: "fan-in",
	About: "Each of 48 tailedFiles has its own channel, and a goroutine that forwards its lines into one merged " +
		"channel, as the usual merge function does. Each line is transferred twice.",
	Channels: true,
	Sites: []site{{receive, "main.merge.func1"}, {send, "main.merge.func1"}, {send, "main.tail"},
		{receive, "main.countLines"}},
	Right: []string{batch},
	builds: map[string]build{
		asFound: func(s *service) { startFanIn(s, 0) },
		buffer:  func(s *service) { startFanIn(s, 128) },
		mergeChannels: func(s *service) {
			merged := make(chan line, 128)
			go countLines(merged, s.counter())
			forever(tailedFiles, func(i int) { tail(uint64(i), merged) })
		},
		batch: fanInBatches,
	},
})

const (
	tailedFiles = 48
	tailBatch   = 32
)

// A line is a line of a log file.
type line struct{ file, hash uint64 }

func startFanIn(s *service, capacity int) {
	var sources []<-chan line
	for i := range tailedFiles {
		lines := make(chan line, capacity)
		go tail(uint64(i), lines)
		sources = append(sources, lines)
	}
	go countLines(merge(sources, capacity), s.counter())
}

func tail(file uint64, lines chan<- line) {
	for n := file; ; {
		n = grind(n, 30)
		lines <- line{file, n}
	}
}

// merge forwards the lines of all sources to one channel.
func merge(sources []<-chan line, capacity int) <-chan line {
	merged := make(chan line, capacity)
	var open sync.WaitGroup
	for _, source := range sources {
		open.Add(1)
		go func() {
			defer open.Done()
			for l := range source {
				merged <- l
			}
		}()
	}
	go func() {
		open.Wait()
		close(merged)
	}()
	return merged
}

func countLines(lines <-chan line, done *counter) {
	var perFile [tailedFiles]uint64
	for l := range lines {
		perFile[l.file] += l.hash
		done.add(1)
	}
}

// fanInBatches sends slices of lines to one channel.
func fanInBatches(s *service) {
	merged := make(chan []line, 128)
	done := s.counter()
	go func() {
		var perFile [tailedFiles]uint64
		for lines := range merged {
			for _, l := range lines {
				perFile[l.file] += l.hash
			}
			done.add(len(lines))
		}
	}()
	forever(tailedFiles, func(i int) {
		for n := uint64(i); ; {
			lines := make([]line, tailBatch)
			for at := range lines {
				n = grind(n, 30)
				lines[at] = line{uint64(i), n}
			}
			merged <- lines
		}
	})
}
