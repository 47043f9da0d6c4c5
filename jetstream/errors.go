package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// What operations can fail with besides the errors of package sluice and that of
// their context. Compare with [errors.Is].
var (
	// ErrUnknown: whether the value is stored is not known. See [UnknownError].
	ErrUnknown = errors.New("jetstream: not known whether the value is stored")
	// ErrShutdown: this process has left the channel, which goes on without it. What
	// failed with it has not happened.
	ErrShutdown = errors.New("jetstream: this process has left the channel")
	// ErrDeleted: somebody deleted the channel at the servers. What failed with it has
	// not happened.
	ErrDeleted = errors.New("jetstream: the channel is gone from the servers")
	// ErrTooLate: the window in which a repetition is known for one is over, so
	// to repeat might store the value twice.
	ErrTooLate = errors.New("jetstream: too late to repeat without risk")
	// ErrExpired: the delivery was without a sign of life for so long, or in hand
	// for longer than Options.MaxInProgress, that somebody else may have it by now.
	// Nothing was told to the servers.
	ErrExpired = errors.New("jetstream: the delivery has lapsed")
	// ErrSettled: the delivery was acknowledged, or given back, before.
	ErrSettled = errors.New("jetstream: the delivery is settled already")
)

// An UnknownError is what Send fails with when it does not know whether the value is
// stored: the answer did not come, and the servers could not be asked again. It is
// ErrUnknown and nothing else, whatever the Cause is: a Send that failed because of
// its context, or because the channel is closed or full, stored nothing.
type UnknownError struct {
	Cause error
	// Values is how many it is about: 1 of Send, and of SendBatch the length of the
	// run after those that are known to be stored. Retry stores all of them.
	Values int
	again  func(ctx context.Context) error
}

func (e *UnknownError) Error() string { return fmt.Sprintf("%v: %v", ErrUnknown, e.Cause) }

// Is says that e is ErrUnknown. There is no Unwrap: see [UnknownError].
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }

// Retry sends what that Send had sent, under the same identity: if it was stored, it
// is not stored again. It fails as Send does, and with ErrTooLate, without asking,
// once half of the window Options.DedupeWindow has passed since the Send.
func (e *UnknownError) Retry(ctx context.Context) error { return e.again(ctx) }

// outcome is what is known after an attempt to store something.
type outcome uint8

const (
	stored  outcome = iota
	absent          // not stored: nobody was there to do it
	full            // not stored: no room
	refused         // not stored, and never will be
	sealed          // not stored: closed
	unknown
)

// What servers answer, by their error codes; the client has no names for them.
const (
	codeTooLarge        = 10054
	codeStoreFailed     = 10077
	codeSealed          = 10109
	codeBatchesDisabled = 10174
	codeBatchIncomplete = 10176
	codeBatchTooLarge   = 10199
	codeBatchDuplicate  = 10201
	codeBatchTooMany    = 10210

	textFullValues = "maximum messages exceeded"
	textFullBytes  = "maximum bytes exceeded"
)

// judge says what the answer to an attempt means.
func judge(err error) outcome {
	if err == nil {
		return stored
	}
	if api := (*natsjs.APIError)(nil); errors.As(err, &api) {
		switch api.ErrorCode {
		case codeSealed:
			return sealed
		case codeBatchDuplicate:
			return stored
		case codeBatchIncomplete, codeBatchTooMany:
			return absent
		case codeTooLarge, codeBatchesDisabled, codeBatchTooLarge:
			return refused
		case codeStoreFailed:
			if api.Description == textFullValues || api.Description == textFullBytes {
				return full
			}
		}
		return unknown
	}
	for _, never := range []error{
		natsjs.ErrNoStreamResponse, nats.ErrNoResponders, nats.ErrReconnectBufExceeded, nats.ErrDisconnected,
	} {
		if errors.Is(err, never) {
			return absent
		}
	}
	// Not ErrConnectionClosed: that of a request that waits for its answer is the same as of
	// one that was not written.
	for _, never := range []error{ErrShutdown, nats.ErrConnectionDraining, nats.ErrMaxPayload} {
		if errors.Is(err, never) {
			return refused
		}
	}
	return unknown
}

// refusal is the error of an attempt that was refused.
func refusal(err error) error {
	api := (*natsjs.APIError)(nil)
	switch {
	case errors.Is(err, ErrShutdown), errors.Is(err, nats.ErrConnectionDraining):
		return ErrShutdown
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", sluice.ErrTooLarge, err)
	case errors.As(err, &api) && api.ErrorCode == codeTooLarge:
		return fmt.Errorf("%w: %w", sluice.ErrTooLarge, err)
	}
	return err
}

// contextError keeps the promise that a context's error is returned as it is, and
// never nil.
func contextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}

// attempt is the longest that one attempt to store something waits for its answer.
// An election takes longer; the next attempt finds the new leader.
const attempt = 2 * time.Second
