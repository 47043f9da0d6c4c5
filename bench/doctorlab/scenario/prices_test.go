package main

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/sluice-go/sluice"
)

// The benchmarks of this file measure prices that the lab does not, for the
// doctor's predictions.
//
//	go test ./bench/doctorlab/scenario -run '^$' -bench Price -cpu 2 -count 5

// burst is the number of values that a sender of an unbounded queue is ahead at
// most.
const burst = 10_000

// BenchmarkPricePump is one value through two channels and the goroutine between
// them, and through what replaces it.
func BenchmarkPricePump(b *testing.B) {
	for _, senders := range []int{1, 8} {
		b.Run(fmt.Sprintf("goroutine/senders=%d", senders), func(b *testing.B) {
			in, out := make(chan int), make(chan int)
			go pumping(in, out)
			flood(b, senders, func(v int) { in <- v }, func() int { return <-out })
			close(in)
		})
		b.Run(fmt.Sprintf("buffered/senders=%d", senders), func(b *testing.B) {
			in, out := make(chan int, 128), make(chan int, 128)
			go pumping(in, out)
			flood(b, senders, func(v int) { in <- v }, func() int { return <-out })
			close(in)
		})
		b.Run(fmt.Sprintf("elastic/senders=%d", senders), func(b *testing.B) {
			queue, ctx := sluice.NewElastic[int](sluice.Unlimited, nil), context.Background()
			flood(b, senders, func(v int) { _ = queue.Send(ctx, v) }, func() int { v, _ := queue.Recv(ctx); return v })
		})
		b.Run(fmt.Sprintf("mutex/senders=%d", senders), func(b *testing.B) {
			var mu sync.Mutex
			var queue []int
			filled := sync.NewCond(&mu)
			flood(b, senders, func(v int) {
				mu.Lock()
				queue = append(queue, v)
				mu.Unlock()
				filled.Signal()
			}, func() int {
				mu.Lock()
				for len(queue) == 0 {
					filled.Wait()
				}
				v := queue[0]
				queue = queue[1:]
				mu.Unlock()
				return v
			})
		})
	}
}

// pumping forwards values, and keeps those that out does not take.
func pumping(in <-chan int, out chan<- int) {
	var queue []int
	for {
		var first int
		var to chan<- int
		if len(queue) > 0 {
			first, to = queue[0], out
		}
		select {
		case v, ok := <-in:
			if !ok {
				return
			}
			queue = append(queue, v)
		case to <- first:
			queue = queue[1:]
		}
	}
}

// flood sends b.N values in bursts and receives them.
func flood(b *testing.B, senders int, send func(int), receive func() int) {
	turn := make(chan int, senders)
	for range senders {
		go func() {
			for n := range turn {
				for v := range n {
					send(v)
				}
			}
		}()
	}
	b.ResetTimer()
	for left := b.N; left > 0; {
		n := min(left, burst)
		left -= n
		for i := range senders {
			turn <- n*(i+1)/senders - n*i/senders
		}
		for range n {
			receive()
		}
	}
	close(turn)
}

// BenchmarkPriceAsk is one request and its response over two channels, and a
// function call under a mutex instead.
func BenchmarkPriceAsk(b *testing.B) {
	type request struct {
		key    int
		answer chan int
	}
	for _, callers := range []int{1, 8} {
		for _, fresh := range []bool{false, true} {
			b.Run(fmt.Sprintf("channels/callers=%d/new=%v", callers, fresh), func(b *testing.B) {
				requests, table := make(chan request), map[int]int{}
				go func() {
					for r := range requests {
						table[r.key]++
						r.answer <- table[r.key]
					}
				}()
				calling(b, callers, func() func(int) {
					answer := make(chan int, 1)
					return func(key int) {
						if fresh {
							answer = make(chan int, 1)
						}
						requests <- request{key, answer}
						<-answer
					}
				})
				close(requests)
			})
		}
		b.Run(fmt.Sprintf("mutex/callers=%d", callers), func(b *testing.B) {
			var mu sync.Mutex
			table := map[int]int{}
			calling(b, callers, func() func(int) {
				return func(key int) {
					mu.Lock()
					table[key]++
					mu.Unlock()
				}
			})
		})
	}
}

// calling makes b.N calls from several goroutines.
func calling(b *testing.B, callers int, caller func() func(int)) {
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			call := caller()
			for n := range b.N*(i+1)/callers - b.N*i/callers {
				call(n % 512)
			}
		})
	}
	all.Wait()
}

// BenchmarkPriceSpawn is a goroutine for each value, 64 at a time, and one for
// eight values.
func BenchmarkPriceSpawn(b *testing.B) {
	for _, each := range []int{1, 8} {
		b.Run(fmt.Sprintf("values=%d", each), func(b *testing.B) {
			var all sync.WaitGroup
			results := make([]int, 64)
			for n := 0; n < b.N; n += len(results) {
				for at := 0; at < len(results); at += each {
					all.Add(1)
					go func() {
						for i := range each {
							results[at+i]++
						}
						all.Done()
					}()
				}
				all.Wait()
			}
		})
	}
}

const valuesPerSlice = 64

// BenchmarkPriceBatch is one value in a new slice, by its size.
func BenchmarkPriceBatch(b *testing.B) {
	b.Run("8", func(b *testing.B) { batched[[1]int](b) })
	b.Run("64", func(b *testing.B) { batched[[8]int](b) })
	b.Run("256", func(b *testing.B) { batched[[32]int](b) })
	b.Run("plain/8", func(b *testing.B) { plain[[1]int](b) })
	b.Run("plain/64", func(b *testing.B) { plain[[8]int](b) })
	b.Run("plain/256", func(b *testing.B) { plain[[32]int](b) })
}

func plain[T any](b *testing.B) {
	values := make(chan T, 128)
	go func() {
		var v T
		for range b.N {
			values <- v
		}
		close(values)
	}()
	for range values {
	}
}

func batched[T any](b *testing.B) {
	batches := make(chan []T, 4)
	go func() {
		var v T
		for n := 0; n < b.N; n += valuesPerSlice {
			values := make([]T, 0, valuesPerSlice)
			for range valuesPerSlice {
				values = append(values, v)
			}
			batches <- values
		}
		close(batches)
	}()
	for values := range batches {
		for i := range values {
			_ = values[i]
		}
	}
}
