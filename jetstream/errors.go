package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

// The errors of this package. Operations also return the errors of package sluice and
// the error of their context. Compare with [errors.Is].
var (
	// ErrUnknown means that it is unknown whether the value is stored. See [UnknownError].
	ErrUnknown = errors.New("jetstream: unknown whether the value is stored")
	// ErrShutdown means that this process has called Shutdown. The operation had no effect.
	ErrShutdown = errors.New("jetstream: the channel is shut down in this process")
	// ErrDeleted means that the stream of the channel was deleted from the servers. The
	// operation had no effect.
	ErrDeleted = errors.New("jetstream: the channel was deleted from the servers")
	// ErrRemoved means that the files of the embedded server were removed, moved or replaced
	// while it had them open, by this or another process. Receivers in this process may
	// still get the value; no later process will, nor other values that are queued. If the
	// error names the file of the lock, it is that one, and another process may have started
	// a server with the same files: shut the channel down.
	ErrRemoved = errors.New("jetstream: the files of the embedded server were removed or replaced")
	// ErrNoSpace means that the servers have no room for the value on their disks, or by
	// their own limits, in any channel: unlike a full channel, which Send waits for. If the
	// error is also ErrUnknown, the value may be stored; otherwise it is not.
	ErrNoSpace = errors.New("jetstream: the servers have no space left")
	// ErrTooLate means that the dedupe window is over, so a retry could store the value
	// twice.
	ErrTooLate = errors.New("jetstream: too late for a safe retry")
	// ErrExpired means that another receiver may have the value: no progress
	// acknowledgment was confirmed for Options.AckWait, or the delivery was in flight for
	// longer than Options.MaxInProgress. Nothing was sent to the servers.
	ErrExpired = errors.New("jetstream: the delivery has expired")
	// ErrSettled means that Ack, AckSync or Nack was called before.
	ErrSettled = errors.New("jetstream: the delivery is already settled")
)

// An UnknownError is returned by Send and SendBatch if it is unknown whether the values
// are stored: no answer came, and the retries failed. [errors.Is] matches ErrUnknown, and
// ErrNoSpace if that is the Cause, and no other Cause: a Send that fails with its
// context's error, ErrClosed or ErrFull has stored nothing.
type UnknownError struct {
	Cause error
	// Values is the number of values it is about: 1 for Send; for SendBatch, the size of
	// the atomic batch after those known to be stored. Retry sends all of them.
	Values int
	retry  func(ctx context.Context) error
}

func (e *UnknownError) Error() string { return fmt.Sprintf("%v: %v", ErrUnknown, e.Cause) }

// Is reports whether target is ErrUnknown, or ErrNoSpace and the Cause. There is no Unwrap:
// see [UnknownError].
func (e *UnknownError) Is(target error) bool {
	return target == ErrUnknown || target == ErrNoSpace && errors.Is(e.Cause, ErrNoSpace)
}

// Retry sends the values again, under the same identity: if they are stored already, they
// are not stored twice. It fails as Send does, and with ErrTooLate, without a request, once
// half of Options.DedupeWindow has passed since the Send.
func (e *UnknownError) Retry(ctx context.Context) error { return e.retry(ctx) }

// An outcome is what is known after an attempt to store something.
type outcome uint8

const (
	stored      outcome = iota
	unavailable         // not stored: no server was available
	full                // not stored: no room
	noSpace             // not stored: no room in any channel
	rejected            // not stored, and a retry will not be
	sealed              // not stored: closed
	unknown
)

// Error codes of the servers that tests and rejection name, too; the client library has no names for them.
const (
	codeTooLarge    = 10054
	codeStoreFailed = 10077
	codeSealed      = 10109

	textFullValues = "maximum messages exceeded"
	textFullBytes  = "maximum bytes exceeded"
)

// answers are the outcomes of attempts that a server answers with an error code.
var answers = map[natsjs.ErrorCode]outcome{
	codeTooLarge: rejected,
	codeSealed:   sealed,
	10002:        noSpace,     // a limit of the account
	10023:        noSpace,     // of the server
	10028:        noSpace,     // of its memory
	10047:        noSpace,     // of its storage
	10174:        rejected,    // atomic batches are disabled
	10176:        unavailable, // the batch is incomplete
	10199:        rejected,    // the batch is too large
	10201:        stored,      // the batch is there already
	10210:        unavailable, // too many batches are under way
}

// No server has seen an attempt that fails with one of unsent; with one of refusals, no retry will reach a
// server either. ErrConnectionClosed is in neither list: a request that was waiting for its answer fails
// with it, and so does one that was never written.
var (
	unsent   = []error{natsjs.ErrNoStreamResponse, nats.ErrNoResponders, nats.ErrReconnectBufExceeded, nats.ErrDisconnected}
	refusals = []error{ErrShutdown, nats.ErrConnectionDraining, nats.ErrMaxPayload}
)

// classify returns the outcome of an attempt that ended with err.
func classify(err error) outcome {
	if err == nil {
		return stored
	}
	is := func(target error) bool { return errors.Is(err, target) }
	if api := (*natsjs.APIError)(nil); errors.As(err, &api) {
		if known, ok := answers[api.ErrorCode]; ok {
			return known
		}
		if api.ErrorCode == codeStoreFailed && (api.Description == textFullValues || api.Description == textFullBytes) {
			return full
		}
		return unknown
	}
	switch {
	case slices.ContainsFunc(unsent, is):
		return unavailable
	case slices.ContainsFunc(refusals, is):
		return rejected
	}
	return unknown
}

// rejection returns the error for the caller of an attempt that was rejected with err.
func rejection(err error) error {
	api := (*natsjs.APIError)(nil)
	switch {
	case errors.Is(err, ErrShutdown), errors.Is(err, nats.ErrConnectionDraining):
		return ErrShutdown
	case errors.Is(err, nats.ErrMaxPayload), errors.As(err, &api) && api.ErrorCode == codeTooLarge:
		return fmt.Errorf("%w: %w", sluice.ErrTooLarge, err)
	}
	return err
}

// attemptTimeout is the longest that one attempt to store something waits for its answer.
// An election takes longer; a later attempt reaches the new leader.
const attemptTimeout = 2 * time.Second
