package logstore

import (
	"fmt"
	"testing"

	"github.com/sluice-go/sluice/spill/internal/disk"
)

// BenchmarkWrite writes commits of records of 1 KiB, and acknowledges the records of the commit
// before.
func BenchmarkWrite(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, c, err := Open(disk.Folder{Dir: b.TempDir()}, Options{})
			if err != nil {
				b.Fatal(err)
			}
			payloads := make([][]byte, n)
			for i := range payloads {
				payloads[i] = make([]byte, 1024)
			}
			var deletes []uint64
			b.SetBytes(int64(n) * 1024)
			for b.Loop() {
				if err := s.Write(c.Next, payloads, deletes, 0); err != nil {
					b.Fatal(err)
				}
				deletes = deletes[:0]
				for range n {
					deletes = append(deletes, c.Next)
					c.Next++
				}
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
