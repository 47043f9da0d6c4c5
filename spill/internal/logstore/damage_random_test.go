package logstore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/sluice-go/sluice/internal/suite"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

// ruin changes some files at random.
func (i image) ruin(random *rand.Rand) *simdisk.Disk {
	d := i.with("", nil)
	for _, name := range i.names() {
		data := bytes.Clone(i.files[name])
		switch random.IntN(6) {
		case 0:
			for range 1 + random.IntN(20) {
				data[random.IntN(len(data))] = byte(random.Uint32())
			}
		case 1:
			data = data[:random.IntN(len(data))]
		case 2:
			data = append(data, bytes.Repeat([]byte{byte(random.Uint32())}, random.IntN(2000))...)
		}
		if d.Put(name, data); random.IntN(12) == 0 {
			_ = d.Remove(name)
			_ = d.Sync()
		}
	}
	return d
}

// TestRuined: whatever is damaged at once, Open and Read return, Repair succeeds, even if nothing
// can be recognized, and the store works after that. No record has other content.
func TestRuined(t *testing.T) {
	rounds := suite.Rounds(400, 4000)
	all, empty := images(t, 40), 0
	for round := range rounds {
		random := rand.New(rand.NewPCG(uint64(round), 6))
		i := all[round%len(all)]
		d := i.ruin(random)
		if s, _, err := Open(d, tiny); err == nil {
			_ = i.model.compareRecords(s)
			d = d.After(simdisk.Killed, nil)
		}
		report, err := Repair(d, tiny, nil)
		if err != nil {
			t.Fatal(round, err)
		}
		if report.Records == 0 && report.NoCheckpoint {
			empty++
		}
		s, c, err := Open(d, tiny)
		if err != nil || c.Records != report.Records {
			t.Fatal(round, c, report, err)
		}
		records, err := s.Read(0, c.Next, 1<<30)
		if err != nil || len(records) != c.Records {
			t.Fatal(round, len(records), c, err)
		}
		for _, r := range records {
			if want, ok := i.model.records[r.Seq]; r.Damaged != nil || ok && !bytes.Equal(r.Payload, want) {
				t.Fatal(round, r)
			}
		}
		if err := errors.Join(s.Write(c.Next, [][]byte{{1}}, nil, 0), s.Write(c.Next+1, nil, []uint64{c.Next}, 0), s.Close()); err != nil {
			t.Fatal(round, err)
		}
	}
	t.Logf("in %d of %d rounds nothing was left", empty, rounds)
}
