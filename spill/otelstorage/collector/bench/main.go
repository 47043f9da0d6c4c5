// Bench fills a storage extension and drains it, as the sending queue of an exporter does, and prints
// the rate, the largest resident memory of the process, and the space on disk. Each run is one
// process:
//
//	go run ./bench -storage sluice_storage -size 2097152 -items 2048 fill DIR
//	echo 1 | sudo tee /proc/sys/vm/drop_caches
//	go run ./bench -storage sluice_storage -size 2097152 -items 2048 drain DIR
package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"

	"github.com/sluice-go/sluice/spill/otelstorage"
)

// A queue has items with ascending numbers from 0 on.
type queue interface {
	put(items ...[]byte) error
	take() ([]byte, error) // also removes the item
	close() error
}

// queues are the kinds, by the name of the flag. Files beside this one may add some.
var queues = map[string]func(dir string) (queue, error){
	"sluice_storage": func(dir string) (queue, error) { return open(otelstorage.NewFactory(), dir) },
	"file_storage":   func(dir string) (queue, error) { return open(filestorage.NewFactory(), dir) },
}

// stored is a queue over a storage extension. It does what the persistent queue of exporterhelper does.
type stored struct {
	client   storage.Client
	from, to uint64
}

func open(factory extension.Factory, dir string) (queue, error) {
	ctx := context.Background()
	config := factory.CreateDefaultConfig()
	switch c := config.(type) {
	case *otelstorage.Config:
		c.Directory = dir
	case *filestorage.Config:
		c.Directory = dir
	}
	made, err := factory.Create(ctx, extensiontest.NewNopSettings(factory.Type()), config)
	if err == nil {
		err = made.Start(ctx, componenttest.NewNopHost())
	}
	if err != nil {
		return nil, err
	}
	client, err := made.(storage.Extension).GetClient(ctx, component.KindExporter, component.MustNewID("bench"), "logs")
	if err != nil {
		return nil, err
	}
	q := &stored{client: client}
	state, err := client.Get(ctx, "qmv0")
	if len(state) > 0 {
		q.from, q.to = binary.LittleEndian.Uint64(state), binary.LittleEndian.Uint64(state[8:])
	}
	return q, err
}

// commit writes the state of the queue, and other operations.
func (q *stored) commit(ops ...*storage.Operation) error {
	state := make([]byte, 30) // about as long as exporterhelper's state
	binary.LittleEndian.PutUint64(state, q.from)
	binary.LittleEndian.PutUint64(state[8:], q.to)
	return q.client.Batch(context.Background(), append(ops, storage.SetOperation("qmv0", state))...)
}

func (q *stored) put(items ...[]byte) error {
	var ops []*storage.Operation
	for _, item := range items {
		ops = append(ops, storage.SetOperation(strconv.FormatUint(q.to, 10), item))
		q.to++
	}
	return q.commit(ops...)
}

func (q *stored) take() ([]byte, error) {
	key := strconv.FormatUint(q.from, 10)
	q.from++
	got := storage.GetOperation(key)
	if err := q.commit(got); err != nil {
		return nil, err
	}
	return got.Value, q.commit(storage.DeleteOperation(key))
}

func (q *stored) close() error { return q.client.Close(context.Background()) }

func main() {
	kind := flag.String("storage", "sluice_storage", "the storage extension")
	size := flag.Int("size", 2<<20, "bytes of an item")
	items := flag.Int("items", 2048, "how many items")
	bulk := flag.Int("bulk", 1, "how many items are put at once")
	first := flag.Int("first", 0, "the number of the first item")
	most := flag.Duration("most", time.Hour, "end after this time")
	profile := flag.String("profile", "", "the file for a CPU profile")
	flag.Parse()
	log.SetFlags(0)
	if flag.NArg() != 2 || queues[*kind] == nil || *size < 8 {
		log.Fatal("usage: bench [flags] fill|drain DIR")
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	if err := run(*kind, *size, *bulk, *first, *items, *most, flag.Arg(0), flag.Arg(1)); err != nil {
		log.Fatal(err)
	}
}

func run(kind string, size, bulk, first, items int, most time.Duration, what, dir string) error {
	start := time.Now()
	q, err := queues[kind](dir)
	if err != nil {
		return err
	}
	opened := time.Since(start)
	batch := make([][]byte, bulk)
	for b := range batch {
		batch[b] = make([]byte, size)
		for i := range batch[b] {
			batch[b][i] = byte(rand.Uint32())
		}
	}
	half := int64(0)
	start = time.Now()
	done := 0
	for ; done < items && time.Since(start) < most; done++ {
		if done == items/2 {
			half = onDisk(dir)
		}
		i := first + done
		if what == "fill" {
			binary.LittleEndian.PutUint64(batch[done%bulk], uint64(i))
			if done%bulk == bulk-1 {
				err = q.put(batch...)
			}
		} else {
			var got []byte
			if got, err = q.take(); err == nil && (len(got) != size || binary.LittleEndian.Uint64(got) != uint64(i)) {
				err = fmt.Errorf("item %d is not what was put", i)
			}
		}
		if err != nil {
			return fmt.Errorf("%s, item %d: %w", what, i, err)
		}
	}
	seconds := time.Since(start).Seconds()
	end := onDisk(dir)
	if err := q.close(); err != nil {
		return err
	}
	fmt.Printf("%-14s %-5s %7d items of %7d B: open %.3f s, %.2f s, %.0f items/s, %.1f MB/s; resident %d MiB at most; on disk %d MiB at half, %d MiB at the end\n",
		kind, what, done, size, opened.Seconds(), seconds, float64(done)/seconds, float64(done)*float64(size)/seconds/1e6, resident(), half>>20, end>>20)
	return nil
}

// resident returns the largest resident memory so far in MiB.
func resident() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		return -1
	}
	return kib >> 10
}

// onDisk returns the bytes that the files in dir use.
func onDisk(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return n
}
