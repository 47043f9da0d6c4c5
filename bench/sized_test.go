package bench_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
)

const (
	sizedQueued = 960 // lines that are sent at once, and then received
	sizedBatch  = 64  // lines of a batch
	sizedLine   = 40  // bytes of a line
)

// sizedLines are lines of 40 bytes.
func sizedLines() []string {
	lines := make([]string, sizedQueued)
	for i := range lines {
		lines[i] = strings.Repeat("x", sizedLine)
	}
	return lines
}

// sizedSink has the batch that a body got last.
var sizedSink []string

// BenchmarkSizedReceive is what a line costs that is received in batches of 64, in one goroutine,
// with its share of a SendBatch. "count" has no limit in bytes, "hand" cuts its batches itself,
// "loose" has a limit that is never reached, "cut" one that makes each batch.
func BenchmarkSizedReceive(b *testing.B) {
	const limit = sizedBatch * sizedLine
	loops := map[string]func(context.Context, sluice.BatchReceiver[string]) *batch.Batches[string]{
		"count": func(ctx context.Context, r sluice.BatchReceiver[string]) *batch.Batches[string] {
			return batch.Receive(ctx, r, sizedBatch, nil)
		},
		"hand": func(ctx context.Context, r sluice.BatchReceiver[string]) *batch.Batches[string] {
			return batch.Receive(ctx, r, sizedBatch, nil)
		},
		"loose": func(ctx context.Context, r sluice.BatchReceiver[string]) *batch.Batches[string] {
			return batch.Receive(ctx, r, sizedBatch, &batch.Options[string]{MaxBytes: 1 << 40})
		},
		"cut": func(ctx context.Context, r sluice.BatchReceiver[string]) *batch.Batches[string] {
			return batch.Receive(ctx, r, 10*sizedBatch, &batch.Options[string]{MaxBytes: limit})
		},
	}
	for _, name := range []string{"count", "hand", "loose", "cut"} {
		b.Run(name, func(b *testing.B) {
			ctx, lines := context.Background(), sizedLines()
			c := sluice.NewBounded[string](1024, nil)
			_, _ = c.SendBatch(ctx, lines)
			received := 0
			b.ResetTimer()
			for vs := range loops[name](ctx, c).All() {
				if name == "hand" {
					cutByHand(vs, limit)
				}
				sizedSink = vs
				if received += len(vs); received%sizedQueued == 0 {
					if received >= b.N {
						break
					}
					_, _ = c.SendBatch(ctx, lines)
				}
			}
			sizedSink = nil
		})
	}
}

// cutByHand is what a program does that has batches by count only.
func cutByHand(vs []string, limit int) {
	first, sum := 0, 0
	for i, v := range vs {
		if sum+len(v) > limit && i > first {
			sizedSink = vs[first:i]
			first, sum = i, 0
		}
		sum += len(v)
	}
	sizedSink = vs[first:]
}

// BenchmarkSizedSend is what a line costs that is sent in batches of 64, in one goroutine, with
// its share of a RecvBatch.
func BenchmarkSizedSend(b *testing.B) {
	senders := map[string]func(sluice.BatchSender[string]) *batch.Sender[string]{
		"count": func(s sluice.BatchSender[string]) *batch.Sender[string] {
			return batch.NewSender(s, sizedBatch, nil)
		},
		"loose": func(s sluice.BatchSender[string]) *batch.Sender[string] {
			return batch.NewSender(s, sizedBatch, &batch.Options[string]{MaxBytes: 1 << 40})
		},
		"cut": func(s sluice.BatchSender[string]) *batch.Sender[string] {
			return batch.NewSender(s, 10*sizedBatch, &batch.Options[string]{MaxBytes: sizedBatch * sizedLine})
		},
	}
	for _, name := range []string{"count", "loose", "cut"} {
		b.Run(name, func(b *testing.B) {
			ctx, lines, buf := context.Background(), sizedLines(), make([]string, sizedQueued)
			c := sluice.NewBounded[string](1024, nil)
			s := senders[name](c)
			sent := 0
			for b.Loop() {
				if err := s.Send(ctx, lines[0]); err != nil {
					b.Fatal(err)
				}
				if sent++; sent%sizedQueued == 0 {
					_, _ = c.RecvBatch(ctx, buf)
				}
			}
		})
	}
}
