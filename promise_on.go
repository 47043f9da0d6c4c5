//go:build race || sluicecheck

package sluice

import (
	"context"
	"sync/atomic"

	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/internal/shard"
)

// keepPromises puts a check before the engine of a channel whose user promised
// a single sender or receiver. It exists in programs built with -race or -tags
// sluicecheck.
func keepPromises[T any](config engine.Config[T], build func(engine.Config[T]) engine.Engine[T]) engine.Engine[T] {
	if !config.SingleSender && !config.SingleReceiver {
		return build(config)
	}
	p := new(promised[T])
	const madeWith = "a channel made with Options."
	p.sending.made, p.sending.where = config.SingleSender, madeWith+"SingleSender"
	p.receiving.made, p.receiving.where = config.SingleReceiver, madeWith+"SingleReceiver"
	if onDrop := config.OnDrop; onDrop != nil {
		config.OnDrop = during(&p.sending, onDrop)
	}
	p.Engine = build(config)
	return p
}

// promised is an engine whose callers are counted.
type promised[T any] struct {
	engine.Engine[T]
	sending, receiving promise
}

// A promise is that at most one goroutine at a time is inside.
type promise struct {
	where  string
	made   bool
	inside atomic.Int32
}

// enter counts the caller, or panics and does not: a program that recovers can
// use the channel once the goroutine inside has left.
func (p *promise) enter(method string) {
	if p.made && !p.inside.CompareAndSwap(0, 1) {
		p.broken(method)
	}
}

// comeBack is enter for a caller who will leave even if it panics, so it counts
// the caller even then.
func (p *promise) comeBack(method string) {
	if p.made && p.inside.Add(1) > 1 {
		p.broken(method)
	}
}

func (p *promise) broken(method string) {
	panic("sluice: " + method + ": a second goroutine on " + p.where)
}

// during is onDrop as called by a send that is over but for this call, which may
// use the channel.
func during[T any](sending *promise, onDrop func(T)) func(T) {
	return func(v T) {
		sending.leave()
		defer sending.comeBack("Send")
		onDrop(v)
	}
}

func (p *promise) leave() {
	if p.made {
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

// keepLanePromise puts a check before a lane, which is for one sender.
func keepLanePromise[T any](lane *shard.Handle[T]) engine.Sender[T] {
	p := &promisedLane[T]{Sender: lane.Sender()}
	p.sending.made, p.sending.where = true, "a Lane, which is for one"
	if onDrop := lane.OnDrop; onDrop != nil {
		lane.OnDrop = during(&p.sending, onDrop)
	}
	return p
}

// promisedLane is a lane whose senders are counted.
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
