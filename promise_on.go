//go:build race || sluicecheck

package sluice

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/shard"
)

// keepPromises wraps the engine of a channel whose options promise a single sender or
// receiver in a check. It exists in programs built with -race or -tags sluicecheck.
func keepPromises[T any](config engine.Config[T], build func(engine.Config[T]) engine.Engine[T]) engine.Engine[T] {
	if !config.SingleSender && !config.SingleReceiver {
		return build(config)
	}
	p := new(promised[T])
	if config.SingleSender {
		p.sending.by = bySingleSender
	}
	if config.SingleReceiver {
		p.receiving.by = bySingleReceiver
	}
	if onDrop := config.OnDrop; onDrop != nil {
		config.OnDrop = during(&p.sending, onDrop)
	}
	p.Engine = build(config)
	if l, ok := p.Engine.(engine.Lender[T]); ok {
		return &promisedLender[T]{p, l}
	}
	return p
}

// promisedLender is a promised whose engine lends.
type promisedLender[T any] struct {
	*promised[T]
	lender engine.Lender[T]
}

func (p *promisedLender[T]) Lends(size int) bool { return p.lender.Lends(size) }

func (p *promisedLender[T]) Lend(ctx context.Context, vs []T) (int, []T, bool, error) {
	p.sending.enter("SendBatch")
	defer p.sending.leave()
	return p.lender.Lend(ctx, vs)
}

func (p *promisedLender[T]) TryLend(vs []T) ([]T, bool) {
	p.sending.enter("SendBatch")
	defer p.sending.leave()
	return p.lender.TryLend(vs)
}

func (p *promisedLender[T]) RecvLent(ctx context.Context, buf []T, loan *engine.Loan[T]) (int, error) {
	p.receiving.enter("RecvBatch")
	defer p.receiving.leave()
	return p.lender.RecvLent(ctx, buf, loan)
}

// promised is an engine that counts the goroutines inside.
type promised[T any] struct {
	engine.Engine[T]
	sending, receiving promise
}

// A promise is that at most one goroutine at a time is inside.
type promise struct {
	by     promiser
	inside atomic.Int32
}

// A promiser is what made a promise.
type promiser uint8

const (
	noPromise promiser = iota
	bySingleSender
	bySingleReceiver
	byLane
)

// promisedBy is the end of the message of a panic.
var promisedBy = [...]string{
	bySingleSender:   "a channel whose options promise SingleSender",
	bySingleReceiver: "a channel whose options promise SingleReceiver",
	byLane:           "a Lane, which is for one sender",
}

// enter counts the caller. If it panics it does not: a program that recovers can use the
// channel once the goroutine inside has left.
func (p *promise) enter(method string) {
	if p.by != noPromise && !p.inside.CompareAndSwap(0, 1) {
		p.broken(method)
	}
}

// reenter is enter for a caller that leaves even if reenter panics, so it counts the caller
// even then.
func (p *promise) reenter(method string) {
	if p.by != noPromise && p.inside.Add(1) > 1 {
		p.broken(method)
	}
}

func (p *promise) broken(method string) {
	panic("sluice: " + method + ": a second goroutine uses " + promisedBy[p.by])
}

// during returns onDrop for a send that is finished except for this call, which may use
// the channel.
func during[T any](sending *promise, onDrop func(T)) func(T) {
	return func(v T) {
		sending.leave()
		defer sending.reenter("Send")
		onDrop(v)
	}
}

func (p *promise) leave() {
	if p.by != noPromise {
		p.inside.Add(-1)
	}
}

func (p *promised[T]) Send(ctx context.Context, v T) error {
	p.sending.enter("Send")
	defer p.sending.leave()
	return p.Engine.Send(ctx, v)
}

func (p *promised[T]) TrySend(v T) error {
	p.sending.enter("TrySend")
	defer p.sending.leave()
	return p.Engine.TrySend(v)
}

func (p *promised[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	p.sending.enter("SendBatch")
	defer p.sending.leave()
	return p.Engine.SendBatch(ctx, vs)
}

func (p *promised[T]) Recv(ctx context.Context) (T, error) {
	p.receiving.enter("Recv")
	defer p.receiving.leave()
	return p.Engine.Recv(ctx)
}

func (p *promised[T]) TryRecv() (T, error) {
	p.receiving.enter("TryRecv")
	defer p.receiving.leave()
	return p.Engine.TryRecv()
}

func (p *promised[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	p.receiving.enter("RecvBatch")
	defer p.receiving.leave()
	return p.Engine.RecvBatch(ctx, buf)
}

// keepLanePromise wraps a lane, which is for one sender, in a check.
func keepLanePromise[T any](lane *shard.Handle[T]) engine.Sender[T] {
	p := &promisedLane[T]{Sender: lane.Sender()}
	p.sending.by = byLane
	if onDrop := lane.OnDrop; onDrop != nil {
		lane.OnDrop = during(&p.sending, onDrop)
	}
	return p
}

// promisedLane is a lane that counts the goroutines inside.
type promisedLane[T any] struct {
	engine.Sender[T]
	sending promise
}

func (p *promisedLane[T]) Send(ctx context.Context, v T) error {
	p.sending.enter("Send")
	defer p.sending.leave()
	return p.Sender.Send(ctx, v)
}

func (p *promisedLane[T]) TrySend(v T) error {
	p.sending.enter("TrySend")
	defer p.sending.leave()
	return p.Sender.TrySend(v)
}

func (p *promisedLane[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	p.sending.enter("SendBatch")
	defer p.sending.leave()
	return p.Sender.SendBatch(ctx, vs)
}
