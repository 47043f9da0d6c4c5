package sluice

import "context"

// A Chan is what every kind is: both ends at once.
type Chan[T any] interface {
	Sender[T]
	Receiver[T]
	SendBatch(ctx context.Context, vs []T) (n int, err error)
	RecvBatch(ctx context.Context, buf []T) (n int, err error)
	Ready() <-chan struct{}
	Len() int
	Cap() int
	Stats() Stats
}

// Native is a pair of built-in channels over a channel of any kind: values sent
// on S come out of R. Closing S lets the rest be delivered and then closes R.
type Native[T any] struct {
	S chan<- T
	R <-chan T
}
