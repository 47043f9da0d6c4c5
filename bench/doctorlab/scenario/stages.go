package main

// A pipeline whose stages do little work.
var _ = register(scenario{
	Name: "unbuffered-stages",
	About: "Records go through four stages connected by unbuffered channels. Each stage works for a tenth " +
		"of a microsecond and then waits for both neighbors.",
	Channels: true,
	Sites: []site{
		{send, "main.(*stages).parse"}, {receive, "main.(*stages).enrich"}, {send, "main.(*stages).enrich"},
		{receive, "main.(*stages).filter"}, {send, "main.(*stages).filter"}, {receive, "main.(*stages).tally"},
	},
	Ask:   []string{"block"},
	Right: []string{buffer, batch, fuseStages},
	builds: map[string]build{
		asFound:    func(s *service) { startStages(s, 0) },
		buffer:     func(s *service) { startStages(s, 256) },
		batch:      stagesInBatches,
		fuseStages: stagesFused,
	},
})

const stagesBatch = 64

// A record goes through the stages.
type record struct {
	id, tenant, hash uint64
}

// The work of each stage.
func parsed(n uint64) record      { return record{id: n, hash: grind(n, 30)} }
func (r record) enriched() record { r.tenant = grind(r.hash, 30) % 97; return r }
func (r record) wanted() bool     { return grind(r.hash+r.tenant, 30)%16 != 0 }

type stages struct {
	parsed, enriched, kept chan record
	tenants                [97]int
}

func startStages(s *service, capacity int) {
	p := &stages{
		parsed:   make(chan record, capacity),
		enriched: make(chan record, capacity),
		kept:     make(chan record, capacity),
	}
	go p.parse()
	go p.enrich()
	go p.filter()
	go p.tally(s.counter())
}

func (p *stages) parse() {
	for n := uint64(0); ; n++ {
		p.parsed <- parsed(n)
	}
}

func (p *stages) enrich() {
	for r := range p.parsed {
		p.enriched <- r.enriched()
	}
}

func (p *stages) filter() {
	for r := range p.enriched {
		if r.wanted() {
			p.kept <- r
		}
	}
}

func (p *stages) tally(done *counter) {
	for r := range p.kept {
		p.tenants[r.tenant]++
		done.add(1)
	}
}

// stagesFused runs all stages in one goroutine per processor, each for its part
// of the records.
func stagesFused(s *service) {
	forever(2, func(i int) {
		done := s.counter()
		var tenants [97]int
		for n := uint64(i); ; n += 2 {
			if r := parsed(n).enriched(); r.wanted() {
				tenants[r.tenant]++
				done.add(1)
			}
		}
	})
}

// stagesInBatches sends slices of records between stages; the receiving stage
// owns a slice.
func stagesInBatches(s *service) {
	toEnrich, toFilter, toTally := make(chan []record, 4), make(chan []record, 4), make(chan []record, 4)
	go func() {
		for n := uint64(0); ; {
			records := make([]record, 0, stagesBatch)
			for range stagesBatch {
				records = append(records, parsed(n))
				n++
			}
			toEnrich <- records
		}
	}()
	go func() {
		for records := range toEnrich {
			for i, r := range records {
				records[i] = r.enriched()
			}
			toFilter <- records
		}
	}()
	go func() {
		for records := range toFilter {
			kept := records[:0]
			for _, r := range records {
				if r.wanted() {
					kept = append(kept, r)
				}
			}
			toTally <- kept
		}
	}()
	done := s.counter()
	go func() {
		var tenants [97]int
		for records := range toTally {
			for _, r := range records {
				tenants[r.tenant]++
			}
			done.add(len(records))
		}
	}()
}
