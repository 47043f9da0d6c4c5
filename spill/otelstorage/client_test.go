package otelstorage

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/storagetest"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/sluice-go/sluice/spill/internal/disk"
	"github.com/sluice-go/sluice/spill/internal/simdisk"
)

var ctx = context.Background()

// newClient opens a client on d.
func newClient(t *testing.T, d disk.Disk, config Config) *client {
	t.Helper()
	c := &client{disk: d, config: &config, logger: zap.NewNop()}
	if err := c.open(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

// contents returns what Walk finds.
func contents(t *testing.T, c storage.Walker) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := c.Walk(ctx, func(key string, value []byte) ([]*storage.Operation, error) {
		if _, twice := found[key]; twice {
			t.Errorf("Walk returns key %q twice", key)
		}
		found[key] = string(value)
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestModel runs random programs on a client and on the Collector's client in memory, with crashes.
func TestModel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			d := simdisk.New()
			c := newClient(t, d, Config{})
			model := storagetest.NewInMemoryClient(component.KindExporter, component.MustNewID("test"), "")
			key := func() string {
				return []string{"qmv0", "x", "01", "-1", "", strconv.Itoa(random.IntN(20)), strconv.Itoa(100 + random.IntN(300))}[random.IntN(7)]
			}
			operation := func() *storage.Operation {
				switch random.IntN(5) {
				case 0:
					return storage.GetOperation(key())
				case 1:
					return storage.DeleteOperation(key())
				}
				return storage.SetOperation(key(), binary.LittleEndian.AppendUint64(make([]byte, random.IntN(100)), random.Uint64()))
			}
			for range 300 {
				switch random.IntN(30) {
				case 0:
					if got, want := contents(t, c), contents(t, model); !maps.Equal(got, want) {
						t.Fatalf("Walk returns %d keys, want %d", len(got), len(want))
					}
					continue
				case 1:
					if err := c.Close(ctx); err != nil {
						t.Fatal(err)
					}
					c = newClient(t, d, Config{})
				case 2:
					d = d.After(simdisk.Crash(random.IntN(3)), random)
					c = newClient(t, d, Config{})
				}
				var ops, wanted []*storage.Operation
				for range 1 + random.IntN(5) {
					op := operation()
					copied := *op
					ops, wanted = append(ops, op), append(wanted, &copied)
				}
				if err := errors.Join(c.Batch(ctx, ops...), model.Batch(ctx, wanted...)); err != nil {
					t.Fatal(err)
				}
				for i, op := range ops {
					if (op.Value == nil) != (wanted[i].Value == nil) || !bytes.Equal(op.Value, wanted[i].Value) {
						t.Fatalf("operation %d on %q: %x, want %x", op.Type, op.Key, op.Value, wanted[i].Value)
					}
				}
			}
			if got, want := contents(t, c), contents(t, model); !maps.Equal(got, want) {
				t.Fatalf("Walk returns %d keys, want %d", len(got), len(want))
			}
			var live uint64
			for range contents(t, c) {
				live++
			}
			if err := c.Batch(ctx); err != nil || len(c.stale) > 0 {
				t.Fatalf("after all was read and a batch, %d records are stale; %v", len(c.stale), err)
			}
			records, err := c.log.Read(0, c.next, 1<<30)
			if err != nil || uint64(len(records)) != live {
				t.Fatalf("the log has %d records for %d keys; %v", len(records), live, err)
			}
		})
	}
}

// testQueue uses a client as the sending queue of an exporter does.
type testQueue struct {
	*client
	from, to uint64
}

func (q *testQueue) state() *storage.Operation {
	return storage.SetOperation("qmv0", binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, q.from), q.to))
}

func (q *testQueue) put(item []byte) error {
	q.to++
	err := q.Batch(ctx, q.state(), storage.SetOperation(strconv.FormatUint(q.to-1, 10), item))
	if err != nil {
		q.to--
	}
	return err
}

func (q *testQueue) take() ([]byte, error) {
	get := storage.GetOperation(strconv.FormatUint(q.from, 10))
	q.from++
	if err := q.Batch(ctx, q.state(), get); err != nil {
		return nil, err
	}
	return get.Value, q.Batch(ctx, q.state(), storage.DeleteOperation(get.Key))
}

// TestFullDisk fills a disk, of which other programs take what is left. The queue can be drained, even
// after a restart, and then be filled again. Without its spare file it cannot be drained.
func TestFullDisk(t *testing.T) {
	for _, size := range []int{200, 1000, 100_000, 2 << 20} {
		for _, restart := range []bool{false, true} {
			for _, spare := range []bool{true, false} {
				if size == 2<<20 && !spare {
					continue // each file that is deleted makes room for the next states
				}
				t.Run(fmt.Sprint(size, restart, spare), func(t *testing.T) {
					d := simdisk.New()
					d.Limit, d.Block = 30<<20, 4096
					q := &testQueue{client: newClient(t, d, Config{})}
					var err error
					for err == nil {
						err = q.put(bytes.Repeat([]byte{byte(q.to)}, size))
					}
					if !errors.Is(err, storage.ErrStorageFull) || !errors.Is(err, syscall.ENOSPC) {
						t.Fatal(err)
					}
					if !spare {
						q.spare = false
						if err := d.Remove(spareFile); err != nil {
							t.Fatal(err)
						}
					}
					other, err := d.Create("other")
					for at := int64(0); err == nil; at += 4096 {
						_, err = other.WriteAt(make([]byte, 4096), at)
					}
					if restart {
						if err := q.Close(ctx); err != nil {
							t.Fatal(err)
						}
						q.client = newClient(t, d, Config{})
					}
					for q.from < q.to {
						want := bytes.Repeat([]byte{byte(q.from)}, size)
						got, err := q.take()
						if !spare && errors.Is(err, storage.ErrStorageFull) {
							return
						}
						if err != nil || !bytes.Equal(got, want) {
							t.Fatalf("item %d of %d: %v", q.from-1, q.to, err)
						}
					}
					if !spare {
						t.Fatal("drained without the spare file")
					}
					q.tried = time.Time{}
					if err := q.put(make([]byte, size)); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	}
}

func TestMaxSize(t *testing.T) {
	const limit = 4 << 20
	q := &testQueue{client: newClient(t, simdisk.New(), Config{MaxSize: limit})}
	for range 3 {
		var err error
		for err == nil {
			err = q.put(make([]byte, 10_000))
			if q.log.Size() > limit {
				t.Fatalf("the log has %d bytes", q.log.Size())
			}
		}
		if !errors.Is(err, storage.ErrStorageFull) || q.to-q.from < 300 {
			t.Fatalf("%d items fit; %v", q.to-q.from, err)
		}
		old := strconv.FormatUint(q.from, 10)
		if err := q.Batch(ctx, storage.DeleteOperation(old), storage.SetOperation("a new key", nil)); err != nil {
			t.Fatalf("a batch that adds a key and deletes one: %v", err)
		}
		if err := q.Batch(ctx, storage.DeleteOperation("a new key"), storage.SetOperation(old, make([]byte, 10_000))); err != nil {
			t.Fatal(err)
		}
		for q.from < q.to {
			if got, err := q.take(); err != nil || len(got) != 10_000 {
				t.Fatal(len(got), err)
			}
		}
	}
}

// TestOpenReads opens a queue with a backlog: that reads little, and draining reads each record once.
func TestOpenReads(t *testing.T) {
	for _, size := range []int{1000, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			d := simdisk.New()
			q := &testQueue{client: newClient(t, d, Config{})}
			for q.to < 40<<20/uint64(size) {
				if err := q.put(make([]byte, size)); err != nil {
					t.Fatal(err)
				}
			}
			d = d.After(simdisk.Killed, nil)
			d.ForgetReads()
			q.client = newClient(t, d, Config{})
			if _, err := q.Get(ctx, "qmv0"); err != nil {
				t.Fatal(err)
			}
			if read := d.Usage().BytesRead; read > 3*segment {
				t.Errorf("open reads %d bytes of %d", read, q.log.Size())
			}
			d.ForgetReads()
			for q.from < q.to {
				if _, err := q.take(); err != nil {
					t.Fatal(err)
				}
				if n := len(q.keys.blocks); n > 10 {
					t.Fatalf("%d blocks of keys are in memory", n)
				}
			}
			// Once for the places of records, and once for the records.
			if read := d.Usage().BytesRead; read > 3*40<<20 {
				t.Errorf("draining reads %d bytes", read)
			}
			if size := d.Usage().Size; size > 4*segment {
				t.Errorf("the empty queue uses %d bytes", size)
			}
		})
	}
}

// TestFailedSync makes the result of a batch unknown. The next call opens the log again, and all
// that was stored is there.
func TestFailedSync(t *testing.T) {
	d := simdisk.New()
	q := &testQueue{client: newClient(t, d, Config{})}
	for range 100 {
		if err := q.put([]byte("item")); err != nil {
			t.Fatal(err)
		}
	}
	d.Fail = func(op, _ string) error {
		if op == "sync" {
			return syscall.EIO
		}
		return nil
	}
	for range 3 {
		if err := q.Set(ctx, "key", nil); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
	}
	d.Fail = nil
	for q.from < q.to {
		if got, err := q.take(); err != nil || string(got) != "item" {
			t.Fatalf("item %d: %q, %v", q.from-1, got, err)
		}
	}
}

// TestDamage changes a byte of a record. It is reported and missing, and all others are there. A
// store that cannot be opened is repaired if recreate is set.
func TestDamage(t *testing.T) {
	d := simdisk.New()
	q := &testQueue{client: newClient(t, d, Config{})}
	for i := range 100 {
		if err := q.put(fmt.Appendf(nil, "item %d!", i)); err != nil {
			t.Fatal(err)
		}
	}
	name := "0000000000000001.log"
	data := d.Contents()[name]
	data[bytes.Index(data, []byte("item 50!"))]++
	for _, where := range []string{"read", "open"} {
		t.Run(where, func(t *testing.T) {
			d := d.After(simdisk.Killed, nil)
			config := Config{}
			if where == "read" {
				// Close writes a checkpoint, so that opening does not read the record.
				if err := newClient(t, d, config).Close(ctx); err != nil {
					t.Fatal(err)
				}
				d.Put(name, bytes.Clone(data))
			} else {
				d.Put(name, bytes.Clone(data))
				err := (&client{disk: d, config: &config, logger: zap.NewNop()}).open(ctx)
				if err == nil || !bytes.Contains([]byte(err.Error()), []byte("set recreate")) {
					t.Fatal(err)
				}
				config.Recreate = true
			}
			core, messages := observer.New(zap.ErrorLevel)
			c := &client{disk: d, config: &config, logger: zap.New(core)}
			if err := c.open(ctx); err != nil {
				t.Fatal(err)
			}
			for i := range 100 {
				want := fmt.Sprintf("item %d!", i)
				if i == 50 {
					want = ""
				}
				if got, err := c.Get(ctx, strconv.Itoa(i)); err != nil || string(got) != want {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			}
			if messages.Len() != 1 {
				t.Errorf("%d messages", messages.Len())
			}
		})
	}
}

func TestOperations(t *testing.T) {
	c := newClient(t, simdisk.New(), Config{})
	if err := c.Batch(ctx, storage.SetOperation("1", []byte("a")), &storage.Operation{Key: "2", Type: 9}); !errors.Is(err, errOperation) {
		t.Errorf("unknown operation: %v", err)
	}
	if got, err := c.Get(ctx, "1"); got != nil || err != nil {
		t.Errorf("a batch that failed has set a key: %q, %v", got, err)
	}
	for i := range 5 {
		if err := c.Set(ctx, strconv.Itoa(i), []byte("a")); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("stop")
	for _, test := range []struct {
		end  error
		want int // keys afterwards
	}{{stop, 5}, {storage.SkipAll, 4}, {nil, 0}} {
		err := c.Walk(ctx, func(key string, _ []byte) ([]*storage.Operation, error) {
			return []*storage.Operation{storage.DeleteOperation(key)}, test.end
		})
		if got := len(contents(t, c)); got != test.want || err != nil && err != stop {
			t.Errorf("Walk that ends with %v: %d keys, want %d; %v", test.end, got, test.want, err)
		}
	}
	for range 2 {
		if err := c.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Get(ctx, "1"); !errors.Is(err, errClosed) {
		t.Errorf("Get of a closed client: %v", err)
	}
}
