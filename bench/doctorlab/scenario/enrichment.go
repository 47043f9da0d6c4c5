package main

// A goroutine for each value.
var _ = register(scenario{
	Name: "enrichment",
	About: "For each record of a request, a goroutine is started that looks it up for a third of a microsecond " +
		"and sends the result on a channel; the request receives all results. Starting and ending " +
		"goroutines costs more than the look-ups.",
	Channels: true,
	Sites:    []site{{send, "main.(*enrichment).one"}, {receive, "main.(*enrichment).request"}},
	Right:    []string{fuseStages},
	builds: map[string]build{
		asFound:    func(s *service) { startEnrichment(s, (*enrichment).request) },
		buffer:     func(s *service) { startEnrichment(s, (*enrichment).requestBuffered) },
		batch:      func(s *service) { startEnrichment(s, (*enrichment).requestInSlices) },
		fuseStages: func(s *service) { startEnrichment(s, (*enrichment).requestInPlace) },
		workerPool: func(s *service) { startEnrichment(s, (*enrichment).requestPooled) },
	},
})

const enrichmentRecords = 64

type enrichment struct {
	jobs chan enrichJob
}

// An enrichJob is a slice of records for the pool.
type enrichJob struct {
	first   uint64
	results chan<- uint64
}

func startEnrichment(s *service, request func(*enrichment, uint64)) {
	e := &enrichment{jobs: make(chan enrichJob, 64)}
	for range 2 {
		go func() {
			for j := range e.jobs {
				sum := uint64(0)
				for n := range uint64(enrichmentRecords / 8) {
					sum += lookUp(j.first + n)
				}
				j.results <- sum
			}
		}()
	}
	forever(2, func(i int) {
		done := s.counter()
		for n := uint64(i); ; n += enrichmentRecords {
			request(e, n)
			done.add(enrichmentRecords)
		}
	})
}

func lookUp(record uint64) uint64 { return grind(record, 150) }

func (e *enrichment) request(first uint64) {
	results := make(chan uint64)
	for n := range uint64(enrichmentRecords) {
		go e.one(first+n, results)
	}
	for range enrichmentRecords {
		sink(<-results)
	}
}

func (e *enrichment) one(record uint64, results chan<- uint64) { results <- lookUp(record) }

func (e *enrichment) requestBuffered(first uint64) {
	results := make(chan uint64, enrichmentRecords)
	for n := range uint64(enrichmentRecords) {
		go e.one(first+n, results)
	}
	for range enrichmentRecords {
		sink(<-results)
	}
}

// requestInSlices starts a goroutine per eight records.
func (e *enrichment) requestInSlices(first uint64) {
	results := make(chan uint64, 8)
	for n := range uint64(8) {
		go func() {
			sum := uint64(0)
			for at := range uint64(enrichmentRecords / 8) {
				sum += lookUp(first + n*8 + at)
			}
			results <- sum
		}()
	}
	for range 8 {
		sink(<-results)
	}
}

func (e *enrichment) requestInPlace(first uint64) {
	for n := range uint64(enrichmentRecords) {
		sink(lookUp(first + n))
	}
}

// requestPooled sends slices of records to long-lived goroutines.
func (e *enrichment) requestPooled(first uint64) {
	results := make(chan uint64, 8)
	for n := range uint64(8) {
		e.jobs <- enrichJob{first + n*8, results}
	}
	for range 8 {
		sink(<-results)
	}
}
