package main

import (
	"hash/crc64"
	"math/rand/v2"
	"strconv"
)

// One buffer that goes back and forth.
var _ = register(scenario{
	Name: "archiver",
	About: "A reader renders log lines into a buffer and a packer sums them up. The only " +
		"buffer goes to the packer over one channel and returns over another, so reader and packer " +
		"alternate and half of the processors is idle.",
	Channels: true,
	Sites: []site{
		{receive, "main.(*archiver).blank"}, {receive, "main.(*archiver).read"}, {send, "main.(*archiver).read"},
		{receive, "main.(*archiver).pack"}, {send, "main.(*archiver).pack"}, {send, "main.(*archiver).recycle"},
	},
	Right: []string{buffer},
	finite: map[string]finiteRun{
		asFound: func(s *service, items int) uint64 { return newArchiver(s, 1).run(items) },
		// The channel of spare buffers holds all buffers.
		buffer:     func(s *service, items int) uint64 { return newArchiver(s, 16).run(items) },
		fuseStages: func(s *service, items int) uint64 { return newArchiver(s, 1).runFused(items) },
	},
})

// archiverLines is the mean number of lines per buffer.
const archiverLines = 300

type archiver struct {
	full, spare chan []byte
	table       *crc64.Table
	done        *counter
}

func newArchiver(s *service, buffers int) *archiver {
	a := &archiver{
		full: make(chan []byte, buffers-1), spare: make(chan []byte, buffers),
		table: crc64.MakeTable(crc64.ECMA), done: s.counter(),
	}
	for range buffers {
		a.spare <- nil
	}
	return a
}

func (a *archiver) run(items int) uint64 {
	go a.read(items)
	return a.pack()
}

func (a *archiver) blank() []byte         { return (<-a.spare)[:0] }
func (a *archiver) recycle(buffer []byte) { a.spare <- buffer }

func (a *archiver) read(items int) {
	defer close(a.full)
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range items {
		a.full <- render(a.blank(), n, rng)
	}
}

func (a *archiver) pack() (digest uint64) {
	for lines := range a.full {
		digest = digest*31 + a.sum(lines)
		a.recycle(lines)
		a.done.add(1)
	}
	return digest
}

// render writes a varying number of lines.
func render(lines []byte, n int, rng *rand.Rand) []byte {
	for i := range archiverLines/2 + rng.IntN(archiverLines) {
		lines = append(lines, "host-"...)
		lines = strconv.AppendInt(lines, int64(n%1000), 10)
		lines = append(lines, " status="...)
		lines = strconv.AppendInt(lines, int64(200+i%5*100), 10)
		lines = append(lines, " took="...)
		lines = strconv.AppendInt(lines, int64(i*n), 10)
		lines = append(lines, '\n')
	}
	return lines
}

func (a *archiver) sum(lines []byte) uint64 {
	return crc64.Checksum(lines, a.table)
}

// runFused does everything in one goroutine.
func (a *archiver) runFused(items int) (digest uint64) {
	rng := rand.New(rand.NewPCG(1, 2))
	var lines []byte
	for n := range items {
		lines = render(lines[:0], n, rng)
		digest = digest*31 + a.sum(lines)
		a.done.add(1)
	}
	return digest
}
