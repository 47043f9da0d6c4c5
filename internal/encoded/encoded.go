// Package encoded runs the conformance suite with elements of each type on channels that store
// bytes, such as those on a disk or a server. To such a channel a type of elements is its codec, and
// the codecs have tests of their own. So two instances of the channel are enough for the compiler, which
// needs seconds for each: one of numbers and one of bytes.
package encoded

import (
	"context"

	"github.com/sluice-go/sluice/sluicetest"
)

// With returns k with makers for strings, empty structs and giants, whose values travel through channels of
// bytes. open opens one for values of at most size bytes.
func With(k sluicetest.Kind, open func(size int) sluicetest.Channel[[]byte]) sluicetest.Kind {
	k.Strings = func() sluicetest.Channel[string] {
		return New(open(8), func(s string) []byte { return []byte(s) }, func(b []byte) string { return string(b) })
	}
	k.Empties = func() sluicetest.Channel[struct{}] {
		return New(open(0), func(struct{}) []byte { return nil }, func([]byte) struct{} { return struct{}{} })
	}
	k.Giants = func() sluicetest.Channel[sluicetest.Giant] {
		return New(open(len(sluicetest.Giant{})), func(g sluicetest.Giant) []byte { return g[:] },
			func(b []byte) sluicetest.Giant { return sluicetest.Giant(b) })
	}
	return k
}

// New returns a channel of values that c has as bytes.
func New[T any](c sluicetest.Channel[[]byte], encode func(T) []byte, decode func([]byte) T) sluicetest.Channel[T] {
	return channel[T]{c, encode, decode}
}

type channel[T any] struct {
	sluicetest.Channel[[]byte]
	encode func(T) []byte
	decode func([]byte) T
}

func (c channel[T]) Send(ctx context.Context, v T) error { return c.Channel.Send(ctx, c.encode(v)) }
func (c channel[T]) TrySend(v T) error                   { return c.Channel.TrySend(c.encode(v)) }

func (c channel[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	encoded := make([][]byte, len(vs))
	for i, v := range vs {
		encoded[i] = c.encode(v)
	}
	return c.Channel.SendBatch(ctx, encoded)
}

func (c channel[T]) Recv(ctx context.Context) (T, error) { return c.decoded(c.Channel.Recv(ctx)) }
func (c channel[T]) TryRecv() (T, error)                 { return c.decoded(c.Channel.TryRecv()) }

func (c channel[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	encoded := make([][]byte, len(buf))
	n, err := c.Channel.RecvBatch(ctx, encoded)
	for i, b := range encoded[:max(n, 0)] {
		buf[i] = c.decode(b)
	}
	return n, err
}

func (c channel[T]) decoded(b []byte, err error) (v T, _ error) {
	if err == nil {
		v = c.decode(b)
	}
	return v, err
}
