package main

import (
	"encoding/binary"
	"hash/fnv"
	"sync"
)

// A goroutine for each small task.
var _ = register(scenario{
	Name: "checksums",
	About: "A mirror verifies files in blocks. Each block gets a goroutine, and a channel of eight tokens " +
		"limits their number: a quarter of a microsecond of work costs a goroutine and two channel " +
		"operations.",
	HeldOut:  true,
	Channels: true,
	Sites: []site{
		{send, "main.tokens.acquire"}, {receive, "main.tokens.release"},
		{send, "main.(*mirror).verify"}, {receive, "main.(*mirror).verify.func1"},
	},
	Right: []string{batch},
	finite: map[string]finiteRun{
		asFound: func(s *service, items int) uint64 { return runMirror(s, items, 8, 1) },
		buffer:  func(s *service, items int) uint64 { return runMirror(s, items, 512, 1) },
		batch:   func(s *service, items int) uint64 { return runMirror(s, items, 8, 64) },
	},
})

const (
	blockSize  = 256  // bytes
	fileBlocks = 8192 // at most
)

// tokens limit the number of goroutines: each holds one.
type tokens chan struct{}

func (t tokens) acquire() { t <- struct{}{} }
func (t tokens) release() { <-t }

type mirror struct {
	tokens  tokens
	data    []byte
	sums    [fileBlocks]uint64
	atATime int // blocks per goroutine
	done    *counter
}

func runMirror(s *service, items, goroutines, atATime int) (digest uint64) {
	m := &mirror{tokens: make(tokens, goroutines), data: make([]byte, blockSize*fileBlocks), atATime: atATime, done: s.counter()}
	for file := uint64(1); items > 0; file++ {
		blocks := min(items, fileBlocks)
		m.fetch(file, blocks)
		digest = digest*31 + m.verify(blocks)
		items -= blocks
	}
	return digest
}

// fetch represents reading a file: it changes each block.
func (m *mirror) fetch(file uint64, blocks int) {
	for i := range blocks {
		binary.LittleEndian.PutUint64(m.data[i*blockSize:], grind(file+uint64(i), 3))
	}
}

// verify returns the sum of all blocks' checksums.
func (m *mirror) verify(blocks int) (sum uint64) {
	var running sync.WaitGroup
	for first := 0; first < blocks; first += m.atATime {
		m.tokens.acquire()
		running.Add(1)
		go func() {
			defer running.Done()
			defer m.tokens.release()
			m.check(first, min(first+m.atATime, blocks))
		}()
	}
	running.Wait()
	for _, s := range m.sums[:blocks] {
		sum += s
	}
	m.done.add(blocks)
	return sum
}

func (m *mirror) check(first, end int) {
	for i := first; i < end; i++ {
		h := fnv.New64a()
		h.Write(m.data[i*blockSize : (i+1)*blockSize])
		m.sums[i] = h.Sum64()
	}
}
