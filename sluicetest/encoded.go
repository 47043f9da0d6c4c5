package sluicetest

import "context"

// OverBytes returns k with makers for strings, empty structs and giants, whose values travel through
// channels of bytes. It is for a kind that stores bytes, such as on a disk or a server: to that a type of
// elements is its codec, and two instances of the kind are enough, one of numbers and one of
// bytes. The compiler needs seconds for each. open opens a channel of values of at most size bytes.
func (k Kind) OverBytes(open func(size int) Channel[[]byte]) Kind {
	k.Strings = func() Channel[string] {
		return Encoded(open(8), func(s string) []byte { return []byte(s) }, func(b []byte) string { return string(b) })
	}
	k.Empties = func() Channel[struct{}] {
		return Encoded(open(0), func(struct{}) []byte { return nil }, func([]byte) struct{} { return struct{}{} })
	}
	k.Giants = func() Channel[Giant] {
		return Encoded(open(len(Giant{})), func(g Giant) []byte { return g[:] }, func(b []byte) Giant { return Giant(b) })
	}
	return k
}

// Encoded returns a channel of the values that c has as bytes.
func Encoded[T any](c Channel[[]byte], encode func(T) []byte, decode func([]byte) T) Channel[T] {
	return encoded[T]{c, encode, decode}
}

type encoded[T any] struct {
	Channel[[]byte]
	encode func(T) []byte
	decode func([]byte) T
}

func (c encoded[T]) Send(ctx context.Context, v T) error { return c.Channel.Send(ctx, c.encode(v)) }
func (c encoded[T]) TrySend(v T) error                   { return c.Channel.TrySend(c.encode(v)) }

func (c encoded[T]) SendBatch(ctx context.Context, vs []T) (int, error) {
	bytes := make([][]byte, len(vs))
	for i, v := range vs {
		bytes[i] = c.encode(v)
	}
	return c.Channel.SendBatch(ctx, bytes)
}

func (c encoded[T]) Recv(ctx context.Context) (T, error) { return c.decoded(c.Channel.Recv(ctx)) }
func (c encoded[T]) TryRecv() (T, error)                 { return c.decoded(c.Channel.TryRecv()) }

func (c encoded[T]) RecvBatch(ctx context.Context, buf []T) (int, error) {
	bytes := make([][]byte, len(buf))
	n, err := c.Channel.RecvBatch(ctx, bytes)
	for i, b := range bytes[:max(n, 0)] {
		buf[i] = c.decode(b)
	}
	return n, err
}

func (c encoded[T]) decoded(b []byte, err error) (v T, _ error) {
	if err == nil {
		v = c.decode(b)
	}
	return v, err
}
