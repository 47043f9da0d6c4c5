package jetstream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
)

func answer(code server.ErrorIdentifier, text string) error {
	return &natsjs.APIError{ErrorCode: natsjs.ErrorCode(code), Description: text}
}

// A wrong classification loses or duplicates values. The names of the error codes
// are from the server.
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want outcome
	}{
		{nil, stored},
		{answer(server.JSAtomicPublishContainsDuplicateMessageErr, ""), stored},
		{answer(server.JSStreamSealedErr, ""), sealed},
		{answer(server.JSAtomicPublishIncompleteBatchErr, ""), unavailable},
		{answer(server.JSAtomicPublishTooManyInflight, ""), unavailable},
		{answer(server.JSStreamMessageExceedsMaximumErr, ""), rejected},
		{answer(server.JSAtomicPublishDisabledErr, ""), rejected},
		{answer(server.JSAtomicPublishTooLargeBatchErrF, ""), rejected},
		{answer(server.JSStreamStoreFailedF, server.ErrMaxMsgs.Error()), full},
		{answer(server.JSStreamStoreFailedF, server.ErrMaxBytes.Error()), full},
		{answer(server.JSInsufficientResourcesErr, ""), noSpace},
		{answer(server.JSStorageResourcesExceededErr, ""), noSpace},
		{answer(server.JSStreamStoreFailedF, "disk full"), unknown}, // part of it may be stored
		{answer(server.JSClusterNotLeaderErr, ""), unknown},
		{fmt.Errorf("wrapped: %w", answer(server.JSStreamSealedErr, "")), sealed},
		{nats.ErrNoResponders, unavailable},
		{natsjs.ErrNoStreamResponse, unavailable},
		{nats.ErrReconnectBufExceeded, unavailable},
		{nats.ErrDisconnected, unavailable},
		{nats.ErrConnectionClosed, unknown}, // the answer may have been on its way
		{ErrShutdown, rejected},
		{nats.ErrConnectionDraining, rejected},
		{nats.ErrMaxPayload, rejected},
		{nats.ErrTimeout, unknown},
		{context.Canceled, unknown}, // the answer may be on its way
		{context.DeadlineExceeded, unknown},
		{natsjs.ErrInvalidJSAck, unknown},
	} {
		if got := classify(test.err); got != test.want {
			t.Errorf("classify(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}

// Rejections are reported as errors of this package and of package sluice.
func TestRejection(t *testing.T) {
	t.Parallel()
	other := answer(server.JSAtomicPublishTooLargeBatchErrF, "batch too large")
	for _, test := range []struct{ err, want error }{
		{ErrShutdown, ErrShutdown},
		{nats.ErrConnectionDraining, ErrShutdown},
		{nats.ErrMaxPayload, sluice.ErrTooLarge},
		{answer(server.JSStreamMessageExceedsMaximumErr, ""), sluice.ErrTooLarge},
		{other, other},
	} {
		got := rejection(test.err)
		if !errors.Is(got, test.want) {
			t.Errorf("rejection(%v) = %v, want %v", test.err, got, test.want)
		}
		if errors.Is(got, sluice.ErrTooLarge) != (test.want == sluice.ErrTooLarge) || errors.Is(got, ErrShutdown) != (test.want == ErrShutdown) {
			t.Errorf("rejection(%v) = %v, which matches another error too", test.err, got)
		}
	}
}
