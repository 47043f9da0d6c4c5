package main

// The two pools differ only in the size of their jobs: a transfer costs half as
// much as a tiny job, and almost nothing compared with a fine one.
var _ = register(scenario{
	Name: "tiny-jobs",
	About: "One goroutine sends jobs of about a microsecond to eight workers over an unbuffered channel: " +
		"passing a job on takes a park and a wake-up, and so as long as the job.",
	Channels: true,
	Sites:    []site{{send, "main.(*pool).dispatch"}, {receive, "main.(*pool).worker"}},
	Ask:      []string{"block"},
	Right:    []string{buffer, batch},
	builds: map[string]build{
		asFound: func(s *service) { startPool(s, tinyJob, 0) },
		buffer:  func(s *service) { startPool(s, tinyJob, 1024) },
		batch:   func(s *service) { startPoolInBatches(s, tinyJob) },
	},
})

var _ = register(scenario{
	Name: "fine-jobs",
	About: "The same pool with jobs of a tenth of a millisecond: CPU is the limit, and no change of the " +
		"channel helps.",
	Instead: cpuBound,
	Right:   []string{noChange},
	builds: map[string]build{
		asFound: func(s *service) { startPool(s, fineJob, 0) },
		buffer:  func(s *service) { startPool(s, fineJob, 1024) },
		batch:   func(s *service) { startPoolInBatches(s, fineJob) },
	},
})

// Sizes of jobs, in steps of grind.
const (
	tinyJob = 250
	fineJob = 50_000
)

const (
	poolWorkers = 8
	poolBatch   = 32
)

// A job has a size near the mean of its pool.
type job struct {
	seed uint64
	size int
}

type pool struct {
	jobs chan job
	size int
}

func startPool(s *service, size, capacity int) {
	p := &pool{jobs: make(chan job, capacity), size: size}
	for range poolWorkers {
		go p.worker(s.counter())
	}
	go p.dispatch()
}

// next returns the n-th job, of half to one and a half times the pool's size.
func (p *pool) next(n uint64) job {
	return job{seed: n, size: p.size/2 + int(grind(n+1, 3)%uint64(p.size))}
}

func (p *pool) dispatch() {
	for n := uint64(0); ; n++ {
		p.jobs <- p.next(n)
	}
}

func (p *pool) worker(done *counter) {
	for j := range p.jobs {
		sink(grind(j.seed, j.size))
		done.add(1)
	}
}

// startPoolInBatches sends slices of jobs.
func startPoolInBatches(s *service, size int) {
	p := &pool{size: size}
	batches := make(chan []job, poolWorkers)
	for range poolWorkers {
		done := s.counter()
		go func() {
			for jobs := range batches {
				for _, j := range jobs {
					sink(grind(j.seed, j.size))
				}
				done.add(len(jobs))
			}
		}()
	}
	go func() {
		for n := uint64(0); ; {
			jobs := make([]job, 0, poolBatch)
			for range poolBatch {
				jobs = append(jobs, p.next(n))
				n++
			}
			batches <- jobs
		}
	}()
}
