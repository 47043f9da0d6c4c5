package main

import "time"

// Sends that give up.
var _ = register(scenario{
	Name: "exporter",
	About: "Two sources offer flow records in bursts, with a select that drops a record when the queue is full. One " +
		"exporter collects two thousand and waits a millisecond for the store: CPU is idle, no goroutine waits for the " +
		"queue, and a third of the records is lost.",
	Instead: shedSends,
	Sites:   []site{{pollSend, "main.(*exporter).offer"}},
	Right:   []string{moreReceivers},
	Harmful: []string{block},
	builds: map[string]build{
		asFound:       func(s *service) { startExporter(s, exporterSlots, 1) },
		buffer:        func(s *service) { startExporter(s, 16*exporterSlots, 1) },
		moreReceivers: func(s *service) { startExporter(s, exporterSlots, 2) },
	},
})

const (
	exporterSlots   = 4096
	exporterSources = 2
	exporterRate    = 1200 // records of a source per millisecond
	exporterSlice   = 2000
	exporterStore   = time.Millisecond
)

type exporter struct {
	records chan uint64
	lost    [exporterSources]int
}

func startExporter(s *service, slots, exporters int) {
	e := &exporter{records: make(chan uint64, slots)}
	for range exporters {
		go e.export(s.counter())
	}
	forever(exporterSources, e.capture)
}

func (e *exporter) capture(i int) {
	began, record := time.Now(), uint64(i)
	for offered := int64(0); ; time.Sleep(time.Millisecond) {
		for ; offered < exporterRate*time.Since(began).Milliseconds(); offered++ {
			record = grind(record, 10)
			e.offer(i, record)
		}
	}
}

func (e *exporter) offer(i int, record uint64) {
	select {
	case e.records <- record:
	default:
		e.lost[i]++
	}
}

func (e *exporter) export(done *counter) {
	records := make([]uint64, 0, exporterSlice)
	for record := range e.records {
		if records = append(records, record); len(records) == exporterSlice {
			sink(grind(records[0], 100))
			time.Sleep(exporterStore)
			done.add(len(records))
			records = records[:0]
		}
	}
}
