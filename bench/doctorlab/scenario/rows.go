package main

import "strconv"

// Values that are allocated, with or without batches.
var _ = register(scenario{
	Name: "rows",
	About: "A reader parses rows into a new struct with strings each, and sends the pointers over an " +
		"unbuffered channel to a writer. Batches save the transfers; the allocations remain.",
	HeldOut:  true,
	Channels: true,
	Sites:    []site{{send, "main.(*rows).parse"}, {receive, "main.(*rows).write"}},
	Right:    []string{buffer, batch},
	builds: map[string]build{
		asFound: func(s *service) { startRows(s, 0) },
		buffer:  func(s *service) { startRows(s, 128) },
		batch:   rowsInBatches,
	},
})

type row struct {
	id, name string
	columns  []string
}

func newRow(n uint64) *row {
	id := strconv.FormatUint(n, 10)
	return &row{id: id, name: id + "-row", columns: []string{id, id}}
}

func (r *row) digest() uint64 { return uint64(len(r.id)+len(r.name)+len(r.columns)) | 1 }

type rows struct{ parsed chan *row }

func startRows(s *service, capacity int) {
	r := &rows{make(chan *row, capacity)}
	go r.parse()
	go r.write(s.counter())
}

func (r *rows) parse() {
	for n := uint64(0); ; n++ {
		r.parsed <- newRow(n)
	}
}

func (r *rows) write(done *counter) {
	for next := range r.parsed {
		sink(grind(next.digest(), 20))
		done.add(1)
	}
}

func rowsInBatches(s *service) {
	parsed := make(chan []*row, 4)
	go func() {
		for n := uint64(0); ; {
			next := make([]*row, 0, 64)
			for range 64 {
				next = append(next, newRow(n))
				n++
			}
			parsed <- next
		}
	}()
	done := s.counter()
	go func() {
		for next := range parsed {
			for _, r := range next {
				sink(grind(r.digest(), 20))
			}
			done.add(len(next))
		}
	}()
}
