package main

import "context"

// A channel in a type of its own.
var _ = register(scenario{
	Name: "intake",
	About: "Four parsers pass records to one accumulator through a queue type, whose methods Put and Take hide a channel and " +
		"a context. An audit log uses the same type for a record per second. The methods are where the CPU time " +
		"goes; the parsers and the accumulator are what a person would change.",
	Channels: true,
	Sites:    []site{{selecting, "main.(*intake).parse"}, {selecting, "main.(*intake).accumulate"}},
	Right:    []string{batch},
	builds: map[string]build{
		asFound:      func(s *service) { startIntake(s, 128, 1, shared) },
		buffer:       func(s *service) { startIntake(s, 8192, 1, shared) },
		shard:        func(s *service) { startIntake(s, 128, intakeParsers, shared) },
		separateDone: func(s *service) { startIntake(s, 128, 1, context.WithCancel) },
		batch:        intakeInBatches,
	},
})

const (
	intakeParsers = 4
	intakeWork    = 20
	intakeBatch   = 64
)

// A hiddenQueue is a channel behind methods.
type hiddenQueue[T any] struct {
	values chan T
}

func newHiddenQueue[T any](slots int) *hiddenQueue[T] { return &hiddenQueue[T]{make(chan T, slots)} }

func (q *hiddenQueue[T]) Put(ctx context.Context, value T) error {
	select {
	case q.values <- value:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *hiddenQueue[T]) Take(ctx context.Context) (value T, err error) {
	select {
	case value = <-q.values:
		return value, nil
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

type intake struct {
	records []*hiddenQueue[uint64] // one, or one per parser
	audits  *hiddenQueue[uint64]
}

// shared gives each goroutine the same context.
func shared(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }

// startIntake starts the goroutines, each with a context from own.
func startIntake(s *service, slots, queues int, own func(context.Context) (context.Context, context.CancelFunc)) {
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(ctx, cancel) // it never ends
	mine := func() context.Context {
		ctx, cancel := own(ctx)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
	v := &intake{audits: newHiddenQueue[uint64](1)}
	for range queues {
		q := newHiddenQueue[uint64](slots)
		v.records = append(v.records, q)
		go v.accumulate(mine(), q, s.counter())
	}
	forever(intakeParsers, func(i int) { v.parse(mine(), v.records[i%queues], uint64(i)) })
	go v.audit(mine())
}

func (v *intake) parse(ctx context.Context, to *hiddenQueue[uint64], record uint64) {
	for {
		record = grind(record, intakeWork)
		if to.Put(ctx, record) != nil {
			return
		}
	}
}

func (v *intake) accumulate(ctx context.Context, from *hiddenQueue[uint64], done *counter) {
	var sums [16]uint64
	for {
		record, err := from.Take(ctx)
		if err != nil {
			return
		}
		sums[record%16] += record
		done.add(1)
	}
}

// audit waits for records that hardly ever come.
func (v *intake) audit(ctx context.Context) {
	for {
		record, err := v.audits.Take(ctx)
		if err != nil {
			return
		}
		sink(record)
	}
}

func intakeInBatches(s *service) {
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(ctx, cancel)
	q, done := newHiddenQueue[[]uint64](128), s.counter()
	forever(intakeParsers, func(i int) {
		for record := uint64(i); ; {
			records := make([]uint64, intakeBatch)
			for n := range records {
				record = grind(record, intakeWork)
				records[n] = record
			}
			if q.Put(ctx, records) != nil {
				return
			}
		}
	})
	go func() {
		var sums [16]uint64
		for {
			records, err := q.Take(ctx)
			if err != nil {
				return
			}
			for _, record := range records {
				sums[record%16] += record
			}
			done.add(len(records))
		}
	}()
}
